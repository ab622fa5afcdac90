/* The thread-pool engine: a fixed number of threads of the world that read one after the other, for machines that
 * forbid io_uring; asked for by name (--io pool). The pool's threads serve one ring. Their own splits are read by no
 * one: what they spend is the owner's wait. In the simulated world their system calls, wake-ups and page copies take
 * their own cores' time, and the locks between them cost what locks cost in the profile. */
#include "harness/world/ring_engines.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct pool {
    struct gnn_ring ring;
    struct gnn_world *world;
    const struct gnn_ring_engines *engines;
    uint32_t depth;
    bool spin;
    uint32_t in_flight; /* owner's: handed over and not yet taken back */
    struct gnn_mutex *lock;
    struct gnn_cond *work; /* something to read, or stopping */
    struct gnn_cond *done; /* enough completions for the owner */
    bool stopping;
    uint32_t wanted;        /* completions the sleeping owner waits for; 0: awake */
    struct gnn_read *reads; /* ring buffers of depth entries each */
    uint64_t read_head, read_tail;
    struct gnn_completion *completions;
    uint64_t completion_head;
    atomic_uint_fast64_t completed; /* tail of completions: written under the lock, a spinning owner reads without */
    uint32_t thread_count;
    struct gnn_thread *threads[GNN_RING_POOL_THREADS_MAX];
};

/* ---- the pool's threads ---- */

static int32_t read_once(struct gnn_world *w, const struct gnn_read *read)
{
    int64_t moved;
    do {
        moved = gnn_file_read(w, read->file, read->offset_bytes, read->dst, read->len_bytes);
    } while (moved == -EINTR);
    assert(moved <= (int64_t)read->len_bytes);
    return (int32_t)moved;
}

