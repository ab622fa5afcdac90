/* SPDX-License-Identifier: MIT */
/* rng.h for eight words at once, one per lane. The compiler maps the vector to what the processor has. Vectors are
 * passed by address, because the convention for passing wide ones by value depends on the processor. */
#ifndef GNN_BASE_RNG_LANES_H
#define GNN_BASE_RNG_LANES_H

#include "harness/base/rng.h"

enum { GNN_WIDE_LANES = 8 };

typedef uint64_t gnn_wide __attribute__((vector_size(8 * GNN_WIDE_LANES)));

/* Applies gnn_mix64() to each lane. */
static inline void gnn_mix64_lanes(gnn_wide *x)
{
    *x = (*x ^ (*x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    *x = (*x ^ (*x >> 27)) * UINT64_C(0x94d049bb133111eb);
    *x ^= *x >> 31;
}

/* Replaces each lane of word by gnn_rng_fold() of the lane's key and word. */
static inline void gnn_rng_fold_lanes(const gnn_wide *key, gnn_wide *word)
{
    *word += GNN_RNG_GOLDEN;
    gnn_mix64_lanes(word);
    *word = (*key ^ *word) + GNN_RNG_GOLDEN;
    gnn_mix64_lanes(word);
}

#endif
