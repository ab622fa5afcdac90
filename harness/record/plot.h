/* SPDX-License-Identifier: MIT */
/* Pictures of a comparison, drawn by gnuplot from the scripts in plots/. */
#ifndef GNN_RECORD_PLOT_H
#define GNN_RECORD_PLOT_H

#include "harness/oocgnn.h"
#include "harness/record/record.h"
#include "harness/record/styles.h"

/* Draws the runs of one comparison (see gnn_db_comparison), in the colours of their systems. Repetitions of a system
 * are drawn as their median. Creates out_dir and writes epoch-time.{dat,gp,png,svg,pdf} and stage-split with the same
 * endings. The .gp needs only its .dat, so it can be edited and run again.
 *
 * GNN_EFORMAT: there is nothing to draw, or a series would be empty. GNN_EUSAGE: there are too many runs or series, or
 * runs differ in their inherited memory limit. GNN_ENOTSUP: gnuplot is missing (package gnuplot-nox). Errors of
 * files. */
GNN_MUST_CHECK enum gnn_status gnn_plot_comparison(const struct gnn_run_record *runs, uint32_t count,
                                                   gnn_place_fn *place, const char *out_dir, struct gnn_err *err);

#endif
