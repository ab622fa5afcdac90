/* SPDX-License-Identifier: MIT */
/* One measured figure: the median of repetitions, and how far they lie apart. */
#ifndef GNN_CALIBRATE_FIGURE_H
#define GNN_CALIBRATE_FIGURE_H

#include "harness/oocgnn.h"

enum { GNN_REPEATS_MAX = 15, GNN_FIGURES_MAX = 5 };

struct gnn_figure {
    double value;
    double spread; /* (upper quartile - lower quartile) / median */
};

/* What the cost model says of an operation that no figure was fitted to, and what it took. */
struct gnn_check {
    const char *what; /* for people */
    double predicted_ns, measured_ns;
};

/* values (count, at least 1) is sorted. */
struct gnn_figure gnn_figure_of(double *values, uint32_t count);

/* One repetition: fills `count` values, all finite. */
typedef enum gnn_status gnn_repeat_fn(void *ctx, double *values, struct gnn_err *err);

/* Runs fn `repeats` times (once more before, not counted, to warm up) and fills out (count). */
GNN_MUST_CHECK enum gnn_status gnn_figures_measure(gnn_repeat_fn *fn, void *ctx, uint32_t repeats, uint32_t count,
                                                   struct gnn_figure *out, struct gnn_err *err);

#endif
