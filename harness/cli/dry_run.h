/* SPDX-License-Identifier: MIT */
/* oocgnn run --dry-run: what a run would be, without running it. */
#ifndef GNN_CLI_DRY_RUN_H
#define GNN_CLI_DRY_RUN_H

#include "harness/cli/run_args.h"

/* Resolves and checks the configuration. Prints every option and parameter that a record would hold, with its source.
 * Memory plan and the command that repeats the run follow. With --json it prints one object. Runs and writes nothing.
 * Returns the exit status: that of the run if it would be rejected. */
int gnn_dry_run(const struct gnn_run_config *config, const struct gnn_run_request *request);

#endif
