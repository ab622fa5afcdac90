/* SPDX-License-Identifier: MIT */
#include "tests/support/memory_source.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PREFETCH_EDGES = 64 }; /* far enough to cover a DRAM access, near enough to stay in the first cache */

struct memory {
    struct gnn_neighbour_source base;
    const gnn_node *indices;
    uint64_t edge_count;
};

static enum gnn_status memory_fetch(struct gnn_neighbour_source *source, const uint64_t *edge_offset, uint64_t count,
                                    gnn_node *out, struct gnn_err *err)
{
    const struct memory *const memory = (const struct memory *)source;
    const gnn_node *const indices = memory->indices;
    const uint64_t edge_count = memory->edge_count;
    for (uint64_t i = 0; i < count; i++) {
        if (i + PREFETCH_EDGES < count)
            __builtin_prefetch(indices + edge_offset[i + PREFETCH_EDGES]);
        if (edge_offset[i] >= edge_count)
            return gnn_fail(err, GNN_EFORMAT, "edge offset %" PRIu64 " of %" PRIu64 " edges", edge_offset[i],
                            edge_count);
        out[i] = indices[edge_offset[i]];
    }
    return GNN_OK;
}

static void memory_close(struct gnn_neighbour_source *source)
{
    free(source);
}

static const struct gnn_neighbour_source_ops memory_ops = {
    .name = "memory", .fetch = memory_fetch, .close = memory_close};

enum gnn_status gnn_source_memory(struct gnn_world *world, const gnn_node *indices, uint64_t edge_count,
                                  struct gnn_neighbour_source **out, struct gnn_err *err)
{
    (void)world;
    struct memory *memory;
    GNN_NEW(memory, 1, err, "neighbour source in memory");
    *memory = (struct memory){.base = {&memory_ops}, .indices = indices, .edge_count = edge_count};
    *out = &memory->base;
    return GNN_OK;
}
