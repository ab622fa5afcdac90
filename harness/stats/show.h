/* SPDX-License-Identifier: MIT */
/* Prints statistics for people and for programs, and draws them. */
#ifndef GNN_STATS_SHOW_H
#define GNN_STATS_SHOW_H

#include "harness/stats/stats.h"

#include <stdio.h>

/* The subject of a table or a picture. */
struct gnn_stats_heading {
    const struct gnn_dataset *dataset;
    const struct gnn_stats_config *config;
};

/* Prints the statistics as Markdown. */
void gnn_stats_text(const struct gnn_stats_heading *heading, const struct gnn_stats *stats, FILE *out);

/* Prints the statistics as one JSON object on a line. Unknown values are null. Returns GNN_ENOMEM if memory runs
 * out. */
GNN_MUST_CHECK enum gnn_status gnn_stats_json(const struct gnn_stats_heading *heading, const struct gnn_stats *stats,
                                              FILE *out, struct gnn_err *err);

/* Draws the hits of caches of any size as caches.png and caches.svg into dir, which is created. Data and script are
 * written there, too, as by `oocgnn report --plot`. Returns GNN_ENOTSUP without gnuplot, or GNN_EUSAGE if no accesses
 * were kept. */
GNN_MUST_CHECK enum gnn_status gnn_stats_plot(const struct gnn_stats_heading *heading, const struct gnn_stats *stats,
                                              const char *dir, struct gnn_err *err);

#endif
