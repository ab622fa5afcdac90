/* SPDX-License-Identifier: MIT */
/* Parses arguments into a run's configuration: first the preset, then explicit options, whatever their order. Shared by
 * run and sweep. */
#ifndef GNN_CLI_RUN_ARGS_H
#define GNN_CLI_RUN_ARGS_H

#include "harness/cli/help.h"
#include "harness/record/record.h"
#include "harness/run/config.h"

/* Parses argv[1…] of `oocgnn run` into config. *help is the kind of help that --help requests. Returns GNN_EUSAGE for
 * wrong arguments. */
GNN_MUST_CHECK enum gnn_status gnn_run_args(int argc, char **argv, struct gnn_run_config *config, enum gnn_help *help,
                                            struct gnn_err *err);

/* Runs the configuration until its end is recorded, and prints the record to stdout: a table, or one JSON object.
 * Returns the exit status. A run that did not end well is also reported on stderr. *end is the run's status. */
int gnn_run_and_show(const struct gnn_run_config *config, bool json, enum gnn_run_status *end);

/* Does the same without output to stdout. */
int gnn_run_untold(const struct gnn_run_config *config, enum gnn_run_status *end);

#endif
