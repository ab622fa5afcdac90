/* SPDX-License-Identifier: MIT */
/* Metrics that a figure defines itself, in section [metrics] of its file:
 *
 *   sampler_s = (stage.sample.work_s + stage.sample.wait_io_s) / stage.sample.workers
 *   over_b = epoch_s / epoch_s[B]
 *
 * An expression (predicate.h) is evaluated for each run. A metric without brackets is one of that run (metric.h), or
 * defined above. With brackets it is the value of that series in the same place of the figure.
 *
 * The name sampler_s@0 takes each metric of an epoch in it from epoch 0. Its value is unknown if a metric in brackets
 * has no epoch of its own. */
#ifndef GNN_FIGURE_EXPRESSION_H
#define GNN_FIGURE_EXPRESSION_H

#include "harness/base/ini.h"
#include "harness/figure/figure.h"

/* Reads the section, which may be NULL. Series and axes of the figure must be complete. Returns GNN_EUSAGE, with file
 * and line, if an expression cannot be parsed, or its name is invalid or in use. */
GNN_MUST_CHECK enum gnn_status gnn_figure_read_metrics(struct gnn_paper_figure *figure, const struct gnn_ini *ini,
                                                       const struct gnn_ini_section *section,
                                                       const struct gnn_value_source *source, struct gnn_err *err);

/* Returns whether the figure or any run has a metric of this name. */
bool gnn_figure_metric_known(const struct gnn_paper_figure *figure, const char *name);

/* Evaluates a known metric for a run at a place of the figure; `others` has the values of its series. Returns the state
 * of the value; *value is set only if it is known. */
enum gnn_value_state gnn_figure_metric_of(const struct gnn_paper_figure *figure, const struct gnn_run_record *run,
                                          const char *name, const uint32_t *at, const struct gnn_value_source *others,
                                          double *value);

#endif
