/* SPDX-License-Identifier: MIT */
/* Results of checks, and what a check is given. */
#ifndef GNN_RUN_CHECK_VERDICT_H
#define GNN_RUN_CHECK_VERDICT_H

#include "harness/run/check/trial.h"

enum gnn_verdict { GNN_VERDICT_PASSED, GNN_VERDICT_FAILED, GNN_VERDICT_NOT_APPLICABLE, GNN_VERDICTS };

extern const char *const gnn_verdict_words[GNN_VERDICTS]; /* "passed" */

/* Receives the result of a check as soon as it is known. `text`: what was compared, or the reason. */
typedef void gnn_verdict_fn(void *ctx, const char *check, enum gnn_verdict verdict, const char *text);

struct gnn_check_setup {
    const struct gnn_system *system;
    const struct gnn_run_config *measured;  /* resolved, with a dataset that is a directory */
    const struct gnn_run_config *simulated; /* the same in the simulated world; NULL: there is no profile */
    uint32_t time_limit_s;                  /* of one trial */
    const atomic_bool *stop;                /* set by a signal handler: no further trial is started */
    gnn_verdict_fn *report;
    void *report_ctx;
};

#endif
