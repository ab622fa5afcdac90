/* SPDX-License-Identifier: MIT */
/* Reads labels of nodes, and judges which classes they make. Internal to harness/dataset/. */
#ifndef GNN_DATASET_LABELS_SEEN_H
#define GNN_DATASET_LABELS_SEEN_H

#include "harness/dataset/npy.h"

/* Returns whether an array of this shape has one label per node: [N], [N, 1], or [N, C] with column from 1 to C. */
bool gnn_labels_fit(const struct gnn_npy_header *header, uint32_t column);
/* Fails with the way out for any other array. */
enum gnn_status gnn_labels_misfit(const struct gnn_npy_header *header, uint32_t column, const char *path,
                                  struct gnn_err *err);

/* Reads the labels of the next count (at most GNN_NPY_BATCH) nodes. column: from 1, of [N, C]; 0: the only one. */
GNN_MUST_CHECK enum gnn_status gnn_labels_read(struct gnn_npy *npy, uint32_t column, int64_t *out, uint64_t count,
                                               struct gnn_err *err);

/* The classes that occur. */
struct gnn_labels_seen;
GNN_MUST_CHECK enum gnn_status gnn_labels_seen_open(struct gnn_labels_seen **out, struct gnn_err *err);
void gnn_labels_seen_close(struct gnn_labels_seen *seen); /* accepts NULL */
/* Adds classes; negative numbers are ignored. */
void gnn_labels_seen_add(struct gnn_labels_seen *seen, const int32_t *labels, uint64_t count);
/* Warns if most classes have no node, or if the largest label likely means none. Returns GNN_EFORMAT for far more
 * classes than nodes. At least one class was added. */
GNN_MUST_CHECK enum gnn_status gnn_labels_seen_judge(const struct gnn_labels_seen *seen, uint64_t nodes,
                                                     const char *path, struct gnn_err *err);

#endif
