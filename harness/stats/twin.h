/* SPDX-License-Identifier: MIT */
/* A graph's statistics as a recipe: the generator makes of it a graph that has them too. */
#ifndef GNN_STATS_TWIN_H
#define GNN_STATS_TWIN_H

#include "harness/dataset/recipe_file.h"
#include "harness/stats/stats.h"

/* `stats` are of the whole dataset, lists walked. The name is the dataset's with "-twin" behind it; labels are those
 * of the classes, without noise. Of a graph whose lists are mutual the twin is tried with several shares of cliques,
 * computed in the world, which takes what gnn_lists_open_computed takes. GNN_EUSAGE when the lists were not walked; its
 * errors. */
GNN_MUST_CHECK enum gnn_status gnn_twin_of(struct gnn_world *world, const struct gnn_dataset *dataset,
                                           const struct gnn_stats *stats, uint64_t window_bytes,
                                           struct gnn_recipe_file *out, struct gnn_err *err);

#endif
