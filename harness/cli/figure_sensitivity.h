/* SPDX-License-Identifier: MIT */
/* `oocgnn figure --sensitivity`: how far a figure's ratios depend on parameters that were not measured. */
#ifndef GNN_CLI_FIGURE_SENSITIVITY_H
#define GNN_CLI_FIGURE_SENSITIVITY_H

#include "harness/figure/show.h"

/* Makes the figure with a change of --profile-set in the runs with that profile, and adds its ratios to *out. change ""
 * changes nothing. */
typedef enum gnn_status gnn_changed_figure_fn(void *ctx, const char *profile, const char *change,
                                              struct gnn_figure_verdicts *out, struct gnn_err *err);

/* Halves and doubles each parameter of gnn_profile_next_assumed of the figure's profiles, one at a time. Prints a table
 * for each ratio with the parameters that move it by 2 % or more, and writes all values to DIR/ID-sensitivity.csv.
 * Errors of `make`, of opening a profile and of writing files. */
GNN_MUST_CHECK enum gnn_status gnn_figure_sensitivity(const struct gnn_paper_figure *figure,
                                                      gnn_changed_figure_fn *make, void *ctx, const char *dir,
                                                      struct gnn_err *err);

#endif
