/* SPDX-License-Identifier: MIT */
/* The work that remains for figures: configurations without a recorded run, and an estimate of their time. */
#ifndef GNN_CLI_FIGURE_LEFT_H
#define GNN_CLI_FIGURE_LEFT_H

#include "harness/figure/figure.h"
#include "harness/run/identity.h"

/* Configurations that were counted, each by its run's identity, because figures share some. An empty set is zeroed. */
struct gnn_figure_met {
    char (*identities)[GNN_CHECKSUM_TEXT];
    uint32_t count, room;
};
void gnn_figure_met_close(struct gnn_figure_met *met);

/* The work that remains. */
struct gnn_figure_left {
    uint32_t cells;   /* configurations that are not recorded */
    uint32_t unknown; /* number of these without a time estimate */
    double minutes;   /* minutes on one core for the others, from earlier runs or the figure's `minutes` */
};

/* Counts all that remains of a figure, and the part of it that no figure counted before shares. Adds its configurations
 * to met. Returns errors of gnn_run_identity(), or GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_figure_left(const struct gnn_paper_figure *figure, struct gnn_figure_met *met,
                                               struct gnn_figure_left *all, struct gnn_figure_left *own,
                                               struct gnn_err *err);

#endif
