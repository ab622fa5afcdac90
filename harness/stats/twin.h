/* SPDX-License-Identifier: MIT */
/* Makes a recipe of a graph's statistics. A graph that is generated from the recipe has similar statistics. */
#ifndef GNN_STATS_TWIN_H
#define GNN_STATS_TWIN_H

#include "harness/dataset/recipe_file.h"
#include "harness/stats/stats.h"

/* Fills out with the recipe. `stats` must be of the whole dataset, with lists. The name is the dataset's name with
 * "-twin" appended. Labels are those of the classes, without noise. If the graph's lists are mutual, twins with several
 * shares of cliques are computed in the world. Each needs the memory of gnn_lists_open_computed(). Returns GNN_EUSAGE
 * if lists were not read, or errors of gnn_lists_open_computed(). */
GNN_MUST_CHECK enum gnn_status gnn_twin_of(struct gnn_world *world, const struct gnn_dataset *dataset,
                                           const struct gnn_stats *stats, uint64_t window_bytes,
                                           struct gnn_recipe_file *out, struct gnn_err *err);

#endif
