/* SPDX-License-Identifier: MIT */
/* What the generated graphs give for the public facts that harness/dataset/README.md fits them to.
 *
 *   bench_facts [NAME K [POPULARITY [EXPONENT]]]        default: every entry that has a published figure, at 1/100
 *
 * Lists: largest, size-biased mean over the mean, balanced inequality ratio P (a share P of the nodes has the share
 * 1 - P of the edges, as KONECT defines it). Sources: the same for how often a node is a neighbour, and the share of
 * the edges that come from the most popular 10 %; "nan" where only one chunk of edges in so many was counted. Epoch:
 * DiskGNN's workload (batch 1024, fan-out 20,15,10, divided by the scale): distinct nodes a batch, and what a static
 * cache of the most read rows (10 %, or what DiskGNN's scripts give as 10 %) leaves of an epoch's reads: the share it
 * catches, and the rest in multiples of the number of nodes, which DiskGNN packs without a limit of disk space. */
#include "harness/base/units.h"
#include "harness/dataset/synthetic.h"
#include "harness/sample/sample.h"
#include "harness/world/measured/measured.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1024, LAYERS = 3, EDGES_MAX = 200000000, BATCHES_MAX = 20000 };

/* A number in print; 0 = none. */
struct published {
    const char *name;
    double source_p; /* balanced inequality ratio of out-degrees, KONECT */
    double packed;   /* DiskGNN section 7.2: packed rows over nodes */
    double cached;   /* share of the rows in its two caches at "10 %": the released scripts' bytes; 0 = 10 % */
    const char *source;
};

static const struct published facts[] = {
    {"papers100m-sym", 0, 1, 0.088, "below 1: DiskGNN 7.2"},
    {"friendster-sym", 0, 5.39, 0.119, "DiskGNN 7.2"},
    {"mag240m", 0, 1, 0.080, "below 1: DiskGNN 7.2"},
    {"igb260m", 0, 10.19, 0.108, "DiskGNN 7.2"},
    {"livejournal", 0.231, 0, 0, "KONECT soc-LiveJournal1"},
    {"papers100m", 0, 0, 0, ""},
    {"twitter", 0, 0, 0, ""},
};

static int descending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

struct skew {
    uint32_t largest;
    double biased_mean; /* sum of squares over sum, over the mean */
    double p;           /* balanced inequality ratio */
    double top_10;      /* share of the top 10 % */
};

/* Sorts the counts, which are of one edge in `stride`: then the squares are corrected for the sample, and what takes
 * every edge is unknown. */
static struct skew skew_of(uint32_t *count, uint64_t nodes, uint64_t stride)
{
    uint64_t sum = 0, running = 0;
    double squares = 0;
    struct skew skew = {.p = 1};
    qsort(count, nodes, sizeof *count, descending);
    for (uint64_t i = 0; i < nodes; i++) {
        sum += count[i];
        squares += (double)count[i] * count[i];
    }
    for (uint64_t i = 0; i < nodes; i++) {
        running += count[i];
        const double share = (double)running / (double)sum, of = (double)(i + 1) / (double)nodes;
        if (i + 1 == nodes / 10)
            skew.top_10 = share;
        if (skew.p == 1 && share >= 1 - of)
            skew.p = of;
    }
    const double all = (double)sum * (double)stride, step = (double)stride;
    skew.largest = count[0];
    skew.biased_mean = ((squares - (double)sum) * step * step + all) / all / (all / (double)nodes);
    if (stride > 1)
        skew.p = skew.top_10 = NAN;
    return skew;
}

