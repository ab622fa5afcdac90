/* SPDX-License-Identifier: MIT */
/* Columns of a row in ascending order. */
#ifndef GNN_SAMPLE_SORT_ROW_H
#define GNN_SAMPLE_SORT_ROW_H

#include "harness/oocgnn.h"

/* Sorts the columns of a row, at most GNN_FANOUT_MAX, each below UINT32_MAX. readable: columns that may be read from
 * `row` on, count at least; those behind the row stay as they are, and may hold anything. */
void gnn_sort_row(uint32_t *row, uint32_t count, uint64_t readable);

/* The same of many rows, some side by side, from `in` to `out`, which either is `in` or does not overlap it. Row i is
 * columns row_start[i] - row_start[0] .. row_start[i + 1] - row_start[0] of both. readable: columns of `in` that may be
 * read, those of all rows at least. Of `out` nothing but the rows is touched. */
void gnn_sort_rows(const uint32_t *in, const uint32_t *row_start, uint32_t row_count, uint64_t readable, uint32_t *out);

#endif
