/* SPDX-License-Identifier: MIT */
/* Gathers of float16 rows on a back-end, bit by bit: the values may be infinities and NaN, which comparisons with a
 * tolerance do not tell apart. */
#ifndef GNN_TESTS_HALF_CASES_H
#define GNN_TESTS_HALF_CASES_H

#include "harness/tensor/tensor.h"

/* Fails where gather_halves gives other bits than the definition in base/half.h: every half, in rows of several widths
 * and strides, with a list and without. */
void half_cases_gather(const struct gnn_tensor_ops *table);
/* The same of gather_placed over two tables of halves. Rows that are in no table keep what was there. */
void half_cases_placed(const struct gnn_tensor_ops *table);

#endif
