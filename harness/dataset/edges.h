/* SPDX-License-Identifier: MIT */
/* Reads the edge lists of an import as one stream of (source, target) pairs. Internal to harness/dataset/. */
#ifndef GNN_DATASET_EDGES_H
#define GNN_DATASET_EDGES_H

#include "harness/dataset/edge_arrays.h"

struct gnn_edges;

/* Opens an edge list. npy: an array of shape [2, E] or [E, 2], with the sources first. Else SNAP text. Returns errors
 * of gnn_edge_arrays_open() or gnn_input_open(). */
GNN_MUST_CHECK enum gnn_status gnn_edges_open(const char *path, bool npy, struct gnn_edges **out, struct gnn_err *err);
/* Opens the edges of any arrays. */
GNN_MUST_CHECK enum gnn_status gnn_edges_open_arrays(const struct gnn_edge_files *files, struct gnn_edges **out,
                                                     struct gnn_err *err);
void gnn_edges_close(struct gnn_edges *edges); /* accepts NULL */

/* Reads the next pair; *more is false at the end. Returns GNN_EFORMAT, with the place, for an ID that is negative or
 * above GNN_NODE_NONE - 1, or a line that is not a pair. */
GNN_MUST_CHECK enum gnn_status gnn_edges_next(struct gnn_edges *edges, gnn_node *source, gnn_node *target, bool *more,
                                              struct gnn_err *err);
/* Writes the place of the last pair to text: "PATH: edge 17" or "PATH:18". */
void gnn_edges_place(const struct gnn_edges *edges, char *text, size_t text_bytes);

/* For progress: edges of a NumPy file, or stored bytes of a text file. */
const char *gnn_edges_unit(const struct gnn_edges *edges);
uint64_t gnn_edges_total(const struct gnn_edges *edges);
uint64_t gnn_edges_done(const struct gnn_edges *edges);

enum gnn_snap_line { GNN_SNAP_PAIR, GNN_SNAP_SKIP, GNN_SNAP_BAD };

/* Parses one line of a SNAP edge list: two node IDs with spaces or tabs around them. Returns GNN_SNAP_SKIP for blank
 * lines and lines that start with '#' or '%', or GNN_SNAP_BAD with the reason in *why. Pure. */
enum gnn_snap_line gnn_snap_parse_line(const char *line, gnn_node *source, gnn_node *target, const char **why);

#endif
