/* SPDX-License-Identifier: MIT */
/* The epochs of a worker: training, reports, evaluation, and the model's hash at the end. */
#ifndef GNN_RUN_EPOCHS_H
#define GNN_RUN_EPOCHS_H

#include "harness/base/histogram.h"
#include "harness/run/config.h"
#include "harness/run/machine.h"
#include "harness/run/worker/control.h"
#include "harness/run/worker/extrapolate.h"
#include "harness/run/worker/row_trace.h"
#include "harness/system/intent.h"
#include "harness/system/plan.h"

#include <stdio.h>

/* What a rank reports to rank 0 about an epoch. */
struct gnn_rank_report {
    struct gnn_epoch_result result; /* names of figures are literals: the same addresses in a forked process */
    struct gnn_device_times device; /* this rank's own device, if it has one */
    uint64_t cpu_ns, major_faults;  /* this rank's own process; 0 for a thread */
    uint64_t spots;                 /* as in struct gnn_wire_epoch */
    bool trained_otherwise;
    struct gnn_read_tally reads; /* this rank's own process */
    uint64_t model_hash;         /* at the end of the run */
};

/* Everything that a worker has open; worker.c opens and closes it. With several workers there is one per rank. What the
 * ranks share is opened once, and each points to it. */
struct gnn_run_worker {
    const struct gnn_run_config *config;
    const struct gnn_system *system;
    void *system_config, *system_state;
    struct gnn_machine *machine;
    struct gnn_world *world; /* the machine's, like the dataset */
    const struct gnn_dataset *dataset;
    struct gnn_model_config model_config;
    struct gnn_link_config link_config;
    struct gnn_workload workload;
    struct gnn_env env; /* tensor and model are NULL when sample_only */
    struct gnn_memory_plan plan;
    struct gnn_intent intent; /* this rank's */
    struct gnn_wire_rules rules;
    struct gnn_phases phases;    /* for --batches */
    FILE *trace;                 /* --trace-loss, or NULL */
    struct gnn_row_file *rows;   /* --trace-rows, or NULL */
    struct gnn_control *control; /* rank 0's */
    struct gnn_average average;  /* env.average points to it */
    bool own_process;            /* this is a rank > 0 in its own process, with its own counters */

    bool time_passed; /* the time limit passed on a clock that only the worker can read */
    bool trained;     /* an epoch has changed the model */
    uint64_t epoch;   /* for progress messages; this and the rest belong to the training thread */
    uint64_t steps_done;
    uint64_t spots, spot_digest; /* trained mini-batches that gnn_is_spot selects */
    uint64_t progress_ns;
    uint64_t last_step_ns;        /* clock after the last step, or at the start of the epoch */
    struct gnn_histogram between; /* times between steps of the epoch */
    struct gnn_read_tally reads;  /* reads of the epoch in this process; for rank 0 finally in all */
    uint64_t *step_ns;            /* (gnn_run_max_batches) clock after each step; --batches only */
    uint64_t steps_ever, die_at_batch;
    uint32_t die_rank;
};

/* Implements gnn_env.on_step; ctx is the worker. The system's trainer calls it after each step. */
void gnn_run_worker_on_step(void *ctx, const struct gnn_batch_view *batch, const struct gnn_step_result *step);

/* Trains and evaluates every epoch and reports each to the supervisor. GNN_ECANCELLED: a stop was requested. */
GNN_MUST_CHECK enum gnn_status gnn_run_worker_epochs(struct gnn_run_worker *worker, struct gnn_err *err);

#endif
