/* SPDX-License-Identifier: MIT */
/* A team: one driver and W workers, which are a stage of a pipeline. The driver hands out work and continues with its
 * own until it needs the result. There are two ways:
 *
 *   `parts`   gnn_team_post: every worker does its part of one job, like an OpenMP `parallel for` in the background.
 *             For gathers, copies, cache fills. One job at a time.
 *   `tasks`   gnn_team_give: the next free worker runs the task and returns it. For blocks of a file that arrive in any
 *             order. A loop over tasks is gnn_team_each.
 *
 * Life     open -> for each pipeline run: stage, the driver's calls, done -> close
 * Threads  The driver calls post, wait, give, take, each and done. When the pipeline stops, wait, take and each return
 *          GNN_ECANCELLED. */
#ifndef GNN_PIPELINE_TEAM_H
#define GNN_PIPELINE_TEAM_H

#include "harness/pipeline/pipeline.h"

struct gnn_team;

/* Opens a team of 1 to GNN_WORKERS_MAX workers. Set *out to NULL first; it is the caller's to close, also on an
 * error. */
GNN_MUST_CHECK enum gnn_status gnn_team_open(struct gnn_world *world, uint32_t workers, struct gnn_team **out,
                                             struct gnn_err *err);
void gnn_team_close(struct gnn_team *team); /* accepts NULL; no worker may be inside */
/* Makes the team a stage of a pipeline that is about to run. Work that an earlier run left is dropped. The stage's
 * items are the tasks and jobs that were done. It fails with the first error of a part or a task. */
GNN_MUST_CHECK enum gnn_status gnn_team_stage(struct gnn_team *team, struct gnn_pipeline *pipeline, const char *name,
                                              struct gnn_err *err);
void gnn_team_done(struct gnn_team *team); /* no more work: workers return after the last piece */

/* ---- parts ---- */

/* Does part `part` of `parts` equal parts of the job (gnn_team_share). Runs on a worker. */
typedef enum gnn_status gnn_part_fn(void *ctx, uint32_t part, uint32_t parts, struct gnn_err *err);

void gnn_team_post(struct gnn_team *team, gnn_part_fn *fn, void *ctx); /* call it after the previous wait */
/* Sleeps (GNN_WAIT_QUEUE) until the posted job is done; returns at once if there is none. GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status gnn_team_wait(struct gnn_team *team);

/* Computes the items [*first, *end) of `count` that belong to a part. */
static inline void gnn_team_share(uint64_t count, uint32_t part, uint32_t parts, uint64_t *first, uint64_t *end)
{
    *first = count * part / parts;
    *end = count * (part + 1) / parts;
}

/* ---- tasks ---- */

/* A task, embedded in the driver's own struct. It is the driver's until it is given and again once it is taken. */
struct gnn_task {
    enum gnn_status (*run)(struct gnn_task *task, uint32_t worker, struct gnn_err *err);
    struct gnn_task *next; /* the team's */
};

void gnn_team_give(struct gnn_team *team, struct gnn_task *task);
/* Takes back a finished task. If there is none and `wait` is set, sleeps (GNN_WAIT_QUEUE) until there is one; else sets
 * *task to NULL. With `wait`, at least one task must be out. GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status gnn_team_take(struct gnn_team *team, bool wait, struct gnn_task **task);

/* Calls each(ctx, worker, i) for every i in [0, count) and returns when all are done. No other task may be out
 * meanwhile. GNN_ECANCELLED: the pipeline stopped; the error of a worker is kept there. */
typedef enum gnn_status gnn_each_fn(void *ctx, uint32_t worker, uint64_t index, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_team_each(struct gnn_team *team, uint64_t count, gnn_each_fn *each, void *ctx);

#endif
