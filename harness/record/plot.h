/* SPDX-License-Identifier: MIT */
/* Pictures of a comparison, drawn by gnuplot from the scripts in plots/. */
#ifndef GNN_RECORD_PLOT_H
#define GNN_RECORD_PLOT_H

#include "harness/oocgnn.h"
#include "harness/record/record.h"

/* Draws the runs (one comparison, see gnn_db_comparison; repetitions of a system are summed up by their median) into
 * out_dir, which is created: epoch-time.{dat,gp,png,svg} and stage-split.{dat,gp,png,svg}. The .gp stands on its own
 * beside its .dat, to be edited and run again. GNN_EFORMAT when there is nothing to draw or a series would be empty,
 * GNN_ENOTSUP without gnuplot (package gnuplot-nox). */
GNN_MUST_CHECK enum gnn_status gnn_plot_comparison(const struct gnn_run_record *runs, uint32_t count,
                                                   const char *out_dir, struct gnn_err *err);

#endif
