/* SPDX-License-Identifier: MIT */
#include "harness/graph/procedural.h"

#include "harness/base/rng.h"
#include "harness/graph/entries.h"
#include "harness/graph/mutual.h"
#include "harness/graph/permute.h"
#include "harness/graph/reach.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    DEGREE_LIMIT = 1 << 20, /* longest list at any scale; bounds the table */
    VOTES_MAX = 64,
    BATCH = 256, /* nodes whose walks through the permutation overlap */
};

struct gnn_procedural {
    struct gnn_procedural_config config;
    uint64_t edge_key, label_key, split_key, clarity_key;
    struct gnn_entry_law entry;
    struct gnn_reach *reach; /* NULL: none */
    unsigned rank_half_bits; /* of the permutation that deals out the degrees */
    uint16_t
        *rank_round[GNN_PERMUTE_ROUNDS]; /* (2^rank_half_bits) its round functions, tabulated: one block of memory */
    uint32_t label_noise_24bit;          /* of 2^24 */
    uint32_t votes;
    uint32_t degree_max;
    struct gnn_degree_law lists; /* of nodes outside the reach */
};

/* ---- permutation ---- */

/* gnn_permute with the degrees' key, one step: its round functions have at most 2^16 arguments. */
static inline uint32_t rank_step(const struct gnn_procedural *g, uint32_t x)
{
    const unsigned half = g->rank_half_bits;
    uint32_t left = x >> half, right = x & ((1u << half) - 1);
    for (unsigned round = 0; round < GNN_PERMUTE_ROUNDS; round++) {
        const uint32_t swap = left ^ g->rank_round[round][right];
        left = right;
        right = swap;
    }
    return left << half | right;
}

static enum gnn_status build_ranks(struct gnn_procedural *g, struct gnn_err *err)
{
    const uint64_t key = gnn_rng_fork(g->config.seed, "graph.degree");
    g->rank_half_bits = gnn_permute_half_bits(g->config.node_count);
    const uint32_t size = 1u << g->rank_half_bits;
    uint16_t *table;
    GNN_NEW(table, (size_t)GNN_PERMUTE_ROUNDS * size, err, "permutation of %" PRIu32 " nodes", g->config.node_count);
    for (unsigned round = 0; round < GNN_PERMUTE_ROUNDS; round++) {
        g->rank_round[round] = table + (size_t)round * size;
        for (uint32_t right = 0; right < size; right++)
            g->rank_round[round][right] = (uint16_t)gnn_permute_round(key, round, right, size - 1);
    }
    return GNN_OK;
}

/* ---- degrees ---- */

uint32_t gnn_procedural_degree_max(const struct gnn_procedural *graph)
{
    return graph->degree_max;
}

static uint32_t degree_of_rank(const struct gnn_procedural *graph, uint32_t rank)
{
    const uint32_t count = graph->config.node_count;
    return gnn_degree_at(&graph->lists, (uint32_t)((((uint64_t)rank << 32) + (UINT64_C(1) << 31)) / count));
}

uint32_t gnn_procedural_degree(const struct gnn_procedural *graph, gnn_node node)
{
    const uint32_t count = graph->config.node_count;
    assert(node < count);
    const uint32_t index = graph->reach != NULL ? gnn_reach_index(graph->reach, node) : GNN_NODE_NONE;
    if (index != GNN_NODE_NONE)
        return gnn_reach_degree(graph->reach, index);
    uint32_t x = node;
    do
        x = rank_step(graph, x);
    while (x >= count);
    return degree_of_rank(graph, x);
}

/* A step leaves the nodes' range about as often as not, which no branch predictor foresees: so a whole batch takes a
 * step, and those outside are listed for the next one. */
static void ranks_of_batch(const struct gnn_procedural *g, gnn_node first, uint32_t count, uint32_t *rank)
{
    assert(count <= BATCH);
    uint16_t outside[BATCH];
    uint32_t outside_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        rank[i] = rank_step(g, first + i);
        outside[outside_count] = (uint16_t)i;
        outside_count += rank[i] >= g->config.node_count;
    }
    while (outside_count > 0) {
        uint32_t left = 0;
        for (uint32_t k = 0; k < outside_count; k++) {
            const uint16_t i = outside[k];
            rank[i] = rank_step(g, rank[i]);
            outside[left] = i;
            left += rank[i] >= g->config.node_count;
        }
        outside_count = left;
    }
}

