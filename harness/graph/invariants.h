/* SPDX-License-Identifier: MIT */
/* What every dataset file must satisfy, checked chunk by chunk so that a check needs no memory of the file's size. One
 * place serves opening a dataset and `prepare --check`. Messages name the file, the position, what was expected and
 * what was found (GNN_EFORMAT). */
#ifndef GNN_GRAPH_INVARIANTS_H
#define GNN_GRAPH_INVARIANTS_H

#include "harness/oocgnn.h"

/* indptr: starts at 0, never falls, ends at edge_count. `first` is the position of offsets[0] in the file;
 * *previous carries the last offset from chunk to chunk (its value before the first chunk does not matter). */
GNN_MUST_CHECK enum gnn_status gnn_check_indptr(const uint64_t *offsets, uint64_t count, uint64_t first,
                                                uint32_t node_count, uint64_t edge_count, uint64_t *previous,
                                                const char *path, struct gnn_err *err);

/* Returns the node whose list holds edge offset `edge`; indptr (node_count + 1) was checked, edge is below its last. */
gnn_node gnn_indptr_find(const uint64_t *indptr, uint32_t node_count, uint64_t edge);

/* Node IDs below node_count (a file of neighbour lists), id_bytes wide: 4 or 8. */
GNN_MUST_CHECK enum gnn_status gnn_check_ids(const void *ids, uint32_t id_bytes, uint64_t count, uint64_t first,
                                             uint32_t node_count, const char *path, struct gnn_err *err);

/* Labels in [-1, class_count). */
GNN_MUST_CHECK enum gnn_status gnn_check_labels(const int32_t *labels, uint64_t count, uint64_t first,
                                                uint32_t class_count, const char *path, struct gnn_err *err);

/* A whole split: IDs below node_count, strictly ascending. labels (node_count) may be NULL; else every node of the
 * split has one. */
GNN_MUST_CHECK enum gnn_status gnn_check_split(const gnn_node *nodes, uint32_t count, uint32_t node_count,
                                               const int32_t *labels, const char *path, struct gnn_err *err);

/* Two ascending splits that share no node. */
GNN_MUST_CHECK enum gnn_status gnn_check_disjoint(const gnn_node *a, uint32_t a_count, const char *a_path,
                                                  const gnn_node *b, uint32_t b_count, const char *b_path,
                                                  struct gnn_err *err);

#endif
