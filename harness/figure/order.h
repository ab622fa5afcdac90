/* SPDX-License-Identifier: MIT */
/* The places of a figure: their order, by `order` of its file, the iteration over them, and labels of their values. */
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

/* Advances a place to the next combination of some keys; the last key changes fastest. Returns false after the last
 * combination, with the first one. */
bool gnn_figure_next_place(const struct gnn_paper_figure *figure, const int32_t *keys, uint32_t count,
                           struct gnn_figure_place *place);

/* Advances `at` to the next combination of the axes from `first` on, as gnn_axes_advance() does. */
static inline bool gnn_axes_next(const struct gnn_paper_figure *figure, uint32_t first, uint32_t *at)
{
    return gnn_axes_advance(figure->axes, figure->axis_count, UINT32_MAX << first, at);
}

enum { GNN_AXIS_LABEL = 40 };

/* Returns value i of an axis as tables and pictures show it. At a scale, a memory limit is the one that the runs had:
 * "80.0 MiB" for 8000M at 1/100. Any other value is shown as in the file. The result may be stored in `text`. */
const char *gnn_axis_label(const struct gnn_paper_figure *figure, uint32_t axis, uint32_t i, char text[GNN_AXIS_LABEL]);

/* Returns the number of series, or of values of an axis. */
uint32_t gnn_figure_key_values(const struct gnn_paper_figure *figure, int32_t key);

#endif
