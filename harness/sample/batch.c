/* SPDX-License-Identifier: MIT */
#include "harness/sample/batch.h"

#include "harness/base/arena.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

uint64_t gnn_sample_node_bound(uint32_t node_count, uint32_t batch_size, const uint32_t *fanout, uint32_t layers,
                               uint32_t *nodes)
{
    uint64_t bound = gnn_min_u32(batch_size, node_count);
    for (uint32_t l = 0;; l++) {
        if (nodes != NULL)
            nodes[l] = (uint32_t)bound;
        if (l == layers)
            return bound;
        assert(fanout[l] <= 2 * GNN_FANOUT_MAX);
        bound = gnn_min_u64(bound * (1 + (uint64_t)fanout[l]), node_count); /* the product is below 2^32 * 129 */
    }
}

enum gnn_status gnn_sample_bounds(const struct gnn_dataset *dataset, uint32_t seed_count, const uint32_t *fanout,
                                  uint32_t layers, struct gnn_sample_bounds *out, struct gnn_err *err)
{
    assert(layers >= 1);
    assert(layers <= GNN_LAYERS_MAX);
    *out = (struct gnn_sample_bounds){.layers = layers};
    (void)gnn_sample_node_bound(dataset->node_count, seed_count, fanout, layers, out->nodes);
    for (uint32_t l = 1; l <= layers; l++) {
        const uint64_t drawn = (uint64_t)out->nodes[l - 1] * fanout[l - 1];
        out->edges[l] = gnn_min_u64(drawn, dataset->edge_count);
        if (out->edges[l] > UINT32_MAX)
            return gnn_fail(err, GNN_EUSAGE,
                            "hop %u could draw %" PRIu64 " edges, a block holds %u: lower the batch size (%u) or the "
                            "fanout (%u)",
                            l, out->edges[l], UINT32_MAX, seed_count, fanout[l - 1]);
    }
    return GNN_OK;
}

enum gnn_status gnn_batch_open(struct gnn_world *world, struct gnn_batch **out, struct gnn_err *err)
{
    (void)world;
    GNN_NEW(*out, 1, err, "batch");
    return GNN_OK;
}

void gnn_batch_close(struct gnn_world *world, struct gnn_batch *batch)
{
    if (batch == NULL)
        return;
    gnn_mem_free(world, batch->memory);
    free(batch);
}

const struct gnn_batch_view *gnn_batch_view(const struct gnn_batch *batch)
{
    return &batch->view;
}

/* Hop l fills block layers - l. */
static void carve(struct gnn_batch *batch, const struct gnn_sample_bounds *bounds, struct gnn_arena *arena)
{
    batch->nodes = gnn_arena_take(arena, bounds->nodes[bounds->layers] * sizeof *batch->nodes);
    for (uint32_t l = 1; l <= bounds->layers; l++) {
        const uint32_t block = bounds->layers - l;
        batch->row_start[block] =
            gnn_arena_take(arena, ((uint64_t)bounds->nodes[l - 1] + 1) * sizeof *batch->row_start[block]);
        batch->col[block] = gnn_arena_take(arena, bounds->edges[l] * sizeof *batch->col[block]);
    }
}

uint64_t gnn_batch_memory_bytes(const struct gnn_sample_bounds *bounds)
{
    struct gnn_batch none = {.memory = NULL};
    struct gnn_arena count = {0};
    carve(&none, bounds, &count);
    return count.used_bytes;
}

enum gnn_status gnn_batch_reserve(struct gnn_world *world, struct gnn_batch *batch,
                                  const struct gnn_sample_bounds *bounds, struct gnn_err *err)
{
    batch->view = (struct gnn_batch_view){0};
    const uint64_t bytes = gnn_batch_memory_bytes(bounds);
    if (bytes > batch->memory_bytes) {
        gnn_mem_free(world, batch->memory);
        batch->memory = NULL;
        batch->memory_bytes = 0;
        GNN_TRY(gnn_mem_alloc(world, "mini-batch", bytes, GNN_MEM_PLAIN, &batch->memory, err));
        batch->memory_bytes = bytes;
    }
    struct gnn_arena arena = {.memory = batch->memory, .size_bytes = batch->memory_bytes};
    carve(batch, bounds, &arena);
    assert(arena.used_bytes <= batch->memory_bytes);
    return GNN_OK;
}
