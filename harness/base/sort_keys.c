/* SPDX-License-Identifier: MIT */
#include "harness/base/sort_keys.h"

#include <assert.h>

enum { PART_BITS = 8, INSERTION_MAX = 32 };
_Static_assert(GNN_KEY_PARTS == 1 << PART_BITS, "a part for every value of the bits");

static void insertion_sort(uint64_t *keys, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        const uint64_t key = keys[i];
        uint64_t at = i;
        for (; at > 0 && keys[at - 1] > key; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

/* In place (McIlroy, Bostic, McIlroy, "Engineering Radix Sort", 1993): every key is carried to its group, and the key
 * that stood there is carried on. */
void gnn_partition_keys(uint64_t *keys, uint64_t count, uint32_t high_bit, uint64_t starts[GNN_KEY_PARTS + 1])
{
    assert(high_bit <= 64);
    const uint32_t shift = high_bit > PART_BITS ? high_bit - PART_BITS : 0;
    uint64_t next[GNN_KEY_PARTS] = {0};
    for (uint64_t i = 0; i < count; i++)
        next[keys[i] >> shift & (GNN_KEY_PARTS - 1)]++;
    uint64_t sum = 0;
    for (uint32_t g = 0; g < GNN_KEY_PARTS; g++) {
        starts[g] = sum;
        sum += next[g];
        next[g] = starts[g];
    }
    starts[GNN_KEY_PARTS] = sum;
    for (uint32_t g = 0; g < GNN_KEY_PARTS; g++)
        while (next[g] < starts[g + 1]) {
            uint64_t key = keys[next[g]];
            for (uint32_t home = key >> shift & (GNN_KEY_PARTS - 1); home != g;
                 home = key >> shift & (GNN_KEY_PARTS - 1)) {
                const uint64_t carried = keys[next[home]];
                keys[next[home]++] = key;
                key = carried;
            }
            keys[next[g]++] = key;
        }
}

void gnn_sort_keys(uint64_t *keys, uint64_t count, uint32_t low_bit, uint32_t high_bit)
{
    if (count <= INSERTION_MAX) {
        insertion_sort(keys, count);
        return;
    }
    if (high_bit <= low_bit)
        return;
    uint64_t starts[GNN_KEY_PARTS + 1];
    gnn_partition_keys(keys, count, high_bit, starts);
    if (high_bit <= low_bit + PART_BITS)
        return; /* the bits below low_bit need not be in order */
    for (uint32_t g = 0; g < GNN_KEY_PARTS; g++)
        if (starts[g + 1] - starts[g] > 1)
            gnn_sort_keys(keys + starts[g], starts[g + 1] - starts[g], low_bit, high_bit - PART_BITS);
}

uint64_t gnn_sort_keys_work(uint64_t count)
{
    uint64_t steps = 1;
    for (uint64_t group = count; group > INSERTION_MAX; group /= GNN_KEY_PARTS)
        steps++;
    return gnn_mul_bytes(count, steps);
}