/* Every edge's source, or those of one chunk in *stride where there are many edges. */
static void count_edges(const struct gnn_synthetic *synthetic, uint32_t *degree, uint32_t *drawn, uint64_t *stride)
{
    enum { STEP = 1 << 14 };
    const struct gnn_dataset *const d = gnn_synthetic_dataset(synthetic);
    const struct gnn_content *const indices = gnn_synthetic_indices(synthetic);
    static gnn_node sources[STEP];
    for (uint32_t v = 0; v < d->node_count; v++)
        degree[v] = (uint32_t)(d->indptr[v + 1] - d->indptr[v]);
    *stride = d->edge_count / EDGES_MAX + 1;
    for (uint64_t edge = 0; edge < d->edge_count; edge += STEP * *stride) {
        const uint64_t count = d->edge_count - edge < STEP ? d->edge_count - edge : STEP;
        indices->read(indices, edge * sizeof *sources, count * sizeof *sources, sources);
        for (uint64_t i = 0; i < count; i++)
            drawn[sources[i]]++;
    }
}

/* ---- an epoch ---- */

struct content_source {
    struct gnn_neighbour_source base;
    const struct gnn_content *content;
};

static enum gnn_status content_fetch(struct gnn_neighbour_source *source, const uint64_t *edge_offset, uint64_t count,
                                     gnn_node *out, struct gnn_err *err)
{
    (void)err;
    const struct gnn_content *const content = ((const struct content_source *)source)->content;
    content->gather_ids(content, edge_offset, count, out);
    return GNN_OK;
}

static const struct gnn_neighbour_source_ops content_ops = {.name = "content", .fetch = content_fetch};

struct epoch {
    double nodes_a_batch; /* at scale 1: times K */
    double packed, hits;  /* rows beside the cache over nodes; share of the reads that the cache catches */
};

/* Reads of every node over an epoch, or over its first BATCHES_MAX batches. */
static enum gnn_status count_reads(struct gnn_world *world, const struct gnn_synthetic *synthetic, uint32_t *reads,
                                   struct gnn_sample_counters *counters, struct gnn_err *err)
{
    const struct gnn_dataset *const d = gnn_synthetic_dataset(synthetic);
    const struct gnn_sampler_config config = {.seed = 1, .layers = LAYERS, .fanout = {20, 15, 10}};
    struct content_source source = {.base = {&content_ops}, .content = gnn_synthetic_indices(synthetic)};
    const uint32_t batch_size = BATCH / d->scale_divisor > 0 ? BATCH / d->scale_divisor : 1;
    struct gnn_sampler *sampler = NULL;
    struct gnn_batch *batch = NULL;
    gnn_node *const order = malloc(d->train.count * sizeof *order);
    enum gnn_status status = gnn_sampler_open(world, &config, d, &source.base, &sampler, err);
    if (status == GNN_OK)
        status = gnn_batch_open(world, &batch, err);
    gnn_epoch_order(1, 0, d->train.nodes, d->train.count, order);
    for (uint64_t k = 0; status == GNN_OK && k < BATCHES_MAX && (k + 1) * batch_size <= d->train.count; k++) {
        status = gnn_sampler_sample(sampler, 0, k, order + k * batch_size, batch_size, batch, err);
        const struct gnn_batch_view *const view = gnn_batch_view(batch);
        for (uint32_t i = 0; status == GNN_OK && i < view->node_count; i++)
            reads[view->nodes[i]]++;
    }
    if (status == GNN_OK)
        gnn_sampler_counters(sampler, counters);
    gnn_batch_close(world, batch);
    gnn_sampler_close(sampler);
    free(order);
    return status;
}

static struct epoch judge(const struct gnn_dataset *d, double cached_share, uint32_t *reads,
                          const struct gnn_sample_counters *counters)
{
    uint64_t cached = 0;
    qsort(reads, d->node_count, sizeof *reads, descending);
    for (uint64_t i = 0; i < (uint64_t)(cached_share * d->node_count); i++)
        cached += reads[i];
    const double all = (double)counters->sampled_nodes;
    const uint32_t batch_size = BATCH / d->scale_divisor > 0 ? BATCH / d->scale_divisor : 1;
    const double batches = (double)d->train.count / batch_size;
    return (struct epoch){.nodes_a_batch = all / (double)counters->batches * BATCH / batch_size,
                          .packed = (all - (double)cached) / (double)counters->batches * batches / d->node_count,
                          .hits = (double)cached / all};
}

