/* SPDX-License-Identifier: MIT */
#include "harness/dataset/prepare.h"

#include "harness/base/near_miss.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Counts are the public ones where the graph is public; papers print them rounded. Where a paper gives no split, the
 * counts are 1 %, 0.1 % and 0.2 % of the nodes, about ogbn-papers100M's shares. */
/* clang-format off */
const struct gnn_registry_entry gnn_registry[] = {
    {.name = "papers100m", .title = "ogbn-papers100M", .papers = "gnndrive mariusgnn ringsampler agnes",
     .nodes = 111059956, .edges = 1615685872, .train = 1207179, .valid = 125265, .test = 214338,
     .dim = 128, .classes = 172, .splits_published = true, .degree_exponent = 2.5, .popularity = 1.33,
     .reach = {.share = 0.19, .empty = 0.33, .list_mean = 8.2, .train_empty = 0.05, .train_mean = 29,
               .train_share = 0.24, .hub_shift = 0.0019, .homophily = 0.35,
               .order = "0.133:0.03+0.417:0.25+0.16:0.12+0.116:0.15+0.174:0.45",
               .order_low = "0.133:0.06+0.417:0.31+0.16:0.13+0.116:0.15+0.174:0.35",
               .order_high = "0.133:0.02+0.417:0.18+0.16:0.12+0.116:0.16+0.174:0.52"},
     .since = {.what = "the order of node IDs and the community of training nodes", .had_reach = true},
     .note = "each citation once"},
    {.name = "papers100m-sym", .title = "ogbn-papers100M, symmetric", .papers = "diskgnn",
     .nodes = 111059956, .edges = 3231371744, .train = 1207179, .valid = 125265, .test = 214338,
     .dim = 128, .classes = 172, .splits_published = true, .degree_exponent = 2.5, .popularity = 1.3,
     .reach = {.share = 0.352, .list_mean = 50.5, .train_mean = 60, .hub_shift = 0.006, .homophily = 0.35},
     .note = "the reverse of every citation added"},
    {.name = "twitter", .title = "twitter-2010", .papers = "gnndrive agnes",
     .nodes = 41652230, .edges = 1468365182, .train = 416522, .valid = 41652, .test = 83304,
     .dim = 128, .classes = 50, .degree_exponent = 2.276, .popularity = 1,
     .reach = {.share = 0.5835, .empty = 0.2, .list_mean = 16.13, .hub_shift = 0.003887, .homophily = 0.35},
     .note = "exponent from Kwak et al. 2010; the papers generate features and labels too"},
    {.name = "friendster", .title = "com-Friendster, each pair once", .papers = "gnndrive",
     .nodes = 65608366, .edges = 1806067135, .train = 656084, .valid = 65608, .test = 131217,
     .dim = 128, .classes = 50, .degree_exponent = 3.38, .popularity = 0.9,
     .note = "the papers generate features and labels too"},
    {.name = "friendster-sym", .title = "com-Friendster, each pair twice", .papers = "diskgnn ringsampler",
     .nodes = 65608366, .edges = 3612134270, .train = 656084, .valid = 65608, .test = 131217,
     .dim = 128, .classes = 50, .degree_exponent = 3.38, .popularity = 1.6,
     .reach = {.share = 0.7, .list_mean = 38.5, .hub_shift = 0.077, .homophily = 0.35},
     .note = "training share 1 % as DiskGNN"},
    {.name = "friendster-agnes", .title = "Friendster as AGNES counts it", .papers = "agnes",
     .nodes = 68349466, .edges = 2290000000, .train = 683495, .valid = 68349, .test = 136699,
     .dim = 128, .classes = 50, .degree_exponent = 3.38, .popularity = 0.9,
     .note = "KONECT's node count; the paper's edge count matches no public crawl"},
    {.name = "mag240m-cites", .title = "MAG240M, papers and citations", .papers = "gnndrive mariusgnn",
     .nodes = 121751666, .edges = 1297748926, .train = 1112392, .valid = 138949, .test = 138949,
     .dim = 768, .classes = 153, .degree_exponent = 2.5, .popularity = 1.33,
     .reach = {.share = 0.1733, .empty = 0.33, .list_mean = 8.2, .train_empty = 0.05, .train_mean = 29,
               .train_share = 0.24, .hub_shift = 0.0019, .homophily = 0.35},
     .since = {.what = "the closed reachable set"},
     .note = "test labels are not public: as many test as validation nodes"},
    {.name = "mag240m", .title = "MAG240M, every node and relation", .papers = "diskgnn",
     .nodes = 244160499, .edges = 3456728464, .train = 1112392, .valid = 138949, .test = 138949,
     .dim = 128, .classes = 153, .degree_exponent = 2.5, .popularity = 1.3,
     .reach = {.share = 0.352, .list_mean = 36.8, .train_mean = 44, .hub_shift = 0.006, .homophily = 0.35},
     .note = "both directions of 1728364232 relations; dim 128 from the paper's bytes"},
    {.name = "igb-medium", .title = "IGB-medium", .papers = "agnes",
     .nodes = 10000000, .edges = 120077694, .train = 100000, .valid = 10000, .test = 20000,
     .dim = 128, .classes = 19, .degree_exponent = 2.5, .popularity = 0.66, .note = "19-class labels"},
    {.name = "igb260m", .title = "IGB260M (IGB-HOM)", .papers = "diskgnn",
     .nodes = 269346174, .edges = 3995777033, .train = 13628916, .valid = 269346, .test = 538692,
     .dim = 128, .classes = 19, .degree_exponent = 2.5, .popularity = 1.5,
     .reach = {.share = 0.3405, .list_mean = 28.4, .hub_shift = 0.07994, .homophily = 0.35},
     .note = "training share 5.06 % as DiskGNN; dim 128 from the paper's bytes"},
    {.name = "yahoo", .title = "yahoo-web", .papers = "ringsampler agnes",
     .nodes = 1413511394, .edges = 6636600779, .train = 14135114, .valid = 1413511, .test = 2827023,
     .dim = 128, .classes = 50, .degree_exponent = 2.5, .popularity = 1, .note = "each link once"},
    {.name = "kronecker", .title = "Synthetic (Graph500 Kronecker)", .papers = "ringsampler",
     .nodes = 134217728, .edges = 8200000000, .train = 1342177, .valid = 134218, .test = 268435,
     .dim = 128, .classes = 50, .degree_exponent = 2.5, .popularity = 1,
     .note = "counts only: the edges come from this generator, not from Kronecker's"},
    {.name = "freebase86m", .title = "Freebase86M", .papers = "mariusgnn",
     .kind = GNN_REGISTRY_KNOWLEDGE, .nodes = 86054151, .edges = 304727650, .relations = 14824,
     .valid_edges = 16929309, .test_edges = 16929308, .dim = 100,
     .note = "knowledge graph; 90, 5 and 5 % of its edges"},
    {.name = "wikikg90mv2", .title = "WikiKG90Mv2", .papers = "mariusgnn",
     .kind = GNN_REGISTRY_KNOWLEDGE, .nodes = 91230610, .edges = 601062811, .relations = 1387,
     .valid_edges = 15000, .test_edges = 10000, .dim = 100, .note = "knowledge graph"},
    {.name = "kron", .title = "R-MAT, scale 23, 16 edges per node", .papers = "ringsampler",
     .kind = GNN_REGISTRY_KRON, .nodes = 8388608, .edges = 134217728, .train = 100000,
     .dim = 1, .classes = 2, .note = "a fixed graph for sampling speed (kron.h): no scale, --levels instead"},
    {.name = "hyperlink2012", .title = "Hyperlink 2012 (Common Crawl)", .papers = "mariusgnn",
     .nodes = 3563602789, .edges = 128736952320, .train = 35636028, .valid = 3563603, .test = 7127206,
     .dim = 50, .classes = 50, .degree_exponent = 2.5, .popularity = 1,
     .note = "link prediction in the paper; dim 50 as there"},
    {.name = "livejournal", .title = "LiveJournal", .papers = "mariusgnn",
     .nodes = 4847571, .edges = 68993773, .train = 48476, .valid = 4848, .test = 9695,
     .dim = 128, .classes = 50, .degree_exponent = 2.5, .popularity = 1, .note = "sampling only in the paper"},
    {0},
};
/* clang-format on */

