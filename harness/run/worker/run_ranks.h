/* SPDX-License-Identifier: MIT */
/* Runs several workers: opens what the ranks share, and runs them as processes in the measured world or as threads of a
 * simulated machine. The result is the first failure of any rank. */
#ifndef GNN_RUN_RUN_RANKS_H
#define GNN_RUN_RUN_RANKS_H

#include "harness/run/worker/epochs.h"

/* Opens a rank's own parts, trains, and closes them. A rank that fails cancels the others (env.ranks). */
typedef enum gnn_status gnn_run_rank_fn(struct gnn_run_worker *rank, struct gnn_err *err);

/* Computes the memory plan of all workers together, without a check. Errors of the system's plan hook. */
GNN_MUST_CHECK enum gnn_status gnn_run_plan_fill(struct gnn_run_worker *w, struct gnn_err *err);

/* Does the same before the first read, and checks it. GNN_ECAP, GNN_EGPU: it does not fit; the message has the option
 * that makes it smaller. */
GNN_MUST_CHECK enum gnn_status gnn_run_plan(struct gnn_run_worker *w, struct gnn_err *err);

/* Runs the ranks. w: the parts that are opened once, and rank 0. Does not return in a process that was forked for
 * another rank. */
GNN_MUST_CHECK enum gnn_status gnn_run_ranks(struct gnn_run_worker *w, gnn_run_rank_fn *run, struct gnn_err *err);

#endif