void gnn_procedural_degrees(const struct gnn_procedural *graph, gnn_node first, uint32_t count, uint32_t *degrees)
{
    assert((uint64_t)first + count <= graph->config.node_count);
    for (uint32_t done = 0; done < count && graph->lists.max > 0; done += BATCH) {
        const uint32_t step = gnn_min_u32(count - done, BATCH);
        ranks_of_batch(graph, first + done, step, degrees + done);
        for (uint32_t i = done; i < done + step; i++)
            degrees[i] = degree_of_rank(graph, degrees[i]);
    }
    if (graph->reach == NULL)
        return;
    const uint32_t members = gnn_reach_count(graph->reach);
    for (uint32_t index = gnn_reach_from(graph->reach, first); index < members; index++) {
        const gnn_node node = gnn_reach_node(graph->reach, index);
        if (node - first >= count)
            return;
        degrees[node - first] = gnn_reach_degree(graph->reach, index);
    }
}

/* ---- classes ---- */

uint32_t gnn_procedural_class(const struct gnn_procedural *graph, gnn_node node)
{
    const uint32_t index = graph->reach != NULL ? gnn_reach_index(graph->reach, node) : GNN_NODE_NONE;
    return index != GNN_NODE_NONE ? gnn_reach_class(graph->reach, index) : gnn_class_of(&graph->entry.groups, node);
}

/* ---- neighbours ---- */

/* degree_max <= node_count / 4 keeps every interval non-empty. */
static inline struct gnn_entry_list list_of(const struct gnn_procedural *g, gnn_node node, uint32_t degree)
{
    assert(node < g->config.node_count);
    assert(degree <= g->degree_max);
    const uint64_t count = g->config.node_count;
    struct gnn_entry_list list = {.node = node,
                                  .index = g->reach != NULL ? gnn_reach_index(g->reach, node) : GNN_NODE_NONE,
                                  .degree = degree,
                                  .key = gnn_splitmix64_at(g->edge_key, node),
                                  .inside = (uint64_t)(g->config.locality * degree)};
    const bool reached = list.index != GNN_NODE_NONE;
    list.class = reached ? gnn_reach_class(g->reach, list.index) : gnn_class_of(&g->entry.groups, node);
    list.community_24bit = reached ? gnn_reach_community(g->reach, list.index) : 0;
    if (list.inside == 0 || reached)
        return list;
    list.window = gnn_min_u64(gnn_max_u64(g->config.window, 2 * list.inside), count / 2);
    const uint64_t room = count - list.window;
    assert(room > 0);
    list.start = gnn_min_u64(node > list.window / 2 ? node - list.window / 2 : 0, room);
    list.before = (degree - list.inside) * list.start / room;
    return list;
}

/* Draws the source of an entry of the reach: a training node for a share of the entries of a training node. */
static inline uint32_t source_of(const struct gnn_procedural *g, const struct gnn_entry_list *list, uint32_t position)
{
    const uint64_t edge = gnn_splitmix64_at(list->key, position), bits = gnn_entry_bits(edge);
    const uint32_t class = gnn_entry_class(&g->entry, list->class, edge);
    const double place = (position + (uint32_t)(bits >> 32) * 0x1p-32) / list->degree;
    if (list->community_24bit > 0 && (gnn_mix64(bits) & 0xffffff) < list->community_24bit) {
        const uint32_t train = gnn_reach_train_source(g->reach, list->index, class, (uint32_t)bits);
        if (train != GNN_NODE_NONE)
            return train;
    }
    return gnn_reach_source(g->reach, list->index, class, list->degree, place, (uint32_t)bits);
}

static inline gnn_node entry_of(const struct gnn_procedural *g, const struct gnn_entry_list *list, uint32_t position)
{
    assert(position < list->degree);
    if (list->index == GNN_NODE_NONE)
        return gnn_entry(&g->entry, list, position);
    if (gnn_reach_is_mutual(g->reach))
        return gnn_reach_node(g->reach, gnn_reach_mutual(g->reach, list->index, position));
    return gnn_reach_node(g->reach, source_of(g, list, position));
}

gnn_node gnn_procedural_neighbour(const struct gnn_procedural *graph, gnn_node node, uint32_t degree, uint32_t position)
{
    const struct gnn_entry_list list = list_of(graph, node, degree);
    return entry_of(graph, &list, position);
}