static void pool_main(void *arg)
{
    struct pool *const pool = arg;
    struct gnn_world *const w = pool->world;
    gnn_mutex_lock(w, pool->lock);
    for (;;) {
        while (pool->read_head == pool->read_tail && !pool->stopping)
            (void)gnn_cond_wait(w, pool->work, pool->lock, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
        if (pool->read_head == pool->read_tail)
            break;
        const struct gnn_read read = pool->reads[pool->read_head++ % pool->depth];
        gnn_mutex_unlock(w, pool->lock);
        const int32_t result = read_once(w, &read);
        gnn_mutex_lock(w, pool->lock);
        const uint64_t tail = atomic_load(&pool->completed);
        assert(tail - pool->completion_head < pool->depth);
        pool->completions[tail % pool->depth] = (struct gnn_completion){.tag = read.tag, .result = result};
        atomic_store(&pool->completed, tail + 1);
        if (pool->wanted != 0 && tail + 1 - pool->completion_head >= pool->wanted)
            gnn_cond_signal(w, pool->done);
    }
    gnn_mutex_unlock(w, pool->lock);
}

/* ---- submit, wait ---- */

static enum gnn_status pool_submit(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_read *reads,
                                   uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    (void)err;
    struct pool *const pool = (struct pool *)ring;
    assert(pool->in_flight <= pool->depth);
    const uint32_t taken = gnn_min_u32(count, pool->depth - pool->in_flight);
    *accepted = taken;
    if (taken == 0)
        return GNN_OK;
    pool->engines->lock(w, pool->lock);
    for (uint32_t i = 0; i < taken; i++)
        pool->reads[pool->read_tail++ % pool->depth] = reads[i];
    if (taken == 1)
        gnn_cond_signal(w, pool->work);
    else
        gnn_cond_broadcast(w, pool->work);
    gnn_mutex_unlock(w, pool->lock);
    pool->in_flight += taken;
    return GNN_OK;
}

static uint64_t completions_there(const struct pool *pool)
{
    return atomic_load(&pool->completed) - pool->completion_head;
}

static enum gnn_status pool_wait(struct gnn_world *w, struct gnn_ring *ring, uint32_t min, uint32_t max,
                                 struct gnn_completion *out, uint32_t *got, struct gnn_err *err)
{
    (void)err;
    struct pool *const pool = (struct pool *)ring;
    assert(min <= pool->in_flight);
    if (pool->spin && completions_there(pool) < min)
        pool->engines->spin(w, &pool->completed, pool->completion_head, min);
    pool->engines->lock(w, pool->lock);
    pool->wanted = min;
    while (completions_there(pool) < min)
        (void)gnn_cond_wait(w, pool->done, pool->lock, GNN_NO_DEADLINE, GNN_WAIT_IO);
    pool->wanted = 0;
    uint32_t taken = 0;
    while (taken < max && completions_there(pool) > 0)
        out[taken++] = pool->completions[pool->completion_head++ % pool->depth];
    gnn_mutex_unlock(w, pool->lock);
    if (min == 0 && pool->engines->look != NULL)
        pool->engines->look(w);
    assert(taken <= pool->in_flight);
    pool->in_flight -= taken;
    *got = taken;
    return GNN_OK;
}

/* ---- open, close ---- */

static void pool_close(struct gnn_world *w, struct gnn_ring *ring)
{
    struct pool *const pool = (struct pool *)ring;
    if (pool->thread_count > 0) {
        pool->engines->lock(w, pool->lock);
        pool->stopping = true;
        gnn_cond_broadcast(w, pool->work);
        gnn_mutex_unlock(w, pool->lock);
    }
    for (uint32_t i = 0; i < pool->thread_count; i++)
        gnn_thread_join(w, pool->threads[i]);
    gnn_cond_close(w, pool->done);
    gnn_cond_close(w, pool->work);
    gnn_mutex_close(w, pool->lock);
    free(pool->completions);
    free(pool->reads);
    free(pool);
}

static const struct gnn_ring_ops pool_ops = {.submit = pool_submit, .wait = pool_wait, .close = pool_close};

static enum gnn_status pool_start(struct pool *pool, uint32_t threads, struct gnn_err *err)
{
    assert(threads >= 1);
    assert(threads <= GNN_RING_POOL_THREADS_MAX);
    GNN_NEW(pool->reads, pool->depth, err, "read pool: %u reads", pool->depth);
    GNN_NEW(pool->completions, pool->depth, err, "read pool: %u completions", pool->depth);
    GNN_TRY(gnn_mutex_open(pool->world, &pool->lock, err));
    GNN_TRY(gnn_cond_open(pool->world, &pool->work, err));
    GNN_TRY(gnn_cond_open(pool->world, &pool->done, err));
    for (; pool->thread_count < threads; pool->thread_count++)
        GNN_TRY(gnn_thread_start(pool->world, "read-pool", pool_main, pool, &pool->threads[pool->thread_count], err));
    return GNN_OK;
}

static enum gnn_status pool_open(struct gnn_world *w, const struct gnn_ring_engines *engines,
                                 const struct gnn_ring_config *config, struct gnn_ring **out, struct gnn_err *err)
{
    if (config->sqpoll || config->iopoll)
        return gnn_fail(err, GNN_EUSAGE, "%s belongs to io_uring, the thread pool has none; use --io uring",
                        config->sqpoll ? "sqpoll" : "iopoll");
    struct pool *pool;
    GNN_NEW(pool, 1, err, "read pool: %zu bytes", sizeof *pool);
    pool->ring.ops = &pool_ops;
    pool->world = w;
    pool->engines = engines;
    pool->depth = config->depth;
    pool->spin = config->spin;
    const uint32_t asked = config->pool_threads != 0 ? config->pool_threads : config->depth;
    const enum gnn_status status = pool_start(pool, gnn_min_u32(asked, GNN_RING_POOL_THREADS_MAX), err);
    if (status == GNN_OK)
        *out = &pool->ring;
    else
        pool_close(w, &pool->ring);
    return status;
}

/* ---- either engine ---- */

enum gnn_status gnn_ring_engine_open(struct gnn_world *w, const struct gnn_ring_engines *engines,
                                     const struct gnn_ring_config *config, struct gnn_ring **out, struct gnn_err *err)
{
    *out = NULL;
    if (config->depth == 0 || config->depth > GNN_RING_DEPTH_MAX)
        return gnn_fail(err, GNN_EUSAGE, "a ring of depth %u: 1 to %d are possible", config->depth, GNN_RING_DEPTH_MAX);
    switch (config->engine) {
    case GNN_RING_URING:
        return engines->uring_open(w, config, out, err);
    case GNN_RING_POOL:
        return pool_open(w, engines, config, out, err);
    }
    return gnn_fail(err, GNN_EBUG, "ring engine %d does not exist", (int)config->engine);
}

enum gnn_status gnn_ring_engine_submit(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_read *reads,
                                       uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    return ring->ops->submit(w, ring, reads, count, accepted, err);
}

enum gnn_status gnn_ring_engine_wait(struct gnn_world *w, struct gnn_ring *ring, uint32_t min, uint32_t max,
                                     struct gnn_completion *out, uint32_t *got, struct gnn_err *err)
{
    assert(min <= max);
    return ring->ops->wait(w, ring, min, max, out, got, err);
}

void gnn_ring_engine_close(struct gnn_world *w, struct gnn_ring *ring)
{
    if (ring != NULL)
        ring->ops->close(w, ring);
}
