/* Columns of a row in ascending order. */
#ifndef GNN_SAMPLE_SORT_ROW_H
#define GNN_SAMPLE_SORT_ROW_H

#include "harness/oocgnn.h"

/* Sorts the columns of a row, at most GNN_FANOUT_MAX, each below UINT32_MAX. readable: columns that may be read from
 * `row` on, count at least; those behind the row stay as they are, and may hold anything. */
void gnn_sort_row(uint32_t *row, uint32_t count, uint64_t readable);

#endif
