/* SPDX-License-Identifier: MIT */
/* Finds the arrays of edges in a folder or a NumPy archive, by the names that publishers and libraries use. Internal to
 * harness/dataset/. IMPORT.md lists the names. */
#ifndef GNN_DATASET_FIND_EDGES_H
#define GNN_DATASET_FIND_EDGES_H

#include "harness/dataset/array_files.h"

/* Finds the edges below source->from, or those that source->edges names. If the folder itself has none, folders below
 * it are searched, three levels deep. out->edges.form is GNN_EDGES_NONE if there are none. Returns GNN_EUSAGE if
 * several folders have edges, GNN_ENOENT if source->edges does not exist, or errors of reading archives. */
GNN_MUST_CHECK enum gnn_status gnn_find_edges(const struct gnn_import_source *source, struct gnn_array_files *out,
                                              struct gnn_err *err);
/* The same for the folder or archive dir alone. */
GNN_MUST_CHECK enum gnn_status gnn_find_edges_in(const char *dir, struct gnn_array_files *out, struct gnn_err *err);
/* Finds two arrays that may hold edges, too, in the folder of an array that was found. */
bool gnn_find_other_edges(const struct gnn_edge_files *files, struct gnn_edge_files *out);

#endif
