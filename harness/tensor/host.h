/* SPDX-License-Identifier: MIT */
/* What back-ends that live in host memory share: the open state and the memory ops. */
#ifndef GNN_TENSOR_HOST_H
#define GNN_TENSOR_HOST_H

#include "harness/tensor/tensor.h"

struct gnn_host_tensor {
    struct gnn_tensor base;
    struct gnn_tensor_env env;
    void *own;                               /* what a back-end keeps beside it; NULL: nothing */
    void (*close_own)(struct gnn_tensor *t); /* called where own is not NULL */
};

GNN_MUST_CHECK enum gnn_status gnn_host_open(const struct gnn_tensor_ops *ops, const struct gnn_tensor_env *env,
                                             struct gnn_tensor **out, struct gnn_err *err);
/* An op takes what the table hands to it, needed or not. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define GNN_HOST_OP(op) GNN_TENSOR_OP(op) gnn_host_##op;
GNN_TENSOR_MEMORY_OPS(GNN_HOST_OP)
#undef GNN_HOST_OP

#endif
