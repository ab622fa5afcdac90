/* SPDX-License-Identifier: MIT */
/* Denormal numbers: numbers too small to be normal. Gradients become denormal once a model has memorised its
 * mini-batches, and some processors need a hundred cycles for each; a step took twice as long. Results do not depend on
 * numbers below 1e-38. */
#ifndef GNN_BASE_DENORMALS_H
#define GNN_BASE_DENORMALS_H

#include <stdbool.h>

/* Makes the calling thread treat denormal float and double operands as 0 and write 0 for denormal results. Threads that
 * it starts later inherit this. Running threads are not affected, such as OpenBLAS's own, which are idle here. Does
 * nothing on processors that cannot do it. */
void gnn_denormals_flush(void);

/* Returns whether the calling thread flushes denormal numbers, by computing one. */
bool gnn_denormals_are_flushed(void);

#endif
