/* SPDX-License-Identifier: MIT */
/* Checks of operand shapes that every back-end asserts alike (tensor.h). */
#ifndef GNN_TENSOR_SHAPES_H
#define GNN_TENSOR_SHAPES_H

#include "harness/tensor/gat_rows.h"
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

/* Returns the length of the sums for one matrix per head, as gnn_gemm_inner does. */
static inline uint32_t gnn_head_inner(bool trans_a, bool trans_b, const struct gnn_head_mat *a,
                                      const struct gnn_head_mat *b, const struct gnn_head_mat *c)
{
    const struct gnn_mat one_a = {a->data, a->rows, a->cols}, one_b = {b->data, b->rows, b->cols};
    assert(a->stride >= a->cols);
    assert(b->stride >= b->cols);
    assert(c->stride >= c->cols);
    return gnn_gemm_inner(trans_a, trans_b, one_a, one_b, (struct gnn_mat){c->data, c->rows, c->cols});
}

/* Asserts that targets and sources have the block's numbers of rows and equally many columns. */
static inline void gnn_segment_shapes(struct gnn_mat targets, const struct gnn_block *b, struct gnn_mat sources)
{
    assert(targets.rows == b->dst_count);
    assert(sources.rows == b->src_count);
    assert(targets.cols == sources.cols);
    assert(b->row_start[0] == 0);
    assert(b->row_start[b->dst_count] == b->edge_count);
}

/* The columns that head h uses in a row of att->u: `count` columns from column h * step. In the targets' rows and in
 * the attention vectors the heads' columns are adjacent, from h * count. */
struct gnn_head_cols {
    uint64_t count, step;
};

/* Returns the columns for mapped rows, in which each head has its own. */
static inline struct gnn_head_cols gnn_own_cols(const struct gnn_attention *att)
{
    const uint64_t channels = att->u.cols / att->heads;
    assert(att->u.cols % att->heads == 0);
    return (struct gnn_head_cols){channels, channels};
}

/* Returns the columns for unmapped rows (gat_rows.h), which all heads share. */
static inline struct gnn_head_cols gnn_shared_cols(const struct gnn_attention *att)
{
    return (struct gnn_head_cols){att->u.cols, 0};
}

/* Asserts the shape of attention's output or its gradient: a row for each target, all heads side by side. */
static inline void gnn_attend_cols(struct gnn_mat out, const struct gnn_attention *att, const struct gnn_block *b,
                                   struct gnn_head_cols cols)
{
    assert(att->heads >= 1);
    assert(att->slope >= 0);
    assert(att->slope <= 1);
    assert(att->u.rows == b->src_count);
    assert(out.rows == b->dst_count);
    assert(out.cols == att->heads * cols.count);
}

static inline void gnn_attend_shapes(struct gnn_mat out, const struct gnn_attention *att, const struct gnn_block *b)
{
    gnn_attend_cols(out, att, b, gnn_own_cols(att));
}

/* The slots of target i (struct gnn_attention): its edges, then the self-loop. */
struct gnn_slots {
    const uint32_t *col;
    uint32_t edges, self;
    uint64_t first; /* slot number of the row's first slot */
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

/* Asserts the shapes wide (rows, heads * channels) and mean (rows, channels). */
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
