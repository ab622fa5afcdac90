/* SPDX-License-Identifier: MIT */
/* A run's share of its dataset (harness/dataset/lock.h): no preparation changes the dataset during the run, and the
 * record has other runs that used it. */
#ifndef GNN_RUN_SHARE_H
#define GNN_RUN_SHARE_H

#include "harness/record/record.h"
#include "harness/run/supervisor/signals.h"

struct gnn_run_share {
    int lock_fd;   /* -1: none */
    bool at_start; /* another run used the dataset when this one began */
};

/* Waits until no preparation changes the dataset in dir, then shares its lock. A wait is reported
 * unless `quiet`.
 * GNN_ECANCELLED: a signal came meanwhile; it takes effect when `signals` is closed. */
GNN_MUST_CHECK enum gnn_status gnn_run_share_open(struct gnn_run_share *share, const char *dir,
                                                  const struct gnn_signals *signals, bool quiet, struct gnn_err *err);

/* Releases the lock. Records under GNN_ENVIRONMENT_SHARED whether another run used the dataset at the start of this one
 * or does now. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_run_share_end(struct gnn_run_share *share, struct gnn_run_record *run,
                                                 struct gnn_err *err);

void gnn_run_share_close(struct gnn_run_share *share); /* releases the lock; accepts a closed one */

#endif
