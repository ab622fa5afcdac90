/* SPDX-License-Identifier: MIT */
/* Iterates over the combinations of a figure's axes, and labels their values. */
#ifndef GNN_FIGURE_AXES_H
#define GNN_FIGURE_AXES_H

#include "harness/figure/figure.h"

/* Advances `at` to the next combination of the axes from `first` on, as gnn_axes_advance() does. */
static inline bool gnn_axes_next(const struct gnn_paper_figure *figure, uint32_t first, uint32_t *at)
{
    return gnn_axes_advance(figure->axes, figure->axis_count, UINT32_MAX << first, at);
}

/* Returns the axis whose values are the columns of the table. */
static inline uint32_t gnn_column_axis(const struct gnn_paper_figure *figure)
{
    return figure->has_variants ? figure->axis_count - 1 : 0;
}

enum { GNN_AXIS_LABEL = 40 };

/* Returns value i of an axis as tables and pictures show it. At a scale, a memory limit is the one that the runs had:
 * "80.0 MiB" for 8000M at 1/100. Any other value is shown as in the file. The result may be stored in `text`. */
const char *gnn_axis_label(const struct gnn_paper_figure *figure, uint32_t axis, uint32_t i, char text[GNN_AXIS_LABEL]);

#endif