/* ---- one entry ---- */

static enum gnn_status report(struct gnn_world *world, const struct published *fact,
                              const struct gnn_generate_options *options, uint32_t divisor, struct gnn_err *err)
{
    struct gnn_synthetic *synthetic = NULL;
    struct gnn_sample_counters counters;
    GNN_TRY(gnn_synthetic_open(world, fact->name, options, divisor, &synthetic, err));
    const struct gnn_dataset *const d = gnn_synthetic_dataset(synthetic);
    uint32_t *const counts = calloc(3 * (size_t)d->node_count, sizeof *counts);
    enum gnn_status status = counts != NULL ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "no memory for counts");
    if (status == GNN_OK) {
        uint32_t *const drawn = counts + d->node_count, *const reads = drawn + d->node_count;
        uint64_t stride;
        count_edges(synthetic, counts, drawn, &stride);
        const struct skew lists = skew_of(counts, d->node_count, 1);
        const struct skew sources = skew_of(drawn, d->node_count, stride);
        status = count_reads(world, synthetic, reads, &counters, err);
        const struct epoch epoch =
            status == GNN_OK ? judge(d, fact->cached > 0 ? fact->cached : 0.1, reads, &counters) : (struct epoch){0};
        printf("%-15s %5" PRIu32 " | %5.1f %7" PRIu32 " %5.1f %5.3f | %5.1f %5.3f %5.3f | %8.0f %5.3f %6.2f |",
               fact->name, divisor, (double)d->edge_count / d->node_count, lists.largest, lists.biased_mean, lists.p,
               sources.biased_mean, sources.p, sources.top_10, epoch.nodes_a_batch, epoch.hits, epoch.packed);
        if (fact->source_p > 0)
            printf(" source P %.3f", fact->source_p);
        if (fact->packed > 0)
            printf(" packed %.2f", fact->packed);
        printf(" %s\n", fact->source);
    }
    free(counts);
    gnn_synthetic_close(world, synthetic);
    return status;
}

static enum gnn_status run(struct gnn_world *world, int argc, char **argv, struct gnn_err *err)
{
    struct gnn_generate_options options;
    gnn_option_defaults(gnn_generate_table, &options);
    printf("%-15s %5s | %5s %7s %5s %5s | %5s %5s %5s | %8s %5s %6s | published\n", "", "1/K", "mean", "largest",
           "bias", "P", "bias", "P", "top10", "nodes", "hits", "packed");
    if (argc < 3) {
        for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
            GNN_TRY(report(world, &facts[i], &options, 100, err));
        return GNN_OK;
    }
    uint64_t divisor;
    struct published fact = {.name = argv[1], .source = ""};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (strcmp(facts[i].name, argv[1]) == 0)
            fact = facts[i];
    GNN_TRY(gnn_parse_u64(argv[2], &divisor, err));
    if (argc > 3)
        GNN_TRY(gnn_option_set(gnn_generate_table, &options, "popularity", argv[3], err));
    if (argc > 4)
        GNN_TRY(gnn_option_set(gnn_generate_table, &options, "degree_exponent", argv[4], err));
    return report(world, &fact, &options, (uint32_t)divisor, err);
}

int main(int argc, char **argv)
{
    struct gnn_world *world = NULL;
    struct gnn_err err = {0};
    enum gnn_status status = gnn_world_measured_open(NULL, &world, &err);
    if (status == GNN_OK)
        status = run(world, argc, argv, &err);
    if (status != GNN_OK)
        (void)fprintf(stderr, "bench_facts: %s\n", err.message);
    if (world != NULL)
        gnn_world_measured_close(world);
    return status == GNN_OK ? 0 : 1;
}
