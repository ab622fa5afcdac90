/* SPDX-License-Identifier: MIT */
/* The neighbour source that needs no machinery: the page cache. */
#include "harness/sample/sample.h"

#include <stdlib.h>

struct mapped {
    struct gnn_neighbour_source base;
    struct gnn_world *world;
    struct gnn_map *indices;
    uint32_t id_bytes;
};

static enum gnn_status mapped_fetch(struct gnn_neighbour_source *source, const uint64_t *edge_offset, uint64_t count,
                                    gnn_node *out, struct gnn_err *err)
{
    const struct mapped *const mapped = (const struct mapped *)source;
    return gnn_map_gather_ids(mapped->world, mapped->indices, mapped->id_bytes, edge_offset, count, out, err);
}

static void plain_close(struct gnn_neighbour_source *source)
{
    free(source);
}

static const struct gnn_neighbour_source_ops mapped_ops = {
    .name = "mapped", .fetch = mapped_fetch, .close = plain_close};

enum gnn_status gnn_source_mapped(struct gnn_world *world, struct gnn_map *indices, uint32_t id_bytes,
                                  struct gnn_neighbour_source **out, struct gnn_err *err)
{
    struct mapped *mapped;
    GNN_NEW(mapped, 1, err, "mapped neighbour source");
    *mapped = (struct mapped){.base = {&mapped_ops}, .world = world, .indices = indices, .id_bytes = id_bytes};
    *out = &mapped->base;
    return GNN_OK;
}

void gnn_source_close(struct gnn_neighbour_source *source)
{
    if (source != NULL)
        source->ops->close(source);
}
