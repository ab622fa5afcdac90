/* SPDX-License-Identifier: MIT */
/* Edge lists of an import as one stream of (source, target) pairs. Internal to harness/dataset/. */
#ifndef GNN_DATASET_EDGES_H
#define GNN_DATASET_EDGES_H

#include "harness/dataset/npy.h"

struct gnn_edges;

/* npy: edge_index.npy, [2, E], row 0 the sources, row 1 the targets, read side by side; otherwise SNAP text. */
GNN_MUST_CHECK enum gnn_status gnn_edges_open(const char *path, bool npy, struct gnn_edges **out, struct gnn_err *err);
void gnn_edges_close(struct gnn_edges *edges); /* accepts NULL */

/* The next pair; *more false at the end. IDs above GNN_NODE_NONE - 1 or negative are GNN_EFORMAT, with their place. */
GNN_MUST_CHECK enum gnn_status gnn_edges_next(struct gnn_edges *edges, gnn_node *source, gnn_node *target, bool *more,
                                              struct gnn_err *err);
/* "PATH: edge 17" or "PATH:18": where the last pair stood. */
void gnn_edges_place(const struct gnn_edges *edges, char *text, size_t text_bytes);

/* For progress: edges of a NumPy file, bytes as stored of a text. */
const char *gnn_edges_unit(const struct gnn_edges *edges);
uint64_t gnn_edges_total(const struct gnn_edges *edges);
uint64_t gnn_edges_done(const struct gnn_edges *edges);

enum gnn_snap_line { GNN_SNAP_PAIR, GNN_SNAP_SKIP, GNN_SNAP_BAD };

/* One line of a SNAP edge list: two node IDs with spaces or tabs around them; blank lines and lines that start with '#'
 * or '%' are skipped. Pure. *why is set for GNN_SNAP_BAD. */
enum gnn_snap_line gnn_snap_parse_line(const char *line, gnn_node *source, gnn_node *target, const char **why);

#endif
