#include "systems/agnes/team.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

struct agnes_loop {
    struct agnes_task task;
    struct agnes_team *team;
};

static enum gnn_status run_loop(struct agnes_task *task, uint32_t worker, struct gnn_err *err)
{
    struct agnes_team *const team = ((struct agnes_loop *)task)->team;
    for (;;) {
        const uint64_t i = atomic_fetch_add(&team->next, 1);
        if (i >= team->end)
            return GNN_OK;
        GNN_TRY(team->each(team->ctx, worker, i, err));
    }
}

enum gnn_status agnes_team_open(struct gnn_world *world, uint32_t workers, struct agnes_team *out, struct gnn_err *err)
{
    (void)world;
    out->workers = workers;
    out->loops = calloc(workers, sizeof *out->loops);
    if (out->loops == NULL)
        return gnn_fail(err, GNN_ENOMEM, "agnes: %" PRIu32 " workers", workers);
    for (uint32_t w = 0; w < workers; w++)
        out->loops[w] = (struct agnes_loop){.task = {.run = run_loop}, .team = out};
    return GNN_OK;
}

void agnes_team_close(struct agnes_team *team)
{
    free(team->loops);
    team->loops = NULL;
}

enum gnn_status agnes_team_begin(struct gnn_world *world, struct agnes_team *team, struct gnn_err *err)
{
    GNN_TRY(gnn_queue_open(world, "agnes tasks", 0, &team->ready, err));
    gnn_queue_producers(team->ready, 1);
    return gnn_queue_open(world, "agnes finished tasks", 0, &team->returned, err);
}

void agnes_team_end(struct agnes_team *team)
{
    gnn_queue_close(team->ready);
    gnn_queue_close(team->returned);
    team->ready = team->returned = NULL;
}

void agnes_team_cancel(struct agnes_team *team)
{
    if (team->ready != NULL)
        gnn_queue_cancel(team->ready);
    if (team->returned != NULL)
        gnn_queue_cancel(team->returned);
}

enum gnn_status agnes_team_work(struct agnes_team *team, struct gnn_worker *worker, struct gnn_err *err)
{
    for (;;) {
        void *popped;
        GNN_TRY(gnn_queue_pop(team->ready, &popped));
        struct agnes_task *const task = popped;
        if (task == NULL)
            return GNN_OK;
        GNN_TRY(task->run(task, worker->index, err));
        GNN_TRY(gnn_queue_push(team->returned, task));
        worker->items++;
    }
}

enum gnn_status agnes_team_give(struct agnes_team *team, struct agnes_task *task)
{
    return gnn_queue_push(team->ready, task);
}

enum gnn_status agnes_team_take(struct agnes_team *team, bool wait, struct agnes_task **task)
{
    void *popped;
    GNN_TRY(wait ? gnn_queue_pop(team->returned, &popped) : gnn_queue_try_pop(team->returned, &popped));
    *task = popped;
    return GNN_OK;
}

enum gnn_status agnes_team_each(struct agnes_team *team, uint64_t count, agnes_each_fn *each, void *ctx,
                                struct gnn_err *err)
{
    (void)err; /* a worker's failure stops the pipeline, and its error is the one that is kept */
    atomic_store(&team->next, 0);
    team->end = count;
    team->each = each;
    team->ctx = ctx;
    const uint32_t used = count < team->workers ? (uint32_t)count : team->workers;
    for (uint32_t w = 0; w < used; w++)
        GNN_TRY(agnes_team_give(team, &team->loops[w].task));
    for (uint32_t w = 0; w < used; w++) {
        struct agnes_task *task;
        GNN_TRY(agnes_team_take(team, true, &task));
        assert(task != NULL);
    }
    return GNN_OK;
}

void agnes_team_done(struct agnes_team *team)
{
    gnn_queue_done(team->ready);
}
