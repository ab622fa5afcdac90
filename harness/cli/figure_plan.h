/* SPDX-License-Identifier: MIT */
/* What is left to run of figures, and how long it will take. */
#ifndef GNN_CLI_FIGURE_PLAN_H
#define GNN_CLI_FIGURE_PLAN_H

#include "harness/cli/figure_files.h"

/* Prints a figure's line of `oocgnn figure --list`, and notes what is left to run in found. Returns errors of
 * gnn_figure_file_open() and gnn_figure_load(). */
GNN_MUST_CHECK enum gnn_status gnn_figure_plan_print(struct gnn_figures *f, struct gnn_figure_file *found,
                                                     struct gnn_err *err);

/* Returns whether `--all` shows the recorded runs of a figure and runs no others, because its file measures this
 * machine. Such runs take hours and need an idle machine, so a user names the figure, or the measured world. */
bool gnn_figure_plan_leaves_out(const struct gnn_figures *f, const struct gnn_paper_figure *figure);

/* Notes what is left to run of all figures. One that cannot be read is reported when its turn comes. */
void gnn_figure_plan_all(struct gnn_figures *f);

/* Writes what all figures from `first` on will take as a sentence, and returns text. A configuration of several figures
 * is counted once. One without an estimate is taken for `a_cell` minutes; NAN: it is reported. */
const char *gnn_figure_plan_left(const struct gnn_figures *f, uint32_t first, double a_cell, char *text,
                                 size_t text_bytes);

#endif
