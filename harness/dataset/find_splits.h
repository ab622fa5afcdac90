/* SPDX-License-Identifier: MIT */
/* Finds the files of the splits. Internal to harness/dataset/. */
#ifndef GNN_DATASET_FIND_SPLITS_H
#define GNN_DATASET_FIND_SPLITS_H

#include "harness/dataset/array_files.h"
#include "harness/dataset/find_places.h"

/* Finds the splits in the places, in what source->split names, or in a folder "split" in or next to the places. Leaves
 * out->split without training nodes if there are none. Returns GNN_ENOENT if source->split has no training nodes,
 * GNN_EUSAGE if several splits are possible, or errors of reading archives. */
GNN_MUST_CHECK enum gnn_status gnn_find_splits(const struct gnn_import_source *source, const struct gnn_places *places,
                                               struct gnn_array_files *out, struct gnn_err *err);

#endif
