/* SPDX-License-Identifier: MIT */
/* Adding a width to a dataset that is there: neighbour IDs of 4 or 8 bytes beside those it has, whoever made it.
 * Internal to harness/dataset/. */
#ifndef GNN_DATASET_WIDTHS_H
#define GNN_DATASET_WIDTHS_H

#include "harness/base/id_width.h"
#include "harness/dataset/output.h"

/* GNN_EUSAGE unless the dataset `have` at dir has the name, scale and parameters of `want`. */
GNN_MUST_CHECK enum gnn_status gnn_check_same(const char *dir, const struct gnn_meta *have, const struct gnn_meta *want,
                                              struct gnn_err *err);

/* Writes the lists of the dataset at job->out_dir, which is `have`, once more as IDs of id_bytes, and enters the file
 * into `have` and the dataset's meta. GNN_EFORMAT: its own lists are not what meta says, with the place. */
GNN_MUST_CHECK enum gnn_status gnn_add_id_width(const struct gnn_prepare_job *job, struct gnn_meta *have,
                                                uint32_t id_bytes, struct gnn_err *err);

/* For what cannot add features: job->out_dir exists. Adds neighbour IDs of id_bytes if it holds the dataset `want`
 * without them; with them nothing is left to do, and anything else there is GNN_EUSAGE. */
GNN_MUST_CHECK enum gnn_status gnn_add_id_width_alone(const struct gnn_prepare_job *job, const struct gnn_meta *want,
                                                      uint32_t id_bytes, struct gnn_err *err);

#endif
