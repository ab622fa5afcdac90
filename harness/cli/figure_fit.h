/* SPDX-License-Identifier: MIT */
/* Whether a figure's configurations fit their memory limits at the chosen scale, by the systems' memory plans, before
 * anything is run. Sizes that do not shrink with the graph can exceed a limit that does. */
#ifndef GNN_CLI_FIGURE_FIT_H
#define GNN_CLI_FIGURE_FIT_H

#include "harness/figure/figure.h"

/* Opens the same figure at scale 1/scale_divisor. */
typedef enum gnn_status gnn_figure_open_fn(void *ctx, uint32_t scale_divisor, struct gnn_paper_figure **out,
                                           struct gnn_err *err);

/* Configurations of a series that exceed their memory limits. */
struct gnn_series_fit {
    uint32_t cells;         /* configurations that were looked at */
    uint32_t too_large;     /* those that fit at a larger scale only */
    uint32_t never;         /* those that fit at no scale */
    uint32_t scale_divisor; /* the least scale at which those of too_large fit is 1/scale_divisor; 0: there are none */
    uint64_t need_bytes;    /* what one that needs this scale, else one of never, needs here; 0: all fit */
    uint64_t cap_bytes;     /* its memory limit */
};

struct gnn_figure_fit {
    uint32_t too_large, never; /* sums over the series */
    struct gnn_series_fit series[GNN_FIGURE_SERIES_MAX];
};

/* Looks at the configurations of the simulated world that have a memory limit and no recorded run. The figure is loaded
 * (gnn_figure_load). Configurations that cannot be planned, and graphs that take long to compute, are left out. If the
 * graph of the least scale takes long, too, this scale is estimated from smaller ones. */
void gnn_figure_fit(const struct gnn_paper_figure *figure, gnn_figure_open_fn *open, void *ctx,
                    struct gnn_figure_fit *out);

/* Writes scale, limit, need and remedy of a series that does not fit. For example "at 1/1000 the memory limit is 32.8
 * MiB, but AGNES needs at least 68.0 MiB (7 of 7 configurations): use --scale 1/400 or larger". */
void gnn_series_fit_text(const struct gnn_paper_figure *figure, uint32_t series, const struct gnn_series_fit *fit,
                         char *text, size_t text_bytes);

/* Returns the largest divisor of a usual scale, such as 400 or 1000, that is at most `divisor`; 1 is one. */
uint32_t gnn_usual_scale(double divisor);

#endif
