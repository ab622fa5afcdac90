/* SPDX-License-Identifier: MIT */
/* The open state and the memory ops that back-ends in host memory share. */
#ifndef GNN_TENSOR_HOST_H
#define GNN_TENSOR_HOST_H

#include "harness/tensor/tensor.h"

struct gnn_host_tensor {
    struct gnn_tensor base;
    struct gnn_tensor_env env;
    void *own;                               /* further state of a back-end; NULL: none */
    void (*close_own)(struct gnn_tensor *t); /* called if own is not NULL */
};

GNN_MUST_CHECK enum gnn_status gnn_host_open(const struct gnn_tensor_ops *ops, const struct gnn_tensor_env *env,
                                             struct gnn_tensor **out, struct gnn_err *err);
/* Ops have the parameters of the table, even if they do not use them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define GNN_HOST_OP(op) GNN_TENSOR_OP(op) gnn_host_##op;
GNN_TENSOR_MEMORY_OPS(GNN_HOST_OP)
#undef GNN_HOST_OP

#endif
