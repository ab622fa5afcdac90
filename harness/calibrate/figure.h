/* SPDX-License-Identifier: MIT */
/* One measured figure: the median and the spread of repetitions. */
#ifndef GNN_CALIBRATE_FIGURE_H
#define GNN_CALIBRATE_FIGURE_H

#include "harness/oocgnn.h"

enum { GNN_REPEATS_MAX = 15, GNN_FIGURES_MAX = 5 };

struct gnn_figure {
    double value;
    double spread; /* (upper quartile - lower quartile) / median */
};

/* Time of an operation that no figure was fitted to: the cost model's prediction, and the measurement. */
struct gnn_check {
    const char *what; /* description for people */
    double predicted_ns, measured_ns;
};

/* Returns median and spread of values (count, at least 1). Sorts values. */
struct gnn_figure gnn_figure_of(double *values, uint32_t count);

/* Runs one repetition and fills values (count), all finite. */
typedef enum gnn_status gnn_repeat_fn(void *ctx, double *values, struct gnn_err *err);

/* Runs fn `repeats` times, after one more run as warm-up, and fills out (count). Returns the first error of fn. */
GNN_MUST_CHECK enum gnn_status gnn_figures_measure(gnn_repeat_fn *fn, void *ctx, uint32_t repeats, uint32_t count,
                                                   struct gnn_figure *out, struct gnn_err *err);

#endif
