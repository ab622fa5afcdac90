/* SPDX-License-Identifier: MIT */
/* A trial: a short run of a system in a process of its own, which notes everything that the checks compare. Several
 * trials of a system differ in one thing each: the world, an option, a fault. A system that crashes, hangs or ends the
 * process fails its trial alone. */
#ifndef GNN_RUN_CHECK_TRIAL_H
#define GNN_RUN_CHECK_TRIAL_H

#include "harness/run/check/watch.h"
#include "harness/run/config.h"
#include "harness/world/faults.h"

enum { GNN_TRIAL_EPOCHS = 2, GNN_TRIAL_STEPS_MAX = 128, GNN_TRIAL_TEXT = 400 };

struct gnn_trial_setup {
    const struct gnn_run_config *config; /* resolved; its memory limit is that of the world */
    const struct gnn_system *system;
    struct gnn_fault_plan faults; /* for the system alone; zero: none */
    uint32_t stop_after;          /* steps of the first epoch after which the stop flag is raised; 0 = never */
    bool repeats;      /* an epoch that failed is repeated, as the contract allows; faults "at the n-th" are over */
    bool shows_stderr; /* prints what the system wrote there */
    uint32_t time_limit_s;
};

struct gnn_trial_epoch {
    enum gnn_status status;
    uint64_t sampled_digest, trained_digest;
    uint64_t batches, seeds, rows_asked; /* as the system reports them */
    double loss_sum;
    uint32_t steps;
    uint64_t batch_of[GNN_TRIAL_STEPS_MAX]; /* numbers of the mini-batches in training order */
    double loss[GNN_TRIAL_STEPS_MAX];       /* by step */
    uint64_t nodes;                         /* rows that the trained mini-batches need */
    uint64_t seeds_missed, seeds_repeated;  /* training nodes that were no seed, or more than once */
    uint64_t wrong_values;                  /* values of training inputs that differ from the file */
    uint64_t wrong_batch, wrong_node;       /* the first of them */
};

struct gnn_trial_outcome {
    bool ended;                   /* false: the process crashed or hung, as `message` describes */
    enum gnn_status opened;       /* status of plan and open */
    char message[GNN_TRIAL_TEXT]; /* the first error */
    struct gnn_trial_epoch epoch[GNN_TRIAL_EPOCHS];
    struct gnn_trial_epoch again; /* of `repeats` */
    bool has_values;              /* losses and rows: compute is not a model */
    uint64_t batches_intended, seeds_intended;
    bool has_plan, plan_is_advisory;
    uint64_t plan_bytes, peak_bytes; /* planned, and allocated at most */
    struct gnn_fault_counts faults;
    uint64_t written_bytes;
    int64_t left[GNN_WATCHED]; /* what close left open */
    uint32_t left_descriptors; /* open in the process after the trial and not before */
    uint64_t clock_ns;         /* the world's clock at the end */
};

/* Runs a trial to its end. GNN_ETHREADS, GNN_EIO: the process cannot be started. Everything that the system does wrong
 * is in the outcome instead. */
GNN_MUST_CHECK enum gnn_status gnn_trial_run(const struct gnn_trial_setup *setup, struct gnn_trial_outcome *out,
                                             struct gnn_err *err);

/* The trial itself, in this process. */
void gnn_trial_here(const struct gnn_trial_setup *setup, struct gnn_trial_outcome *out);

/* A system that is as simple as can be: it samples, reads the rows one by one, and trains. What it trains is the
 * reference for all others. */
extern const struct gnn_system gnn_check_reference;

#endif
