/* SPDX-License-Identifier: MIT */
/* Finds the files of a graph in the layout that OGB ships small graphs in: edge.csv.gz, node-feat.csv.gz,
 * node-label.csv.gz and num-edge-list.csv.gz in one folder. Internal to harness/dataset/. */
#ifndef GNN_DATASET_OGB_CSV_H
#define GNN_DATASET_OGB_CSV_H

#include "harness/dataset/array_files.h"
#include "harness/dataset/edges.h"

/* Enters edge.csv[.gz] of the folder as the edges. Returns false if there is none. */
bool gnn_ogb_csv_find_edges(const char *dir, struct gnn_array_files *out);

/* Enters features and labels next to the edges that gnn_ogb_csv_find_edges() found, unless others are entered. Enters
 * the number of nodes that num-node-list.csv states. Returns GNN_EFORMAT if it is no number. */
GNN_MUST_CHECK enum gnn_status gnn_ogb_csv_find_nodes(struct gnn_array_files *out, struct gnn_err *err);

/* Opens the edges, with the number of edges that num-edge-list states. */
GNN_MUST_CHECK enum gnn_status gnn_ogb_csv_open(const struct gnn_edge_files *files, struct gnn_edges **out,
                                                struct gnn_err *err);

#endif
