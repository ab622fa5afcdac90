/* SPDX-License-Identifier: MIT */
/* The neighbour lists of a dataset, prepared on a disk or computed, for reading in order and for the sampler. */
#ifndef GNN_STATS_LISTS_H
#define GNN_STATS_LISTS_H

#include "harness/dataset/prepare.h"
#include "harness/graph/dataset.h"
#include "harness/sample/sample.h"

struct gnn_lists; /* owner only */

/* Opens the dataset in the directory, with IDs of 4 bytes if it has them, else of 8. A knowledge graph is valid, too:
 * its vectors have 100 reals, whatever dim is. Returns errors of gnn_dataset_open(). */
GNN_MUST_CHECK enum gnn_status gnn_lists_open_prepared(struct gnn_world *world, const char *dir, uint32_t dim,
                                                       enum gnn_feature_type type, struct gnn_lists **out,
                                                       struct gnn_err *err);
/* Opens a graph of the registry or of a recipe at a scale, without a disk. Returns errors of gnn_synthetic_open(). */
GNN_MUST_CHECK enum gnn_status gnn_lists_open_computed(struct gnn_world *world, const struct gnn_registry_entry *entry,
                                                       const struct gnn_generate_options *options,
                                                       uint32_t scale_divisor, struct gnn_lists **out,
                                                       struct gnn_err *err);
void gnn_lists_close(struct gnn_lists *lists); /* accepts NULL */

const struct gnn_dataset *gnn_lists_dataset(const struct gnn_lists *lists);
struct gnn_neighbour_source *gnn_lists_source(struct gnn_lists *lists);

/* Fills out (count) with entries first .. first + count of all lists. Returns GNN_EFORMAT, which names the ID, if an ID
 * is outside the graph, or errors of reads. */
GNN_MUST_CHECK enum gnn_status gnn_lists_read(struct gnn_lists *lists, uint64_t first, uint64_t count, gnn_node *out,
                                              struct gnn_err *err);

#endif
