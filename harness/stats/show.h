/* SPDX-License-Identifier: MIT */
/* Statistics for people, for programs, and as a picture. */
#ifndef GNN_STATS_SHOW_H
#define GNN_STATS_SHOW_H

#include "harness/stats/stats.h"

#include <stdio.h>

/* What a table or a picture is about. */
struct gnn_stats_heading {
    const struct gnn_dataset *dataset;
    const struct gnn_stats_config *config;
};

/* Markdown. */
void gnn_stats_text(const struct gnn_stats_heading *heading, const struct gnn_stats *stats, FILE *out);

/* One JSON object on a line; null where nothing is known. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_stats_json(const struct gnn_stats_heading *heading, const struct gnn_stats *stats,
                                              FILE *out, struct gnn_err *err);

/* Draws caches.png and caches.svg into dir, which is made, beside data and script (as `oocgnn report --plot` does):
 * what caches of any size catch. GNN_ENOTSUP without gnuplot. */
GNN_MUST_CHECK enum gnn_status gnn_stats_plot(const struct gnn_stats_heading *heading, const struct gnn_stats *stats,
                                              const char *dir, struct gnn_err *err);

#endif
