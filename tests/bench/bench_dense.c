/* SPDX-License-Identifier: MIT */
/* DENSE against resampling in every layer, one core, topology in memory, one to five layers.
 *
 *   bench_dense [DATASET_DIRECTORY]             times, a minute each table
 *   bench_dense --counts [DATASET_DIRECTORY]    what both samplers draw in Table 6's setting, of a few mini-batches:
 *                                               no times, so any machine will do, and the same numbers on each
 *
 * 1. The setting of MariusGNN's Table 6 (EuroSys 2023): 1000 targets, 10 incoming and 10 outgoing neighbours a layer,
 *    with DENSE drawing as released. The other sampler is the harness's, as for every exact system: 20 neighbours of
 *    both directions together, drawn anew for every node of every layer, which is what the published counts of DGL and
 *    PyG say (20 k edges for the first layer). Feature rows are not gathered. Beside it what the paper prints, of other
 *    machines: what compares is the ratio of the two samplers.
 * 2. Reuse alone: both samplers draw 10 incoming neighbours without replacement, and their first layers are equal.
 * 3. The setting of Table 7, on a processor: 10,000 targets drawn from all nodes, 20 outgoing neighbours, 5 batches.
 *
 * DENSE is timed with its ways to find new nodes: the hash set, the bitmap, and the hash set for the first hop alone,
 * as released for papers100M. Without a directory the graph is synthesised (graph.h). */
#include "harness/sample/sample.h"
#include "systems/mariusgnn/dense.h"
#include "tests/bench/graph.h"
#include "tests/support/memory_source.h"

#include <inttypes.h>
#include <stdio.h>

enum { LAYERS = 5, BATCH = 1000, BATCH_MANY = 10000, FANOUT = 10, MANY = 5, COUNTED = 3, POOL = 1 << 20 };
static const uint64_t measure_ns = UINT64_C(1000000000);

/* Table 6. Of DGL and PyG the faster one. */
static const struct {
    double marius_ms, other_ms;
    const char *marius_size, *other_size; /* nodes / edges sampled per mini-batch, as printed */
} published[LAYERS] = {
    {1.4, 2.2, "12k/13k", "13k/20k"}, {18, 28, "136k/181k", "182k/278k"},   {103, 376, "1M/2M", "2M/4M"},
    {401, 5400, "6M/17M", "9M/37M"},  {1800, 49000, "23M/91M", "33M/222M"},
};

/* The graph in both directions, and with both together in one list. */
struct directions {
    struct marius_subgraph both;
    struct gnn_dataset united; /* indptr, counts and name */
    gnn_node *united_nbrs;
    uint32_t *in_start, *out_start, *out_nbrs;
    gnn_node *original;
};

struct bench {
    struct gnn_world *world;
    struct graph graph;
    struct directions d;
    gnn_node *pool; /* what mini-batches are cut from */
    uint32_t pool_count;
};

struct result {
    double ms, nodes, edges; /* a mini-batch */
};

/* ---- both directions ---- */

static enum gnn_status open_directions(struct gnn_world *world, const struct graph *graph, struct directions *d,
                                       struct gnn_err *err)
{
    const uint32_t nodes = graph->dataset.node_count;
    const uint64_t edges = graph->dataset.edge_count, rows = nodes + UINT64_C(1);
    uint64_t *united_start;
    if (edges > UINT32_MAX / 2)
        return gnn_fail(err, GNN_EUSAGE, "%s has %" PRIu64 " edges; this bench takes 2^31", graph->dataset.name, edges);
    GNN_MEM_NEW(world, d->in_start, rows, "in starts", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, d->out_start, rows, "out starts", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, d->out_nbrs, edges, "out neighbours", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, d->original, nodes, "original IDs", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, united_start, rows, "starts of both directions", GNN_MEM_PLAIN, err);
    d->united = (struct gnn_dataset){.node_count = nodes, .edge_count = 2 * edges, .indptr = united_start};
    (void)snprintf(d->united.name, sizeof d->united.name, "%.40s, both directions", graph->dataset.name);
    GNN_MEM_NEW(world, d->united_nbrs, 2 * edges, "both directions", GNN_MEM_PLAIN, err);
    d->both = (struct marius_subgraph){.local_count = nodes,
                                       .edge_count = edges,
                                       .in_start = d->in_start,
                                       .in_nbrs = graph->indices,
                                       .out_start = d->out_start,
                                       .out_nbrs = d->out_nbrs,
                                       .original = d->original};
    return GNN_OK;
}

