/* SPDX-License-Identifier: MIT */
/* The GPUs of several workers as one group (harness/tensor/group.h), which sums their gradients. Each worker has a
 * process and a GPU of its own. */
#ifndef GNN_RUN_DEVICE_GROUP_H
#define GNN_RUN_DEVICE_GROUP_H

#include "harness/run/worker/epochs.h"

/* Joins the rank's tensor back-end, which is open, to the others'; does nothing where gradients are summed elsewhere.
 * All ranks call. GNN_ENOTSUP, with the remedy, when what sums is missing; GNN_EIO; GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status gnn_device_group_join(struct gnn_run_worker *w, struct gnn_err *err);
/* Before the back-end is closed, whatever happened. */
void gnn_device_group_leave(struct gnn_run_worker *w);

#endif
