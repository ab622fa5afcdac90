/* SPDX-License-Identifier: MIT */
/* rng.h for eight words side by side, a lane each: the compiler makes of a vector what the processor has. Vectors are
 * handed over by address, as one wider than the processor's has no fixed way by value. */
#ifndef GNN_BASE_RNG_LANES_H
#define GNN_BASE_RNG_LANES_H

#include "harness/base/rng.h"

enum { GNN_WIDE_LANES = 8 };

typedef uint64_t gnn_wide __attribute__((vector_size(8 * GNN_WIDE_LANES)));

/* gnn_mix64() of each lane. */
static inline void gnn_mix64_lanes(gnn_wide *x)
{
    *x = (*x ^ (*x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    *x = (*x ^ (*x >> 27)) * UINT64_C(0x94d049bb133111eb);
    *x ^= *x >> 31;
}

/* word becomes gnn_rng_fold() of each lane's key with it. */
static inline void gnn_rng_fold_lanes(const gnn_wide *key, gnn_wide *word)
{
    *word += GNN_RNG_GOLDEN;
    gnn_mix64_lanes(word);
    *word = (*key ^ *word) + GNN_RNG_GOLDEN;
    gnn_mix64_lanes(word);
}

#endif
