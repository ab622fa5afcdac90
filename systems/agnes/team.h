/* A team: one driver and W workers of a pipeline. The driver hands out tasks and takes finished ones back; frames of
 * blocks are tasks, and so are the parts of a loop. */
#ifndef AGNES_TEAM_H
#define AGNES_TEAM_H

#include "harness/pipeline/pipeline.h"

#include <stdatomic.h>

struct agnes_task {
    enum gnn_status (*run)(struct agnes_task *task, uint32_t worker, struct gnn_err *err);
};

/* ctx, the worker's number, the index. */
typedef enum gnn_status agnes_each_fn(void *ctx, uint32_t worker, uint64_t index, struct gnn_err *err);

struct agnes_loop; /* one worker's share of a loop */
struct agnes_team {
    struct gnn_queue *ready, *returned;
    struct agnes_loop *loops; /* (workers) */
    uint32_t workers;
    atomic_uint_fast64_t next; /* of the loop in progress */
    uint64_t end;
    agnes_each_fn *each;
    void *ctx;
};

GNN_MUST_CHECK enum gnn_status agnes_team_open(struct gnn_world *world, uint32_t workers, struct agnes_team *out,
                                               struct gnn_err *err);
void agnes_team_close(struct agnes_team *team); /* accepts a zeroed one */

/* Queues of one epoch: all tasks are back, or nobody works any more. */
GNN_MUST_CHECK enum gnn_status agnes_team_begin(struct gnn_world *world, struct agnes_team *team, struct gnn_err *err);
void agnes_team_end(struct agnes_team *team);
void agnes_team_cancel(struct agnes_team *team);

/* Worker: runs tasks until the driver says that there are no more. */
GNN_MUST_CHECK enum gnn_status agnes_team_work(struct agnes_team *team, struct gnn_worker *worker, struct gnn_err *err);

/* Driver. */
GNN_MUST_CHECK enum gnn_status agnes_team_give(struct agnes_team *team, struct agnes_task *task);
GNN_MUST_CHECK enum gnn_status agnes_team_take(struct agnes_team *team, bool wait, struct agnes_task **task);
/* each(ctx, w, i) for i in [0, count) on the workers; nothing else is with them. */
GNN_MUST_CHECK enum gnn_status agnes_team_each(struct agnes_team *team, uint64_t count, agnes_each_fn *each, void *ctx,
                                               struct gnn_err *err);
void agnes_team_done(struct agnes_team *team);

#endif
