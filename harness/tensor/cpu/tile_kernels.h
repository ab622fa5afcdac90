/* SPDX-License-Identifier: MIT */
/* Kernels for products of narrow matrices, generated at run time for exactly the sizes in use (libxsmm: Heinecke et
 * al., SC 2016). BLAS packs its operands in every call, which pays if each value is used a thousand times; a layer's
 * widths are 64 to 256. These kernels read rows in place. Internal to the CPU back-end.
 *
 * One thread requests kernels; any thread may run them. Kernels for different numbers of rows may add a row's terms in
 * different orders. So the choice of kernels must depend only on the sizes of the product (gemm.h). */
#ifndef GNN_TENSOR_CPU_TILE_KERNELS_H
#define GNN_TENSOR_CPU_TILE_KERNELS_H

#include "harness/oocgnn.h"

/* c = op(a) b, or c += op(a) b; row-major. */
struct gnn_tile {
    uint32_t rows, cols, terms;            /* rows and columns of c, and the length of its sums */
    uint32_t a_stride, b_stride, c_stride; /* floats between rows */
    bool trans_a;                          /* a is (terms, rows) */
    bool add;
};

/* Multiplies: reads and writes exactly the elements that the tile describes. Pointers need no alignment. */
typedef void gnn_tile_fn(const float *b, const float *a, float *c);

/* Most kernels. 64 kernels serve some 20 sizes of matrices, each for many rows and for one row, assigned and added. */
enum { GNN_TILE_KERNELS_MOST = 64 };

/* Kernels that were generated. Zeroed: none yet. */
struct gnn_tile_kernels {
    uint32_t count;
    bool refused;        /* the system gave no memory for code; no further attempt is made */
    bool without_avx512; /* use AVX2 even if the processor has AVX-512; for tests */
    struct gnn_tile_kernel {
        struct gnn_tile tile;
        gnn_tile_fn *fn; /* NULL: libxsmm cannot generate it */
        uint64_t bytes;
    } kernel[GNN_TILE_KERNELS_MOST];
};

/* Returns the kernel of a tile, or NULL if there is none. A kernel is generated at its first use, in 0.1 ms. There is
 * none if the build has no libxsmm, the processor has no AVX2, or all places are taken. The system may also forbid to
 * execute memory that was written. */
gnn_tile_fn *gnn_tile_kernel(struct gnn_tile_kernels *kernels, const struct gnn_tile *tile);

/* Frees the kernels' memory. No kernel may be running. */
void gnn_tile_kernels_close(struct gnn_tile_kernels *kernels);

#endif
