/* SPDX-License-Identifier: MIT */
/* The order of a figure's places: `order` of its file, and the iteration over them. */
#ifndef GNN_FIGURE_ORDER_H
#define GNN_FIGURE_ORDER_H

#include "harness/figure/figure.h"

/* A series at one value of each axis. The first place is zeroed. */
struct gnn_figure_place {
    uint32_t series;
    uint32_t at[GNN_AXES_MAX];
};

/* Returns the key of that name: GNN_KEY_SERIES for "series", or the number of an axis. GNN_KEYS_MAX: neither. */
int32_t gnn_figure_key(const struct gnn_paper_figure *figure, const char *name);

/* Puts the values of the axes in `order` in ascending or descending order, by number if they are numbers. Then orders
 * the keys: those in `rows` before the others, of both those in `order` first. Returns GNN_EUSAGE for a key that is
 * none. */
GNN_MUST_CHECK enum gnn_status gnn_figure_read_order(struct gnn_paper_figure *figure, struct gnn_err *err);

/* Advances keys `first` to `end` - 1 of a place to their next combination. Returns false after the last one, with the
 * first combination. */
bool gnn_figure_next_place(const struct gnn_paper_figure *figure, uint32_t first, uint32_t end,
                           struct gnn_figure_place *place);

/* Returns the number of series, or of values of an axis. */
uint32_t gnn_figure_key_values(const struct gnn_paper_figure *figure, int32_t key);

#endif
