/* SPDX-License-Identifier: MIT */
/* The order of a window's loads, in place and without memory of its own (heap sort).
 *
 * Extents hold a window's sorted rows in the order in which the sweep met them, which is that of the loads. Without
 * packed rows that is ascending, as replacement leaves them. */
#ifndef PRESORT_ORDER_H
#define PRESORT_ORDER_H

#include "systems/presort/hot.h"

/* Puts the sorted rows that are packed first, as they lie, and the others behind them, ascending. Loads are ascending,
 * and none is marked. Returns how many had to be sorted: all, or none where no packed row is among them. */
uint32_t presort_order_as_swept(const struct presort_hot *hot, const struct presort_classes *classes,
                                struct presort_load *loads, uint32_t count);
/* Ascending by row, as far as they are not; no load is marked. Returns how many had to be sorted. */
uint32_t presort_order_by_row(struct presort_load *loads, uint32_t count);

#endif
