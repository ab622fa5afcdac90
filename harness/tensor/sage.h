/* SPDX-License-Identifier: MIT */
/* A GraphSAGE layer with mean aggregation as one op per direction (Hamilton et al. 2017, algorithm 1). A back-end can
 * then compute the whole layer for a few rows while they are in a cache. It passes over memory once, whereas separate
 * ops pass over it once each. A separate table, because a back-end may lack it (ops->sage is NULL).
 *
 * Both ops return false if they bring no gain, or if kernels or memory are not available. They have no effect then, and
 * the caller computes the layer op by op (model/sage.c), with the same bits. Same rules as tensor_ops: row-major
 * matrices of this back-end's memory, sizes trusted and asserted, no errors. */
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
    struct gnn_mat dy;         /* (dst_count, out): becomes the gradient before the activation */
    gnn_real *db;              /* (out), written */
    struct gnn_mat dw_l, dw_r; /* (out, in), written */
    struct gnn_mat dx;         /* (src_count, in), written unless data is NULL */
};

struct gnn_sage_ops {
    /* Writes the means of the sampled sources of x to mean, and y = dropout(act(mean w_l^T + x w_r^T + bias)). The
     * targets are the first rows of x. */
    bool (*forward)(struct gnn_tensor *t, const struct gnn_sage *s, const struct gnn_block *b);
    /* Computes the gradients. Called right after forward, with the same operands. mean is overwritten if dx is
     * requested. */
    bool (*backward)(struct gnn_tensor *t, const struct gnn_sage *s, const struct gnn_sage_grad *grad,
                     const struct gnn_block *b);
};

#endif
