/* SPDX-License-Identifier: MIT */
/* Products by kernels of which the caller chooses the rows, or the terms, that come next (gemm.c does a whole one).
 * Internal to the CPU back-end. */
#ifndef GNN_TENSOR_CPU_PRODUCT_H
#define GNN_TENSOR_CPU_PRODUCT_H

#include "harness/tensor/cpu/gemm.h"
#include "harness/tensor/cpu/tile_kernels.h"

enum {
    GNN_TILE_ROWS = 6,   /* at a time: their sums of 64 columns fill the registers of AVX-512 */
    GNN_TILE_TERMS = 64, /* at a time, where a is transposed */
};

struct gnn_cpu_product {
    bool trans_a, trans_b;
    uint32_t heads; /* of a, b and c; gat_rows.h */
    float alpha, beta;
    struct gnn_head_mat a, b, c;
    uint32_t inner;
    struct gnn_gemm_cut cut;
    float *parts; /* of a cut sum: (count - 1, rows, cols); of rows by kernels: every head's b, transposed */
    /* By kernels, [added to c]; else by BLAS. Where a is as it lies, a tile takes GNN_TILE_ROWS rows and the rest is a
     * row; where it is transposed, a tile takes GNN_TILE_TERMS terms of a panel, and the rest is the last panel, if
     * shorter. */
    bool by_kernels;
    gnn_tile_fn *tile[2], *rest[2];
};

/* Makes out c = a op(b), or c += a op(b) (add). room (GNN_GEMM_PARTS_BYTES): for b turned round, until the last rows
 * are done; used where trans_b. False: kernels do not pay, or there are none. */
bool gnn_cpu_rows_product(struct gnn_tensor *t, struct gnn_mat a, bool trans_b, struct gnn_mat b, bool add,
                          struct gnn_mat c, float *room, struct gnn_cpu_product *out);
/* Does `count` rows from `first` on; first is a multiple of GNN_TILE_ROWS, and so is count, but for the last rows. */
void gnn_cpu_multiply_rows(const struct gnn_cpu_product *product, uint32_t first, uint32_t count);

/* Makes out c = a^T b, its terms cut as `cut` says; room (GNN_GEMM_PARTS_BYTES): of the parts but the first. */
bool gnn_cpu_terms_product(struct gnn_tensor *t, struct gnn_mat a, struct gnn_mat b, struct gnn_mat c,
                           const struct gnn_gemm_cut *cut, float *room, struct gnn_cpu_product *out);
/* Does `count` terms from `first` on, which all lie in part `part`; add: to those before it. */
void gnn_cpu_multiply_terms(const struct gnn_cpu_product *product, uint64_t part, uint32_t first, uint32_t count,
                            bool add);
/* Once every part has all its terms: sums them. */
void gnn_cpu_add_parts(const struct gnn_cpu_product *product);

#endif
