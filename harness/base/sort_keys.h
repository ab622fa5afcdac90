/* SPDX-License-Identifier: MIT */
/* Sorts 64-bit keys in ascending order, by radix and in place. A step needs memory for two tables of GNN_KEY_PARTS
 * entries. */
#ifndef GNN_BASE_SORT_KEYS_H
#define GNN_BASE_SORT_KEYS_H

#include "harness/oocgnn.h"

/* Sorts the keys in place by their bits [low_bit, 64). Lower bits may be sorted, too. Bits from high_bit on must be
 * zero in every key. */
void gnn_sort_keys(uint64_t *keys, uint64_t count, uint32_t low_bit, uint32_t high_bit);
/* Returns the cost of sorting in units of GNN_WORK_SORTED_KEY, the cost of a key in a list of ten. For evenly spread
 * keys it is every key once per step, and once in its short list. */
uint64_t gnn_sort_keys_work(uint64_t count);
/* Groups the keys by the eight bits below high_bit, which is one step of the sort. Group g is keys[starts[g], starts[g
 * + 1]). */
enum { GNN_KEY_PARTS = 256 };
void gnn_partition_keys(uint64_t *keys, uint64_t count, uint32_t high_bit, uint64_t starts[GNN_KEY_PARTS + 1]);

#endif
