#include "harness/system/gang.h"

#include <assert.h>
#include <stdlib.h>

struct job {
    gnn_gang_fn *fn;
    void *ctx;
};

struct gnn_gang {
    struct gnn_world *world;
    uint32_t workers;
    struct gnn_mutex *mutex;
    struct gnn_cond *posted, *done;
    /* under the mutex */
    struct job job;
    uint64_t job_number; /* of the last posted job; 0 = none yet */
    uint32_t working;    /* workers that have not finished their part of it */
    bool finished, cancelled;
};

enum gnn_status gnn_gang_open(struct gnn_world *world, uint32_t workers, struct gnn_gang **out, struct gnn_err *err)
{
    assert(workers > 0);
    struct gnn_gang *gang = calloc(1, sizeof *gang);
    if (gang == NULL)
        return gnn_fail(err, GNN_ENOMEM, "gang of workers");
    gang->world = world;
    gang->workers = workers;
    enum gnn_status status = gnn_mutex_open(world, &gang->mutex, err);
    if (status == GNN_OK)
        status = gnn_cond_open(world, &gang->posted, err);
    if (status == GNN_OK)
        status = gnn_cond_open(world, &gang->done, err);
    if (status == GNN_OK)
        *out = gang;
    else
        gnn_gang_close(gang);
    return status;
}

void gnn_gang_close(struct gnn_gang *gang)
{
    if (gang == NULL)
        return;
    gnn_cond_close(gang->world, gang->done);
    gnn_cond_close(gang->world, gang->posted);
    gnn_mutex_close(gang->world, gang->mutex);
    free(gang);
}

void gnn_gang_begin(struct gnn_gang *gang)
{
    gnn_mutex_lock(gang->world, gang->mutex);
    gang->job_number = 0;
    gang->working = 0;
    gang->finished = gang->cancelled = false;
    gnn_mutex_unlock(gang->world, gang->mutex);
}

void gnn_gang_post(struct gnn_gang *gang, gnn_gang_fn *fn, void *ctx)
{
    gnn_mutex_lock(gang->world, gang->mutex);
    assert(gang->working == 0 && !gang->finished);
    gang->job = (struct job){fn, ctx};
    gang->job_number++;
    gang->working = gang->workers;
    gnn_cond_broadcast(gang->world, gang->posted);
    gnn_mutex_unlock(gang->world, gang->mutex);
}

enum gnn_status gnn_gang_wait(struct gnn_gang *gang)
{
    gnn_mutex_lock(gang->world, gang->mutex);
    while (gang->working > 0 && !gang->cancelled)
        (void)gnn_cond_wait(gang->world, gang->done, gang->mutex, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
    const bool cancelled = gang->cancelled;
    gnn_mutex_unlock(gang->world, gang->mutex);
    return cancelled ? GNN_ECANCELLED : GNN_OK;
}

static void set_flag(struct gnn_gang *gang, bool *flag)
{
    gnn_mutex_lock(gang->world, gang->mutex);
    *flag = true;
    gnn_cond_broadcast(gang->world, gang->posted);
    gnn_cond_broadcast(gang->world, gang->done);
    gnn_mutex_unlock(gang->world, gang->mutex);
}

void gnn_gang_finish(struct gnn_gang *gang)
{
    set_flag(gang, &gang->finished);
}

void gnn_gang_cancel(struct gnn_gang *gang)
{
    set_flag(gang, &gang->cancelled);
}

/* Sleeps until job number `next` is there; *more = false when none will come. */
static enum gnn_status next_job(struct gnn_gang *gang, uint64_t next, struct job *job, bool *more)
{
    gnn_mutex_lock(gang->world, gang->mutex);
    while (gang->job_number < next && !gang->finished && !gang->cancelled)
        (void)gnn_cond_wait(gang->world, gang->posted, gang->mutex, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
    const bool cancelled = gang->cancelled;
    *more = gang->job_number >= next;
    *job = gang->job;
    gnn_mutex_unlock(gang->world, gang->mutex);
    return cancelled ? GNN_ECANCELLED : GNN_OK;
}

static void part_done(struct gnn_gang *gang)
{
    gnn_mutex_lock(gang->world, gang->mutex);
    assert(gang->working > 0);
    if (--gang->working == 0)
        gnn_cond_broadcast(gang->world, gang->done);
    gnn_mutex_unlock(gang->world, gang->mutex);
}

enum gnn_status gnn_gang_work(struct gnn_gang *gang, uint32_t index, uint64_t *jobs, struct gnn_err *err)
{
    for (uint64_t next = 1;; next++) {
        struct job job;
        bool more;
        GNN_TRY(next_job(gang, next, &job, &more));
        if (!more)
            return GNN_OK;
        GNN_TRY(job.fn(job.ctx, index, gang->workers, err));
        part_done(gang);
        *jobs += index == 0;
    }
}