/* Counting sort by source. */
static void fill_out(const struct graph *graph, struct directions *d)
{
    const uint32_t nodes = graph->dataset.node_count;
    const uint64_t edges = graph->dataset.edge_count, *const indptr = graph->dataset.indptr;
    for (uint64_t e = 0; e < edges; e++)
        d->out_start[graph->indices[e]]++;
    uint32_t sum = 0;
    for (uint32_t v = 0; v <= nodes; v++) { /* the start is the end of the lists before until it is filled */
        const uint32_t degree = v < nodes ? d->out_start[v] : 0;
        d->in_start[v] = (uint32_t)indptr[v];
        d->out_start[v] = sum;
        sum += degree;
    }
    for (uint32_t v = 0; v < nodes; v++)
        for (uint64_t e = indptr[v]; e < indptr[v + 1]; e++)
            d->out_nbrs[d->out_start[graph->indices[e]]++] = v;
    memmove(d->out_start + 1, d->out_start, nodes * sizeof *d->out_start);
    d->out_start[0] = 0;
}

static void fill_united(const struct graph *graph, struct directions *d)
{
    uint64_t *const start = (uint64_t *)(uintptr_t)d->united.indptr;
    for (uint32_t v = 0; v < graph->dataset.node_count; v++) {
        const uint32_t in = d->in_start[v + 1] - d->in_start[v], out = d->out_start[v + 1] - d->out_start[v];
        memcpy(d->united_nbrs + start[v], graph->indices + d->in_start[v], in * sizeof(gnn_node));
        memcpy(d->united_nbrs + start[v] + in, d->out_nbrs + d->out_start[v], out * sizeof(gnn_node));
        start[v + 1] = start[v] + in + out;
        d->original[v] = v;
    }
}

static void close_directions(struct gnn_world *world, struct directions *d)
{
    gnn_mem_free(world, d->in_start);
    gnn_mem_free(world, d->out_start);
    gnn_mem_free(world, d->out_nbrs);
    gnn_mem_free(world, d->original);
    gnn_mem_free(world, d->united_nbrs);
    gnn_mem_free(world, (void *)(uintptr_t)d->united.indptr);
}

/* ---- measuring ---- */

/* One mini-batch after another. */
struct turn {
    const struct bench *b;
    uint32_t batch_size;
    uint64_t epoch;
    uint32_t at;
};

static const gnn_node *next_targets(struct turn *turn)
{
    if (turn->at == 0 || turn->at + turn->batch_size > turn->b->pool_count) {
        gnn_epoch_order(1, turn->epoch++, turn->b->pool, turn->b->pool_count, turn->b->pool);
        turn->at = 0;
    }
    turn->at += turn->batch_size;
    return turn->b->pool + turn->at - turn->batch_size;
}

static bool goes_on(const struct bench *b, uint64_t start_ns, uint32_t done, uint32_t batches)
{
    return batches > 0 ? done < batches : done < 3 || gnn_now_ns(b->world) - start_ns < measure_ns;
}

