/* SPDX-License-Identifier: MIT */
/* Makes a figure: runs what is missing, prints the table, draws, and judges the paper's findings. */
#ifndef GNN_CLI_FIGURE_MAKE_H
#define GNN_CLI_FIGURE_MAKE_H

#include "harness/cli/figure_files.h"

/* Makes a figure by its options. *exit_status is raised by configurations that failed. GNN_ENOTSUP: this machine or
 * this scale lacks what the figure needs. GNN_ECANCELLED: a signal came. */
GNN_MUST_CHECK enum gnn_status gnn_figure_make(struct gnn_figures *f, struct gnn_figure_file *found, int *exit_status,
                                               struct gnn_err *err);

/* Makes one of all figures. If this machine lacks what it needs, the figure is reported as not available. Any other
 * failure is noted in found->trouble and raises *exit_status. Only an interruption is an error. */
GNN_MUST_CHECK enum gnn_status gnn_figure_make_of_all(struct gnn_figures *f, struct gnn_figure_file *found,
                                                      int *exit_status, struct gnn_err *err);

#endif
