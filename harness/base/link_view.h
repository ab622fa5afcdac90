/* SPDX-License-Identifier: MIT */
/* Edges of a knowledge graph, and a view of a mini-batch of edges with its negative nodes. Samplers fill these
 * structures, and models read them, as for blocks (harness/base/block.h). */
#ifndef GNN_BASE_LINK_VIEW_H
#define GNN_BASE_LINK_VIEW_H

#include "harness/oocgnn.h"

/* One edge. source and target are nodes, relation is its kind. In files: three u32. */
struct gnn_triple {
    gnn_node source;
    uint32_t relation;
    gnn_node target;
};
_Static_assert(sizeof(struct gnn_triple) == 12, "files of triples are read as they are");

/* A mini-batch of edges over `node_count` node vectors. Rows are local: below node_count. The caller owns the
 * arrays. */
struct gnn_link_view {
    uint64_t epoch, batch;
    uint32_t node_count;
    uint32_t edge_count;
    const uint32_t *end[2];   /* (edge_count) [0]: row of the source, [1]: of the target */
    const uint32_t *relation; /* (edge_count) */
    uint32_t chunk_edges;     /* edges of a chunk; the last chunk has the remainder */
    uint32_t negative_count;  /* nodes that a chunk is compared with, on each side */
    /* (chunks * negative_count): [0] replaces the source, [1] the target. `own` is the edge that the node was taken
     * from, counted within the chunk, or GNN_NODE_NONE if it was not taken from this chunk. The node is not compared
     * with that edge. */
    const uint32_t *negative[2], *own[2];
};

static inline uint32_t gnn_link_chunks(const struct gnn_link_view *view)
{
    return (uint32_t)gnn_div_up(view->edge_count, view->chunk_edges);
}

#endif
