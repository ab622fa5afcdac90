/* SPDX-License-Identifier: MIT */
/* The thread-pool engine: a fixed number of threads of the world that read and write one after the other, for machines
 * that forbid io_uring; asked for by name (--io pool). The pool's threads serve one ring. Their own splits are read by
 * no one: what they spend is the owner's wait. In the simulated world their system calls, wake-ups and page copies take
 * their own cores' time, and the locks between them cost what locks cost in the profile. */
#include "harness/world/ring_engines.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* A read, or a write of what memory holds. */
struct job {
    struct gnn_file *file;
    uint64_t offset_bytes;
    void *memory;
    uint32_t len_bytes;
    bool write;
    uint64_t tag;
};

struct pool {
    struct gnn_ring ring;
    struct gnn_world *world;
    const struct gnn_ring_engines *engines;
    uint32_t depth;
    bool spin;
    uint32_t in_flight; /* owner's: handed over and not yet taken back */
    struct gnn_mutex *lock;
    struct gnn_cond *work; /* something to do, or stopping */
    struct gnn_cond *done; /* enough completions for the owner */
    bool stopping;
    uint32_t wanted;  /* completions the sleeping owner waits for; 0: awake */
    struct job *jobs; /* ring buffers of depth entries each */
    uint64_t job_head, job_tail;
    struct gnn_completion *completions;
    uint64_t completion_head;
    atomic_uint_fast64_t completed; /* tail of completions: written under the lock, a spinning owner reads without */
    uint32_t thread_count;
    struct gnn_thread *threads[GNN_RING_POOL_THREADS_MAX];
};

/* ---- the pool's threads ---- */

static int32_t do_once(struct gnn_world *w, const struct job *job)
{
    int64_t moved;
    do {
        moved = job->write ? gnn_file_write(w, job->file, job->offset_bytes, job->memory, job->len_bytes)
                           : gnn_file_read(w, job->file, job->offset_bytes, job->memory, job->len_bytes);
    } while (moved == -EINTR);
    assert(moved <= (int64_t)job->len_bytes);
    return (int32_t)moved;
}

static void pool_main(void *arg)
{
    struct pool *const pool = arg;
    struct gnn_world *const w = pool->world;
    gnn_mutex_lock(w, pool->lock);
    for (;;) {
        while (pool->job_head == pool->job_tail && !pool->stopping)
            (void)gnn_cond_wait(w, pool->work, pool->lock, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
        if (pool->job_head == pool->job_tail)
            break;
        const struct job job = pool->jobs[pool->job_head++ % pool->depth];
        gnn_mutex_unlock(w, pool->lock);
        const int32_t result = do_once(w, &job);
        gnn_mutex_lock(w, pool->lock);
        const uint64_t tail = atomic_load(&pool->completed);
        assert(tail - pool->completion_head < pool->depth);
        pool->completions[tail % pool->depth] = (struct gnn_completion){.tag = job.tag, .result = result};
        atomic_store(&pool->completed, tail + 1);
        if (pool->wanted != 0 && tail + 1 - pool->completion_head >= pool->wanted)
            gnn_cond_signal(w, pool->done);
    }
    gnn_mutex_unlock(w, pool->lock);
}

/* ---- submit, wait ---- */

/* How many of a batch fit into the depth. */
static uint32_t room_for(const struct pool *pool, uint32_t count)
{
    assert(pool->in_flight <= pool->depth);
    return gnn_min_u32(count, pool->depth - pool->in_flight);
}

/* Wakes threads for the `taken` jobs that were added under the lock, and leaves it. */
static void added(struct gnn_world *w, struct pool *pool, uint32_t taken)
{
    if (taken == 1)
        gnn_cond_signal(w, pool->work);
    else
        gnn_cond_broadcast(w, pool->work);
    gnn_mutex_unlock(w, pool->lock);
    pool->in_flight += taken;
}

static enum gnn_status pool_submit(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_read *reads,
                                   uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    (void)err;
    struct pool *const pool = (struct pool *)ring;
    *accepted = room_for(pool, count);
    if (*accepted == 0)
        return GNN_OK;
    pool->engines->lock(w, pool->lock);
    for (uint32_t i = 0; i < *accepted; i++)
        pool->jobs[pool->job_tail++ % pool->depth] = (struct job){.file = reads[i].file,
                                                                  .offset_bytes = reads[i].offset_bytes,
                                                                  .memory = reads[i].dst,
                                                                  .len_bytes = reads[i].len_bytes,
                                                                  .tag = reads[i].tag};
    added(w, pool, *accepted);
    return GNN_OK;
}

static enum gnn_status pool_submit_writes(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_write *writes,
                                          uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    (void)err;
    struct pool *const pool = (struct pool *)ring;
    *accepted = room_for(pool, count);
    if (*accepted == 0)
        return GNN_OK;
    pool->engines->lock(w, pool->lock);
    for (uint32_t i = 0; i < *accepted; i++)
        pool->jobs[pool->job_tail++ % pool->depth] = (struct job){.file = writes[i].file,
                                                                  .offset_bytes = writes[i].offset_bytes,
                                                                  .memory = (void *)writes[i].src, /* only read */
                                                                  .len_bytes = writes[i].len_bytes,
                                                                  .write = true,
                                                                  .tag = writes[i].tag};
    added(w, pool, *accepted);
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
    free(pool->jobs);
    free(pool);
}

static const struct gnn_ring_ops pool_ops = {
    .submit = pool_submit, .submit_writes = pool_submit_writes, .wait = pool_wait, .close = pool_close};

static enum gnn_status pool_start(struct pool *pool, uint32_t threads, struct gnn_err *err)
{
    assert(threads >= 1);
    assert(threads <= GNN_RING_POOL_THREADS_MAX);
    GNN_NEW(pool->jobs, pool->depth, err, "read pool: %u reads", pool->depth);
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

enum gnn_status gnn_ring_engine_submit_writes(struct gnn_world *w, struct gnn_ring *ring,
                                              const struct gnn_write *writes, uint32_t count, uint32_t *accepted,
                                              struct gnn_err *err)
{
    return ring->ops->submit_writes(w, ring, writes, count, accepted, err);
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
