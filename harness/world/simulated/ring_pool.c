/* The thread-pool engine: threads of the simulated world that read one after the other, as the measured world's pool
 * does it. Their system calls, wake-ups and page copies burn on their own cores, and the locks between them cost what
 * locks cost in the profile. */
#include "harness/world/simulated/io.h"
#include "harness/world/simulated/ring.h"

#include <assert.h>
#include <stdlib.h>

enum { POOL_THREADS_MAX = 64 };
static const uint64_t spin_step_ns = 500; /* how often a spinning owner looks */

struct pool {
    struct gnn_ring ring;
    struct simulated *s;
    uint32_t depth;
    bool spin;
    uint32_t in_flight; /* handed over and not yet taken back */
    struct gnn_mutex *lock;
    struct gnn_cond *work; /* something to read, or stopping */
    struct gnn_cond *done; /* enough completions for the owner */
    bool stopping;
    uint32_t wanted;        /* completions the sleeping owner waits for; 0: awake */
    struct gnn_read *reads; /* ring buffers of depth entries each */
    uint64_t read_head, read_tail;
    struct gnn_completion *completions;
    uint64_t completion_head, completion_tail;
    uint32_t thread_count;
    struct gnn_thread *threads[POOL_THREADS_MAX];
};

static void pool_main(void *arg)
{
    struct pool *const pool = arg;
    struct sim_executor *const ex = pool->s->executor;
    sim_mutex_lock(ex, pool->lock);
    for (;;) {
        while (pool->read_head == pool->read_tail && !pool->stopping)
            (void)sim_cond_wait(ex, pool->work, pool->lock, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
        if (pool->read_head == pool->read_tail)
            break;
        const struct gnn_read read = pool->reads[pool->read_head++ % pool->depth];
        sim_mutex_unlock(ex, pool->lock);
        const int64_t result = sim_file_read(&pool->s->base, read.file, read.offset_bytes, read.dst, read.len_bytes);
        sim_mutex_lock(ex, pool->lock);
        pool->completions[pool->completion_tail++ % pool->depth] =
            (struct gnn_completion){.tag = read.tag, .result = (int32_t)result};
        if (pool->wanted != 0 && pool->completion_tail - pool->completion_head >= pool->wanted)
            sim_cond_signal(ex, pool->done);
    }
    sim_mutex_unlock(ex, pool->lock);
}

static enum gnn_status pool_submit(struct simulated *s, struct gnn_ring *ring, const struct gnn_read *reads,
                                   uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    (void)err;
    struct pool *const pool = (struct pool *)ring;
    const uint32_t room = pool->depth - pool->in_flight;
    const uint32_t taken = count < room ? count : room;
    *accepted = taken;
    if (taken == 0)
        return GNN_OK;
    sim_mutex_lock(s->executor, pool->lock);
    for (uint32_t i = 0; i < taken; i++)
        pool->reads[pool->read_tail++ % pool->depth] = reads[i];
    if (taken == 1)
        sim_cond_signal(s->executor, pool->work);
    else
        sim_cond_broadcast(s->executor, pool->work);
    sim_mutex_unlock(s->executor, pool->lock);
    pool->in_flight += taken;
    return GNN_OK;
}

static enum gnn_status pool_wait(struct simulated *s, struct gnn_ring *ring, uint32_t min, uint32_t max,
                                 struct gnn_completion *out, uint32_t *got, struct gnn_err *err)
{
    (void)err;
    struct pool *const pool = (struct pool *)ring;
    assert(min <= pool->in_flight);
    while (pool->spin && pool->completion_tail - pool->completion_head < min)
        sim_spin_until(s->executor, sim_now(s->executor) + spin_step_ns, GNN_WAIT_IO);
    sim_mutex_lock(s->executor, pool->lock);
    pool->wanted = min;
    while (pool->completion_tail - pool->completion_head < min)
        (void)sim_cond_wait(s->executor, pool->done, pool->lock, GNN_NO_DEADLINE, GNN_WAIT_IO);
    pool->wanted = 0;
    uint32_t taken = 0;
    while (taken < max && pool->completion_head != pool->completion_tail)
        out[taken++] = pool->completions[pool->completion_head++ % pool->depth];
    sim_mutex_unlock(s->executor, pool->lock);
    if (min == 0) { /* a loop of looks gets somewhere in any profile */
        sim_cpu(s->executor, sim_look_ps);
        sim_settle(s->executor);
    }
    assert(taken <= pool->in_flight);
    pool->in_flight -= taken;
    *got = taken;
    return GNN_OK;
}

static void pool_close(struct simulated *s, struct gnn_ring *ring)
{
    struct pool *const pool = (struct pool *)ring;
    if (pool->thread_count > 0) {
        sim_mutex_lock(s->executor, pool->lock);
        pool->stopping = true;
        sim_cond_broadcast(s->executor, pool->work);
        sim_mutex_unlock(s->executor, pool->lock);
    }
    for (uint32_t i = 0; i < pool->thread_count; i++)
        sim_thread_join(s->executor, pool->threads[i]);
    sim_cond_close(s->executor, pool->done);
    sim_cond_close(s->executor, pool->work);
    sim_mutex_close(s->executor, pool->lock);
    free(pool->completions);
    free(pool->reads);
    free(pool);
}

static const struct sim_ring_ops pool_ops = {.submit = pool_submit, .wait = pool_wait, .close = pool_close};

static enum gnn_status pool_start(struct pool *pool, uint32_t threads, struct gnn_err *err)
{
    struct sim_executor *const ex = pool->s->executor;
    pool->reads = calloc(pool->depth, sizeof *pool->reads);
    pool->completions = calloc(pool->depth, sizeof *pool->completions);
    if (pool->reads == NULL || pool->completions == NULL)
        return gnn_fail(err, GNN_ENOMEM, "read pool of depth %u", pool->depth);
    GNN_TRY(sim_mutex_open(ex, &pool->lock, err));
    GNN_TRY(sim_cond_open(ex, &pool->work, err));
    GNN_TRY(sim_cond_open(ex, &pool->done, err));
    while (pool->thread_count < threads) {
        GNN_TRY(sim_thread_start(ex, "read-pool", pool_main, pool, &pool->threads[pool->thread_count], err));
        pool->thread_count++;
    }
    return GNN_OK;
}

enum gnn_status sim_ring_pool_open(struct simulated *s, const struct gnn_ring_config *config, struct gnn_ring **out,
                                   struct gnn_err *err)
{
    if (config->sqpoll || config->iopoll)
        return gnn_fail(err, GNN_EUSAGE, "%s belongs to io_uring, the thread pool has none; use --io uring",
                        config->sqpoll ? "sqpoll" : "iopoll");
    struct pool *const pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return gnn_fail(err, GNN_ENOMEM, "read pool");
    pool->ring.ops = &pool_ops;
    pool->s = s;
    pool->depth = config->depth;
    pool->spin = config->spin;
    const uint32_t asked = config->pool_threads != 0 ? config->pool_threads : config->depth;
    const enum gnn_status status = pool_start(pool, asked < POOL_THREADS_MAX ? asked : POOL_THREADS_MAX, err);
    if (status == GNN_OK)
        *out = &pool->ring;
    else
        pool_close(s, &pool->ring);
    return status;
}
