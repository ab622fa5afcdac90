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

/* The nodes that a chunk's edges are compared with. */
enum gnn_negative_set {
    GNN_NEGATIVES_SAMPLED, /* sampled nodes */
    GNN_NEGATIVES_OWN,     /* sampled nodes and, behind them, the ends that the chunk's queries are made of */
    GNN_NEGATIVES_ALL      /* every node of the mini-batch, which are all that could be sampled */
};

/* A mini-batch of edges over `node_count` node vectors. Rows are local: below node_count. The caller owns the
 * arrays. */
struct gnn_link_view {
    uint64_t epoch, batch;
    uint32_t node_count;
    uint32_t edge_count;
    const uint32_t *end[2];   /* (edge_count) [0]: row of the source, [1]: of the target */
    const uint32_t *relation; /* (edge_count) */
    uint32_t chunk_edges;     /* edges of a chunk; the last chunk has the remainder */
    enum gnn_negative_set set;
    uint32_t negative_count; /* nodes that a chunk is compared with, on each side; see gnn_link_chunk_negatives */
    /* (chunks * negative_count): [0] replaces the source, [1] the target. `own` is the edge whose true end the node is
     * known to be, counted within the chunk, or GNN_NODE_NONE. The node is not compared with that edge. With
     * GNN_NEGATIVES_ALL all chunks share one list of negative_count nodes. */
    const uint32_t *negative[2], *own[2];
    /* GNN_NEGATIVES_ALL: (edge_count) the place of the edge's true end among the scores of its chunk, which is a
     * matrix (edges of the chunk, negative_count). The edge is not compared with that node. Otherwise NULL. */
    const uint32_t *masked[2];
};

static inline uint32_t gnn_link_chunks(const struct gnn_link_view *view)
{
    return (uint32_t)gnn_div_up(view->edge_count, view->chunk_edges);
}

static inline uint32_t gnn_link_chunk_edges(const struct gnn_link_view *view, uint32_t chunk)
{
    return gnn_min_u32(view->chunk_edges, view->edge_count - chunk * view->chunk_edges);
}

/* Returns where the list of a chunk begins in negative[side] and own[side]. */
static inline uint64_t gnn_link_chunk_first(const struct gnn_link_view *view, uint32_t chunk)
{
    return view->set == GNN_NEGATIVES_ALL ? 0 : (uint64_t)chunk * view->negative_count;
}

/* Returns the nodes in the list of a chunk. A short last chunk has fewer ends of queries. */
static inline uint32_t gnn_link_chunk_negatives(const struct gnn_link_view *view, uint32_t chunk)
{
    const uint32_t missing = view->chunk_edges - gnn_link_chunk_edges(view, chunk);
    return view->set == GNN_NEGATIVES_OWN ? view->negative_count - missing : view->negative_count;
}

#endif
