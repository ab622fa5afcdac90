/* SPDX-License-Identifier: MIT */
/* Adds neighbour IDs of 4 or 8 bytes to an existing dataset that has the other width, generated or imported. Internal
 * to harness/dataset/. */
#ifndef GNN_DATASET_WIDTHS_H
#define GNN_DATASET_WIDTHS_H

#include "harness/base/id_width.h"
#include "harness/dataset/output.h"

/* Returns GNN_EUSAGE if the dataset `have` at dir differs from `want` in name, scale or parameters. */
GNN_MUST_CHECK enum gnn_status gnn_check_same(const char *dir, const struct gnn_meta *have, const struct gnn_meta *want,
                                              struct gnn_err *err);

/* Writes the lists of the dataset at job->out_dir, which is `have`, as IDs of id_bytes, and enters the new file into
 * `have` and the dataset's meta. Returns GNN_EFORMAT or GNN_ESHORT, with the place, if its own lists differ from meta,
 * or errors of writing. */
GNN_MUST_CHECK enum gnn_status gnn_add_id_width(const struct gnn_prepare_job *job, struct gnn_meta *have,
                                                uint32_t id_bytes, struct gnn_err *err);

/* Adds neighbour IDs of id_bytes to the dataset at job->out_dir, for callers that cannot add features. Does nothing if
 * the dataset has them. Returns GNN_EUSAGE if the directory has anything else than the dataset `want` with its feature
 * widths. */
GNN_MUST_CHECK enum gnn_status gnn_add_id_width_alone(const struct gnn_prepare_job *job, const struct gnn_meta *want,
                                                      uint32_t id_bytes, struct gnn_err *err);

#endif
