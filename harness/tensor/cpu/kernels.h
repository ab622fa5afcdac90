/* SPDX-License-Identifier: MIT */
/* Which kernels OpenBLAS multiplies with. On x86 it picks them by the processor's model number when it is loaded; a
 * processor newer than the library gets those that run everywhere (Prescott, of 2004), at a fifth of the speed and
 * without a word. What the processor can do says better. */
#ifndef GNN_TENSOR_CPU_KERNELS_H
#define GNN_TENSOR_CPU_KERNELS_H

#include <stdbool.h>

struct gnn_blas_facts {
    const char *taken;         /* what the library uses: "SkylakeX". Lives for ever */
    const char *told;          /* OPENBLAS_CORETYPE; NULL: not set. The environment's */
    bool told_here;            /* by gnn_blas_use_better_kernels, in this process or one that started it */
    bool has_avx2, has_avx512; /* what Haswell's and SkylakeX's kernels need; false where the processor is no x86 */
};

void gnn_blas_look(struct gnn_blas_facts *out);

/* Returns the kernels that OpenBLAS should be told to take, or NULL where its choice stands: it was told, it chose by
 * knowledge, or the processor has no more. */
const char *gnn_blas_better_kernels(const struct gnn_blas_facts *facts);

/* Starts the program again, told of better kernels through OPENBLAS_CORETYPE, where there are some; else, or where the
 * program cannot be started again, returns. Processes that this one starts have the variable too. The first call of
 * main, before any thread. */
void gnn_blas_use_better_kernels(char *const argv[]);

/* Returns the setting "NAME=value" of the environment under which valgrind may run this program, or NULL where it needs
 * none: valgrind's processor has AVX2 at most, whatever this one has, and stops at what it does not know; and a program
 * that starts itself again gets away from it. */
const char *gnn_blas_countable_setting(const struct gnn_blas_facts *facts);

/* What kernels for narrow products are generated for here (tile_kernels.h), as "AVX-512"; NULL: this build has no
 * libxsmm or the processor no AVX2. Defined beside them; here for who may not look further into the back-end. */
const char *gnn_narrow_kernels(void);

#endif
