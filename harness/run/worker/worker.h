/* SPDX-License-Identifier: MIT */
/* The worker: born in its control group, it opens the world, dataset, model and system, trains, and sends messages to
 * the supervisor. It is this executable started again as `oocgnn --worker`, so it inherits no memory or threads of the
 * supervisor. */
#ifndef GNN_RUN_WORKER_H
#define GNN_RUN_WORKER_H

#include "harness/run/config.h"

/* Runs to the end and returns the process's exit status: 0, or 1 after an error was sent. */
int gnn_worker_main(const struct gnn_run_config *config);

#endif
