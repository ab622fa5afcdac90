/* SPDX-License-Identifier: MIT */
/* Kernels for products of narrow matrices, generated while the program runs for exactly the sizes at hand (libxsmm:
 * Heinecke et al., SC 2016). BLAS packs what it reads in every call, which pays where each value is used a thousand
 * times; a layer's widths are 64 to 256. These read rows where they lie. Internal to the CPU back-end.
 *
 * One thread asks for kernels; any may run them. Kernels of other numbers of rows may add a row's terms in another
 * order: which ones do a product must follow from its sizes (gemm.h). */
#ifndef GNN_TENSOR_CPU_TILE_KERNELS_H
#define GNN_TENSOR_CPU_TILE_KERNELS_H

#include "harness/oocgnn.h"

/* c = op(a) b, or c += op(a) b; row-major. */
struct gnn_tile {
    uint32_t rows, cols, terms;            /* of c, and the length of its sums */
    uint32_t a_stride, b_stride, c_stride; /* floats between rows */
    bool trans_a;                          /* a is (terms, rows) */
    bool add;
};

/* Reads and writes what the tile names, nothing beyond it; no alignment is asked for. */
typedef void gnn_tile_fn(const float *b, const float *a, float *c);

/* 64 kernels are some 20 sizes of matrices, each for many rows and for one, assigned and added. */
enum { GNN_TILE_KERNELS_MOST = 64 };

/* Kernels that were generated; zeroed: none yet. */
struct gnn_tile_kernels {
    uint32_t count;
    bool refused;        /* the system gave no memory for code: it is not asked again */
    bool without_avx512; /* also where the processor has it; for tests */
    struct gnn_tile_kernel {
        struct gnn_tile tile;
        gnn_tile_fn *fn; /* NULL: libxsmm has none for it */
        uint64_t bytes;
    } kernel[GNN_TILE_KERNELS_MOST];
};

/* Returns the kernel of a tile, generating it at its first use, which takes a tenth of a millisecond; NULL where there
 * is none: the build has no libxsmm, the processor no AVX2, the system forbids to execute what was written, or all
 * places are taken. */
gnn_tile_fn *gnn_tile_kernel(struct gnn_tile_kernels *kernels, const struct gnn_tile *tile);

/* Gives the kernels' memory back. None may be running. */
void gnn_tile_kernels_close(struct gnn_tile_kernels *kernels);

#endif
