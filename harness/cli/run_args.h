/* SPDX-License-Identifier: MIT */
/* From arguments to a run's configuration: preset first, explicit options over it, whatever their order.
 * Shared by run and sweep. */
#ifndef GNN_CLI_RUN_ARGS_H
#define GNN_CLI_RUN_ARGS_H

#include "harness/cli/help.h"
#include "harness/record/record.h"
#include "harness/run/config.h"

/* argv[1…] of `oocgnn run`; *help: what --help among them asks for. */
GNN_MUST_CHECK enum gnn_status gnn_run_args(int argc, char **argv, struct gnn_run_config *config, enum gnn_help *help,
                                            struct gnn_err *err);

/* Runs the configuration to its recorded end, prints the record to stdout (a table, or one JSON object) and
 * returns the exit status; what did not end well says so on stderr too. *end is how the run ended. */
int gnn_run_and_show(const struct gnn_run_config *config, bool json, enum gnn_run_status *end);

/* The same without a word on stdout. */
int gnn_run_untold(const struct gnn_run_config *config, enum gnn_run_status *end);

#endif
