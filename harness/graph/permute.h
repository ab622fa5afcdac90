/* SPDX-License-Identifier: MIT */
/* Bijections of [0, count), selected by a key and computed on request. A Feistel network of four rounds permutes the
 * next power of four. It is applied again until the result is below count. */
#ifndef GNN_GRAPH_PERMUTE_H
#define GNN_GRAPH_PERMUTE_H

#include "harness/base/rng.h"

enum { GNN_PERMUTE_ROUNDS = 4 };

/* Returns the image of index, which is below count. */
uint32_t gnn_permute(uint64_t key, uint32_t count, uint32_t index);
/* Returns the index whose image under gnn_permute is `image`. */
uint32_t gnn_permute_back(uint64_t key, uint32_t count, uint32_t image);

/* The network's parts, for callers that tabulate it: the number of bits of a half, and a round's function of the right
 * half. */
static inline unsigned gnn_permute_half_bits(uint32_t count)
{
    unsigned half = 1;
    while (half < 16 && (UINT64_C(1) << (2 * half)) < count)
        half++;
    return half;
}

static inline uint32_t gnn_permute_round(uint64_t key, unsigned round, uint32_t right, uint32_t mask)
{
    return (uint32_t)(gnn_splitmix64_at(key + round, right) >> 32) & mask;
}

#endif
