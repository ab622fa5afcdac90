/* SPDX-License-Identifier: MIT */
/* Reordering of a disk cache: rows that the same mini-batches use come to lie together.
 *
 * Source   DiskGNN (SIGMOD 2025) section 5.1, Algorithm 1. Its listing keeps one running minimum over all functions,
 *          which is one hash function with more ties; the released code compares the functions' values one after
 *          another, and two rows agree in all of them as often as their sets of mini-batches overlap, to the power of
 *          the functions */
#include "harness/base/rng.h"
#include "harness/sample/sample.h"
#include "systems/diskgnn/internal.h"

void diskgnn_minhash_draw(uint64_t seed, uint32_t n, uint32_t hashes, uint32_t *hash)
{
    const uint64_t key = gnn_rng_fork(seed, "diskgnn minhash");
    for (uint32_t f = 0; f < hashes; f++) {
        uint32_t *const one = hash + (uint64_t)f * n;
        for (uint32_t i = 0; i < n; i++)
            one[i] = i;
        gnn_epoch_order(key, f, one, n, one);
    }
}

void diskgnn_minhash_order(struct gnn_world *world, const uint32_t *value, uint32_t values, uint64_t count,
                           uint64_t *pairs, uint64_t *scratch, uint32_t *place)
{
    for (uint64_t row = 0; row < count; row++)
        pairs[row] = row;
    for (uint32_t f = values; f-- > 0;) { /* the last value first: the sort is stable */
        for (uint64_t i = 0; i < count; i++) {
            const uint32_t row = (uint32_t)pairs[i];
            pairs[i] = (uint64_t)value[f * count + row] << 32 | row;
        }
        diskgnn_sort_pairs(world, pairs, scratch, count);
    }
    for (uint64_t i = 0; i < count; i++)
        place[(uint32_t)pairs[i]] = (uint32_t)i;
    gnn_charge(world, GNN_WORK_TABLE_ENTRY, count);
}
