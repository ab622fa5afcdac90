/* SPDX-License-Identifier: MIT */
/* Arrays without headers that a conf.json describes, as the preparation programs of Ginex and GNNDrive write them.
 * Internal to harness/dataset/. Source: prepare_dataset.py of the released Ginex. */
#ifndef GNN_DATASET_MAPPED_ARRAYS_H
#define GNN_DATASET_MAPPED_ARRAYS_H

#include "harness/dataset/array_files.h"

/* Parses a conf.json: keys such as "indptr_shape" and "indptr_dtype" for indptr, indices, features and labels, and
 * "num_nodes". Enters what is described into out's raw headers and nodes. path is for messages. Returns GNN_EFORMAT for
 * any other text. */
GNN_MUST_CHECK enum gnn_status gnn_mapped_parse(const char *text, const char *path, struct gnn_array_files *out,
                                                struct gnn_err *err);

/* Finds conf.json with indptr.dat and indices.dat in dir, and features.dat and labels.dat if conf.json describes them.
 * Sets out's edges to GNN_EDGES_CSC. *found is false if there is no conf.json. Returns GNN_EFORMAT for a bad conf.json,
 * or GNN_ENOENT for a missing file. */
GNN_MUST_CHECK enum gnn_status gnn_mapped_find(const char *dir, struct gnn_array_files *out, bool *found,
                                               struct gnn_err *err);

#endif
