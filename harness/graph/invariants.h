/* SPDX-License-Identifier: MIT */
/* Checks that every dataset file must pass, done chunk by chunk so that memory does not grow with the file. Used when a
 * dataset is opened and by `prepare --check`. Each function returns GNN_EFORMAT if a check fails. The message names the
 * file, the position, the expected value and the value found. */
#ifndef GNN_GRAPH_INVARIANTS_H
#define GNN_GRAPH_INVARIANTS_H

#include "harness/oocgnn.h"

/* Checks that indptr starts at 0, never falls and ends at edge_count. `first` is the position of offsets[0] in the
 * file. *previous carries the last offset from chunk to chunk; its value before the first chunk is not used. */
GNN_MUST_CHECK enum gnn_status gnn_check_indptr(const uint64_t *offsets, uint64_t count, uint64_t first,
                                                uint32_t node_count, uint64_t edge_count, uint64_t *previous,
                                                const char *path, struct gnn_err *err);

/* Returns the node whose list holds edge offset `edge`. indptr (node_count + 1) was checked, and edge is below its last
 * value. */
gnn_node gnn_indptr_find(const uint64_t *indptr, uint32_t node_count, uint64_t edge);

/* Checks that the IDs of a file of neighbour lists are below node_count. IDs have id_bytes, 4 or 8. */
GNN_MUST_CHECK enum gnn_status gnn_check_ids(const void *ids, uint32_t id_bytes, uint64_t count, uint64_t first,
                                             uint32_t node_count, const char *path, struct gnn_err *err);

/* Checks that labels are in [-1, class_count). */
GNN_MUST_CHECK enum gnn_status gnn_check_labels(const int32_t *labels, uint64_t count, uint64_t first,
                                                uint32_t class_count, const char *path, struct gnn_err *err);

/* Checks a whole split: IDs below node_count, strictly ascending. Unless labels (node_count) is NULL, every node of the
 * split must have a label. */
GNN_MUST_CHECK enum gnn_status gnn_check_split(const gnn_node *nodes, uint32_t count, uint32_t node_count,
                                               const int32_t *labels, const char *path, struct gnn_err *err);

/* Checks that two ascending splits share no node. */
GNN_MUST_CHECK enum gnn_status gnn_check_disjoint(const gnn_node *a, uint32_t a_count, const char *a_path,
                                                  const gnn_node *b, uint32_t b_count, const char *b_path,
                                                  struct gnn_err *err);

#endif