enum gnn_status gnn_registry_find(const char *name, const struct gnn_registry_entry **out, struct gnn_err *err)
{
    struct gnn_near_miss near;
    gnn_near_miss_start(&near, name);
    for (const struct gnn_registry_entry *entry = gnn_registry; entry->name != NULL; entry++) {
        if (strcmp(entry->name, name) == 0) {
            *out = entry;
            return GNN_OK;
        }
        gnn_near_miss_offer(&near, entry->name);
    }
    return gnn_fail(err, GNN_EUSAGE, "no built-in dataset \"%s\"%s; `oocgnn list datasets` shows them all", name,
                    gnn_near_miss_text(&near));
}

static uint64_t divided(uint64_t count, uint32_t divisor)
{
    return (count + divisor / 2) / divisor;
}

static uint32_t divided_split(uint64_t count, uint32_t divisor)
{
    assert(divisor > 0);
    return (uint32_t)gnn_max_u64(divided(count, divisor), 1);
}

enum gnn_status gnn_registry_scale(const struct gnn_registry_entry *entry, uint32_t divisor, uint32_t dim,
                                   struct gnn_registry_counts *out, struct gnn_err *err)
{
    if (divisor == 0 || dim == 0 || dim > GNN_DIM_MAX)
        return gnn_fail(err, GNN_EUSAGE, "scale 1/%" PRIu32 ", dim %" PRIu32 ": expected 1/1 or less and 1 to %d",
                        divisor, dim, GNN_DIM_MAX);
    if (divided(entry->nodes, divisor) >= GNN_NODE_NONE)
        return gnn_fail(err, GNN_EUSAGE,
                        "%s at 1/%" PRIu32 " has %" PRIu64 " nodes, at most %" PRIu32
                        " fit node IDs of 32 bits; choose a scale of 1/%" PRIu64 " or less",
                        entry->name, divisor, divided(entry->nodes, divisor), GNN_NODE_NONE - 1,
                        entry->nodes / (GNN_NODE_NONE - 1) + 1);
    *out = (struct gnn_registry_counts){.nodes = (uint32_t)divided(entry->nodes, divisor),
                                        .edges = divided(entry->edges, divisor),
                                        .train = divided_split(entry->train, divisor),
                                        .valid = divided_split(entry->valid, divisor),
                                        .test = divided_split(entry->test, divisor)};
    assert(out->nodes > 0 || entry->nodes < divisor);
    const uint64_t splits = (uint64_t)out->train + out->valid + out->test;
    if (out->nodes < 100 || splits > out->nodes)
        return gnn_fail(err, GNN_EUSAGE, "%s at 1/%" PRIu32 " has %" PRIu32 " nodes; choose a scale that leaves 100",
                        entry->name, divisor, out->nodes);
    out->dataset_bytes = ((uint64_t)out->nodes + 1) * 8 + out->edges * 4 + (uint64_t)out->nodes * 4 + splits * 4 +
                         (uint64_t)out->nodes * dim * sizeof(float);
    return GNN_OK;
}
