/* SPDX-License-Identifier: MIT */
/* A stable sort of (key, value) pairs in 64 bits by the 32 of the key: three passes of 11 bits. */
#include "systems/diskgnn/internal.h"

enum { DIGIT_BITS = 11, DIGITS = 3, BUCKETS = 1 << DIGIT_BITS };

static uint32_t digit_of(uint64_t pair, uint32_t digit)
{
    return (uint32_t)(pair >> (32 + digit * DIGIT_BITS)) & (BUCKETS - 1);
}

void diskgnn_sort_pairs(struct gnn_world *world, uint64_t *pairs, uint64_t *scratch, uint64_t count)
{
    uint64_t *from = pairs, *to = scratch;
    for (uint32_t digit = 0; digit < DIGITS; digit++) {
        uint64_t begin[BUCKETS + 1] = {0};
        for (uint64_t i = 0; i < count; i++)
            begin[digit_of(from[i], digit) + 1]++;
        for (uint32_t b = 0; b < BUCKETS; b++)
            begin[b + 1] += begin[b];
        for (uint64_t i = 0; i < count; i++)
            to[begin[digit_of(from[i], digit)]++] = from[i];
        uint64_t *const swapped = from;
        from = to;
        to = swapped;
    }
    if (count > 0) /* an odd number of passes */
        memcpy(pairs, from, count * sizeof *pairs);
    gnn_charge(world, GNN_WORK_SORTED_KEY, count);
}
