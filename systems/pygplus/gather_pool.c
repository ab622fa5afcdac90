#include "systems/pygplus/gather_pool.h"

#include <assert.h>
#include <stdlib.h>

struct gather_pool {
    struct gnn_world *world;
    struct gnn_map *map;
    uint32_t row_bytes, workers;
    struct gnn_mutex *mutex;
    struct gnn_cond *posted, *done;
    /* under the mutex */
    struct gather_job job;
    uint64_t job_number; /* of the last posted job; 0 = none yet */
    uint32_t working;    /* workers that have not finished their part of it */
    bool finished, cancelled;
};

enum gnn_status gather_pool_open(struct gnn_world *world, struct gnn_map *map, uint32_t row_bytes,
                                 uint32_t workers, struct gather_pool **out, struct gnn_err *err)
{
    assert(workers > 0);
    struct gather_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return gnn_fail(err, GNN_ENOMEM, "pygplus: gather pool");
    pool->world = world;
    pool->map = map;
    pool->row_bytes = row_bytes;
    pool->workers = workers;
    enum gnn_status status = gnn_mutex_open(world, &pool->mutex, err);
    if (status == GNN_OK)
        status = gnn_cond_open(world, &pool->posted, err);
    if (status == GNN_OK)
        status = gnn_cond_open(world, &pool->done, err);
    if (status == GNN_OK)
        *out = pool;
    else
        gather_pool_close(pool);
    return status;
}

void gather_pool_close(struct gather_pool *pool)
{
    if (pool == NULL)
        return;
    gnn_cond_close(pool->world, pool->done);
    gnn_cond_close(pool->world, pool->posted);
    gnn_mutex_close(pool->world, pool->mutex);
    free(pool);
}

void gather_pool_begin(struct gather_pool *pool)
{
    gnn_mutex_lock(pool->world, pool->mutex);
    pool->job_number = 0;
    pool->working = 0;
    pool->finished = pool->cancelled = false;
    gnn_mutex_unlock(pool->world, pool->mutex);
}

void gather_pool_post(struct gather_pool *pool, const struct gather_job *job)
{
    gnn_mutex_lock(pool->world, pool->mutex);
    assert(pool->working == 0 && !pool->finished);
    pool->job = *job;
    pool->job_number++;
    pool->working = pool->workers;
    gnn_cond_broadcast(pool->world, pool->posted);
    gnn_mutex_unlock(pool->world, pool->mutex);
}

enum gnn_status gather_pool_wait(struct gather_pool *pool)
{
    gnn_mutex_lock(pool->world, pool->mutex);
    while (pool->working > 0 && !pool->cancelled)
        (void)gnn_cond_wait(pool->world, pool->done, pool->mutex, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
    const bool cancelled = pool->cancelled;
    gnn_mutex_unlock(pool->world, pool->mutex);
    return cancelled ? GNN_ECANCELLED : GNN_OK;
}

static void set_flag(struct gather_pool *pool, bool *flag)
{
    gnn_mutex_lock(pool->world, pool->mutex);
    *flag = true;
    gnn_cond_broadcast(pool->world, pool->posted);
    gnn_cond_broadcast(pool->world, pool->done);
    gnn_mutex_unlock(pool->world, pool->mutex);
}

void gather_pool_finish(struct gather_pool *pool)
{
    set_flag(pool, &pool->finished);
}

void gather_pool_cancel(struct gather_pool *pool)
{
    set_flag(pool, &pool->cancelled);
}

/* Sleeps until job number `next` is there; *more = false when none will come. */
static enum gnn_status next_job(struct gather_pool *pool, uint64_t next, struct gather_job *job, bool *more)
{
    gnn_mutex_lock(pool->world, pool->mutex);
    while (pool->job_number < next && !pool->finished && !pool->cancelled)
        (void)gnn_cond_wait(pool->world, pool->posted, pool->mutex, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
    const bool cancelled = pool->cancelled;
    *more = pool->job_number >= next;
    *job = pool->job;
    gnn_mutex_unlock(pool->world, pool->mutex);
    return cancelled ? GNN_ECANCELLED : GNN_OK;
}

static void part_done(struct gather_pool *pool)
{
    gnn_mutex_lock(pool->world, pool->mutex);
    assert(pool->working > 0);
    if (--pool->working == 0)
        gnn_cond_broadcast(pool->world, pool->done);
    gnn_mutex_unlock(pool->world, pool->mutex);
}

enum gnn_status gather_pool_work(struct gather_pool *pool, uint32_t index, uint64_t *jobs,
                                 struct gnn_err *err)
{
    for (uint64_t next = 1;; next++) {
        struct gather_job job;
        bool more;
        GNN_TRY(next_job(pool, next, &job, &more));
        if (!more)
            return GNN_OK;
        const uint64_t first = (uint64_t)job.count * index / pool->workers;
        const uint64_t end = (uint64_t)job.count * (index + 1) / pool->workers;
        if (end > first)
            GNN_TRY(gnn_map_gather_rows(pool->world, pool->map, pool->row_bytes, job.nodes + first,
                                        end - first, (char *)job.dst + first * pool->row_bytes,
                                        pool->row_bytes, err));
        part_done(pool);
        *jobs += index == 0;
    }
}
