/* Sampled edges per second on one core: 3 layers, fanout 10,10,10, topology in memory, random seeds.
 *
 *   bench_sample [DATASET_DIRECTORY]
 *
 * Without a directory the graph is synthesised at the size of papers100M at 1/100: 1.11 M nodes, 16.2 M
 * edges, Pareto degrees, sources skewed towards low IDs. */
#include "harness/base/rng.h"
#include "harness/base/units.h"
#include "harness/graph/dataset.h"
#include "harness/sample/sample.h"
#include "harness/world/measured/measured.h"
#include "tests/support/memory_source.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 1110600, EDGES = 16158000, DEGREE_LIMIT = 20000 };
static const uint64_t measure_ns = UINT64_C(2000000000);
static const double target_per_s = 8e6;

struct graph {
    struct gnn_dataset *opened; /* NULL when synthesised */
    struct gnn_dataset dataset;
    uint64_t *indptr;
    gnn_node *indices;
};

static int compare_u32(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Running sum of shifted Pareto(1.3) degrees, scaled to about EDGES, each under a limit. Returns the edges. */
static uint64_t synthesise_degrees(uint64_t *indptr)
{
    static const double shape = 1.3;
    const double mean = shape / (shape - 1);
    const double scale = (double)EDGES / NODES / mean * 1.24; /* makes up for what the limit cuts off */
    uint64_t edges = 0;
    for (uint32_t v = 0; v < NODES; v++) {
        const double u = 1.0 - (double)(gnn_splitmix64_at(1, v) >> 11) * 0x1.0p-53;
        const double degree = scale * pow(u, -1 / shape) - scale * 0.5;
        indptr[v] = edges;
        edges += degree < DEGREE_LIMIT ? (uint64_t)degree : DEGREE_LIMIT;
    }
    indptr[NODES] = edges;
    return edges;
}

static enum gnn_status synthesise(struct gnn_world *world, struct graph *graph, struct gnn_err *err)
{
    void *memory = NULL;
    GNN_TRY(gnn_mem_alloc(world, "indptr", (NODES + 1) * sizeof(uint64_t), GNN_MEM_PLAIN, &memory, err));
    graph->indptr = memory;
    const uint64_t edges = synthesise_degrees(graph->indptr);
    GNN_TRY(gnn_mem_alloc(world, "indices", edges * sizeof(gnn_node), GNN_MEM_PLAIN, &memory, err));
    graph->indices = memory;
    for (uint64_t e = 0; e < edges; e++) {
        const double u = (double)(gnn_splitmix64_at(2, e) >> 11) * 0x1.0p-53;
        graph->indices[e] = (gnn_node)(u * sqrt(u) * NODES); /* sources: density falls as v^(-1/3) */
    }
    for (uint32_t v = 0; v < NODES; v++)
        qsort(graph->indices + graph->indptr[v], graph->indptr[v + 1] - graph->indptr[v], sizeof(gnn_node),
              compare_u32);
    graph->dataset =
        (struct gnn_dataset){.name = "synthesised", .node_count = NODES, .edge_count = edges, .indptr = graph->indptr};
    return GNN_OK;
}

static enum gnn_status read_indices(struct gnn_world *world, struct graph *graph, struct gnn_err *err)
{
    struct gnn_file *file = NULL;
    void *memory = NULL;
    const uint64_t bytes = graph->dataset.edge_count * sizeof(gnn_node);
    GNN_TRY(gnn_mem_alloc(world, "indices", bytes, GNN_MEM_PLAIN, &memory, err));
    graph->indices = memory;
    GNN_TRY(gnn_file_open(world, graph->dataset.indices_path, GNN_OPEN_READ, &file, err));
    uint64_t done_bytes = 0;
    int64_t got = 1;
    for (; done_bytes < bytes && got > 0; done_bytes += (uint64_t)got)
        got = gnn_file_read(world, file, done_bytes, (char *)memory + done_bytes, bytes - done_bytes);
    gnn_file_close(world, file);
    return done_bytes == bytes ? GNN_OK : gnn_fail(err, GNN_ESHORT, "%s", graph->dataset.indices_path);
}

static enum gnn_status graph_open(struct gnn_world *world, const char *dir, struct graph *graph, struct gnn_err *err)
{
    if (dir == NULL)
        return synthesise(world, graph, err);
    GNN_TRY(gnn_dataset_open(world, dir, 0, sizeof(gnn_node), &graph->opened, err));
    graph->dataset = *graph->opened;
    return read_indices(world, graph, err);
}

static void graph_close(struct gnn_world *world, struct graph *graph)
{
    if (graph->opened != NULL)
        gnn_dataset_close(world, graph->opened);
    else
        gnn_mem_free(world, graph->indptr);
    gnn_mem_free(world, graph->indices);
}

/* The nodes batches are cut from: the training nodes, or one node in a hundred. */
static uint32_t seed_pool(const struct graph *graph, gnn_node *pool, uint32_t max)
{
    const struct gnn_split *const train = &graph->dataset.train;
    uint32_t count = 0;
    if (train->count > 0) {
        count = train->count < max ? train->count : max;
        memcpy(pool, train->nodes, count * sizeof *pool);
        return count;
    }
    for (gnn_node v = 0; v < graph->dataset.node_count && count < max; v += 100)
        pool[count++] = v;
    return count;
}

static enum gnn_status measure(struct gnn_world *world, struct gnn_sampler *sampler, struct gnn_batch *batch,
                               gnn_node *pool, uint32_t pool_count, uint32_t batch_size, struct gnn_err *err)
{
    struct gnn_sample_counters before;
    struct gnn_sample_counters after;
    uint64_t epoch = 0;
    uint32_t at = pool_count;                                                 /* draw an order first */
    GNN_TRY(gnn_sampler_sample(sampler, 0, 0, pool, batch_size, batch, err)); /* warm-up */
    gnn_sampler_counters(sampler, &before);
    const uint64_t start_ns = gnn_now_ns(world);
    while (gnn_now_ns(world) - start_ns < measure_ns) {
        if (at + batch_size > pool_count) {
            gnn_epoch_order(1, epoch++, pool, pool_count, pool);
            at = 0;
        }
        GNN_TRY(gnn_sampler_sample(sampler, epoch, at / batch_size, pool + at, batch_size, batch, err));
        at += batch_size;
    }
    const double seconds = (double)(gnn_now_ns(world) - start_ns) * 1e-9;
    gnn_sampler_counters(sampler, &after);
    const uint64_t edges = after.sampled_edges - before.sampled_edges;
    const uint64_t batches = after.batches - before.batches;
    const double rate = (double)edges / seconds;
    char text[32];
    printf("batch %5u: %7.2f M sampled edges/s/core, %7.1f ns/edge, %9.1f edges and %8.1f nodes a batch, %s "
           "batches/s"
           "   target 8 M: %s\n",
           batch_size, rate * 1e-6, 1e9 / rate, (double)edges / (double)batches,
           (double)(after.sampled_nodes - before.sampled_nodes) / (double)batches,
           gnn_format_count((double)batches / seconds, text, sizeof text), rate >= target_per_s ? "met" : "MISSED");
    return GNN_OK;
}

static enum gnn_status bench(struct gnn_world *world, const struct graph *graph, struct gnn_err *err)
{
    const struct gnn_sampler_config config = {.seed = 1, .layers = 3, .fanout = {10, 10, 10}};
    static const uint32_t batch_sizes[] = {10, 1000};
    static gnn_node pool[1 << 20];
    const uint32_t pool_count = seed_pool(graph, pool, 1 << 20);
    struct gnn_neighbour_source *source = NULL;
    struct gnn_batch *batch = NULL;
    struct gnn_sampler *sampler = NULL;
    enum gnn_status status = gnn_source_memory(world, graph->indices, graph->dataset.edge_count, &source, err);
    if (status == GNN_OK)
        status = gnn_batch_open(world, &batch, err);
    for (size_t i = 0; status == GNN_OK && i < sizeof batch_sizes / sizeof *batch_sizes; i++) {
        status = gnn_sampler_open(world, &config, &graph->dataset, source, &sampler, err);
        if (status == GNN_OK && batch_sizes[i] <= pool_count)
            status = measure(world, sampler, batch, pool, pool_count, batch_sizes[i], err);
        gnn_sampler_close(sampler);
        sampler = NULL;
    }
    gnn_batch_close(world, batch);
    gnn_source_close(source);
    return status;
}

int main(int argc, char **argv)
{
    struct gnn_world *world = NULL;
    struct graph graph = {0};
    struct gnn_err err = {0};
    enum gnn_status status = gnn_world_measured_open(NULL, &world, &err);
    if (status == GNN_OK)
        status = graph_open(world, argc > 1 ? argv[1] : NULL, &graph, &err);
    if (status == GNN_OK) {
        printf("graph %s: %u nodes, %" PRIu64 " edges; fanout 10,10,10, topology in memory, one core\n",
               graph.dataset.name, graph.dataset.node_count, graph.dataset.edge_count);
        status = bench(world, &graph, &err);
    }
    if (status != GNN_OK)
        (void)fprintf(stderr, "bench_sample: %s\n", err.message);
    if (world != NULL) {
        graph_close(world, &graph);
        gnn_world_measured_close(world);
    }
    return status == GNN_OK ? 0 : 1;
}
