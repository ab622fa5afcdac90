/* SPDX-License-Identifier: MIT */
/* A figure of recorded runs instead of a file: the picture of `oocgnn plot`. */
#ifndef GNN_FIGURE_FROM_RUNS_H
#define GNN_FIGURE_FROM_RUNS_H

#include "harness/figure/figure.h"

/* What the figure shows. Keys are options of a run, parameters of a system ("SYSTEM.NAME") or gnn_run_facts. */
struct gnn_runs_request {
    const char *id;      /* name of its files */
    const char *title;   /* "": made from y and x */
    const char *x;       /* one key */
    const char *series;  /* keys, with commas between them: a series for each combination of their values */
    const char *facets;  /* the same for panels; "": one panel */
    const char *y;       /* metrics, with commas between them; the first is drawn */
    const char *chart;   /* of gnn_figure_charts; "": lines over numbers, bars over names */
    const char *x_label; /* "": the key */
    const char *y_label; /* "": the metric and its unit */
    bool logarithmic;
};

/* Makes the figure. Runs with equal values of all keys repeat each other: the figure has their median and range. Takes
 * all runs over and frees `runs` (count), also on an error.
 *
 * Returns GNN_EUSAGE if a key or metric does not exist, or if there are too many series, panels or values. Also if runs
 * that would repeat each other differ in anything but the seed. The message names the option, and conditions to
 * choose. */
GNN_MUST_CHECK enum gnn_status gnn_figure_of_runs(struct gnn_run_record *runs, uint32_t count,
                                                  const struct gnn_runs_request *request, struct gnn_paper_figure **out,
                                                  struct gnn_err *err);

#endif
