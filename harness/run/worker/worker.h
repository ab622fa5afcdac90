/* SPDX-License-Identifier: MIT */
/* The worker: born in its control group, it opens the world, dataset, model and system, trains, and sends messages to
 * the supervisor. It is this executable started again as `oocgnn --worker`, so it inherits no memory or threads of the
 * supervisor. */
#ifndef GNN_RUN_WORKER_H
#define GNN_RUN_WORKER_H

#include "harness/run/config.h"
#include "harness/system/plan.h"

/* Runs to the end and returns the process's exit status: 0, or 1 after an error was sent. */
int gnn_worker_main(const struct gnn_run_config *config);

/* Host memory that a run needs, by its memory plan. */
struct gnn_run_need {
    uint64_t bytes;                            /* of the largest phase; 0: the system does not keep the limit */
    uint64_t phase_bytes[GNN_PLAN_PHASES_MAX]; /* of each */
    struct gnn_plan_part parts[GNN_PLAN_PARTS_MAX];
    uint32_t part_count;
    char reason[GNN_ERR_MAX]; /* why the run does not fit the limit or the GPU, as its record has it; "": it fits */
};

/* Plans a run with a memory limit of cap_bytes, in this process and without running it. A need above the limit is the
 * least that the system needs. One below it can grow with the limit, as a cache takes what is left. A graph of the
 * registry is computed, so it need not be prepared. The process of a measured run is taken to be as large as this one.
 * The configuration must be resolved. GNN_ENOTSUP: a measured run on a GPU. Errors of the dataset, the profile and the
 * system's options. */
GNN_MUST_CHECK enum gnn_status gnn_run_need(const struct gnn_run_config *config, uint64_t cap_bytes,
                                            struct gnn_run_need *out, struct gnn_err *err);

#endif
