/* SPDX-License-Identifier: MIT */
/* Finds the arrays of an import other than its edges. Internal to harness/dataset/. IMPORT.md lists the names. */
#ifndef GNN_DATASET_FIND_ARRAYS_H
#define GNN_DATASET_FIND_ARRAYS_H

#include "harness/dataset/array_files.h"

/* Finds features, labels and splits next to the edges that gnn_find_edges() found. Returns GNN_ENOENT for a file that
 * the source names and that does not exist, GNN_EUSAGE if several files are possible, or errors of reading archives. */
GNN_MUST_CHECK enum gnn_status gnn_find_node_arrays(const struct gnn_import_source *source, struct gnn_array_files *out,
                                                    struct gnn_err *err);

#endif
