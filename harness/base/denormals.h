/* SPDX-License-Identifier: MIT */
/* Numbers too small to be normal. Gradients of what is learnt vanish into them, and some processors take a hundred
 * cycles for each: a step of a model that knows its mini-batches by heart took twice as long. Nothing here is told by
 * numbers below 1e-38. */
#ifndef GNN_BASE_DENORMALS_H
#define GNN_BASE_DENORMALS_H

#include <stdbool.h>

/* Has the calling thread, and those it starts from then on, take denormal numbers for 0, float and double, and write 0
 * for them; on processors that cannot it does nothing. Threads that run already are as they were: OpenBLAS's own, which
 * have nothing to do here. */
void gnn_denormals_flush(void);

/* Whether the calling thread does, found by arithmetic. */
bool gnn_denormals_are_flushed(void);

#endif
