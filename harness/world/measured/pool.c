/* The thread-pool engine: pread on a fixed number of threads. For machines that forbid io_uring; asked for by
 * name
 * (--io pool). The pool's threads serve one ring and carry no split: their time is the owner's wait. */
#include "harness/world/measured/internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POOL_THREADS_MAX = 64 };

struct pool {
    struct gnn_ring ring;
    uint32_t depth;
    uint32_t in_flight; /* owner's: handed over and not yet taken back */
    pthread_mutex_t lock;
    pthread_cond_t work; /* something to read, or stopping */
    pthread_cond_t done; /* enough completions for the owner */
    bool stopping;
    bool lock_ready, work_ready, done_ready;
    uint32_t wanted;        /* completions the sleeping owner waits for; 0 = awake */
    struct gnn_read *reads; /* ring buffers of depth entries each */
    uint64_t read_head, read_tail;
    struct gnn_completion *completions;
    uint64_t completion_head, completion_tail;
    bool spin;
    atomic_uint_fast64_t completed; /* completion_tail, for an owner that looks without the lock */
    uint32_t thread_count;
    pthread_t threads[POOL_THREADS_MAX];
};

static int32_t read_once(const struct gnn_read *read)
{
    ssize_t moved;
    do {
        moved = pread(read->file->fd, read->dst, read->len_bytes, (off_t)read->offset_bytes);
    } while (moved < 0 && errno == EINTR);
    return moved < 0 ? -errno : (int32_t)moved;
}

static void *pool_main(void *arg)
{
    struct pool *pool = arg;
    (void)pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->read_head == pool->read_tail && !pool->stopping)
            (void)pthread_cond_wait(&pool->work, &pool->lock);
        if (pool->read_head == pool->read_tail)
            break;
        const struct gnn_read read = pool->reads[pool->read_head++ % pool->depth];
        (void)pthread_mutex_unlock(&pool->lock);
        const int32_t result = read_once(&read);
        (void)pthread_mutex_lock(&pool->lock);
        pool->completions[pool->completion_tail++ % pool->depth] =
            (struct gnn_completion){.tag = read.tag, .result = result};
        atomic_store(&pool->completed, pool->completion_tail);
        if (pool->wanted != 0 && pool->completion_tail - pool->completion_head >= pool->wanted)
            (void)pthread_cond_signal(&pool->done);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static enum gnn_status pool_submit(struct measured *m, struct gnn_ring *ring, const struct gnn_read *reads,
                                   uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    (void)m;
    (void)err;
    struct pool *pool = (struct pool *)ring;
    const uint32_t room = pool->depth - pool->in_flight;
    const uint32_t taken = count < room ? count : room;
    *accepted = taken;
    if (taken == 0)
        return GNN_OK;
    (void)pthread_mutex_lock(&pool->lock);
    for (uint32_t i = 0; i < taken; i++)
        pool->reads[pool->read_tail++ % pool->depth] = reads[i];
    if (taken == 1)
        (void)pthread_cond_signal(&pool->work);
    else
        (void)pthread_cond_broadcast(&pool->work);
    (void)pthread_mutex_unlock(&pool->lock);
    pool->in_flight += taken;
    return GNN_OK;
}

/* Looks until at least `min` completions are there. */
static void pool_spin(struct measured *m, struct pool *pool, uint32_t min)
{
    if (atomic_load(&pool->completed) - pool->completion_head >= min)
        return;
    struct gnn_thread *self = measured_self(m);
    const uint64_t start_ns = measured_now_ns(&m->base);
    while (atomic_load(&pool->completed) - pool->completion_head < min)
        measured_pause();
    self->wait_ns[GNN_WAIT_IO] += measured_now_ns(&m->base) - start_ns;
}

