/* SPDX-License-Identifier: MIT */
/* Locks, wake-ups and threads of the measured world. */
#include "harness/calibrate/internal.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { ASLEEP_NS = 100000 /* after this long a waiting thread sleeps and its core is idle */, WAKES_MAX = 400 };

/* Two threads: one sleeps until its turn comes, the other gives it the turn and looks at the clock. */
struct turns {
    struct gnn_bench *bench;
    struct gnn_mutex *mutex;
    struct gnn_cond *cond;
    uint64_t turn; /* under the mutex; UINT64_MAX: go home */
    atomic_uint_fast64_t taken, awake_ns;
};

static void sleeper_main(void *arg)
{
    struct turns *const t = arg;
    struct gnn_world *const world = t->bench->world;
    uint64_t seen = 0;
    gnn_mutex_lock(world, t->mutex);
    while (seen != UINT64_MAX) {
        while (t->turn == seen)
            (void)gnn_cond_wait(world, t->cond, t->mutex, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
        atomic_store(&t->awake_ns, gnn_host_now_ns());
        seen = t->turn;
        atomic_store(&t->taken, seen);
    }
    gnn_mutex_unlock(world, t->mutex);
}

static void give_turn(struct turns *t, uint64_t turn, uint64_t *start_ns, uint64_t *end_ns)
{
    struct gnn_world *const world = t->bench->world;
    gnn_mutex_lock(world, t->mutex);
    t->turn = turn;
    gnn_mutex_unlock(world, t->mutex);
    *start_ns = gnn_host_now_ns();
    gnn_cond_signal(world, t->cond);
    *end_ns = gnn_host_now_ns();
}

/* values: the signal; from its start until the sleeper runs. Medians over many wakes. */
static enum gnn_status wake_once(void *ctx, double *values, struct gnn_err *err)
{
    struct turns *const t = ctx;
    struct gnn_world *const world = t->bench->world;
    struct gnn_thread *thread = NULL;
    double signal_ns[WAKES_MAX], latency_ns[WAKES_MAX];
    const uint32_t wakes = (uint32_t)gnn_bench_count(t->bench, WAKES_MAX);
    assert(wakes <= WAKES_MAX);
    t->turn = 0;
    atomic_store(&t->taken, 0);
    GNN_TRY(gnn_thread_start(world, "sleeper", sleeper_main, t, &thread, err));
    for (uint32_t i = 0; i < wakes; i++) {
        uint64_t start_ns, end_ns;
        const uint64_t until_ns = gnn_host_now_ns() + ASLEEP_NS;
        while (gnn_host_now_ns() < until_ns)
            continue;
        give_turn(t, i + 1, &start_ns, &end_ns);
        while (atomic_load(&t->taken) != i + 1)
            continue;
        signal_ns[i] = (double)(end_ns - start_ns);
        latency_ns[i] = (double)(atomic_load(&t->awake_ns) - start_ns);
    }
    uint64_t start_ns, end_ns;
    give_turn(t, UINT64_MAX, &start_ns, &end_ns);
    gnn_thread_join(world, thread);
    values[0] = gnn_figure_of(signal_ns, wakes).value;
    values[1] = gnn_figure_of(latency_ns, wakes).value;
    return GNN_OK;
}

/* values: half of taking and leaving a free lock. */
static enum gnn_status lock_once(void *ctx, double *values, struct gnn_err *err)
{
    struct turns *const t = ctx;
    const uint64_t rounds = gnn_bench_count(t->bench, 1000000);
    (void)err;
    const uint64_t start_ns = gnn_thread_cpu_ns();
    for (uint64_t i = 0; i < rounds; i++) {
        gnn_mutex_lock(t->bench->world, t->mutex);
        gnn_mutex_unlock(t->bench->world, t->mutex);
    }
    values[0] = (double)(gnn_thread_cpu_ns() - start_ns) / (double)(2 * rounds);
    return GNN_OK;
}

static void nothing_main(void *arg)
{
    (void)arg;
}

/* values: CPU time of a thread's start and join, its own included. */
static enum gnn_status start_once(void *ctx, double *values, struct gnn_err *err)
{
    struct turns *const t = ctx;
    const uint64_t rounds = gnn_bench_count(t->bench, 300), start_ns = gnn_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (uint64_t i = 0; i < rounds; i++) {
        struct gnn_thread *thread = NULL;
        GNN_TRY(gnn_thread_start(t->bench->world, "nothing", nothing_main, NULL, &thread, err));
        gnn_thread_join(t->bench->world, thread);
    }
    values[0] = (double)(gnn_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns) / (double)rounds;
    return GNN_OK;
}

static enum gnn_status measure(struct turns *t, struct gnn_err *err)
{
    struct gnn_figure *const figure = t->bench->out->figure;
    const uint32_t repeats = t->bench->repeats;
    GNN_TRY(gnn_figures_measure(lock_once, t, repeats, 1, &figure[GNN_FIGURE_LOCK], err));
    GNN_TRY(gnn_figures_measure(wake_once, t, repeats, 2, &figure[GNN_FIGURE_WAKE], err));
    return gnn_figures_measure(start_once, t, repeats, 1, &figure[GNN_FIGURE_THREAD_START], err);
}

enum gnn_status gnn_bench_threads(struct gnn_bench *bench, struct gnn_err *err)
{
    struct turns t = {.bench = bench};
    enum gnn_status status = gnn_mutex_open(bench->world, &t.mutex, err);
    GNN_NEXT(status, gnn_cond_open(bench->world, &t.cond, err));
    GNN_NEXT(status, measure(&t, err));
    gnn_cond_close(bench->world, t.cond);
    gnn_mutex_close(bench->world, t.mutex);
    return status;
}
