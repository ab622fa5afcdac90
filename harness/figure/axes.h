/* Running through the combinations of a figure's axes. */
#ifndef GNN_FIGURE_AXES_H
#define GNN_FIGURE_AXES_H

#include "harness/figure/figure.h"

/* Goes to the next combination of the axes from `first` on, the last turning fastest; false: there is none, and at is
 * back at zeros. */
static inline bool gnn_axes_next(const struct gnn_paper_figure *figure, uint32_t first, uint32_t *at)
{
    for (uint32_t a = figure->axis_count; a-- > first;) {
        if (++at[a] < figure->axes[a].count)
            return true;
        at[a] = 0;
    }
    return false;
}

#endif
