/* SPDX-License-Identifier: MIT */
/* Stages, bounded queues, workers; and where every stage's time is split.
 *
 * A stage is a function run by a fixed number of world threads. Stages talk through queues. The first worker that fails
 * stops all: its error is kept, every queue is cancelled, every pop and push returns GNN_ECANCELLED, every worker
 * returns, and gnn_pipeline_run hands the first error to the caller. The same path serves Ctrl-C and limits. */
#ifndef GNN_PIPELINE_H
#define GNN_PIPELINE_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"

/* ---- bounded queue of pointers: many producers, many consumers ---- */

struct gnn_queue;

/* capacity 0 = unbounded: it never blocks its producer. *out is the caller's to close also on an error. */
GNN_MUST_CHECK enum gnn_status gnn_queue_open(struct gnn_world *world, const char *name, uint32_t capacity,
                                              struct gnn_queue **out, struct gnn_err *err);
void gnn_queue_close(struct gnn_queue *queue); /* accepts NULL; items still inside stay the caller's */

/* Declares how many producers will call gnn_queue_done; before any worker starts, and again before each next run: it
 * also lifts a cancellation. Items inside stay. Without it the queue has no end: a pool of free batches or slots is
 * such a queue, filled once, popped to borrow and pushed to return. */
void gnn_queue_producers(struct gnn_queue *queue, uint32_t producers);
/* One producer has finished. After the last, pops drain the queue and then give *item = NULL with GNN_OK. */
void gnn_queue_done(struct gnn_queue *queue);
/* Wakes all sleepers; from now on push and pop return GNN_ECANCELLED. Accepts NULL. */
void gnn_queue_cancel(struct gnn_queue *queue);

/* Sleeps while full (GNN_WAIT_QUEUE). item is not NULL. GNN_ENOMEM: an unbounded queue could not grow. */
GNN_MUST_CHECK enum gnn_status gnn_queue_push(struct gnn_queue *queue, void *item);
/* Sleeps while empty (GNN_WAIT_QUEUE). *item = NULL: no more will come. */
GNN_MUST_CHECK enum gnn_status gnn_queue_pop(struct gnn_queue *queue, void **item);
uint32_t gnn_queue_peak(const struct gnn_queue *queue); /* most items ever inside */

/* ---- in-order delivery: item with ticket k leaves after k - 1 ---- */

struct gnn_reorder;
/* At most `window` tickets may be inside or unclaimed ahead of the next delivery. *out is the caller's to close also on
 * an error. */
GNN_MUST_CHECK enum gnn_status gnn_reorder_open(struct gnn_world *world, uint32_t window, struct gnn_reorder **out,
                                                struct gnn_err *err);
void gnn_reorder_close(struct gnn_reorder *reorder);
/* Before the first use and before each next run: empties it, lifts a cancellation. */
void gnn_reorder_reset(struct gnn_reorder *reorder, uint64_t first_ticket, uint64_t end_ticket);
/* Sleeps while ticket >= next + window. The holder of the next ticket must be able to get here: a ticket is drawn by
 * the worker that will put it, or travels through queues in ticket order. Drawn before a bounded queue by several
 * producers, it can be locked out by its own successors. */
GNN_MUST_CHECK enum gnn_status gnn_reorder_put(struct gnn_reorder *reorder, uint64_t ticket, void *item);
/* Next item in ticket order; *item = NULL after end_ticket - 1. */
GNN_MUST_CHECK enum gnn_status gnn_reorder_take(struct gnn_reorder *reorder, void **item);
void gnn_reorder_cancel(struct gnn_reorder *reorder); /* as gnn_queue_cancel */

/* ---- stages ---- */

enum { GNN_STAGES_MAX = 12, GNN_WORKERS_MAX = 256 };

/* Summed over the workers of a stage, over one or more epochs. wall = work + waits, within 1 %; work is at most cpu_ns
 * and queued_ns (struct gnn_time_split), but for what no clock of the kernel sees. */
struct gnn_stage_time {
    char stage[GNN_NAME_MAX];
    uint32_t workers;
    uint64_t items;                                                        /* mini-batches that left the stage */
    uint64_t wall_ns, cpu_ns, queued_ns, work_ns, wait_ns[GNN_WAIT_KINDS]; /* queued_ns: GNN_UNKNOWN where one is */
};

struct gnn_worker {
    struct gnn_world *world;
    struct gnn_pipeline *pipeline;
    uint32_t index; /* 0 .. workers - 1 */
    uint64_t items; /* the stage's function counts what it delivered */
};

typedef enum gnn_status gnn_stage_fn(void *ctx, struct gnn_worker *worker, struct gnn_err *err);

struct gnn_pipeline;

/* *out is the caller's to close also on an error. */
GNN_MUST_CHECK enum gnn_status gnn_pipeline_open(struct gnn_world *world, struct gnn_pipeline **out,
                                                 struct gnn_err *err);
void gnn_pipeline_close(struct gnn_pipeline *pipeline); /* and its queues and reorder buffers */

/* All before gnn_pipeline_run; ctx, queues and callbacks stay the caller's. */
GNN_MUST_CHECK enum gnn_status gnn_pipeline_stage(struct gnn_pipeline *pipeline, const char *name, uint32_t workers,
                                                  gnn_stage_fn *run, void *ctx, struct gnn_err *err);
/* Open a queue, or a reorder buffer of tickets [0, end), that is the pipeline's: cancelled when it stops early, closed
 * with it. */
GNN_MUST_CHECK enum gnn_status gnn_pipeline_queue(struct gnn_pipeline *pipeline, const char *name, uint32_t capacity,
                                                  struct gnn_queue **out, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_pipeline_reorder(struct gnn_pipeline *pipeline, uint32_t window, uint64_t end,
                                                    struct gnn_reorder **out, struct gnn_err *err);
/* cancel(target) is called once when the pipeline stops early: a system's own conditions. */
GNN_MUST_CHECK enum gnn_status gnn_pipeline_on_cancel(struct gnn_pipeline *pipeline, void (*cancel)(void *target),
                                                      void *target, struct gnn_err *err);

/* Starts every worker, waits for all, returns the first error. May be called again (the next epoch), also after an
 * error once queues and reorder buffers are readied. A worker that returns GNN_ECANCELLED by itself (it saw the run's
 * stop flag) stops the others too. */
GNN_MUST_CHECK enum gnn_status gnn_pipeline_run(struct gnn_pipeline *pipeline, struct gnn_err *err);

/* Stops a running pipeline from any thread (Ctrl-C, time limit): the run returns `status` with this message. Between
 * two runs it stops the next one before it starts. Cancel callbacks run on the thread that stopped. */
void gnn_pipeline_stop(struct gnn_pipeline *pipeline, enum gnn_status status, const char *message);
bool gnn_pipeline_stopping(struct gnn_pipeline *pipeline);

/* Times of the last run, stage by stage in the order they were added; returns how many. */
uint32_t gnn_pipeline_times(const struct gnn_pipeline *pipeline, struct gnn_stage_time *out, uint32_t max);

#endif
