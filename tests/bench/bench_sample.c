/* SPDX-License-Identifier: MIT */
/* Sampled edges per second on one core: 3 layers, fanout 10,10,10, topology in memory, random seeds.
 *
 *   bench_sample [DATASET_DIRECTORY]
 *
 * Without a directory the graph is synthesised (graph.h). Beside each rate stands the least time of its accesses to
 * memory: the places that the sampler touched in mini-batches of its own (offsets of lists, neighbours, slots of the
 * table of IDs) are touched again in the same order, as far ahead, with nothing else done. What is above is drawing,
 * comparing, sorting and the digest; below it a sampler with these arrays cannot come. */
#include "harness/base/id_map.h"
#include "harness/base/units.h"
#include "harness/sample/batch.h"
#include "harness/sample/sample.h"
#include "tests/bench/graph.h"
#include "tests/support/memory_source.h"

#include <inttypes.h>
#include <stdio.h>

static const uint64_t measure_ns = UINT64_C(2000000000);
static const double target_per_s = 8e6;

enum { REPLAYED_EDGES_MIN = 4000000, PREFETCH_NODES = 16, PREFETCH_EDGES = 64 };

/* ---- the least time of its accesses ---- */

/* What mini-batches touched, in order. */
struct accesses {
    struct gnn_neighbour_source base; /* a source that notes the edges it is asked for */
    struct gnn_neighbour_source *inner;
    uint64_t *edge_offset; /* (edge_count) */
    gnn_node *node;        /* (node_count) whose lists were drawn from */
    uint64_t edge_count, node_count, edge_room, node_room;
    uint32_t batch_nodes; /* of the largest mini-batch: the sampler's table of IDs has grown for them */
};

static enum gnn_status note_edges(struct gnn_neighbour_source *source, const uint64_t *edge_offset, uint64_t count,
                                  gnn_node *out, struct gnn_err *err)
{
    struct accesses *const a = (struct accesses *)source;
    const uint64_t noted = gnn_min_u64(count, a->edge_room - a->edge_count);
    memcpy(a->edge_offset + a->edge_count, edge_offset, noted * sizeof *edge_offset);
    a->edge_count += noted;
    return a->inner->ops->fetch(a->inner, edge_offset, count, out, err);
}

static void note_nodes(struct accesses *a, const struct gnn_batch_view *view)
{
    a->batch_nodes = gnn_max_u32(a->batch_nodes, view->node_count);
    for (uint32_t b = view->layer_count; b-- > 0;) {
        const uint64_t noted = gnn_min_u64(view->blocks[b].dst_count, a->node_room - a->node_count);
        memcpy(a->node + a->node_count, view->nodes, noted * sizeof *a->node);
        a->node_count += noted;
    }
}

/* Touches everything once more; returns nanoseconds. seen: so that no touch is left out. */
static uint64_t touch_again(struct gnn_world *world, const struct graph *graph, const struct accesses *a,
                            const struct gnn_id_map *map, uint64_t *seen)
{
    const uint64_t *const indptr = graph->dataset.indptr;
    const uint64_t start_ns = gnn_now_ns(world);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < a->node_count; i++) {
        if (i + PREFETCH_NODES < a->node_count)
            __builtin_prefetch(indptr + a->node[i + PREFETCH_NODES]);
        sum += indptr[a->node[i]];
    }
    for (uint64_t i = 0; i < a->edge_count; i++) {
        if (i + PREFETCH_EDGES < a->edge_count)
            __builtin_prefetch(graph->indices + a->edge_offset[i + PREFETCH_EDGES]);
        a->edge_offset[i] = graph->indices[a->edge_offset[i]];
    }
    for (uint64_t i = 0; i < a->edge_count; i++) {
        if (i + PREFETCH_NODES < a->edge_count)
            gnn_id_map_prefetch(map, (gnn_node)a->edge_offset[i + PREFETCH_NODES]);
        sum += gnn_id_map_slot(map, (gnn_node)a->edge_offset[i])->stamp++;
    }
    *seen += sum;
    return gnn_now_ns(world) - start_ns;
}

