/* SPDX-License-Identifier: MIT */
/* The CPU back-end's own ops. For the other ops of its table the reference loops are used, because the compiler
 * vectorises them well. Threads share loops over many rows (share.h) and large products (gemm.h); small ones stay on
 * the calling thread.
 *
 * Results have the same bits for any number of threads. */
#ifndef GNN_TENSOR_CPU_H
#define GNN_TENSOR_CPU_H

#include "harness/tensor/cpu/state.h"
#include "harness/tensor/cpu/transpose.h"
#include "harness/tensor/tensor.h"

/* Ops have the parameters of the table, even if they do not use them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define GNN_CPU_OP(op) GNN_TENSOR_OP(op) gnn_cpu_##op;
GNN_TENSOR_PLAIN_OPS(GNN_CPU_OP)
GNN_TENSOR_TUNED_OPS(GNN_CPU_OP)
#undef GNN_CPU_OP

extern const struct gnn_gat_rows_ops gnn_cpu_gat_rows;

/* Opens a back-end whose threads are started by `start`. The table's open does the same with pthread_create.
 * GNN_ENOMEM, GNN_ETHREADS. */
GNN_MUST_CHECK enum gnn_status gnn_cpu_open(const struct gnn_tensor_env *env, gnn_share_start *start,
                                            struct gnn_tensor **out, struct gnn_err *err);

/* The rows that one row of a sparse product reads. Row k is x + col[k] * stride, its weight is weight[k *
 * weight_stride]. With weight NULL all weights are 1. */
struct gnn_cpu_rows {
    const float *x;
    uint64_t stride;
    const uint32_t *col;
    uint32_t count;
    const float *weight;
    uint32_t weight_stride;
};

/* Sets out (cols) to the weighted sum of the rows, in their order. */
void gnn_cpu_sum_rows(float *out, uint64_t cols, const struct gnn_cpu_rows *rows);
/* Adds the weighted sum of the rows to out (cols), in their order. */
void gnn_cpu_add_rows(float *out, uint64_t cols, const struct gnn_cpu_rows *rows);

/* Prefetches the rows of x that are read after those of target i. */
static inline void gnn_cpu_prefetch_edges(const struct gnn_block *b, uint32_t i, struct gnn_mat x)
{
    const uint64_t end = gnn_min_u64(UINT64_C(0) + b->row_start[i + 1] + GNN_PREFETCH_ROWS, b->edge_count);
    for (uint64_t e = UINT64_C(0) + b->row_start[i] + GNN_PREFETCH_ROWS; e < end; e++)
        gnn_prefetch_row(x.data + (uint64_t)b->col[e] * x.cols, x.cols);
}

/* Returns the bytes that a loop over rows moves per row: `cols` floats for each of `edges` edges and `rows` rows. */
static inline uint64_t gnn_cpu_row_bytes(uint64_t edges, uint64_t rows, uint64_t cols)
{
    return rows == 0 ? 0 : (edges + rows) * cols / rows * sizeof(float);
}

#endif
