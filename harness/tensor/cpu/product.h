/* SPDX-License-Identifier: MIT */
/* Products by kernels in which the caller selects the next rows or terms (gemm.c does a whole product). Internal to the
 * CPU back-end. */
#ifndef GNN_TENSOR_CPU_PRODUCT_H
#define GNN_TENSOR_CPU_PRODUCT_H

#include "harness/tensor/cpu/gemm.h"
#include "harness/tensor/cpu/tile_kernels.h"

enum {
    GNN_TILE_ROWS = 6,   /* rows of a tile: their sums of 64 columns fill the registers of AVX-512 */
    GNN_TILE_TERMS = 64, /* terms of a tile of a transposed a */
};

struct gnn_cpu_product {
    bool trans_a, trans_b;
    uint32_t heads; /* heads of a, b and c (gat_rows.h) */
    float alpha, beta;
    struct gnn_head_mat a, b, c;
    uint32_t inner;
    struct gnn_gemm_cut cut;
    float *parts; /* of a cut sum: (count - 1, rows, cols); of rows by kernels: b of every head, transposed */
    /* Computed by kernels, [1] of which add to c; else by BLAS. If a is not transposed, `tile` does GNN_TILE_ROWS rows
     * and `rest` one row. If a is transposed, `tile` does GNN_TILE_TERMS terms of a panel, and `rest` those of a
     * shorter last panel. */
    bool by_kernels;
    gnn_tile_fn *tile[2], *rest[2];
};

/* Prepares c = a op(b), or c += a op(b) (add), in *out, or returns false if kernels do not pay or there are none.
 * `room` (GNN_GEMM_PARTS_BYTES) holds the transposed b until the last rows are done; it is used only with trans_b. */
bool gnn_cpu_rows_product(struct gnn_tensor *t, struct gnn_mat a, bool trans_b, struct gnn_mat b, bool add,
                          struct gnn_mat c, float *room, struct gnn_cpu_product *out);
/* Does `count` rows from `first` on. Both are multiples of GNN_TILE_ROWS, except the count of the last rows. */
void gnn_cpu_multiply_rows(const struct gnn_cpu_product *product, uint32_t first, uint32_t count);

/* Prepares c = a^T b in *out, with terms cut by `cut`, or returns false if kernels do not pay or there are none. `room`
 * (GNN_GEMM_PARTS_BYTES) holds all parts except the first. */
bool gnn_cpu_terms_product(struct gnn_tensor *t, struct gnn_mat a, struct gnn_mat b, struct gnn_mat c,
                           const struct gnn_gemm_cut *cut, float *room, struct gnn_cpu_product *out);
/* Does `count` terms from `first` on, all of them in part `part`. With `add` they are added to the part's earlier
 * terms. */
void gnn_cpu_multiply_terms(const struct gnn_cpu_product *product, uint64_t part, uint32_t first, uint32_t count,
                            bool add);
/* Sums the parts, once every part has all its terms. */
void gnn_cpu_add_parts(const struct gnn_cpu_product *product);

#endif
