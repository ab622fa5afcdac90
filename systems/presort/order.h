/* SPDX-License-Identifier: MIT */
/* The order of a window's loads, by heap sort in place. It takes no additional memory.
 *
 * Extents hold a window's sorted rows in the order in which the sweep read them, which is that of the loads. Without
 * packed rows that is ascending, as replacement leaves them. */
#ifndef PRESORT_ORDER_H
#define PRESORT_ORDER_H

#include "systems/presort/hot.h"

/* Puts the sorted rows that are packed first, in the order of the packed file, and the others after them, ascending.
 * Loads must be ascending and not marked. Returns how many were sorted: all, or 0 if no packed row is among them. */
uint32_t presort_order_as_swept(const struct presort_hot *hot, const struct presort_classes *classes,
                                struct presort_load *loads, uint32_t count);
/* Sorts loads by row, ascending, if they are not in order. No load may be marked. Returns how many were sorted: all, or
 * 0 if they were in order. */
uint32_t presort_order_by_row(struct presort_load *loads, uint32_t count);

#endif
