/* The shapes that an op asks of its operands (tensor.h), asserted alike by every back-end. */
#ifndef GNN_TENSOR_SHAPES_H
#define GNN_TENSOR_SHAPES_H

#include "harness/tensor/tensor.h"

#include <assert.h>

/* Returns the length of the sums of c = op(a) op(b). */
static inline uint32_t gnn_gemm_inner(bool trans_a, bool trans_b, struct gnn_mat a, struct gnn_mat b, struct gnn_mat c)
{
    const uint32_t inner = trans_a ? a.rows : a.cols;
    assert(c.rows == (trans_a ? a.cols : a.rows));
    assert(c.cols == (trans_b ? b.rows : b.cols));
    assert(inner == (trans_b ? b.cols : b.rows));
    return inner;
}

/* Rows of a block's targets against rows of its sources, of one width. */
static inline void gnn_segment_shapes(struct gnn_mat targets, const struct gnn_block *b, struct gnn_mat sources)
{
    assert(targets.rows == b->dst_count);
    assert(sources.rows == b->src_count);
    assert(targets.cols == sources.cols);
    assert(b->row_start[0] == 0);
    assert(b->row_start[b->dst_count] == b->edge_count);
}

/* Attention's output or its gradient: a row for each target, all heads side by side. */
static inline void gnn_attend_shapes(struct gnn_mat out, const struct gnn_attention *att, const struct gnn_block *b)
{
    assert(att->heads >= 1);
    assert(att->u.rows == b->src_count);
    assert(att->u.cols % att->heads == 0);
    assert(out.rows == b->dst_count);
    assert(out.cols == att->u.cols);
}

/* The slots of target i (struct gnn_attention): its edges, then the self-loop. */
struct gnn_slots {
    const uint32_t *col;
    uint32_t edges, self;
    uint64_t first; /* slot number of the first */
};

static inline struct gnn_slots gnn_row_slots(const struct gnn_block *b, uint32_t i)
{
    const uint32_t start = b->row_start[i];
    return (struct gnn_slots){b->col + start, b->row_start[i + 1] - start, i, (uint64_t)start + i};
}

static inline uint32_t gnn_slot_source(const struct gnn_slots *row, uint32_t k)
{
    return k < row->edges ? row->col[k] : row->self;
}

/* wide (rows, heads * channels) against mean (rows, channels). */
static inline void gnn_head_shapes(struct gnn_mat wide, struct gnn_mat mean, uint32_t heads)
{
    assert(wide.rows == mean.rows);
    assert(wide.cols == mean.cols * heads);
}

static inline void gnn_same_shape(struct gnn_mat a, struct gnn_mat b)
{
    assert(a.rows == b.rows);
    assert(a.cols == b.cols);
}

#endif
