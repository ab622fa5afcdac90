/* SPDX-License-Identifier: MIT */
/* The last step of a preparation, when another process may have made the same dataset meanwhile. Internal to
 * harness/dataset/. */
#ifndef GNN_DATASET_COMMIT_H
#define GNN_DATASET_COMMIT_H

#include "harness/dataset/output.h"

/* gnn_output_commit; where the target is there by now and holds exactly this dataset, by its checksums, that is as
 * good, and the copy in `output` goes away when it is closed. */
GNN_MUST_CHECK enum gnn_status gnn_dataset_commit(struct gnn_output *output, const struct gnn_meta *meta,
                                                  struct gnn_err *err);

#endif
