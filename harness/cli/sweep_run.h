/* SPDX-License-Identifier: MIT */
/* Running the cells of a job file: for `oocgnn sweep` and `oocgnn figure`. */
#ifndef GNN_CLI_SWEEP_RUN_H
#define GNN_CLI_SWEEP_RUN_H

#include "harness/cli/args.h"
#include "harness/run/sweep/job_file.h"

enum { GNN_SWEEP_JOBS_MAX = 64 };

struct gnn_sweep_settings {
    uint32_t repeat;   /* rounds of repetitions, at least 1 */
    uint32_t jobs;     /* simulated cells at a time, at least 1; measured ones have the machine to themselves */
    uint32_t only;     /* number of the one cell to run, from 1; 0: all */
    bool resume;       /* pass over what the database holds */
    bool any_build;    /* … by any build */
    bool json, silent; /* one JSON object a cell instead of a table; nothing */
    bool keep_going;   /* after a cell that failed */
    bool prepare;      /* generate datasets that are missing */
    struct gnn_command_words words; /* the command, for the line that says how to continue */
    const char *more;               /* what it lacks to continue; NULL: nothing */
};

/* Runs every cell in the order of harness/run/sweep/order.h, tells each result on stdout and how far it is on stderr.
 * A cell that fails, or cannot be run, is told and passed over. Returns the exit status: of the worst cell, or of an
 * interruption (*interrupted, may be NULL), after which it says how many runs are left and how to continue. */
int gnn_sweep_run(const struct gnn_job *job, const struct gnn_sweep_settings *settings, bool *interrupted);

#endif
