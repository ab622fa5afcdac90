/* SPDX-License-Identifier: MIT */
/* The kernels that OpenBLAS uses. On x86 it selects them by the processor's model number when it is loaded. A processor
 * newer than the library silently gets kernels that run everywhere (Prescott, of 2004), at a fifth of the speed. This
 * file selects them by the processor's instruction sets instead. */
#ifndef GNN_TENSOR_CPU_KERNELS_H
#define GNN_TENSOR_CPU_KERNELS_H

#include <stdbool.h>

struct gnn_blas_facts {
    const char *taken;         /* kernels in use, as "SkylakeX"; static memory */
    const char *told;          /* OPENBLAS_CORETYPE; NULL: not set. Memory of the environment */
    bool told_here;            /* set by gnn_blas_use_better_kernels, in this process or one that started it */
    bool has_avx2, has_avx512; /* required by Haswell's and SkylakeX's kernels; false unless the processor is an x86 */
};

void gnn_blas_look(struct gnn_blas_facts *out);

/* Returns the kernels that OpenBLAS should use, or NULL if its choice is kept. It is kept if the user set it, if
 * OpenBLAS recognised the processor, or if the processor has no AVX2. */
const char *gnn_blas_better_kernels(const struct gnn_blas_facts *facts);

/* Restarts the program with OPENBLAS_CORETYPE set to better kernels. Returns if there are none, or if the restart
 * fails. Processes that this one starts inherit the variable. Must be the first call of main, before any thread
 * starts. */
void gnn_blas_use_better_kernels(char *const argv[]);

/* Returns the environment setting "NAME=value" with which valgrind can run this program, or NULL if none is needed.
 * Valgrind's processor has AVX2 at most and stops at other instructions. A program that restarts itself would escape
 * from valgrind, so the setting also prevents the restart. */
const char *gnn_blas_countable_setting(const struct gnn_blas_facts *facts);

/* Returns the instruction set of the kernels for narrow products (tile_kernels.h), as "AVX-512". Returns NULL if this
 * build has no libxsmm or the processor no AVX2. Declared here for callers that may not include tile_kernels.h. */
const char *gnn_narrow_kernels(void);

#endif
