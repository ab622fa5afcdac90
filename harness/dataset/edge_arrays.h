/* SPDX-License-Identifier: MIT */
/* Reads the edges of a graph from arrays of numbers as one stream of (source, target) pairs. Internal to
 * harness/dataset/. */
#ifndef GNN_DATASET_EDGE_ARRAYS_H
#define GNN_DATASET_EDGE_ARRAYS_H

#include "harness/dataset/npy.h"

enum gnn_edge_form {
    GNN_EDGES_NONE,
    GNN_EDGES_TABLE,   /* one array: [2, E] or [E, 2], row by row or column by column; sources first */
    GNN_EDGES_COLUMNS, /* two arrays [E]: sources, targets */
    GNN_EDGES_CSC,     /* two arrays: indptr [N + 1] and indices [E]; list v of indices has the sources of v's edges */
    GNN_EDGES_CSR,     /* the same; list v of indices has the targets of v's edges */
    GNN_EDGES_TEXT,    /* one text edge list; not for gnn_edge_arrays_open() */
};

/* Where the edges are. */
struct gnn_edge_files {
    enum gnn_edge_form form;
    char path[2][GNN_OUTPUT_PATH]; /* a table has one */
    struct gnn_npy_header raw[2];  /* of files without a header; zero: the file has its own */
};

struct gnn_edge_arrays;

/* Opens the arrays and checks their shapes and types. Returns errors of gnn_npy_open(), or GNN_EFORMAT. */
GNN_MUST_CHECK enum gnn_status gnn_edge_arrays_open(const struct gnn_edge_files *files, struct gnn_edge_arrays **out,
                                                    struct gnn_err *err);
void gnn_edge_arrays_close(struct gnn_edge_arrays *arrays); /* accepts NULL */

/* Reads the next pair; *more is false at the end. Returns GNN_EFORMAT, with the place, for an ID that is negative or
 * above GNN_NODE_NONE - 1, or for offsets that are not ascending. */
GNN_MUST_CHECK enum gnn_status gnn_edge_arrays_next(struct gnn_edge_arrays *arrays, gnn_node *source, gnn_node *target,
                                                    bool *more, struct gnn_err *err);

const char *gnn_edge_arrays_path(const struct gnn_edge_arrays *arrays); /* of the array that messages name */
uint64_t gnn_edge_arrays_total(const struct gnn_edge_arrays *arrays);
uint64_t gnn_edge_arrays_taken(const struct gnn_edge_arrays *arrays);
/* Returns the number of nodes that CSC or CSR offsets state, or 0 for other forms. */
uint64_t gnn_edge_arrays_nodes(const struct gnn_edge_arrays *arrays);

#endif
