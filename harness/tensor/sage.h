/* SPDX-License-Identifier: MIT */
/* A layer of GraphSAGE with mean aggregation in one op each way: a back-end that does all of it for a few rows while
 * these are in a cache passes over memory once, where one op after the other passes over it for each (Hamilton et al.
 * 2017, algorithm 1). A table beside struct gnn_tensor_ops, because a back-end may lack it (ops->sage is NULL). Both
 * ops return false where they are no gain, or kernels or memory are refused, and have done nothing then: the caller
 * goes op by op (model/sage.c), to the same bits. Same rules: row-major matrices of this back-end's memory, sizes
 * trusted and asserted, no errors. */
#ifndef GNN_TENSOR_SAGE_H
#define GNN_TENSOR_SAGE_H

#include "harness/tensor/tensor.h"

struct gnn_sage {
    struct gnn_mat x;        /* (src_count, in) */
    struct gnn_mat mean;     /* (dst_count, in) */
    struct gnn_mat w_l, w_r; /* (out, in) */
    struct gnn_mat y;        /* (dst_count, out) */
    const gnn_real *bias;    /* (out) */
    enum gnn_activation act;
    struct gnn_dropout drop;
};

struct gnn_sage_grad {
    struct gnn_mat dy;         /* (dst_count, out): turned into the gradient before the activation */
    gnn_real *db;              /* (out), written */
    struct gnn_mat dw_l, dw_r; /* (out, in), written */
    struct gnn_mat dx;         /* (src_count, in), written unless data is NULL */
};

struct gnn_sage_ops {
    /* Writes mean, the means of the sampled sources of x, and y = dropout(act(mean w_l^T + x w_r^T + bias)), where the
     * targets are the first rows of x. */
    bool (*forward)(struct gnn_tensor *t, const struct gnn_sage *s, const struct gnn_block *b);
    /* Right after forward, of the same operands. mean is overwritten where dx is asked for. */
    bool (*backward)(struct gnn_tensor *t, const struct gnn_sage *s, const struct gnn_sage_grad *grad,
                     const struct gnn_block *b);
};

#endif
