/* SPDX-License-Identifier: MIT */
/* The reference back-end's ops by name. Another host back-end can use those for which a plain loop is fast enough.
 * Meaning and shapes: harness/tensor/tensor.h. */
#ifndef GNN_TENSOR_REF_H
#define GNN_TENSOR_REF_H

#include "harness/tensor/tensor.h"

/* Returns the first real of row i. */
static inline gnn_real *gnn_mat_row(struct gnn_mat m, uint64_t i)
{
    return m.data + i * m.cols;
}

/* Ops have the parameters of the table, even if they do not use them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define GNN_REF_OP(op) GNN_TENSOR_OP(op) gnn_ref_##op;
GNN_TENSOR_PLAIN_OPS(GNN_REF_OP)
GNN_TENSOR_TUNED_OPS(GNN_REF_OP)
GNN_REF_OP(gemm)
#undef GNN_REF_OP

extern const struct gnn_gat_rows_ops gnn_ref_gat_rows;

#endif
