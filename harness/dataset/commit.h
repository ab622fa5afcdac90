/* SPDX-License-Identifier: MIT */
/* The last step of a preparation, if another process may have prepared the same dataset at the same time. Internal to
 * harness/dataset/. */
#ifndef GNN_DATASET_COMMIT_H
#define GNN_DATASET_COMMIT_H

#include "harness/dataset/output.h"

/* Commits the output as gnn_output_commit() does. Also succeeds if the target already holds exactly this dataset, by
 * its checksums; gnn_output_close() then removes the copy in `output`. */
GNN_MUST_CHECK enum gnn_status gnn_dataset_commit(struct gnn_output *output, const struct gnn_meta *meta,
                                                  struct gnn_err *err);

#endif
