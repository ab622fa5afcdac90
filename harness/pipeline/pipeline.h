/* SPDX-License-Identifier: MIT */
/* Stages, bounded queues and workers, and how the time of each stage is split.
 *
 * A stage is a function run by a fixed number of world threads. Stages are connected by queues. The first worker that
 * fails stops the pipeline. Its error is kept, every queue is cancelled, and pop and push return GNN_ECANCELLED. All
 * workers then return, and gnn_pipeline_run returns the first error. Ctrl-C and limits take the same path. */
#ifndef GNN_PIPELINE_H
#define GNN_PIPELINE_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"

/* ---- bounded queue of pointers: many producers, many consumers ---- */

struct gnn_queue;

/* Opens a queue. capacity 0: unbounded; push never sleeps. Set *out to NULL first; it is the caller's to close, also on
 * an error. */
GNN_MUST_CHECK enum gnn_status gnn_queue_open(struct gnn_world *world, const char *name, uint32_t capacity,
                                              struct gnn_queue **out, struct gnn_err *err);
void gnn_queue_close(struct gnn_queue *queue); /* accepts NULL; items inside stay the caller's */

/* Declares how many producers will call gnn_queue_done, and lifts a cancellation. Items inside stay. Call it before any
 * worker starts, and again before each next run.
 *
 * Without this call the queue has no end. A pool of free batches or slots is such a queue: it is filled once, popped to
 * borrow and pushed to return. */
void gnn_queue_producers(struct gnn_queue *queue, uint32_t producers);
/* Reports that one producer has finished. After the last one, pops drain the queue and then set *item to NULL with
 * GNN_OK. */
void gnn_queue_done(struct gnn_queue *queue);
/* Wakes all sleepers; later calls of push and pop return GNN_ECANCELLED. Accepts NULL. */
void gnn_queue_cancel(struct gnn_queue *queue);

/* Appends an item, which must not be NULL; sleeps while the queue is full (GNN_WAIT_QUEUE). GNN_ECANCELLED. GNN_ENOMEM:
 * an unbounded queue could not grow. Errors have no message. */
GNN_MUST_CHECK enum gnn_status gnn_queue_push(struct gnn_queue *queue, void *item);
/* Takes the oldest item; sleeps while the queue is empty (GNN_WAIT_QUEUE). *item = NULL with GNN_OK: no more will come.
 * GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status gnn_queue_pop(struct gnn_queue *queue, void **item);
uint32_t gnn_queue_peak(const struct gnn_queue *queue); /* largest number of items so far */

/* ---- in-order delivery: the item with ticket k leaves after that with ticket k - 1 ---- */

struct gnn_reorder;
/* Opens a buffer that holds at most `window` tickets, counted from the next delivery. Set *out to NULL first; it is the
 * caller's to close, also on an error. */
GNN_MUST_CHECK enum gnn_status gnn_reorder_open(struct gnn_world *world, uint32_t window, struct gnn_reorder **out,
                                                struct gnn_err *err);
void gnn_reorder_close(struct gnn_reorder *reorder);
/* Empties the buffer and lifts a cancellation; tickets are [first_ticket, end_ticket). Call it before the first use and
 * before each next run. */
void gnn_reorder_reset(struct gnn_reorder *reorder, uint64_t first_ticket, uint64_t end_ticket);
/* Hands in the item of a ticket; sleeps while ticket >= next + window (GNN_WAIT_QUEUE). GNN_ECANCELLED.
 *
 * The holder of the next ticket must be able to reach this call. So a ticket is drawn by the worker that will put it,
 * or it travels through queues in ticket order. If several producers draw tickets before a bounded queue, later tickets
 * can fill the queue and block the next one. */
GNN_MUST_CHECK enum gnn_status gnn_reorder_put(struct gnn_reorder *reorder, uint64_t ticket, void *item);
/* Takes the next item in ticket order; sleeps until it has arrived (GNN_WAIT_QUEUE). *item = NULL with GNN_OK: all
 * tickets were taken. GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status gnn_reorder_take(struct gnn_reorder *reorder, void **item);
void gnn_reorder_cancel(struct gnn_reorder *reorder); /* as gnn_queue_cancel; accepts NULL */

