/* SPDX-License-Identifier: MIT */
/* A set of small integers, one bit each, over words the caller owns and has zeroed. */
#ifndef GNN_BASE_BITSET_H
#define GNN_BASE_BITSET_H

#include "harness/oocgnn.h"

/* Returns the number of uint64_t words that a set with members 0 … count - 1 needs. */
static inline uint64_t gnn_bitset_words(uint64_t count)
{
    return gnn_div_up(count, 64);
}

static inline bool gnn_bitset_has(const uint64_t *words, uint64_t member)
{
    return (words[member / 64] >> (member % 64) & 1) != 0;
}

/* Adds member. Returns whether it was new. */
static inline bool gnn_bitset_add(uint64_t *words, uint64_t member)
{
    const uint64_t bit = UINT64_C(1) << (member % 64);
    const bool fresh = (words[member / 64] & bit) == 0;
    words[member / 64] |= bit;
    return fresh;
}

static inline void gnn_bitset_remove(uint64_t *words, uint64_t member)
{
    words[member / 64] &= ~(UINT64_C(1) << (member % 64));
}

static inline uint64_t gnn_bitset_count(const uint64_t *words, uint64_t word_count)
{
    uint64_t members = 0;
    for (uint64_t i = 0; i < word_count; i++)
        members += (uint64_t)__builtin_popcountll(words[i]);
    return members;
}

#endif
