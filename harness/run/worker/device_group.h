/* SPDX-License-Identifier: MIT */
/* The GPUs of several workers as one group (harness/tensor/group.h), which sums their gradients. Each worker has its
 * own process and GPU. */
#ifndef GNN_RUN_DEVICE_GROUP_H
#define GNN_RUN_DEVICE_GROUP_H

#include "harness/run/worker/epochs.h"

/* Joins the rank's tensor back-end, which is open, to the group. Does nothing if gradients are summed elsewhere. All
 * ranks must call it. GNN_ENOTSUP, with the remedy: the summing library is missing. GNN_EIO, GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status gnn_device_group_join(struct gnn_run_worker *w, struct gnn_err *err);
/* Leaves the group; to be called before the back-end is closed, also after an error. */
void gnn_device_group_leave(struct gnn_run_worker *w);

#endif
