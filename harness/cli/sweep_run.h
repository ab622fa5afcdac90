/* SPDX-License-Identifier: MIT */
/* Runs the configurations of a job file, for `oocgnn sweep` and `oocgnn figure`. */
#ifndef GNN_CLI_SWEEP_RUN_H
#define GNN_CLI_SWEEP_RUN_H

#include "harness/cli/args.h"
#include "harness/run/sweep/job_file.h"

enum { GNN_SWEEP_JOBS_MAX = 64 };

struct gnn_sweep_settings {
    uint32_t repeat;                /* number of repetitions of every configuration, at least 1 */
    uint32_t jobs;                  /* simulated runs at a time, at least 1; a measured run is always alone */
    uint32_t only;                  /* number of the only configuration to run, from 1; 0: all */
    bool resume;                    /* skip configurations that the database has */
    bool any_build;                 /* ... of any build; false: of this build */
    bool json, silent;              /* one JSON object per run instead of a table; no output */
    bool keep_going;                /* continue after a failed configuration */
    bool prepare;                   /* generate missing datasets */
    struct gnn_command_words words; /* the command, for the message on how to continue */
    const char *more;               /* what must be added to it to continue; NULL: nothing */
};

/* Runs every configuration in the order of harness/run/sweep/order.h, prints results to stdout and progress to stderr.
 * A configuration that is not possible is reported and skipped. A failed one ends the sweep unless keep_going is set.
 * Returns the worst exit status of the runs. After an interruption it returns that status, sets *interrupted (may be
 * NULL), and reports how many runs are left and how to continue. */
int gnn_sweep_run(const struct gnn_job *job, const struct gnn_sweep_settings *settings, bool *interrupted);

#endif