/* batches: how many; 0: for a second, and at least three. The first one, before, is not timed. */
static enum gnn_status time_dense(const struct bench *b, const struct marius_dense_config *config, uint32_t batch_size,
                                  uint32_t batches, struct result *out, struct gnn_err *err)
{
    struct marius_dense *dense = NULL;
    struct marius_dense_batch *batch = NULL;
    struct gnn_sample_counters counters;
    struct turn turn = {.b = b, .batch_size = batch_size};
    enum gnn_status status = marius_dense_open(b->world, config, &dense, err);
    GNN_NEXT(status, marius_dense_batch_open(b->world, &batch, err));
    GNN_NEXT(status, marius_dense_sample(dense, &b->d.both, 0, 0, next_targets(&turn), batch_size, batch, err));
    if (status == GNN_OK)
        marius_dense_clear_counters(dense);
    uint64_t spent_ns = 0, start_ns = gnn_now_ns(b->world);
    for (uint32_t k = 0; status == GNN_OK && goes_on(b, start_ns, k, batches); k++) {
        const gnn_node *const targets = next_targets(&turn);
        const uint64_t from_ns = gnn_now_ns(b->world);
        status = marius_dense_sample(dense, &b->d.both, turn.epoch, turn.at, targets, batch_size, batch, err);
        spent_ns += gnn_now_ns(b->world) - from_ns;
    }
    if (status == GNN_OK) {
        marius_dense_counters(dense, &counters);
        const double count = (double)counters.batches;
        *out = (struct result){(double)spent_ns * 1e-6 / count, (double)counters.sampled_nodes / count,
                               (double)marius_dense_one_hop_edges(dense) / count};
    }
    marius_dense_batch_close(b->world, batch);
    marius_dense_close(dense);
    return status;
}

/* The harness's sampler over lists of one dataset; likewise. */
static enum gnn_status time_resampling(const struct bench *b, const struct gnn_sampler_config *config,
                                       const struct gnn_dataset *dataset, const gnn_node *indices, uint32_t batch_size,
                                       uint32_t batches, struct result *out, struct gnn_err *err)
{
    struct gnn_neighbour_source *source = NULL;
    struct gnn_sampler *sampler = NULL;
    struct gnn_batch *batch = NULL;
    struct gnn_sample_counters counters, first = {0};
    struct turn turn = {.b = b, .batch_size = batch_size};
    enum gnn_status status = gnn_source_memory(b->world, indices, dataset->edge_count, &source, err);
    GNN_NEXT(status, gnn_sampler_open(b->world, config, dataset, source, &sampler, err));
    GNN_NEXT(status, gnn_batch_open(b->world, &batch, err));
    GNN_NEXT(status, gnn_sampler_sample(sampler, 0, 0, next_targets(&turn), batch_size, batch, err));
    if (status == GNN_OK)
        gnn_sampler_counters(sampler, &first);
    uint64_t spent_ns = 0, start_ns = gnn_now_ns(b->world);
    for (uint32_t k = 0; status == GNN_OK && goes_on(b, start_ns, k, batches); k++) {
        const gnn_node *const targets = next_targets(&turn);
        const uint64_t from_ns = gnn_now_ns(b->world);
        status = gnn_sampler_sample(sampler, turn.epoch, turn.at, targets, batch_size, batch, err);
        spent_ns += gnn_now_ns(b->world) - from_ns;
    }
    if (status == GNN_OK) {
        gnn_sampler_counters(sampler, &counters);
        const double count = (double)(counters.batches - first.batches);
        *out = (struct result){(double)spent_ns * 1e-6 / count,
                               (double)(counters.sampled_nodes - first.sampled_nodes) / count,
                               (double)(counters.sampled_edges - first.sampled_edges) / count};
    }
    gnn_batch_close(b->world, batch);
    gnn_sampler_close(sampler);
    gnn_source_close(source);
    return status;
}

/* ---- tables ---- */

static struct marius_dense_config dense_config(uint32_t layers, uint32_t fanout, uint32_t hash_hops)
{
    struct marius_dense_config config = {.seed = 1, .layers = layers, .hash_hops = hash_hops};
    for (uint32_t h = 0; h < layers; h++)
        config.fanout[h] = fanout;
    return config;
}

static struct gnn_sampler_config plain_config(uint32_t layers, uint32_t fanout)
{
    struct gnn_sampler_config config = {.seed = 1, .layers = layers};
    for (uint32_t h = 0; h < layers; h++)
        config.fanout[h] = fanout;
    return config;
}

/* Nodes and edges a second, one core. */
static void print_rates(const char *name, const struct result *r)
{
    printf("  %-10s %8.2f M nodes/s, %8.2f M drawn edges/s\n", name, r->nodes / r->ms * 1e-3, r->edges / r->ms * 1e-3);
}

enum { WAY_HASH, WAY_BITMAP, WAY_MIXED, WAYS };