static enum gnn_status accesses_open(struct gnn_world *world, struct gnn_neighbour_source *inner, struct accesses *a,
                                     struct gnn_err *err)
{
    static const struct gnn_neighbour_source_ops ops = {.name = "noting", .fetch = note_edges};
    *a = (struct accesses){.base = {&ops}, .inner = inner, .edge_room = 2 * REPLAYED_EDGES_MIN};
    a->node_room = a->edge_room;
    GNN_MEM_NEW(world, a->edge_offset, a->edge_room, "noted edges", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, a->node, a->node_room, "noted nodes", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

static void accesses_close(struct gnn_world *world, struct accesses *a)
{
    gnn_mem_free(world, a->edge_offset);
    gnn_mem_free(world, a->node);
}

/* Notes mini-batches until there are edges enough. */
static enum gnn_status note_batches(struct gnn_sampler *sampler, struct accesses *a, struct gnn_batch *batch,
                                    const gnn_node *pool, uint32_t pool_count, uint32_t batch_size, struct gnn_err *err)
{
    a->edge_count = a->node_count = a->batch_nodes = 0;
    for (uint32_t at = 0; a->edge_count < REPLAYED_EDGES_MIN; at += batch_size) {
        at = at + batch_size > pool_count ? 0 : at;
        GNN_TRY(gnn_sampler_sample(sampler, 1, at / batch_size, pool + at, batch_size, batch, err));
        note_nodes(a, gnn_batch_view(batch));
    }
    return GNN_OK;
}

/* Touches what was noted, with a table of IDs of the sampler's own size; prints nanoseconds an edge. */
static enum gnn_status replay(struct gnn_world *world, const struct graph *graph, const struct accesses *a,
                              const struct gnn_sampler_config *config, uint32_t batch_size, struct gnn_err *err)
{
    struct gnn_id_map map;
    struct gnn_sample_bounds bounds;
    const uint32_t universe = graph->dataset.node_count;
    void *slots = NULL;
    uint64_t seen = 0;
    GNN_TRY(gnn_sample_bounds(&graph->dataset, batch_size, config->fanout, config->layers, &bounds, err));
    const uint32_t capacity = bounds.nodes[bounds.layers];
    const uint64_t bytes = gnn_id_map_bytes(universe, capacity);
    GNN_TRY(gnn_mem_alloc(world, "slots", bytes, GNN_MEM_PLAIN, &slots, err));
    memset(slots, 0, bytes); /* its pages are there */
    gnn_id_map_init_growing(&map, slots, universe, capacity);
    while (map.capacity < a->batch_nodes)
        gnn_id_map_grow(&map, NULL); /* it holds no IDs */
    const uint64_t ns = touch_again(world, graph, a, &map, &seen);
    printf("             of it its accesses to memory alone %.1f ns/edge (%" PRIu64 " edges, table of IDs %.1f MB)%s\n",
           (double)ns / (double)a->edge_count, a->edge_count, (double)(map.slot_count * sizeof *map.slots) * 1e-6,
           seen == 0 ? " " : "");
    gnn_mem_free(world, slots);
    return GNN_OK;
}

/* ---- the rate ---- */

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
    struct accesses accesses = {0};
    enum gnn_status status = gnn_source_memory(world, graph->indices, graph->dataset.edge_count, &source, err);
    GNN_NEXT(status, gnn_batch_open(world, &batch, err));
    GNN_NEXT(status, accesses_open(world, source, &accesses, err));
    for (size_t i = 0; status == GNN_OK && i < sizeof batch_sizes / sizeof *batch_sizes; i++) {
        status = gnn_sampler_open(world, &config, &graph->dataset, source, &sampler, err);
        if (status == GNN_OK && batch_sizes[i] <= pool_count)
            status = measure(world, sampler, batch, pool, pool_count, batch_sizes[i], err);
        gnn_sampler_close(sampler);
        sampler = NULL;
        GNN_NEXT(status, gnn_sampler_open(world, &config, &graph->dataset, &accesses.base, &sampler, err));
        if (status == GNN_OK && batch_sizes[i] <= pool_count) {
            status = note_batches(sampler, &accesses, batch, pool, pool_count, batch_sizes[i], err);
            GNN_NEXT(status, replay(world, graph, &accesses, &config, batch_sizes[i], err));
        }
        gnn_sampler_close(sampler);
        sampler = NULL;
    }
    accesses_close(world, &accesses);
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
