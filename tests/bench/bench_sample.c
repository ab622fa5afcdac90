/* Sampled edges per second on one core: 3 layers, fanout 10,10,10, topology in memory, random seeds.
 *
 *   bench_sample [DATASET_DIRECTORY]
 *
 * Without a directory the graph is synthesised (graph.h). */
#include "harness/base/units.h"
#include "harness/sample/sample.h"
#include "tests/bench/graph.h"
#include "tests/support/memory_source.h"

#include <inttypes.h>
#include <stdio.h>

static const uint64_t measure_ns = UINT64_C(2000000000);
static const double target_per_s = 8e6;

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