static enum gnn_status every_way(const struct bench *b, const struct marius_dense_config *config, struct result *ways,
                                 struct gnn_err *err)
{
    const uint32_t hash_hops[WAYS] = {[WAY_HASH] = config->layers, [WAY_BITMAP] = 0, [WAY_MIXED] = 1};
    for (uint32_t w = 0; w < WAYS; w++) {
        struct marius_dense_config own = *config;
        own.hash_hops = hash_hops[w];
        GNN_TRY(time_dense(b, &own, BATCH, 0, &ways[w], err));
    }
    return GNN_OK;
}

static const struct result *fastest(const struct result *ways)
{
    const struct result *best = ways;
    for (uint32_t w = 1; w < WAYS; w++)
        best = ways[w].ms < best->ms ? &ways[w] : best;
    return best;
}

static enum gnn_status table_6(const struct bench *b, struct gnn_err *err)
{
    printf("\nTable 6: 10 in + 10 out neighbours, %d targets; the paper's sampling times in brackets\n", BATCH);
    printf(
        "layers  DENSE ms: hash   bitmap  (paper)  resampling ms (paper)  ratio (paper)  nodes/edges: DENSE (paper), "
        "resampling (paper)\n");
    for (uint32_t layers = 1; layers <= LAYERS; layers++) {
        struct marius_dense_config config = dense_config(layers, FANOUT, 0);
        const struct gnn_sampler_config plain = plain_config(layers, 2 * FANOUT);
        struct result ways[WAYS], other;
        config.out_edges = config.replace = true;
        GNN_TRY(every_way(b, &config, ways, err));
        GNN_TRY(time_resampling(b, &plain, &b->d.united, b->d.united_nbrs, BATCH, 0, &other, err));
        const struct result *const own = fastest(ways);
        printf("%6u %15.2f %8.2f %8.2f %7g %14.2f %8g %6.1f %8.1f    %.0f/%.0f (%s), %.0f/%.0f (%s)\n", layers,
               ways[WAY_HASH].ms, ways[WAY_BITMAP].ms, ways[WAY_MIXED].ms, published[layers - 1].marius_ms, other.ms,
               published[layers - 1].other_ms, other.ms / own->ms,
               published[layers - 1].other_ms / published[layers - 1].marius_ms, own->nodes, own->edges,
               published[layers - 1].marius_size, other.nodes, other.edges, published[layers - 1].other_size);
        print_rates("DENSE", own);
        print_rates("resampling", &other);
    }
    return GNN_OK;
}

/* What is drawn and nothing else, as a Markdown table. */
static enum gnn_status count_table_6(const struct bench *b, struct gnn_err *err)
{
    printf(
        "\n| layers | DENSE: nodes | edges | printed | resampling: nodes | edges | printed | edges, ratio | printed |\n"
        "|---|---|---|---|---|---|---|---|---|\n");
    for (uint32_t layers = 1; layers <= LAYERS; layers++) {
        struct marius_dense_config config = dense_config(layers, FANOUT, 1);
        const struct gnn_sampler_config plain = plain_config(layers, 2 * FANOUT);
        static const double ratios[LAYERS] = {20.0 / 13, 278.0 / 181, 4.0 / 2, 37.0 / 17, 222.0 / 91};
        struct result own, other;
        config.out_edges = config.replace = true;
        GNN_TRY(time_dense(b, &config, BATCH, COUNTED, &own, err));
        GNN_TRY(time_resampling(b, &plain, &b->d.united, b->d.united_nbrs, BATCH, COUNTED, &other, err));
        printf("| %u | %.0f | %.0f | %s | %.0f | %.0f | %s | %.2f | %.2f |\n", layers, own.nodes, own.edges,
               published[layers - 1].marius_size, other.nodes, other.edges, published[layers - 1].other_size,
               other.edges / own.edges, ratios[layers - 1]);
    }
    return GNN_OK;
}

