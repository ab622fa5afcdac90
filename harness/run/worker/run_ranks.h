/* SPDX-License-Identifier: MIT */
/* Several workers: opens what the ranks share, runs them (as processes in the measured world, as threads of a simulated
 * machine) and ends with the first failure of any. */
#ifndef GNN_RUN_RUN_RANKS_H
#define GNN_RUN_RUN_RANKS_H

#include "harness/run/worker/epochs.h"

/* Opens a rank's own parts, trains, closes them. One that fails cancels the others (env.ranks). */
typedef enum gnn_status gnn_run_rank_fn(struct gnn_run_worker *rank, struct gnn_err *err);

/* Says before the first read what the run needs, all its workers together, and which parameter makes it less. */
GNN_MUST_CHECK enum gnn_status gnn_run_plan(struct gnn_run_worker *w, struct gnn_err *err);

/* w: what is open once, and rank 0. In a process that was forked for another rank it does not return. */
GNN_MUST_CHECK enum gnn_status gnn_run_ranks(struct gnn_run_worker *w, gnn_run_rank_fn *run, struct gnn_err *err);

#endif
