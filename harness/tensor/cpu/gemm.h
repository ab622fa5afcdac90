/* SPDX-License-Identifier: MIT */
/* Matrix products, cut into parts that one thread does each. Generated kernels (tile_kernels.h) do a part for sizes
 * where they pay, else a call of BLAS. The cut depends only on the sizes of the product. So its bits are the same for
 * any number of threads, one included: BLAS itself would cut by its threads and add up in another order. Internal to
 * the CPU back-end.
 *
 * BLAS repacks b for every part. Panels of rows are so high that this costs 1 % at most. Where a product is just large
 * enough to be halved it costs 2.5 %, or 3.8 % if a is transposed. If the result is small and its sums are long, as for
 * a weight's gradient, the sums are cut instead. The parts are added in order, which costs 5 % at most. Kernels pack
 * nothing, so their panels may be low. A transposed b is transposed once for all of them. If all places for kernels are
 * taken, BLAS does further sizes. A model of three layers takes at most three quarters of the places (op/model:
 * test_kernels_suffice). */
#ifndef GNN_TENSOR_CPU_GEMM_H
#define GNN_TENSOR_CPU_GEMM_H

#include "harness/tensor/gat_rows.h"
#include "harness/tensor/tensor.h"

/* Bytes of all parts of a cut sum except the first. The back-end owns memory for two cut sums. */
enum { GNN_GEMM_PARTS_BYTES = 1 << 20 };

/* Parts of a sum begin at multiples of this number of terms. It is a multiple of the kernels' tiles of terms and of the
 * tiles of rows, so an op that passes over rows once (sage.c) cuts at the same places. */
enum { GNN_GEMM_TERMS = 192 };

struct gnn_gemm_cut {
    bool of_sums;   /* the inner dimension is cut, else the rows of the result */
    uint32_t count; /* parts */
    uint32_t step;  /* rows, or terms, of each part but the last */
};

/* Returns the cut of (rows, inner) x (inner, cols) for BLAS. If a is transposed (trans_a: rows of the product are
 * columns of a), kernels use the same cut. */
struct gnn_gemm_cut gnn_gemm_cut(bool trans_a, uint32_t rows, uint32_t cols, uint32_t inner);

GNN_TENSOR_OP(gemm) gnn_cpu_gemm;
GNN_GAT_ROWS_OP(product) gnn_cpu_gat_rows_product;

#endif