/* ---- stages ---- */

enum { GNN_STAGES_MAX = 12, GNN_WORKERS_MAX = 256 };

/* Times of a stage, summed over its workers and over one or more epochs. The wall time is work + waits, within 1 %. The
 * work is at most cpu_ns + queued_ns (struct gnn_time_split), plus what no kernel clock counts. */
struct gnn_stage_time {
    char stage[GNN_NAME_MAX];
    uint32_t workers;
    uint64_t items;                                                        /* mini-batches that left the stage */
    uint64_t wall_ns, cpu_ns, queued_ns, work_ns, wait_ns[GNN_WAIT_KINDS]; /* queued_ns: GNN_UNKNOWN if one is */
};

struct gnn_worker {
    struct gnn_world *world;
    struct gnn_pipeline *pipeline;
    uint32_t index; /* 0 .. workers - 1 */
    uint64_t items; /* the stage's function adds what it delivered */
};

typedef enum gnn_status gnn_stage_fn(void *ctx, struct gnn_worker *worker, struct gnn_err *err);

struct gnn_pipeline;

/* Opens a pipeline without stages. Set *out to NULL first; it is the caller's to close, also on an error. */
GNN_MUST_CHECK enum gnn_status gnn_pipeline_open(struct gnn_world *world, struct gnn_pipeline **out,
                                                 struct gnn_err *err);
void gnn_pipeline_close(struct gnn_pipeline *pipeline); /* closes its queues and reorder buffers, too; accepts NULL */

/* Adds a stage, before gnn_pipeline_run. ctx stays the caller's. GNN_EUSAGE: workers is not 1 to GNN_WORKERS_MAX.
 * GNN_EBUG: more than GNN_STAGES_MAX stages. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_pipeline_stage(struct gnn_pipeline *pipeline, const char *name, uint32_t workers,
                                                  gnn_stage_fn *run, void *ctx, struct gnn_err *err);
/* Open a queue, or a reorder buffer for tickets [0, end), that the pipeline owns. The pipeline cancels it when it stops
 * early, and closes it. */
GNN_MUST_CHECK enum gnn_status gnn_pipeline_queue(struct gnn_pipeline *pipeline, const char *name, uint32_t capacity,
                                                  struct gnn_queue **out, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_pipeline_reorder(struct gnn_pipeline *pipeline, uint32_t window, uint64_t end,
                                                    struct gnn_reorder **out, struct gnn_err *err);
/* Adds a callback: cancel(target) is called once if the pipeline stops early, to wake sleepers on a system's own
 * conditions. target stays the caller's. */
GNN_MUST_CHECK enum gnn_status gnn_pipeline_on_cancel(struct gnn_pipeline *pipeline, void (*cancel)(void *target),
                                                      void *target, struct gnn_err *err);

/* Starts every worker, waits for all, and returns the first error. A worker that returns GNN_ECANCELLED by itself,
 * because it saw the run's stop flag, stops the others, too.
 *
 * It may be called again for the next epoch, also after an error once queues and reorder buffers are reset. */
GNN_MUST_CHECK enum gnn_status gnn_pipeline_run(struct gnn_pipeline *pipeline, struct gnn_err *err);

/* Stops a running pipeline from any thread (Ctrl-C, time limit): the run returns `status` with this message. Between
 * two runs it stops the next one before it starts. The cancel callbacks run on the calling thread. */
void gnn_pipeline_stop(struct gnn_pipeline *pipeline, enum gnn_status status, const char *message);
bool gnn_pipeline_stopping(struct gnn_pipeline *pipeline);

/* Writes the times of the last run, in the order in which the stages were added. Returns the number of stages written,
 * at most `max`. */
uint32_t gnn_pipeline_times(const struct gnn_pipeline *pipeline, struct gnn_stage_time *out, uint32_t max);

#endif
