/* SPDX-License-Identifier: MIT */
/* Products, cut into parts that one thread does each: by kernels for their sizes where those pay (tile_kernels.h), else
 * by a call of BLAS. How a product is cut depends on its sizes alone, so its bits are the same for any number of
 * threads, one included: BLAS by itself would cut by its threads, and add up in another order. Internal to the CPU
 * back-end.
 *
 * BLAS packs all that a part reads of b anew. Panels of rows are so high that this costs a per cent at most, and
 * where a product is just large enough to be halved 2.5, or 3.8 if a is transposed. Where the result is small and its
 * sums are long, as a weight's gradient is, the sums are cut, and added up in their order, which costs 5 per cent at
 * most. Kernels pack nothing, so that their panels may be low; a transposed b is turned round once for all of them.
 * Once all places for kernels are taken the next sizes are BLAS'; a model of three layers takes three quarters of the
 * places at most (op/model: test_kernels_suffice). */
#ifndef GNN_TENSOR_CPU_GEMM_H
#define GNN_TENSOR_CPU_GEMM_H

#include "harness/tensor/gat_rows.h"
#include "harness/tensor/tensor.h"

/* What all parts of a cut sum but the first take together: the back-end's own memory, which has room for two such. */
enum { GNN_GEMM_PARTS_BYTES = 1 << 20 };

/* Parts of a sum begin at multiples of so many terms: of kernels' tiles of terms, and of tiles of rows, so that an op
 * which passes over rows once (sage.c) cuts the same. */
enum { GNN_GEMM_TERMS = 192 };

struct gnn_gemm_cut {
    bool of_sums;   /* the inner dimension is cut, else the rows of the result */
    uint32_t count; /* parts */
    uint32_t step;  /* rows, or terms, of each but the last */
};

/* The cut of (rows, inner) x (inner, cols) for BLAS, and where a is transposed for kernels too. trans_a: rows of the
 * product lie in columns of a. */
struct gnn_gemm_cut gnn_gemm_cut(bool trans_a, uint32_t rows, uint32_t cols, uint32_t inner);

GNN_TENSOR_OP(gemm) gnn_cpu_gemm;
GNN_GAT_ROWS_OP(product) gnn_cpu_gat_rows_product;

#endif
