/* SPDX-License-Identifier: MIT */
/* Iterates over the combinations of a figure's axes, and labels their values. */
#ifndef GNN_FIGURE_AXES_H
#define GNN_FIGURE_AXES_H

#include "harness/figure/figure.h"

/* Advances `at` to the next combination of the axes from `first` on; the last axis varies fastest. Returns false after
 * the last combination, with at[first …] = 0. */
static inline bool gnn_axes_next(const struct gnn_paper_figure *figure, uint32_t first, uint32_t *at)
{
    for (uint32_t a = figure->axis_count; a-- > first;) {
        if (++at[a] < figure->axes[a].count)
            return true;
        at[a] = 0;
    }
    return false;
}

/* Returns the axis whose values are the columns of the table. */
static inline uint32_t gnn_column_axis(const struct gnn_paper_figure *figure)
{
    return figure->has_variants ? figure->axis_count - 1 : 0;
}

/* Advances `at` to the next combination of all axes but the table's columns, as gnn_axes_next() does. */
static inline bool gnn_axes_next_row(const struct gnn_paper_figure *figure, uint32_t *at)
{
    for (uint32_t a = figure->axis_count; a-- > 0;) {
        if (a == gnn_column_axis(figure))
            continue;
        if (++at[a] < figure->axes[a].count)
            return true;
        at[a] = 0;
    }
    return false;
}

enum { GNN_AXIS_LABEL = 40 };

/* Returns value i of an axis as tables and pictures show it. At a scale, a memory limit is the one that the runs had:
 * "80.0 MiB" for 8000M at 1/100. Any other value is shown as in the file. The result may be stored in `text`. */
const char *gnn_axis_label(const struct gnn_paper_figure *figure, uint32_t axis, uint32_t i, char text[GNN_AXIS_LABEL]);

#endif
