/* SPDX-License-Identifier: MIT */
/* Parses arguments into a run's configuration: first the preset, then explicit options, whatever their order. Shared by
 * run and sweep. */
#ifndef GNN_CLI_RUN_ARGS_H
#define GNN_CLI_RUN_ARGS_H

#include "harness/cli/help.h"
#include "harness/record/record.h"
#include "harness/run/config.h"

enum { GNN_RUN_OPTIONS_MAX = 128 };

/* What the command line of `oocgnn run` requests in addition to a configuration. */
struct gnn_run_request {
    enum gnn_help help; /* kind of help that --help requests */
    bool dry_run;
    bool given[GNN_RUN_OPTIONS_MAX]; /* options of gnn_run_options that were given explicitly, in its order */
    uint32_t preset_sets;            /* the first sets of the configuration are the preset's */
};

/* Parses argv[1…] of `oocgnn run` into config. Returns GNN_EUSAGE for wrong arguments. */
GNN_MUST_CHECK enum gnn_status gnn_run_args(int argc, char **argv, struct gnn_run_config *config,
                                            struct gnn_run_request *request, struct gnn_err *err);

/* Runs the configuration until its end is recorded, and prints the record to stdout: a table, or one JSON object.
 * Returns the exit status. A run that did not end well is also reported on stderr. *end is the run's status. */
int gnn_run_and_show(const struct gnn_run_config *config, bool json, enum gnn_run_status *end);

/* Does the same without output to stdout. */
int gnn_run_untold(const struct gnn_run_config *config, enum gnn_run_status *end);

#endif
