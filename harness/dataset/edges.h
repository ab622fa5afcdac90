/* SPDX-License-Identifier: MIT */
/* Reads the edge lists of an import as one stream of (source, target) pairs. Internal to harness/dataset/. */
#ifndef GNN_DATASET_EDGES_H
#define GNN_DATASET_EDGES_H

#include "harness/dataset/edge_arrays.h"
#include "harness/dataset/edge_text.h"

struct gnn_edges;

/* Opens an edge list. npy: an array of shape [2, E] or [E, 2], with the sources first. Else text (edge_text.h). Returns
 * errors of gnn_edge_arrays_open() or gnn_edge_text_open(). */
GNN_MUST_CHECK enum gnn_status gnn_edges_open(const char *path, bool npy, struct gnn_edges **out, struct gnn_err *err);
/* Opens the edges of any arrays. */
GNN_MUST_CHECK enum gnn_status gnn_edges_open_arrays(const struct gnn_edge_files *files, struct gnn_edges **out,
                                                     struct gnn_err *err);
/* Lets the further columns of a text hold anything. */
void gnn_edges_ignore_columns(struct gnn_edges *edges);
/* Enters the number of edges that another file states for a text. */
void gnn_edges_state(struct gnn_edges *edges, uint64_t count);
void gnn_edges_close(struct gnn_edges *edges); /* accepts NULL */

/* Reads the next pair; *more is false at the end. Returns GNN_EFORMAT, with the place, for an ID that is negative or
 * above GNN_NODE_NONE - 1, or a line that is not a pair. */
GNN_MUST_CHECK enum gnn_status gnn_edges_next(struct gnn_edges *edges, gnn_node *source, gnn_node *target, bool *more,
                                              struct gnn_err *err);
/* The same with IDs of text up to 2^64 - 1. */
GNN_MUST_CHECK enum gnn_status gnn_edges_next_wide(struct gnn_edges *edges, uint64_t *source, uint64_t *target,
                                                   bool *more, struct gnn_err *err);
/* Returns the reader of a text with what it states, or NULL for arrays. It belongs to edges. */
const struct gnn_edge_text *gnn_edges_text(const struct gnn_edges *edges);
/* Writes the place of the last pair to text: "PATH: edge 17" or "PATH:18". */
void gnn_edges_place(const struct gnn_edges *edges, char *text, size_t text_bytes);

/* For progress: edges of a NumPy file, or stored bytes of a text file. */
const char *gnn_edges_unit(const struct gnn_edges *edges);
uint64_t gnn_edges_total(const struct gnn_edges *edges);
uint64_t gnn_edges_done(const struct gnn_edges *edges);

#endif
