/* SPDX-License-Identifier: MIT */
/* A figure of recorded runs instead of a file: the picture of `oocgnn plot`. */
#ifndef GNN_CLI_PLOT_RUNS_H
#define GNN_CLI_PLOT_RUNS_H

#include "harness/figure/figure.h"

/* What the figure shows. Keys are options of a run, parameters "SYSTEM.NAME" or gnn_run_facts, and must exist. */
struct gnn_runs_request {
    const char *id;                        /* name of its files */
    const char *x, *series, *facets;       /* one key; keys with commas between them; the same, or "" */
    const char *y;                         /* metrics with commas between them; the first is drawn */
    const char *chart;                     /* of gnn_figure_charts; "": lines over numbers, bars over names */
    const char *title, *x_label, *y_label; /* "": made from x and y */
    bool logarithmic;
};

/* Makes the figure. Runs with equal values of all keys repeat each other: the figure has their median and range. Takes
 * all runs over and frees `runs` (count), also on an error.
 *
 * Returns GNN_EUSAGE for an unknown metric, and for too many series, panels or values. Also if runs that would repeat
 * each other differ in anything but the seed. The message names the option, and conditions to choose. */
GNN_MUST_CHECK enum gnn_status gnn_figure_of_runs(struct gnn_run_record *runs, uint32_t count,
                                                  const struct gnn_runs_request *request, struct gnn_paper_figure **out,
                                                  struct gnn_err *err);

/* Writes figure->caption, of at most two lines: what all runs share, where memory limits are, repetitions, options that
 * differ between places, and the build. What does not fit is left out, so that nothing is cut off. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_run_caption_write(struct gnn_paper_figure *figure,
                                                     const struct gnn_runs_request *request, struct gnn_err *err);

#endif
