/* SPDX-License-Identifier: MIT */
/* A block: the bipartite graph of one layer of one mini-batch. A view of a mini-batch holds its blocks. Samplers fill
 * these structures, and models read them. The arrays belong to the sampler's workspace or to a batch's own memory
 * (harness/sample/batch.h). */
#ifndef GNN_BASE_BLOCK_H
#define GNN_BASE_BLOCK_H

#include "harness/oocgnn.h"

struct gnn_block {
    uint32_t dst_count;        /* targets; target i is also source i (destination prefix) */
    uint32_t src_count;        /* sources, >= dst_count */
    uint32_t edge_count;       /* sampled (target, source) pairs */
    const uint32_t *row_start; /* (dst_count + 1), ascending, row_start[0] = 0 */
    const uint32_t *col;       /* (edge_count) local source IDs */
};

/* Columns. The harness's sampler draws distinct sources per row, in ascending order. A system with another sampler may
 * repeat a source in a row, which then counts as often as it appears, and may use any order. Ops require neither.
 *
 * Sharing. Blocks of one mini-batch may share arrays. Where each node has one row for all layers, the lists of a block
 * are the first lists of the block before. */

/* Returns whether part's lists are the first lists of whole, in the same memory. */
static inline bool gnn_block_is_head(const struct gnn_block *part, const struct gnn_block *whole)
{
    return part->row_start == whole->row_start && part->col == whole->col && part->dst_count <= whole->dst_count &&
           part->edge_count <= whole->edge_count;
}

struct gnn_batch_view {
    uint64_t epoch;
    uint64_t batch;                          /* position in the epoch's order: also the RNG key */
    uint32_t layer_count;                    /* L */
    uint32_t seed_count;                     /* = blocks[L - 1].dst_count */
    uint32_t node_count;                     /* = blocks[0].src_count: rows of features the batch needs */
    const gnn_node *nodes;                   /* (node_count) global IDs in local order; seeds come first */
    struct gnn_block blocks[GNN_LAYERS_MAX]; /* [0]: outermost hop, layer 0's input; [L-1]: the seeds */
};

#endif
