/* SPDX-License-Identifier: MIT */
/* Counts the nodes without edges while the in-neighbour lists are written. A bit per node is kept for as many nodes as
 * fit; for the others the written lists are read again. Internal to harness/dataset/. */
#ifndef GNN_DATASET_ISOLATED_H
#define GNN_DATASET_ISOLATED_H

#include "harness/dataset/output.h"

struct gnn_isolated;

/* Opens a count over node_count nodes, in at most memory_bytes. */
GNN_MUST_CHECK enum gnn_status gnn_isolated_open(uint32_t node_count, uint64_t memory_bytes, struct gnn_isolated **out,
                                                 struct gnn_err *err);
void gnn_isolated_close(struct gnn_isolated *isolated); /* accepts NULL */

/* Marks both ends of an edge. */
void gnn_isolated_mark(struct gnn_isolated *isolated, gnn_node source, gnn_node target);

/* Returns the count, and whether node 0 is among them, after the last edge. The files indptr and indices of output are
 * complete, with IDs of id_bytes bytes. */
GNN_MUST_CHECK enum gnn_status gnn_isolated_count(struct gnn_isolated *isolated, const struct gnn_output *output,
                                                  uint32_t id_bytes, uint64_t *count, bool *first, struct gnn_err *err);

#endif