static void add_list(const struct gnn_procedural *g, const struct gnn_entry_list *list, uint64_t begin,
                     const uint64_t *edge_offset, uint64_t count, gnn_node *out, struct gnn_entries *entries)
{
    if (list->index == GNN_NODE_NONE) {
        gnn_entries_add(entries, list, begin, edge_offset, count, out);
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        out[i] = entry_of(g, list, (uint32_t)(edge_offset[i] - begin));
}

void gnn_procedural_collect(const struct gnn_procedural *graph, struct gnn_entries *entries)
{
    gnn_entries_open(&graph->entry, entries);
}

void gnn_procedural_add(const struct gnn_procedural *graph, gnn_node node, uint32_t degree, uint64_t begin,
                        const uint64_t *edge_offset, uint64_t count, gnn_node *out, struct gnn_entries *entries)
{
    const struct gnn_entry_list list = list_of(graph, node, degree);
    add_list(graph, &list, begin, edge_offset, count, out, entries);
}

void gnn_procedural_lists(const struct gnn_procedural *graph, const uint64_t *indptr, gnn_node node, uint64_t first,
                          uint64_t count, gnn_node *out)
{
    enum { STEP = 256 };
    uint64_t offset[STEP];
    struct gnn_entries entries;
    gnn_entries_open(&graph->entry, &entries);
    for (uint64_t edge = first; edge < first + count;) {
        while (indptr[node + 1] <= edge)
            node++;
        const struct gnn_entry_list list = list_of(graph, node, (uint32_t)(indptr[node + 1] - indptr[node]));
        const uint64_t end = gnn_min_u64(indptr[node + 1], first + count), step = gnn_min_u64(end - edge, STEP);
        for (uint64_t i = 0; i < step; i++)
            offset[i] = edge + i;
        add_list(graph, &list, indptr[node], offset, step, out, &entries);
        out += step;
        edge += step;
    }
    gnn_entries_draw(&entries);
}

/* ---- labels ---- */

/* Sums of 32 bits, so that a label does not depend on a rounding. */
static uint32_t clarity_of(const struct gnn_procedural *g, gnn_node node)
{
    return (uint32_t)(gnn_splitmix64_at(g->clarity_key, node) >> 41) + 1;
}

double gnn_procedural_clarity(const struct gnn_procedural *graph, gnn_node node)
{
    return graph->reach != NULL ? clarity_of(graph, node) * 0x1p-22 : 1;
}

/* The class that the first entries of a member's list show most clearly; that of the first of them among equals. */
static uint32_t voted_class(const struct gnn_procedural *g, gnn_node node, uint32_t degree)
{
    const struct gnn_entry_list list = list_of(g, node, degree);
    const uint32_t count = gnn_min_u32(degree, g->votes);
    assert(count > 0);
    uint32_t class[VOTES_MAX] = {0}, votes[VOTES_MAX] = {0}, best = 0;
    for (uint32_t i = 0; i < count; i++) {
        const gnn_node source = entry_of(g, &list, i);
        uint32_t at = 0;
        class[i] = gnn_entry_class(&g->entry, list.class, gnn_splitmix64_at(list.key, i));
        while (class[at] != class[i])
            at++;
        votes[at] += clarity_of(g, source);
        if (votes[at] > votes[best])
            best = at;
    }
    return class[best];
}

static uint32_t true_label(const struct gnn_procedural *g, gnn_node node, uint32_t index)
{
    const uint32_t degree = gnn_reach_is_split(g->reach, index) && g->votes > 0 ? gnn_reach_degree(g->reach, index) : 0;
    return degree > 0 ? voted_class(g, node, degree) : gnn_reach_class(g->reach, index);
}

static inline uint32_t label_in(const struct gnn_procedural *graph, gnn_node node, uint32_t class)
{
    const uint64_t draw = gnn_splitmix64_at(graph->label_key, node);
    if ((draw & 0xffffff) >= graph->label_noise_24bit)
        return class;
    return gnn_other_class(&graph->entry.groups, class, (uint32_t)(draw >> 32));
}

uint32_t gnn_procedural_label(const struct gnn_procedural *graph, gnn_node node)
{
    const uint32_t index = graph->reach != NULL ? gnn_reach_index(graph->reach, node) : GNN_NODE_NONE;
    return label_in(graph, node,
                    index != GNN_NODE_NONE ? true_label(graph, node, index) : gnn_class_of(&graph->entry.groups, node));
}

void gnn_procedural_labels(const struct gnn_procedural *graph, gnn_node first, uint32_t count, uint32_t *labels)
{
    assert((uint64_t)first + count <= graph->config.node_count);
    for (uint32_t i = 0; i < count; i++)
        labels[i] = label_in(graph, first + i, gnn_class_of(&graph->entry.groups, first + i));
    if (graph->reach == NULL)
        return;
    const uint32_t members = gnn_reach_count(graph->reach);
    for (uint32_t index = gnn_reach_from(graph->reach, first); index < members; index++) {
        const gnn_node node = gnn_reach_node(graph->reach, index);
        if (node - first >= count)
            return;
        labels[node - first] = label_in(graph, node, true_label(graph, node, index));
    }
}

/* ---- splits ---- */

uint32_t gnn_procedural_reach_count(const struct gnn_procedural *graph)
{
    return graph->reach != NULL ? gnn_reach_count(graph->reach) : graph->config.node_count;
}

gnn_node gnn_procedural_split_node(const struct gnn_procedural *graph, uint32_t index)
{
    const uint32_t place = gnn_permute(graph->split_key, gnn_procedural_reach_count(graph), index);
    return graph->reach != NULL ? gnn_reach_node(graph->reach, place) : place;
}

/* ---- open and close ---- */

static enum gnn_status check_config(const struct gnn_procedural_config *config, struct gnn_err *err)
{
    const struct {
        const char *name;
        double value, min, max;
    } limits[] = {
        {"nodes", config->node_count, 8, 4294967294.0},
        {"classes", config->class_count, 1, config->node_count},
        {"degree exponent", config->degree_exponent, 2.01, 10},
        {"homophily", config->homophily, 0, 1},
        {"popularity", config->popularity, 0, config->reach.share > 0 ? 4 : 1},
        {"locality", config->locality, 0, 1},
        {"label noise", config->label_noise, 0, 1},
        {"window", config->window, 0, floor(config->node_count / 2.0)},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (!(limits[i].value >= limits[i].min && limits[i].value <= limits[i].max))
            return gnn_fail(err, GNN_EUSAGE, "%s %g of a generated graph: expected %g to %g", limits[i].name,
                            limits[i].value, limits[i].min, limits[i].max);
    return GNN_OK;
}

static enum gnn_status check_reach(const struct gnn_procedural_config *config, struct gnn_err *err)
{
    const struct gnn_reach_config *const c = &config->reach;
    const struct {
        const char *name;
        double value, min, max;
    } limits[] = {
        {"reach", c->share, 0, 1},
        {"share of empty lists", c->empty, 0, 0.999},
        {"share of empty training lists", c->train_empty, 0, 0.999},
        {"list mean", c->list_mean, 0, config->node_count},
        {"training list mean", c->train_mean, 0, config->node_count},
        {"training share", c->train_share, 0, c->mutual ? 0 : 0.99},
        {"hub shift", c->hub_shift, config->popularity < 1 || c->popularity != NULL ? 0 : 1e-9, 1},
        {"coupling", c->coupling, -1, 1},
        {"votes", c->votes, 0, c->mutual ? 0 : VOTES_MAX},
        {"clique share", c->clique_share, 0, c->mutual ? 1 : 0},
        {"locality with a reach", config->locality, 0, 0},
    };
    if (c->share == 0)
        return GNN_OK;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (!(limits[i].value >= limits[i].min && limits[i].value <= limits[i].max))
            return gnn_fail(err, GNN_EUSAGE, "%s %g of a generated graph: expected %g to %g", limits[i].name,
                            limits[i].value, limits[i].min, limits[i].max);
    return gnn_node_order_check(&c->order, c->share, err);
}

static uint32_t longest_list(const struct gnn_procedural_config *config, double mean)
{
    uint32_t max = config->node_count / 100;
    if (max < 8 * mean)
        max = (uint32_t)(8 * mean);
    return gnn_min_u32(gnn_min_u32(max, DEGREE_LIMIT), config->node_count / 4);
}

/* Weight 1 for tier 0, then 2^(-t (1 - s)) (1 - 2^-s): popularity 0 leaves tier 0 alone, which is uniform. */
static void build_tiers(double popularity, struct gnn_entry_law *law)
{
    popularity = fmin(popularity, 1); /* above 1 is a reach's own */
    law->tier_cdf[1] = 1;
    for (unsigned tier = 1; tier < GNN_TIERS; tier++)
        law->tier_cdf[tier + 1] =
            law->tier_cdf[tier] + exp2(-(double)tier * (1 - popularity)) * (1 - exp2(-popularity));
    for (unsigned top = 0; top < GNN_TIERS; top++)
        for (uint32_t slot = 0; slot < 1u << GNN_TIER_GUIDE_BITS; slot++)
            law->tier_guide[top][slot] = (uint8_t)gnn_entry_tier_from(law, 0, top, slot << (32 - GNN_TIER_GUIDE_BITS));
}

static void open_entries(const struct gnn_procedural_config *config, struct gnn_entry_law *law)
{
    law->hub_key = gnn_rng_fork(config->seed, "graph.hub");
    law->node_count = config->node_count;
    law->homophily_24bit =
        config->class_count > 1 ? (uint32_t)(config->homophily * 0x1p24) : 1U << 24; /* no other class */
    law->groups = gnn_class_groups_of(gnn_rng_fork(config->seed, "graph.class"), config->class_count);
    build_tiers(config->popularity, law);
}

/* What the reach leaves of the edges, on the nodes outside it. */
static enum gnn_status outside_lists(const struct gnn_procedural *g, struct gnn_degree_config *lists,
                                     struct gnn_rank_law *read, struct gnn_err *err)
{
    static const double least = 1.5; /* a law's mean; below it lists are empty instead */
    const struct gnn_procedural_config *const c = &g->config;
    const uint32_t outside = c->node_count - gnn_reach_count(g->reach);
    const double edges = c->mean_degree * c->node_count, left = edges - gnn_reach_edges(g->reach);
    if (left < -0.01 * edges && c->reach.degrees == NULL) /* a law that was read is kept, whatever the sum */
        return gnn_fail(
            err, GNN_EUSAGE,
            "the reach's lists hold %.4g edges, the whole graph only %.4g: lower the list mean, or the reach",
            gnn_reach_edges(g->reach), edges);
    const double mean = fmax(left, 0) / outside;
    lists->mean = fmax(mean, least);
    lists->empty = fmin(fmax(1 - mean / least, 0), 0.999);
    if (c->reach.rest_degrees == NULL)
        return GNN_OK;
    *read = *c->reach.rest_degrees;
    const uint32_t quarter = c->node_count / 4;
    for (uint32_t i = 0; i < read->count; i++) /* a list has an interval of the IDs for each entry */
        read->mean[i] = fmin(read->mean[i], quarter - 2.0);
    lists->read = read;
    return GNN_OK;
}

/* The lengths of the lists that no reach holds, and the longest of all. */
static enum gnn_status open_lists(struct gnn_procedural *g, struct gnn_err *err)
{
    struct gnn_degree_config lists = {
        .mean = g->config.mean_degree, .exponent = g->config.degree_exponent, .node_count = g->config.node_count};
    struct gnn_rank_law read;
    const bool whole = g->reach != NULL && gnn_reach_count(g->reach) == g->config.node_count;
    if (g->reach != NULL && !whole)
        GNN_TRY(outside_lists(g, &lists, &read, err));
    lists.longest = longest_list(&g->config, lists.mean);
    if (!whole)
        GNN_TRY(gnn_degree_law_open(&lists, &g->lists, err));
    g->degree_max = g->lists.max;
    if (g->reach != NULL)
        g->degree_max = gnn_max_u32(g->degree_max, gnn_reach_degree_max(g->reach));
    return GNN_OK;
}

enum gnn_status gnn_procedural_open(const struct gnn_procedural_config *config, struct gnn_procedural **out,
                                    struct gnn_err *err)
{
    GNN_TRY(check_config(config, err));
    GNN_TRY(check_reach(config, err));
    struct gnn_procedural *g;
    GNN_NEW(g, 1, err, "generated graph");
    g->config = *config;
    if (g->config.window == 0)
        g->config.window = config->node_count / 100;
    g->edge_key = gnn_rng_fork(config->seed, "graph.edge");
    open_entries(config, &g->entry);
    g->label_key = gnn_rng_fork(config->seed, "graph.label");
    g->split_key = gnn_rng_fork(config->seed, "split");
    g->clarity_key = gnn_rng_fork(config->seed, "graph.clarity");
    g->votes = config->reach.votes;
    g->label_noise_24bit = config->class_count > 1 ? (uint32_t)(config->label_noise * 0x1p24) : 0;
    enum gnn_status status = build_ranks(g, err);
    if (status == GNN_OK && config->reach.share > 0)
        status = gnn_reach_open(config, &g->reach, err);
    GNN_NEXT(status, open_lists(g, err));
    g->config.reach = (struct gnn_reach_config){.share = config->reach.share}; /* the laws are the caller's */
    return GNN_OPENED(status, g, out, gnn_procedural_close);
}

void gnn_procedural_close(struct gnn_procedural *graph)
{
    if (graph == NULL)
        return;
    free(graph->rank_round[0]);
    gnn_degree_law_close(&graph->lists);
    gnn_reach_close(graph->reach);
    free(graph);
}
