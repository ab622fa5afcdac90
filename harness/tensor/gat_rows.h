/* SPDX-License-Identifier: MIT */
/* GAT on unmapped rows. Attention aggregates x itself for each head, and the linear map is applied to the sums, which
 * gives the same result because the map is linear. A separate table, because a back-end may lack it. If ops->gat_rows
 * is NULL, rows are mapped before they are aggregated, as in the released codes. Same rules as tensor_ops: row-major
 * matrices of this back-end's memory, sizes trusted and asserted, no errors.
 *
 * In struct gnn_attention u is x, whole rows that all heads share. The vectors a_src, a_dst (heads * cols of x) are the
 * attention vectors multiplied by W: <a_h, W_h x> = <W_h^T a_h, x>. Softmax is gat_softmax. */
#ifndef GNN_TENSOR_GAT_ROWS_H
#define GNN_TENSOR_GAT_ROWS_H

#include "harness/tensor/tensor.h"

/* One matrix for each head. */
struct gnn_head_mat {
    gnn_real *data;
    uint32_t rows, cols; /* of one head's matrix */
    uint32_t stride;     /* reals between rows */
    uint64_t step;       /* reals between heads; 0: all heads share one matrix */
};

struct gnn_gat_rows_ops {
    /* As gat_scores. */
    void (*scores)(struct gnn_tensor *t, const struct gnn_attention *att);
    /* As gat_attend; out (dst_count, heads * cols of x). */
    void (*attend)(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                   const struct gnn_block *b);
    /* As gat_back. du is the gradient of x; it is not computed if du.data is NULL. */
    void (*back)(struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att,
                 const struct gnn_block *b, struct gnn_mat dout);
    /* Computes c_h = alpha * op(a_h) * op(b_h) + beta * c_h for every head. If c.step is 0, c = beta * c + the sum over
     * heads of alpha * op(a_h) * op(b_h). No matrix overlaps c. */
    void (*product)(struct gnn_tensor *t, uint32_t heads, bool trans_a, bool trans_b, gnn_real alpha,
                    struct gnn_head_mat a, struct gnn_head_mat b, gnn_real beta, struct gnn_head_mat c);
};

/* The type of an op's function. */
#define GNN_GAT_ROWS_OP(op) __typeof__(*((struct gnn_gat_rows_ops *)0)->op)

#endif
