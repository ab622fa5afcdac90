/* SPDX-License-Identifier: MIT */
/* The dropout mask, with one definition for every back-end. Element (i, c) of a (rows, cols) matrix owns 16 bits of a
 * counter-based word. Four neighbours in a row share a word, and each row starts a new word. So a row's mask depends
 * only on key, i and the words per row. */
#ifndef GNN_TENSOR_DROPOUT_H
#define GNN_TENSOR_DROPOUT_H

#include "harness/base/rng.h"

GNN_DEVICE static inline uint64_t gnn_dropout_words(uint32_t cols)
{
    return ((uint64_t)cols + 3) / 4;
}

/* Returns the threshold for a rate: an element is dropped if its 16 bits are below it. A rate of 1/2 is exact, others
 * within 2^-17. */
static inline uint32_t gnn_dropout_threshold(double rate)
{
    return (uint32_t)(rate * 65536.0 + 0.5);
}

GNN_DEVICE static inline uint64_t gnn_dropout_word(uint64_t key, uint32_t cols, uint64_t row, uint64_t word)
{
    return gnn_splitmix64_at(key, row * gnn_dropout_words(cols) + word);
}

GNN_DEVICE static inline bool gnn_dropout_keeps(uint64_t key, uint32_t threshold, uint32_t cols, uint64_t row,
                                                uint32_t col)
{
    const uint64_t word = gnn_dropout_word(key, cols, row, col / 4);
    return (uint32_t)(word >> (col % 4 * 16) & 0xffff) >= threshold;
}

#endif
