/* A gang: worker threads that do one job together, each an equal contiguous part, while one other thread goes on until
 * it waits for them. What an OpenMP `parallel for` in the background would be: gathers, copies, cache fills.
 *
 * Life     open -> per pipeline run: begin, workers run gnn_gang_work, one thread posts and waits in turn, finish ->
 *          close
 * Order    exactly one job may be in flight: post after the previous wait (asserted) */
#ifndef GNN_SYSTEM_GANG_H
#define GNN_SYSTEM_GANG_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"

struct gnn_gang;

/* Does worker's part of the job. */
typedef enum gnn_status gnn_gang_fn(void *ctx, uint32_t worker, uint32_t workers, struct gnn_err *err);

GNN_MUST_CHECK enum gnn_status gnn_gang_open(struct gnn_world *world, uint32_t workers, struct gnn_gang **out,
                                             struct gnn_err *err);
void gnn_gang_close(struct gnn_gang *gang); /* accepts NULL */
void gnn_gang_begin(struct gnn_gang *gang);

/* The posting side, one thread. */
void gnn_gang_post(struct gnn_gang *gang, gnn_gang_fn *fn, void *ctx);
/* Sleeps (GNN_WAIT_QUEUE) until the posted job is done; at once when there is none. GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status gnn_gang_wait(struct gnn_gang *gang);
void gnn_gang_finish(struct gnn_gang *gang); /* no more jobs: workers return after the last */

/* Worker `index`: its part of every job until finish; worker 0 counts them in *jobs. GNN_ECANCELLED, or the job's
 * error. */
GNN_MUST_CHECK enum gnn_status gnn_gang_work(struct gnn_gang *gang, uint32_t index, uint64_t *jobs,
                                             struct gnn_err *err);
void gnn_gang_cancel(struct gnn_gang *gang);

/* The part [*first, *end) of `count` things that is this worker's. */
static inline void gnn_gang_part(uint64_t count, uint32_t worker, uint32_t workers, uint64_t *first, uint64_t *end)
{
    *first = count * worker / workers;
    *end = count * (worker + 1) / workers;
}

#endif
