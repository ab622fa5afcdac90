/* SPDX-License-Identifier: MIT */
/* The picture of a file of ratios (result_file.h): published numbers against ours. */
#ifndef GNN_CLI_PLOT_RATIOS_H
#define GNN_CLI_PLOT_RATIOS_H

#include "harness/oocgnn.h"

enum { GNN_PLOT_METHODS_MAX = 8 }; /* markers that a reader can distinguish */

/* Writes dir/base.dat and dir/base.gp, and draws the picture as PNG, SVG and PDF. It has a marker for each method and
 * two logarithmic axes. If paper is "", all papers are drawn. methods is "A|B", which is split, or NULL for all that
 * the paper has. If title is "", it is made from the paper. The directory must exist. Returns GNN_EUSAGE if the paper
 * has no ratios, none by a method, or ratios by too many methods. Returns errors of gnn_ratio_file_open() and
 * gnn_gnuplot_run(). */
GNN_MUST_CHECK enum gnn_status gnn_plot_ratios(const char *ratios, const char *paper, char *methods, const char *title,
                                               const char *dir, const char *base, struct gnn_err *err);

#endif