static enum gnn_status pool_wait(struct measured *m, struct gnn_ring *ring, uint32_t min, uint32_t max,
                                 struct gnn_completion *out, uint32_t *got, struct gnn_err *err)
{
    (void)err;
    struct pool *pool = (struct pool *)ring;
    assert(min <= pool->in_flight);
    if (pool->spin)
        pool_spin(m, pool, min);
    (void)pthread_mutex_lock(&pool->lock);
    if (pool->completion_tail - pool->completion_head < min) {
        struct gnn_thread *self = measured_self(m);
        const uint64_t start_ns = measured_now_ns(&m->base);
        pool->wanted = min;
        while (pool->completion_tail - pool->completion_head < min)
            (void)pthread_cond_wait(&pool->done, &pool->lock);
        pool->wanted = 0;
        self->wait_ns[GNN_WAIT_IO] += measured_now_ns(&m->base) - start_ns;
    }
    uint32_t taken = 0;
    while (taken < max && pool->completion_head != pool->completion_tail)
        out[taken++] = pool->completions[pool->completion_head++ % pool->depth];
    (void)pthread_mutex_unlock(&pool->lock);
    assert(taken <= pool->in_flight);
    pool->in_flight -= taken;
    *got = taken;
    return GNN_OK;
}

static void pool_close(struct measured *m, struct gnn_ring *ring)
{
    (void)m;
    struct pool *pool = (struct pool *)ring;
    if (pool->lock_ready) {
        (void)pthread_mutex_lock(&pool->lock);
        pool->stopping = true;
        if (pool->work_ready)
            (void)pthread_cond_broadcast(&pool->work);
        (void)pthread_mutex_unlock(&pool->lock);
    }
    for (uint32_t i = 0; i < pool->thread_count; i++)
        (void)pthread_join(pool->threads[i], NULL);
    if (pool->done_ready)
        (void)pthread_cond_destroy(&pool->done);
    if (pool->work_ready)
        (void)pthread_cond_destroy(&pool->work);
    if (pool->lock_ready)
        (void)pthread_mutex_destroy(&pool->lock);
    free(pool->completions);
    free(pool->reads);
    free(pool);
}

static const struct gnn_ring_engine_ops pool_ops = {.submit = pool_submit, .wait = pool_wait, .close = pool_close};

static enum gnn_status pool_start(struct pool *pool, uint32_t threads, struct gnn_err *err)
{
    pool->reads = calloc(pool->depth, sizeof *pool->reads);
    pool->completions = calloc(pool->depth, sizeof *pool->completions);
    if (pool->reads == NULL || pool->completions == NULL)
        return gnn_fail(err, GNN_ENOMEM, "read pool of depth %u", pool->depth);
    pool->lock_ready = pthread_mutex_init(&pool->lock, NULL) == 0;
    pool->work_ready = pthread_cond_init(&pool->work, NULL) == 0;
    pool->done_ready = pthread_cond_init(&pool->done, NULL) == 0;
    if (!pool->lock_ready || !pool->work_ready || !pool->done_ready)
        return gnn_fail(err, GNN_ENOMEM, "read pool's locks");
    while (pool->thread_count < threads) {
        const int rc = pthread_create(&pool->threads[pool->thread_count], NULL, pool_main, pool);
        if (rc != 0)
            return gnn_fail(err, GNN_ENOMEM, "read pool: thread %u of %u: %s; a smaller depth needs fewer",
                            pool->thread_count + 1, threads, strerror(rc));
        (void)pthread_setname_np(pool->threads[pool->thread_count], "read-pool");
        pool->thread_count++;
    }
    return GNN_OK;
}

enum gnn_status measured_pool_open(struct measured *m, const struct gnn_ring_config *config, struct gnn_ring **out,
                                   struct gnn_err *err)
{
    if (config->sqpoll || config->iopoll)
        return gnn_fail(err, GNN_EUSAGE, "%s belongs to io_uring, the thread pool has none; use --io uring",
                        config->sqpoll ? "sqpoll" : "iopoll");
    struct pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return gnn_fail(err, GNN_ENOMEM, "read pool");
    pool->ring.ops = &pool_ops;
    pool->depth = config->depth;
    pool->spin = config->spin;
    const uint32_t asked = config->pool_threads != 0 ? config->pool_threads : config->depth;
    const enum gnn_status status = pool_start(pool, asked < POOL_THREADS_MAX ? asked : POOL_THREADS_MAX, err);
    if (status == GNN_OK)
        *out = &pool->ring;
    else
        pool_close(m, &pool->ring);
    return status;
}