static enum gnn_status reuse_alone(const struct bench *b, struct gnn_err *err)
{
    printf("\nreuse alone: 10 in neighbours without replacement, %d targets, both samplers\n", BATCH);
    printf("layers  DENSE ms: hash   bitmap    mixed  resampling ms  ratio  nodes/edges: DENSE, resampling\n");
    for (uint32_t layers = 1; layers <= LAYERS; layers++) {
        const struct marius_dense_config config = dense_config(layers, FANOUT, 0);
        const struct gnn_sampler_config plain = plain_config(layers, FANOUT);
        struct result ways[WAYS], other;
        GNN_TRY(every_way(b, &config, ways, err));
        GNN_TRY(time_resampling(b, &plain, &b->graph.dataset, b->graph.indices, BATCH, 0, &other, err));
        const struct result *const own = fastest(ways);
        printf("%6u %15.2f %8.2f %8.2f %14.2f %6.1f  %.0f/%.0f, %.0f/%.0f\n", layers, ways[WAY_HASH].ms,
               ways[WAY_BITMAP].ms, ways[WAY_MIXED].ms, other.ms, other.ms / own->ms, own->nodes, own->edges,
               other.nodes, other.edges);
        print_rates("DENSE", own);
        print_rates("resampling", &other);
    }
    return GNN_OK;
}

/* Outgoing neighbours alone: the two directions change places. */
static enum gnn_status table_7(struct bench *b, struct gnn_err *err)
{
    const struct marius_subgraph both = b->d.both;
    const uint32_t nodes = both.local_count;
    if (nodes > POOL || nodes < BATCH_MANY)
        printf("\nTable 7's setting takes its targets from the first %d nodes\n", POOL);
    b->pool_count = gnn_min_u32(nodes, POOL);
    for (uint32_t v = 0; v < b->pool_count; v++)
        b->pool[v] = v;
    b->d.both.in_start = both.out_start;
    b->d.both.in_nbrs = both.out_nbrs;
    printf("\nTable 7's setting on one core (the paper's is on a GPU): 20 out neighbours, %d random targets, bitmap, "
           "mean of %d\nlayers       ms      nodes      edges\n",
           BATCH_MANY, MANY);
    enum gnn_status status = GNN_OK;
    for (uint32_t layers = 1; status == GNN_OK && layers <= LAYERS && b->pool_count >= BATCH_MANY; layers++) {
        struct marius_dense_config config = dense_config(layers, 2 * FANOUT, 0);
        struct result r = {0};
        config.replace = true;
        status = time_dense(b, &config, BATCH_MANY, MANY, &r, err);
        if (status == GNN_OK)
            printf("%6u %8.2f %10.0f %10.0f\n", layers, r.ms, r.nodes, r.edges);
    }
    b->d.both = both;
    return status;
}

static enum gnn_status run(struct bench *b, bool counts, const char *dir, struct gnn_err *err)
{
    GNN_TRY(graph_open(b->world, dir, &b->graph, err));
    GNN_TRY(open_directions(b->world, &b->graph, &b->d, err));
    fill_out(&b->graph, &b->d);
    fill_united(&b->graph, &b->d);
    GNN_MEM_NEW(b->world, b->pool, POOL, "targets", GNN_MEM_PLAIN, err);
    b->pool_count = seed_pool(&b->graph, b->pool, POOL);
    printf("graph %s: %u nodes, %" PRIu64 " edges; topology in memory, one core\n", b->graph.dataset.name,
           b->graph.dataset.node_count, b->graph.dataset.edge_count);
    if (b->pool_count < BATCH)
        return gnn_fail(err, GNN_EUSAGE, "%s has fewer than %d training nodes", b->graph.dataset.name, BATCH);
    if (counts)
        return count_table_6(b, err);
    GNN_TRY(table_6(b, err));
    GNN_TRY(reuse_alone(b, err));
    return table_7(b, err);
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    struct gnn_err err = {0};
    const bool counts = argc > 1 && strcmp(argv[1], "--counts") == 0;
    const char *const dir = argc > (counts ? 2 : 1) ? argv[counts ? 2 : 1] : NULL;
    enum gnn_status status = gnn_world_measured_open(NULL, &b.world, &err);
    if (status == GNN_OK) {
        status = run(&b, counts, dir, &err);
        gnn_mem_free(b.world, b.pool);
        close_directions(b.world, &b.d);
        graph_close(b.world, &b.graph);
        gnn_world_measured_close(b.world);
    }
    if (status != GNN_OK)
        (void)fprintf(stderr, "bench_dense: %s\n", err.message);
    return status == GNN_OK ? 0 : 1;
}
