/* Which kernels OpenBLAS multiplies with. It picks them by the processor's model number when it is loaded; a processor
 * newer than the library gets those that run everywhere (Prescott, of 2004), at a fifth of the speed and without a
 * word. What the processor can do says better. */
#ifndef GNN_TENSOR_CPU_KERNELS_H
#define GNN_TENSOR_CPU_KERNELS_H

#include <stdbool.h>

/* Returns the kernels that OpenBLAS should be told to take instead of those it took, or NULL where its choice stands:
 * it was an informed one, or the processor has no more. */
const char *gnn_blas_better_kernels(const char *taken, bool has_avx2, bool has_avx512);

/* Starts the program again, told of better kernels through OPENBLAS_CORETYPE, where there are some and the user has not
 * set that variable; else, or where the program cannot be started again, returns. Processes that this one starts have
 * the variable too. The first call of main, before any thread. */
void gnn_blas_use_better_kernels(char *const argv[]);

/* The setting "NAME=value" of the environment under which valgrind counts a program: its processor has AVX2 at most,
 * whatever this one has, and stops at what it does not know; a program that starts itself again gets away from it. So
 * counts are of the same kernels on every machine. */
enum { GNN_BLAS_SETTING_BYTES = 64 };
void gnn_blas_countable_kernels(char setting[GNN_BLAS_SETTING_BYTES]);

/* What the library uses now: "SkylakeX". Lives for ever. */
const char *gnn_blas_kernels(void);

#endif
