/* SPDX-License-Identifier: MIT */
#include "harness/graph/permute.h"

#include <assert.h>

uint32_t gnn_permute(uint64_t key, uint32_t count, uint32_t index)
{
    assert(index < count);
    const unsigned half = gnn_permute_half_bits(count);
    const uint32_t mask = (uint32_t)((1u << half) - 1);
    uint64_t x = index;
    do {
        uint32_t left = (uint32_t)(x >> half), right = (uint32_t)x & mask;
        for (unsigned round = 0; round < GNN_PERMUTE_ROUNDS; round++) {
            const uint32_t swap = left ^ gnn_permute_round(key, round, right, mask);
            left = right;
            right = swap;
        }
        x = (uint64_t)left << half | right;
    } while (x >= count);
    return (uint32_t)x;
}

uint32_t gnn_permute_back(uint64_t key, uint32_t count, uint32_t image)
{
    assert(image < count);
    const unsigned half = gnn_permute_half_bits(count);
    const uint32_t mask = (uint32_t)((1u << half) - 1);
    uint64_t x = image;
    do {
        uint32_t left = (uint32_t)(x >> half), right = (uint32_t)x & mask;
        for (unsigned round = GNN_PERMUTE_ROUNDS; round-- > 0;) {
            const uint32_t swap = right ^ gnn_permute_round(key, round, left, mask);
            right = left;
            left = swap;
        }
        x = (uint64_t)left << half | right;
    } while (x >= count);
    return (uint32_t)x;
}
