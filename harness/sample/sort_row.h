/* SPDX-License-Identifier: MIT */
/* Columns of a row in ascending order. */
#ifndef GNN_SAMPLE_SORT_ROW_H
#define GNN_SAMPLE_SORT_ROW_H

#include "harness/oocgnn.h"

/* Sorts the columns of a row: at most GNN_FANOUT_MAX, each below UINT32_MAX. readable: number of columns that may be
 * read from `row` on, at least `count`. Columns behind the row may hold anything and stay as they are. */
void gnn_sort_row(uint32_t *row, uint32_t count, uint64_t readable);

/* Sorts many rows, several at once, from `in` to `out`. `out` is `in` or does not overlap it. Row i is columns
 * row_start[i] - row_start[0] .. row_start[i + 1] - row_start[0] of both. readable: number of columns of `in` that may
 * be read, at least those of all rows. No other column of `out` is written. */
void gnn_sort_rows(const uint32_t *in, const uint32_t *row_start, uint32_t row_count, uint64_t readable, uint32_t *out);

#endif
