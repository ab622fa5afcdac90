/* The CPU back-end's own ops; the rest of its table are the reference loops, where the compiler vectorises those as
 * well as anything. All loops but BLAS run on the calling thread: in a pipeline the other cores sample and extract. */
#ifndef GNN_TENSOR_CPU_H
#define GNN_TENSOR_CPU_H

#include "harness/tensor/tensor.h"

/* An op takes what the table hands to it, needed or not. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define GNN_CPU_OP(op) GNN_TENSOR_OP(op) gnn_cpu_##op;
GNN_TENSOR_TUNED_OPS(GNN_CPU_OP)
#undef GNN_CPU_OP

/* What one row of a sparse product reads. Row k is x + col[k] * stride, its weight weight[k * weight_stride]; weight
 * NULL: all 1. */
struct gnn_cpu_rows {
    const float *x;
    uint64_t stride;
    const uint32_t *col;
    uint32_t count;
    const float *weight;
    uint32_t weight_stride;
};

/* out (cols) = the weighted sum of the rows, in their order. */
void gnn_cpu_sum_rows(float *out, uint64_t cols, const struct gnn_cpu_rows *rows);

#endif
