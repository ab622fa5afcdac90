/* SPDX-License-Identifier: MIT */
/* A team: one driver and W workers, which are a stage of a pipeline. The driver hands out work and goes on with its own
 * until it wants the result. Two ways:
 *
 *   parts   gnn_team_post: every worker does its part of one job, as an OpenMP `parallel for` in the background
 *           would: gathers, copies, cache fills. One job at a time.
 *   tasks   gnn_team_give: whichever worker is free runs the task and gives it back: blocks of a file that arrive in
 *           any order. gnn_team_each is a loop over tasks.
 *
 * Life     open -> for each pipeline run: stage, the driver's calls, done -> close
 * Threads  driver: post, wait, give, take, each, done. When the pipeline stops, they return GNN_ECANCELLED. */
#ifndef GNN_PIPELINE_TEAM_H
#define GNN_PIPELINE_TEAM_H

#include "harness/pipeline/pipeline.h"

struct gnn_team;

/* *out is the caller's to close also on an error. */
GNN_MUST_CHECK enum gnn_status gnn_team_open(struct gnn_world *world, uint32_t workers, struct gnn_team **out,
                                             struct gnn_err *err);
void gnn_team_close(struct gnn_team *team); /* accepts NULL; no worker is inside */
/* Makes the team a stage of a pipeline that is about to run; what an earlier run left undone is forgotten. The stage
 * counts as items every task it ran and every job; it fails with the first error of a part or a task. */
GNN_MUST_CHECK enum gnn_status gnn_team_stage(struct gnn_team *team, struct gnn_pipeline *pipeline, const char *name,
                                              struct gnn_err *err);
void gnn_team_done(struct gnn_team *team); /* no more work: workers return after the last */

/* ---- parts ---- */

/* Does `part` of `parts` equal shares of the job: gnn_team_share. */
typedef enum gnn_status gnn_part_fn(void *ctx, uint32_t part, uint32_t parts, struct gnn_err *err);

void gnn_team_post(struct gnn_team *team, gnn_part_fn *fn, void *ctx); /* after the previous wait */
/* Sleeps (GNN_WAIT_QUEUE) until the posted job is done; returns at once when there is none. GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status gnn_team_wait(struct gnn_team *team);

/* The things [*first, *end) of `count` that are this part's. */
static inline void gnn_team_share(uint64_t count, uint32_t part, uint32_t parts, uint64_t *first, uint64_t *end)
{
    *first = count * part / parts;
    *end = count * (part + 1) / parts;
}

/* ---- tasks ---- */

/* Embedded in what the driver hands out; the driver's until given and again once taken. */
struct gnn_task {
    enum gnn_status (*run)(struct gnn_task *task, uint32_t worker, struct gnn_err *err);
    struct gnn_task *next; /* the team's */
};

void gnn_team_give(struct gnn_team *team, struct gnn_task *task);
/* Takes back a finished task. wait: sleeps (GNN_WAIT_QUEUE) until there is one; else *task = NULL when there is none.
 * At least one task is out when it waits. GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status gnn_team_take(struct gnn_team *team, bool wait, struct gnn_task **task);

/* Calls each(ctx, worker, i) for every i in [0, count) and returns when all are done; no task is out meanwhile.
 * GNN_ECANCELLED; a worker's own error ends the pipeline and is kept there. */
typedef enum gnn_status gnn_each_fn(void *ctx, uint32_t worker, uint64_t index, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_team_each(struct gnn_team *team, uint64_t count, gnn_each_fn *each, void *ctx);

#endif
