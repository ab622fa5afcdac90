/* SPDX-License-Identifier: MIT */
/* Numbers of 64 bits in ascending order, by radix in place: memory for nothing but two tables of a step. */
#ifndef GNN_BASE_SORT_KEYS_H
#define GNN_BASE_SORT_KEYS_H

#include "harness/oocgnn.h"

/* Sorts by the bits [low_bit, 64) of the key at least, in place. Bits from high_bit on are zero in every key. */
void gnn_sort_keys(uint64_t *keys, uint64_t count, uint32_t low_bit, uint32_t high_bit);
/* Returns what sorting costs in GNN_WORK_SORTED_KEY, the cost of a key in a list of ten: every key once in each step of
 * evenly spread keys, and once in its short list. */
uint64_t gnn_sort_keys_work(uint64_t count);
/* Groups the keys by the eight bits below high_bit: one step of the sort. Group g is keys[starts[g], starts[g + 1]). */
enum { GNN_KEY_PARTS = 256 };
void gnn_partition_keys(uint64_t *keys, uint64_t count, uint32_t high_bit, uint64_t starts[GNN_KEY_PARTS + 1]);

#endif
