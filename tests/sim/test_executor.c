/* SPDX-License-Identifier: MIT */
/* Virtual time worked out by hand: cores shared, locks competed for, deadlines, the split, deadlocks, determinism. */
#include "harness/base/rng.h"
#include "harness/world/simulated/executor.h"
#include "tests/support/hang.h"
#include "tests/support/seed.h"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* The hooks take a world; of its state they see the executor alone. */
#define WORLD(ex) (&(struct gnn_world){.state = (struct sim_executor *[]){ex}})

enum { US = 1000, MS = 1000000, LOG_MAX = 256 };

/* Threads write down what they did and when; the test looks at it afterwards, on the main thread. */
struct log {
    struct sim_executor *ex;
    uint32_t count;
    struct {
        uint32_t who;
        uint64_t at_ns;
    } entries[LOG_MAX];
};

static void note(struct log *log, uint32_t who)
{
    if (log->count < LOG_MAX) {
        log->entries[log->count].who = who;
        log->entries[log->count].at_ns = sim_now(log->ex);
    }
    log->count++;
}

static void expect_entry(const struct log *log, uint32_t at, uint32_t who, uint64_t at_ns)
{
    assert_true(at < log->count);
    if (log->entries[at].who != who || log->entries[at].at_ns != at_ns)
        fail_msg("entry %" PRIu32 ": %" PRIu32 " at %" PRIu64 " ns, expected %" PRIu32 " at %" PRIu64, at,
                 log->entries[at].who, log->entries[at].at_ns, who, at_ns);
}

static struct sim_executor *open_executor(uint32_t cores)
{
    const struct sim_executor_config config = {.cores = cores};
    struct sim_executor *ex = NULL;
    struct gnn_err err = {0};
    assert_int_equal(sim_executor_open(&config, &ex, &err), GNN_OK);
    return ex;
}

static struct gnn_thread *start(struct sim_executor *ex, const char *name, gnn_thread_fn *fn, void *arg)
{
    struct gnn_thread *thread = NULL;
    struct gnn_err err = {0};
    assert_int_equal(sim_thread_start(WORLD(ex), name, fn, arg, &thread, &err), GNN_OK);
    return thread;
}

static void cpu_ns(struct sim_executor *ex, uint64_t ns)
{
    sim_cpu(ex, ns * 1000);
}

static uint64_t waits_ns(const struct gnn_time_split *split)
{
    uint64_t sum_ns = 0;
    for (int kind = 0; kind < GNN_WAIT_KINDS; kind++)
        sum_ns += split->wait_ns[kind];
    return sum_ns;
}

/* ---- cores ---- */

struct burst {
    struct log *log;
    uint32_t who;
    uint64_t start_ns, cpu_ns;
    struct gnn_time_split split;
};

static void burst_main(void *arg)
{
    struct burst *const burst = arg;
    struct sim_executor *const ex = burst->log->ex;
    sim_sleep_until(WORLD(ex), burst->start_ns, GNN_WAIT_RESOURCE);
    cpu_ns(ex, burst->cpu_ns);
    sim_settle(ex);
    note(burst->log, burst->who);
    sim_thread_split(WORLD(ex), &burst->split);
}

static void cores_are_shared(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint32_t cores, threads;
        uint64_t start_ns[4], cpu_ns[4], end_ns[4];
    } cases[] = {
        {"one core for each", 3, 3, {0, 0, 0}, {5 * MS, 3 * MS, 4 * MS}, {5 * MS, 3 * MS, 4 * MS}},
        {"three on two cores", 2, 3, {0, 0, 0}, {10 * MS, 10 * MS, 10 * MS}, {15 * MS, 15 * MS, 15 * MS}},
        {"two on one core, one shorter", 1, 2, {0, 0}, {2 * MS, 6 * MS}, {4 * MS, 8 * MS}},
        /* alone until 4, halves until 8 (6 done of 8), alone again */
        {"a second one comes later", 1, 2, {0, 4 * MS}, {8 * MS, 2 * MS}, {10 * MS, 8 * MS}},
        /* 2/3 of speed until the sleeper's time is up, then 2/4: at 3 ms each of three has 2 ms; the last 2 ms of
         * theirs take 4 ms; the fourth has 2 of its 3 by then and is alone */
        {"a fourth one comes to two cores",
         2,
         4,
         {0, 0, 0, 3 * MS},
         {4 * MS, 4 * MS, 4 * MS, 3 * MS},
         {7 * MS, 7 * MS, 7 * MS, 8 * MS}},
        {"a nanosecond each", 1, 4, {0, 0, 0, 0}, {1, 1, 1, 1}, {4, 4, 4, 4}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct log log = {.ex = open_executor(cases[c].cores)};
        struct burst bursts[4] = {0};
        struct gnn_thread *threads[4];
        uint64_t sum_ns = 0;
        for (uint32_t t = 0; t < cases[c].threads; t++) {
            bursts[t] =
                (struct burst){.log = &log, .who = t, .start_ns = cases[c].start_ns[t], .cpu_ns = cases[c].cpu_ns[t]};
            sum_ns += cases[c].cpu_ns[t];
            threads[t] = start(log.ex, "burst", burst_main, &bursts[t]);
        }
        for (uint32_t t = 0; t < cases[c].threads; t++)
            sim_thread_join(WORLD(log.ex), threads[t]);
        for (uint32_t i = 0; i < cases[c].threads; i++) {
            const uint32_t who = log.entries[i].who;
            if (log.entries[i].at_ns != cases[c].end_ns[who])
                fail_msg("%s: thread %" PRIu32 " ended at %" PRIu64 " ns, expected %" PRIu64, cases[c].what, who,
                         log.entries[i].at_ns, cases[c].end_ns[who]);
            assert_int_equal(bursts[who].split.cpu_ns, cases[c].cpu_ns[who]);
            assert_int_equal(bursts[who].split.wall_ns, cases[c].end_ns[who]);
            /* what stood in line for a core is work, not a wait */
            assert_int_equal(bursts[who].split.wait_ns[GNN_WAIT_RESOURCE], cases[c].start_ns[who]);
            assert_int_equal(waits_ns(&bursts[who].split), cases[c].start_ns[who]);
        }
        assert_int_equal(sim_busy_ns(log.ex), sum_ns);
        sim_executor_close(log.ex);
    }
}

static void remainders_and_quantum(void **state)
{
    (void)state;
    struct sim_executor *const ex = open_executor(1);
    for (int i = 0; i < 5; i++) {
        sim_cpu(ex, 400);
        sim_settle(ex);
    }
    assert_int_equal(sim_now(ex), 2); /* 2000 ps */
    for (int i = 0; i < 4; i++) {
        cpu_ns(ex, 250 * US - 1);
        assert_int_equal(sim_now(ex), 2); /* not yet a millisecond */
    }
    cpu_ns(ex, 4);
    assert_int_equal(sim_now(ex), MS + 2); /* it passed unasked */
    struct gnn_time_split split;
    cpu_ns(ex, 7);
    sim_thread_split(WORLD(ex), &split);
    assert_int_equal(split.wall_ns, MS + 9);
    assert_int_equal(split.cpu_ns, MS + 9);
    sim_executor_close(ex);
    sim_executor_close(NULL);
}

/* Many small steps, which mostly pass without the machinery, end when one large step ends. */
struct stepper {
    struct log *log;
    uint32_t who, steps;
    uint64_t step_ps;
};

static void stepper_main(void *arg)
{
    const struct stepper *const stepper = arg;
    for (uint32_t i = 0; i < stepper->steps; i++) {
        sim_cpu(stepper->log->ex, stepper->step_ps);
        sim_settle(stepper->log->ex);
    }
    note(stepper->log, stepper->who);
}

static void small_steps_add_up(void **state)
{
    (void)state;
    static const uint32_t steps[] = {1, 10, 1000, 100000};
    for (uint32_t cores = 1; cores <= 3; cores++) {
        for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
            struct log log = {.ex = open_executor(cores)};
            struct stepper steppers[3];
            struct gnn_thread *threads[3];
            for (uint32_t t = 0; t < 3; t++) {
                /* 900 us each; one of them in as many steps as the case says, the others at once */
                const uint32_t count = t == 0 ? steps[s] : 1;
                steppers[t] = (struct stepper){
                    .log = &log, .who = t, .steps = count, .step_ps = UINT64_C(900) * US * 1000 / count};
                threads[t] = start(log.ex, "stepper", stepper_main, &steppers[t]);
            }
            for (uint32_t t = 0; t < 3; t++)
                sim_thread_join(WORLD(log.ex), threads[t]);
            const uint64_t end_ns = UINT64_C(900) * US * 3 / cores;
            for (uint32_t i = 0; i < 3; i++) {
                /* A step ends on a whole nanosecond: with more threads than cores that may cost one each time. */
                const uint64_t slack_ns = cores >= 3 ? 0 : steps[s];
                if (log.entries[i].at_ns + slack_ns < end_ns || log.entries[i].at_ns > end_ns + slack_ns)
                    fail_msg("%" PRIu32 " cores, %" PRIu32 " steps: ended at %" PRIu64 " ns, expected %" PRIu64, cores,
                             steps[s], log.entries[i].at_ns, end_ns);
            }
            assert_int_equal(sim_busy_ns(log.ex), UINT64_C(2700) * US);
            sim_executor_close(log.ex);
        }
    }
}

static void spinner_main(void *arg)
{
    struct burst *const burst = arg;
    sim_spin_until(burst->log->ex, burst->cpu_ns, GNN_WAIT_IO);
    note(burst->log, burst->who);
    sim_thread_split(WORLD(burst->log->ex), &burst->split);
}

static void spinning_holds_a_core(void **state)
{
    (void)state;
    for (uint32_t cores = 1; cores <= 2; cores++) {
        struct log log = {.ex = open_executor(cores)};
        struct burst spinner = {.log = &log, .who = 0, .cpu_ns = 10 * MS};
        struct burst worker = {.log = &log, .who = 1, .cpu_ns = 4 * MS};
        struct gnn_thread *const a = start(log.ex, "spinner", spinner_main, &spinner);
        struct gnn_thread *const b = start(log.ex, "worker", burst_main, &worker);
        sim_thread_join(WORLD(log.ex), a);
        sim_thread_join(WORLD(log.ex), b);
        expect_entry(&log, 0, 1, cores == 1 ? 8 * MS : 4 * MS);
        expect_entry(&log, 1, 0, 10 * MS);
        assert_int_equal(spinner.split.cpu_ns, cores == 1 ? 6 * MS : 10 * MS);
        assert_int_equal(spinner.split.wait_ns[GNN_WAIT_IO], 10 * MS);
        assert_int_equal(spinner.split.wall_ns, 10 * MS);
        assert_int_equal(sim_busy_ns(log.ex), cores == 1 ? 10 * MS : 14 * MS);
        sim_executor_close(log.ex);
    }
}

/* ---- order ---- */

static void ties_go_by_number(void **state)
{
    (void)state;
    struct log log = {.ex = open_executor(4)};
    struct burst bursts[4];
    struct gnn_thread *threads[4];
    for (uint32_t t = 0; t < 4; t++) { /* the first sleep longest, all come out at 4 us */
        bursts[t] = (struct burst){.log = &log, .who = t, .start_ns = (4 - t) * US, .cpu_ns = (uint64_t)t * US};
        threads[t] = start(log.ex, "burst", burst_main, &bursts[t]);
    }
    for (uint32_t t = 0; t < 4; t++)
        sim_thread_join(WORLD(log.ex), threads[t]);
    for (uint32_t t = 0; t < 4; t++)
        expect_entry(&log, t, t, 4 * US);
    sim_executor_close(log.ex);
}

/* ---- locks ---- */

struct shared {
    struct log log;
    struct gnn_mutex *mutex;
    struct gnn_cond *cond;
};

static void shared_open(struct shared *shared, const struct sim_executor_config *config)
{
    struct gnn_err err = {0};
    *shared = (struct shared){0};
    assert_int_equal(sim_executor_open(config, &shared->log.ex, &err), GNN_OK);
    assert_int_equal(sim_mutex_open(WORLD(shared->log.ex), &shared->mutex, &err), GNN_OK);
    assert_int_equal(sim_cond_open(WORLD(shared->log.ex), &shared->cond, &err), GNN_OK);
}

static void shared_close(struct shared *shared)
{
    sim_cond_close(WORLD(shared->log.ex), shared->cond);
    sim_mutex_close(WORLD(shared->log.ex), shared->mutex);
    sim_executor_close(shared->log.ex);
}

struct locker {
    struct shared *shared;
    uint32_t who;
    uint64_t start_ns, deadline_ns;
    bool signalled;
    struct gnn_time_split split;
};

static void locker_main(void *arg)
{
    struct locker *const locker = arg;
    struct sim_executor *const ex = locker->shared->log.ex;
    sim_sleep_until(WORLD(ex), locker->start_ns, GNN_WAIT_IO);
    sim_mutex_lock(WORLD(ex), locker->shared->mutex);
    note(&locker->shared->log, locker->who);
    cpu_ns(ex, 5 * US);
    sim_mutex_unlock(WORLD(ex), locker->shared->mutex);
    sim_thread_split(WORLD(ex), &locker->split);
}

static void sleepers_take_a_freed_mutex_in_order(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        struct sim_executor_config costs;
        uint64_t start_ns[3], at_ns[3], lock_wait_ns[3], cpu_ns[3];
        uint32_t order[3];
    } cases[] = {
        {.what = "free of charge",
         .costs = {.cores = 4},
         .start_ns = {0, 2 * US, 1 * US},
         .order = {0, 2, 1},
         .at_ns = {0, 5 * US, 10 * US},
         .lock_wait_ns = {0, 4 * US, 8 * US},
         .cpu_ns = {5 * US, 5 * US, 5 * US}},
        /* each pays 10 ns to lock; who unlocks pays 10 more, then 100 for the wake; the next runs 1 us later */
        {.what = "with costs",
         .costs = {.cores = 4, .lock_ns = 10, .wake_ns = 100, .wake_latency_ns = 1000},
         .start_ns = {0, 0, 0},
         .order = {0, 1, 2},
         .at_ns = {10, 6020, 12030},
         .lock_wait_ns = {0, 6010, 12020},
         .cpu_ns = {5120, 5120, 5020}},
        /* who finds it taken enters the kernel for 300 before it sleeps; the last one too, when it has left, since only
         * the kernel knows that nobody sleeps any more */
        {.what = "with the kernel",
         .costs = {.cores = 4, .lock_ns = 10, .wake_ns = 100, .wake_latency_ns = 1000, .futex_ns = 300},
         .start_ns = {0, 0, 0},
         .order = {0, 1, 2},
         .at_ns = {10, 6020, 12030},
         .lock_wait_ns = {0, 6020 - 310, 12030 - 310},
         .cpu_ns = {5120, 5420, 5620}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct shared shared;
        struct locker lockers[3];
        struct gnn_thread *threads[3];
        shared_open(&shared, &cases[c].costs);
        for (uint32_t t = 0; t < 3; t++) {
            lockers[t] = (struct locker){.shared = &shared, .who = t, .start_ns = cases[c].start_ns[t]};
            threads[t] = start(shared.log.ex, "locker", locker_main, &lockers[t]);
        }
        for (uint32_t t = 0; t < 3; t++)
            sim_thread_join(WORLD(shared.log.ex), threads[t]);
        for (uint32_t i = 0; i < 3; i++) {
            const struct gnn_time_split *const split = &lockers[cases[c].order[i]].split;
            expect_entry(&shared.log, i, cases[c].order[i], cases[c].at_ns[i]);
            assert_int_equal(split->wait_ns[GNN_WAIT_LOCK], cases[c].lock_wait_ns[i]);
            assert_int_equal(split->cpu_ns, cases[c].cpu_ns[i]);
            assert_int_equal(split->wall_ns, split->cpu_ns + waits_ns(split));
        }
        shared_close(&shared);
    }
}

/* Holds the mutex for 1 us at a time, 1 us apart, from start_ns on. */
struct user {
    struct shared *shared;
    uint64_t start_ns, wait_ns;
    uint32_t who, rounds, noted; /* noted: how many of its turns are written down */
};

static void user_main(void *arg)
{
    struct user *const user = arg;
    struct sim_executor *const ex = user->shared->log.ex;
    struct gnn_time_split split;
    sim_sleep_until(WORLD(ex), user->start_ns, GNN_WAIT_IO);
    for (uint32_t i = 0; i < user->rounds; i++) {
        sim_mutex_lock(WORLD(ex), user->shared->mutex);
        if (i < user->noted)
            note(&user->shared->log, user->who);
        cpu_ns(ex, 1 * US);
        sim_mutex_unlock(WORLD(ex), user->shared->mutex);
        cpu_ns(ex, 1 * US);
    }
    sim_thread_split(WORLD(ex), &split);
    user->wait_ns = split.wait_ns[GNN_WAIT_LOCK];
}

/* Returns when the last was done. */
static uint64_t run_users(const struct sim_executor_config *config, struct user *users, uint32_t count, struct log *log)
{
    struct shared shared;
    struct gnn_thread *threads[64];
    shared_open(&shared, config);
    for (uint32_t t = 0; t < count; t++) {
        users[t].shared = &shared;
        threads[t] = start(shared.log.ex, "user", user_main, &users[t]);
    }
    for (uint32_t t = 0; t < count; t++)
        sim_thread_join(WORLD(shared.log.ex), threads[t]);
    const uint64_t end_ns = sim_now(shared.log.ex);
    *log = shared.log;
    shared_close(&shared);
    return end_ns;
}

/* The sleeper is woken at 1 us and runs at 2.5; then the first holds the mutex again, from 2 on. */
static void who_is_awake_takes_a_freed_mutex(void **state)
{
    (void)state;
    const struct sim_executor_config costs = {.cores = 2, .wake_latency_ns = 1500};
    struct user users[2] = {{.who = 0, .rounds = 3, .noted = 3}, {.who = 1, .start_ns = 500, .rounds = 1, .noted = 1}};
    struct log log;
    (void)run_users(&costs, users, 2, &log);
    expect_entry(&log, 0, 0, 0);
    expect_entry(&log, 1, 0, 2 * US);
    expect_entry(&log, 2, 0, 4 * US);
    expect_entry(&log, 3, 1, 6500); /* woken at 1 and 3 us in vain, at 5 to find it free */
    assert_int_equal(users[1].wait_ns, 6 * US);
    assert_int_equal(users[0].wait_ns, 0);
}

/* Two come while the mutex is held until 1 us: the one that looks for 600 ns from 500 on has it at once, the one that
 * gave up at 850 sleeps 100 ns later, is woken at 1 us, and finds it taken until 2 us. */
static void who_looks_takes_a_freed_mutex(void **state)
{
    (void)state;
    const struct sim_executor_config costs = {.cores = 4, .wake_latency_ns = 1500, .spin_ns = 600, .futex_ns = 100};
    struct user users[3] = {{.who = 0, .rounds = 1, .noted = 1},
                            {.who = 1, .start_ns = 250, .rounds = 1, .noted = 1},
                            {.who = 2, .start_ns = 500, .rounds = 1, .noted = 1}};
    struct log log;
    (void)run_users(&costs, users, 3, &log);
    expect_entry(&log, 0, 0, 0);
    expect_entry(&log, 1, 2, 1 * US);
    expect_entry(&log, 2, 1, 2500);
    assert_int_equal(users[2].wait_ns, 500);
    assert_int_equal(users[1].wait_ns, 600 + (2500 - 950));
}

/* It comes too late every time, until it is handed the mutex. */
static void nobody_starves(void **state)
{
    (void)state;
    const struct sim_executor_config costs = {.cores = 2, .wake_latency_ns = 1500};
    struct user users[2] = {{.who = 0, .rounds = 1000}, {.who = 1, .start_ns = 500, .rounds = 1, .noted = 1}};
    struct log log;
    (void)run_users(&costs, users, 2, &log);
    expect_entry(&log, 0, 1, (2 * 64 + 1) * US + 1500); /* 64 times in vain: at 1, 3 .. 127 us; handed over at 129 */
    assert_int_equal(users[1].wait_ns, 130 * US);
}

/* Rounds of 1 us under the mutex and 1 us outside, on a core each: two threads get them done twice as fast as one at
 * best, and sixty-four may not be slower than one, whatever a wake-up costs. A mutex handed to its first sleeper is
 * idle until that one runs: a wake-up for each round. */
static void more_threads_never_slow_a_mutex(void **state)
{
    (void)state;
    const struct sim_executor_config costs = {
        .cores = 64, .lock_ns = 3, .wake_ns = 3500, .wake_latency_ns = 5700, .spin_ns = 1000, .futex_ns = 170};
    enum { ROUNDS = 6400 };
    uint64_t alone_ns = 0;
    for (uint32_t threads = 1; threads <= 64; threads *= 2) {
        struct user users[64] = {{0}};
        struct log log;
        for (uint32_t t = 0; t < threads; t++)
            users[t] = (struct user){.who = t, .rounds = ROUNDS / threads};
        const uint64_t wall_ns = run_users(&costs, users, threads, &log);
        if (threads == 1)
            alone_ns = wall_ns;
        if (wall_ns > alone_ns)
            fail_msg("%" PRIu32 " threads take %" PRIu64 " ns, one %" PRIu64, threads, wall_ns, alone_ns);
    }
}

/* ---- conditions ---- */

static void waiter_main(void *arg)
{
    struct locker *const waiter = arg;
    struct sim_executor *const ex = waiter->shared->log.ex;
    sim_sleep_until(WORLD(ex), waiter->start_ns, GNN_WAIT_IO);
    sim_mutex_lock(WORLD(ex), waiter->shared->mutex);
    waiter->signalled =
        sim_cond_wait(WORLD(ex), waiter->shared->cond, waiter->shared->mutex, waiter->deadline_ns, GNN_WAIT_RESOURCE);
    note(&waiter->shared->log, waiter->who);
    sim_mutex_unlock(WORLD(ex), waiter->shared->mutex);
    sim_thread_split(WORLD(ex), &waiter->split);
}

/* Five waiters come at 1, 2, 3, 4, 5 us; a signal at 10 us, another at 20 us, a broadcast at 40 us. */
static void conditions_wake_in_order(void **state)
{
    (void)state;
    static const uint64_t deadlines_ns[] = {GNN_NO_DEADLINE, 60 * US, 15 * US, 3 * US, 40 * US};
    /*                                      signalled        second   times out, comes too late, 40: deadline first */
    static const struct {
        uint32_t who;
        uint64_t at_ns;
        bool signalled;
    } expected[] = {
        {3, 4 * US, false}, {0, 10 * US, true}, {2, 15 * US, false}, {1, 20 * US, true}, {4, 40 * US, false},
    };
    const struct sim_executor_config costs = {.cores = 8};
    struct shared shared;
    struct locker waiters[5];
    struct gnn_thread *threads[5];
    shared_open(&shared, &costs);
    struct sim_executor *const ex = shared.log.ex;
    for (uint32_t t = 0; t < 5; t++) {
        waiters[t] =
            (struct locker){.shared = &shared, .who = t, .start_ns = (t + 1) * US, .deadline_ns = deadlines_ns[t]};
        threads[t] = start(ex, "waiter", waiter_main, &waiters[t]);
    }
    sim_sleep_until(WORLD(ex), 10 * US, GNN_WAIT_IO);
    sim_cond_signal(WORLD(ex), shared.cond);
    sim_sleep_until(WORLD(ex), 20 * US, GNN_WAIT_IO);
    sim_cond_signal(WORLD(ex), shared.cond);
    sim_sleep_until(WORLD(ex), 40 * US, GNN_WAIT_IO);
    sim_cond_broadcast(WORLD(ex), shared.cond);
    for (uint32_t t = 0; t < 5; t++)
        sim_thread_join(WORLD(ex), threads[t]);
    for (uint32_t i = 0; i < 5; i++) {
        const struct locker *const waiter = &waiters[expected[i].who];
        expect_entry(&shared.log, i, expected[i].who, expected[i].at_ns);
        assert_int_equal(waiter->signalled, expected[i].signalled);
        assert_int_equal(waiter->split.wait_ns[GNN_WAIT_RESOURCE], expected[i].at_ns - waiter->start_ns);
        assert_int_equal(waiter->split.wait_ns[GNN_WAIT_LOCK], 0);
    }
    assert_int_equal(sim_now(ex), 40 * US); /* the second's deadline at 60 us went with its signal */
    shared_close(&shared);
}

/* A woken sleeper takes the mutex like anybody else; until it has it, the time is the condition's. */
static void a_woken_sleeper_needs_the_mutex(void **state)
{
    (void)state;
    const struct sim_executor_config costs = {.cores = 8, .lock_ns = 10, .wake_ns = 100, .wake_latency_ns = 1000};
    struct shared shared;
    struct locker waiters[2];
    struct gnn_thread *threads[2];
    shared_open(&shared, &costs);
    struct sim_executor *const ex = shared.log.ex;
    for (uint32_t t = 0; t < 2; t++) {
        waiters[t] = (struct locker){.shared = &shared, .who = t, .deadline_ns = GNN_NO_DEADLINE};
        threads[t] = start(ex, "waiter", waiter_main, &waiters[t]);
    }
    sim_sleep_until(WORLD(ex), 10 * US, GNN_WAIT_IO);
    sim_mutex_lock(WORLD(ex), shared.mutex);    /* at 10 010 */
    sim_cond_broadcast(WORLD(ex), shared.cond); /* at 10 020: both run at 11 020 and find the mutex taken */
    cpu_ns(ex, 5 * US - 200);                   /* after 200 for the wakes */
    sim_mutex_unlock(WORLD(ex), shared.mutex);  /* at 15 030: the second, asleep first, runs at 16 030 */
    sim_thread_join(WORLD(ex), threads[0]);
    sim_thread_join(WORLD(ex), threads[1]);
    expect_entry(&shared.log, 0, 1, 16030);
    /* it unlocks at 16 040, wakes the first, which had a wake-up to pay for before it slept at 11 120 */
    expect_entry(&shared.log, 1, 0, 17040);
    for (uint32_t t = 0; t < 2; t++) {
        assert_true(waiters[t].signalled);
        assert_int_equal(waiters[t].split.wall_ns, waiters[t].split.cpu_ns + waits_ns(&waiters[t].split));
    }
    /* the first: lock at 10, in the condition from 20; the second finds the mutex taken at 10, runs at 1020 */
    assert_int_equal(waiters[0].split.wait_ns[GNN_WAIT_RESOURCE], 11020 - 20 + (17040 - 11120));
    assert_int_equal(waiters[1].split.wait_ns[GNN_WAIT_LOCK], 1020 - 10);
    assert_int_equal(waiters[1].split.wait_ns[GNN_WAIT_RESOURCE], 16030 - 1030);
    shared_close(&shared);
}

/* ---- sleeps, joins, splits ---- */

static void every_kind(void *arg)
{
    struct burst *const burst = arg;
    struct sim_executor *const ex = burst->log->ex;
    for (int kind = 0; kind < GNN_WAIT_KINDS; kind++) {
        cpu_ns(ex, 100);
        sim_sleep_until(WORLD(ex), sim_now(ex) + 100 + 1000 * ((uint64_t)kind + 1), (enum gnn_wait)kind);
    }
    sim_sleep_until(WORLD(ex), 5, GNN_WAIT_IO); /* over long since */
    sim_add_wait(WORLD(ex), GNN_WAIT_COMPUTE, 7);
    sim_thread_split(WORLD(ex), &burst->split);
}

static void sleeps_land_in_their_kind(void **state)
{
    (void)state;
    struct log log = {.ex = open_executor(1)};
    struct burst burst = {.log = &log};
    sim_sleep_until(WORLD(log.ex), 12345, GNN_WAIT_QUEUE);
    struct gnn_thread *const thread = start(log.ex, "every kind", every_kind, &burst);
    sim_thread_join(WORLD(log.ex), thread);
    for (int kind = 0; kind < GNN_WAIT_KINDS; kind++)
        assert_int_equal(burst.split.wait_ns[kind], 1000 * (kind + 1) + (kind == GNN_WAIT_COMPUTE ? 7 : 0));
    assert_int_equal(burst.split.cpu_ns, 500);
    assert_int_equal(burst.split.wall_ns, 500 + 15000); /* since its start, at 12345 */
    struct gnn_time_split split;
    sim_thread_split(WORLD(log.ex), &split);
    assert_int_equal(split.wall_ns, 12345 + 15500);
    assert_int_equal(waits_ns(&split), 12345); /* joining is no wait of any kind */
    assert_int_equal(split.cpu_ns, 0);
    sim_executor_close(log.ex);
}

static void joins_cost_a_wake(void **state)
{
    (void)state;
    const struct sim_executor_config costs = {
        .cores = 2, .wake_ns = 100, .wake_latency_ns = 1000, .thread_start_ns = 10 * US};
    struct shared shared;
    shared_open(&shared, &costs);
    struct sim_executor *const ex = shared.log.ex;
    struct burst slow = {.log = &shared.log, .who = 1, .cpu_ns = 50 * US};
    struct burst quick = {.log = &shared.log, .who = 2, .cpu_ns = 1 * US};
    struct gnn_thread *const a = start(ex, "slow", burst_main, &slow);   /* runs from 10 us on */
    struct gnn_thread *const b = start(ex, "quick", burst_main, &quick); /* from 20 us on */
    sim_thread_join(WORLD(ex), a); /* ends at 60 us, pays for the wake, and main runs 1 us later */
    assert_int_equal(sim_now(ex), 61100);
    sim_thread_join(WORLD(ex), b); /* ended long ago */
    sim_thread_join(WORLD(ex), NULL);
    assert_int_equal(sim_now(ex), 61100);
    expect_entry(&shared.log, 0, 2, 21 * US);
    expect_entry(&shared.log, 1, 1, 60 * US);
    shared_close(&shared);
}

/* ---- deadlock ---- */

static void left_main(void *arg)
{
    struct gnn_mutex **const mutexes = ((struct gnn_mutex **)arg);
    struct sim_executor *const ex = (struct sim_executor *)(void *)mutexes[2];
    sim_mutex_lock(WORLD(ex), mutexes[0]);
    sim_sleep_until(WORLD(ex), 1000, GNN_WAIT_IO);
    sim_mutex_lock(WORLD(ex), mutexes[1]);
}

static void right_main(void *arg)
{
    struct gnn_mutex **const mutexes = ((struct gnn_mutex **)arg);
    struct sim_executor *const ex = (struct sim_executor *)(void *)mutexes[2];
    sim_mutex_lock(WORLD(ex), mutexes[1]);
    sim_sleep_until(WORLD(ex), 2000, GNN_WAIT_IO);
    sim_mutex_lock(WORLD(ex), mutexes[0]);
}

static void nothing_comes(void *arg)
{
    struct shared *const shared = arg;
    sim_mutex_lock(WORLD(shared->log.ex), shared->mutex);
    (void)sim_cond_wait(WORLD(shared->log.ex), shared->cond, shared->mutex, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
}

static void returns_at_once(void *arg)
{
    (void)arg;
}

static void report_and_leave(void *ctx, const char *report)
{
    (void)!write(*(const int *)ctx, report, strlen(report));
    _exit(42);
}

/* In a child: four threads that wait for one another. */
static void run_into_deadlock(bool with_hook, int fd)
{
    const struct sim_executor_config config = {
        .cores = 1, .on_deadlock = with_hook ? report_and_leave : NULL, .on_deadlock_ctx = &fd};
    struct shared shared;
    shared_open(&shared, &config);
    struct gnn_mutex *mutexes[3] = {NULL, NULL, (struct gnn_mutex *)(void *)shared.log.ex};
    assert_int_equal(sim_mutex_open(WORLD(shared.log.ex), &mutexes[0], NULL), GNN_OK);
    assert_int_equal(sim_mutex_open(WORLD(shared.log.ex), &mutexes[1], NULL), GNN_OK);
    struct gnn_thread *const left = start(shared.log.ex, "left", left_main, mutexes);
    (void)start(shared.log.ex, "right", right_main, mutexes);
    (void)start(shared.log.ex, "idle", nothing_comes, &shared);
    (void)start(shared.log.ex, "gone", returns_at_once, NULL);
    sim_thread_join(WORLD(shared.log.ex), left);
    _exit(0); /* not reached */
}

static void deadlock_is_reported(void **state)
{
    (void)state;
    static const char expected[] = "deadlock at 2000 ns of virtual time: every thread waits for another\n"
                                   "  thread 0 main: joins thread 1 left, since 0 ns\n"
                                   "  thread 1 left: waits (lock) for mutex 2, held by thread 2 right, since 1000 ns\n"
                                   "  thread 2 right: waits (lock) for mutex 1, held by thread 1 left, since 2000 ns\n"
                                   "  thread 3 idle: waits (queue) for condition 0, since 0 ns\n"
                                   "  thread 4 gone: has returned\n";
    for (int with_hook = 0; with_hook <= 1; with_hook++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)signal(SIGABRT, SIG_DFL);
            (void)dup2(ends[1], STDERR_FILENO);
            run_into_deadlock(with_hook == 1, ends[1]);
        }
        (void)close(ends[1]);
        char text[4096] = "";
        size_t got = 0;
        for (ssize_t n; (n = read(ends[0], text + got, sizeof text - 1 - got)) > 0;)
            got += (size_t)n;
        (void)close(ends[0]);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        text[got] = '\0';
        if (with_hook == 1) {
            assert_string_equal(text, expected);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
        } else {
            assert_non_null(strstr(text, expected));
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        }
    }
}

/* ---- determinism ---- */

enum { CROWD = 40, CROWD_LOCKS = 5, CROWD_STEPS = 300 };

struct crowd {
    struct sim_executor *ex;
    uint64_t hash; /* of every step: who, when */
    uint64_t steps;
    struct gnn_mutex *mutexes[CROWD_LOCKS];
    struct gnn_cond *conds[CROWD_LOCKS];
    uint32_t inside[CROWD_LOCKS]; /* the mutex's */
    bool broken;
    struct crowd_member {
        struct crowd *crowd;
        struct gnn_thread *thread;
        struct gnn_rng rng;
        uint32_t number;
        struct gnn_time_split split;
    } members[CROWD];
};

static void crowd_note(struct crowd *crowd, uint32_t who, uint32_t what)
{
    crowd->hash =
        gnn_mix64(crowd->hash ^ gnn_mix64(sim_now(crowd->ex) + ((uint64_t)who << 48) + ((uint64_t)what << 40)));
    crowd->steps++;
}

static void crowd_enter(struct crowd *crowd, uint32_t lock)
{
    crowd->broken = crowd->broken || crowd->inside[lock] != 0;
    crowd->inside[lock]++;
}

static void crowd_lock_step(struct crowd_member *self, uint32_t lock)
{
    struct crowd *const crowd = self->crowd;
    struct sim_executor *const ex = crowd->ex;
    sim_mutex_lock(WORLD(ex), crowd->mutexes[lock]);
    crowd_enter(crowd, lock);
    cpu_ns(ex, gnn_rng_below(&self->rng, 2000));
    switch (gnn_rng_below(&self->rng, 4)) {
    case 0:
        crowd->inside[lock]--;
        (void)sim_cond_wait(WORLD(ex), crowd->conds[lock], crowd->mutexes[lock],
                            sim_now(ex) + gnn_rng_below(&self->rng, 20000), GNN_WAIT_RESOURCE);
        crowd_enter(crowd, lock);
        break;
    case 1:
        sim_cond_signal(WORLD(ex), crowd->conds[lock]);
        break;
    case 2:
        sim_cond_broadcast(WORLD(ex), crowd->conds[lock]);
        break;
    default:
        sim_sleep_until(WORLD(ex), sim_now(ex) + gnn_rng_below(&self->rng, 300), GNN_WAIT_IO);
    }
    crowd->inside[lock]--;
    sim_mutex_unlock(WORLD(ex), crowd->mutexes[lock]);
}

static void crowd_main(void *arg)
{
    struct crowd_member *const self = arg;
    struct crowd *const crowd = self->crowd;
    struct sim_executor *const ex = crowd->ex;
    for (uint32_t step = 0; step < CROWD_STEPS; step++) {
        const uint32_t what = (uint32_t)gnn_rng_below(&self->rng, 5);
        sim_cpu(ex, gnn_rng_below(&self->rng, 3000000));
        switch (what) {
        case 0:
            sim_settle(ex);
            break;
        case 1:
            sim_sleep_until(WORLD(ex), sim_now(ex) + gnn_rng_below(&self->rng, 10000), GNN_WAIT_IO);
            break;
        case 2:
            sim_spin_until(ex, sim_now(ex) + gnn_rng_below(&self->rng, 3000), GNN_WAIT_COMPUTE);
            break;
        default:
            crowd_lock_step(self, (uint32_t)gnn_rng_below(&self->rng, CROWD_LOCKS));
        }
        crowd_note(crowd, self->number, what);
    }
    sim_thread_split(WORLD(ex), &self->split);
}

struct crowd_end {
    uint64_t hash, end_ns;
};

static struct crowd_end crowd_run(uint64_t seed, const struct sim_executor_config *config)
{
    static struct crowd crowd;
    struct gnn_err err = {0};
    crowd = (struct crowd){0};
    assert_int_equal(sim_executor_open(config, &crowd.ex, &err), GNN_OK);
    for (uint32_t i = 0; i < CROWD_LOCKS; i++) {
        assert_int_equal(sim_mutex_open(WORLD(crowd.ex), &crowd.mutexes[i], &err), GNN_OK);
        assert_int_equal(sim_cond_open(WORLD(crowd.ex), &crowd.conds[i], &err), GNN_OK);
    }
    for (uint32_t i = 0; i < CROWD; i++) {
        struct crowd_member *const member = &crowd.members[i];
        *member = (struct crowd_member){.crowd = &crowd, .rng = gnn_rng_at(gnn_rng_fold(seed, i)), .number = i};
        member->thread = start(crowd.ex, "member", crowd_main, member);
    }
    for (uint32_t i = 0; i < CROWD; i++)
        sim_thread_join(WORLD(crowd.ex), crowd.members[i].thread);
    assert_false(crowd.broken); /* never two behind one mutex */
    assert_int_equal(crowd.steps, CROWD * CROWD_STEPS);
    uint64_t cpu_sum_ns = 0;
    for (uint32_t i = 0; i < CROWD; i++) {
        const struct gnn_time_split *const split = &crowd.members[i].split;
        /* A spinning wait is in both: its wait is at least its CPU time. */
        const uint64_t computed_ns = split->cpu_ns;
        cpu_sum_ns += computed_ns;
        assert_true(split->wall_ns >= waits_ns(split));
        if (config->cores >= CROWD && config->spin_ns == 0)
            assert_true(computed_ns + waits_ns(split) >= split->wall_ns &&
                        computed_ns + waits_ns(split) - split->wait_ns[GNN_WAIT_COMPUTE] <= split->wall_ns);
    }
    const struct crowd_end end = {.hash = crowd.hash, .end_ns = sim_now(crowd.ex)};
    assert_true(sim_busy_ns(crowd.ex) >= cpu_sum_ns);
    assert_true(sim_busy_ns(crowd.ex) <= end.end_ns * config->cores);
    for (uint32_t i = 0; i < CROWD_LOCKS; i++) {
        sim_cond_close(WORLD(crowd.ex), crowd.conds[i]);
        sim_mutex_close(WORLD(crowd.ex), crowd.mutexes[i]);
    }
    sim_executor_close(crowd.ex);
    return end;
}

/* Written down once: any machine, compiler and optimisation level gives these. */
static void one_seed_one_nanosecond(void **state)
{
    (void)state;
    static const struct {
        struct sim_executor_config config;
        struct crowd_end end;
    } cases[] = {
        {{.cores = 1}, {UINT64_C(0x031eec03fbca6ade), 22883234}},
        {{.cores = 3, .lock_ns = 20, .wake_ns = 900, .wake_latency_ns = 5000, .spin_ns = 1000, .futex_ns = 200},
         {UINT64_C(0x0735ac8b8ae05819), 9877636}},
        {{.cores = 64, .lock_ns = 20, .wake_ns = 900, .thread_start_ns = 10000},
         {UINT64_C(0x7a303d0515835219), 1747644}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct crowd_end first = crowd_run(1, &cases[c].config);
        const struct crowd_end second = crowd_run(1, &cases[c].config);
        const struct crowd_end other = crowd_run(2, &cases[c].config);
        assert_int_equal(first.hash, second.hash);
        assert_int_equal(first.end_ns, second.end_ns);
        assert_int_not_equal(first.hash, other.hash);
        if (first.hash != cases[c].end.hash || first.end_ns != cases[c].end.end_ns)
            fail_msg("case %zu: 0x%016" PRIx64 ", %" PRIu64 " ns", c, first.hash, first.end_ns);
    }
}

static void random_crowds_keep_the_rules(void **state)
{
    (void)state;
    struct gnn_rng rng = gnn_rng_at(test_seed());
    for (int round = 0; round < 10; round++) {
        const struct sim_executor_config config = {.cores = 1 + (uint32_t)gnn_rng_below(&rng, 50),
                                                   .lock_ns = gnn_rng_below(&rng, 100),
                                                   .wake_ns = gnn_rng_below(&rng, 2000),
                                                   .wake_latency_ns = gnn_rng_below(&rng, 2) * 5000,
                                                   .spin_ns = gnn_rng_below(&rng, 2) * 700,
                                                   .futex_ns = gnn_rng_below(&rng, 400),
                                                   .thread_start_ns = gnn_rng_below(&rng, 10000)};
        const uint64_t crowd_seed = gnn_rng_next(&rng);
        const struct crowd_end first = crowd_run(crowd_seed, &config);
        const struct crowd_end second = crowd_run(crowd_seed, &config);
        assert_int_equal(first.hash, second.hash);
        assert_int_equal(first.end_ns, second.end_ns);
    }
}

struct ticks {
    uint64_t every_ns, last_ns, next_ns;
    uint32_t count;
    bool early;
};

static uint64_t on_tick(void *ctx, uint64_t now_ns)
{
    struct ticks *const ticks = ctx;
    ticks->early = ticks->early || now_ns < ticks->next_ns || now_ns < ticks->last_ns;
    ticks->count++;
    ticks->last_ns = now_ns;
    return ticks->next_ns = (now_ns / ticks->every_ns + 1) * ticks->every_ns;
}

/* Somebody who looks at the clock every so often changes not a nanosecond, and misses no time that the clock stood
 * at. */
static void ticks_are_seen_and_change_nothing(void **state)
{
    (void)state;
    struct gnn_rng rng = gnn_rng_at(test_seed());
    for (int round = 0; round < 10; round++) {
        struct ticks ticks = {.every_ns = 1 + gnn_rng_below(&rng, 20000)};
        struct sim_executor_config config = {.cores = 1 + (uint32_t)gnn_rng_below(&rng, 40),
                                             .wake_ns = gnn_rng_below(&rng, 2000),
                                             .wake_latency_ns = gnn_rng_below(&rng, 2) * 5000,
                                             .spin_ns = gnn_rng_below(&rng, 2) * 700};
        const uint64_t crowd_seed = gnn_rng_next(&rng);
        const struct crowd_end plain = crowd_run(crowd_seed, &config);
        config.on_tick = on_tick;
        config.on_tick_ctx = &ticks;
        const struct crowd_end ticked = crowd_run(crowd_seed, &config);
        assert_int_equal(plain.hash, ticked.hash);
        assert_int_equal(plain.end_ns, ticked.end_ns);
        assert_false(ticks.early);
        assert_true(ticks.next_ns > ticked.end_ns);
    }
}

/* A thread that computes alone has its ticks on time: no event of another one stops it there. */
static void a_lone_thread_is_ticked_too(void **state)
{
    (void)state;
    struct ticks ticks = {.every_ns = 1000};
    const struct sim_executor_config config = {.cores = 2, .on_tick = on_tick, .on_tick_ctx = &ticks};
    struct sim_executor *ex;
    struct gnn_err err = {0};
    assert_int_equal(sim_executor_open(&config, &ex, &err), GNN_OK);
    for (int i = 0; i < 1000; i++) {
        sim_cpu(ex, 100 * SIM_PS_PER_NS);
        sim_settle(ex);
    }
    assert_int_equal(sim_now(ex), 100000);
    assert_int_equal(ticks.count, 101); /* the first at 100 ns, then at 1000, 2000 and so on */
    assert_int_equal(ticks.last_ns, 100000);
    sim_executor_close(ex);
}

struct sleeper {
    struct sim_executor *ex;
    uint64_t until_ns;
    enum gnn_wait kind;
};

static void sleeper_main(void *arg)
{
    const struct sleeper *const sleeper = arg;
    sim_sleep_until(WORLD(sleeper->ex), sleeper->until_ns, sleeper->kind);
}

/* Sleeps for I/O add up over threads, those under way included; others and spinning do not count. */
static void sleeps_for_io_are_summed(void **state)
{
    (void)state;
    const struct sim_executor_config config = {.cores = 4};
    struct sim_executor *ex;
    struct gnn_err err = {0};
    assert_int_equal(sim_executor_open(&config, &ex, &err), GNN_OK);
    struct sleeper sleepers[] = {{ex, 1000, GNN_WAIT_IO}, {ex, 5000, GNN_WAIT_IO}, {ex, 4000, GNN_WAIT_QUEUE}};
    struct gnn_thread *threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = start(ex, "sleeper", sleeper_main, &sleepers[i]);
    sim_sleep_until(WORLD(ex), 3000, GNN_WAIT_RESOURCE);
    assert_int_equal(sim_io_sleep_ns(ex), 1000 + 3000);
    sim_spin_until(ex, 6000, GNN_WAIT_IO);
    assert_int_equal(sim_io_sleep_ns(ex), 1000 + 5000);
    for (int i = 0; i < 3; i++)
        sim_thread_join(WORLD(ex), threads[i]);
    sim_executor_close(ex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_seen_and_change_nothing),
        cmocka_unit_test(a_lone_thread_is_ticked_too),
        cmocka_unit_test(sleeps_for_io_are_summed),
        cmocka_unit_test(cores_are_shared),
        cmocka_unit_test(remainders_and_quantum),
        cmocka_unit_test(small_steps_add_up),
        cmocka_unit_test(spinning_holds_a_core),
        cmocka_unit_test(ties_go_by_number),
        cmocka_unit_test(sleepers_take_a_freed_mutex_in_order),
        cmocka_unit_test(who_is_awake_takes_a_freed_mutex),
        cmocka_unit_test(who_looks_takes_a_freed_mutex),
        cmocka_unit_test(nobody_starves),
        cmocka_unit_test(more_threads_never_slow_a_mutex),
        cmocka_unit_test(conditions_wake_in_order),
        cmocka_unit_test(a_woken_sleeper_needs_the_mutex),
        cmocka_unit_test(sleeps_land_in_their_kind),
        cmocka_unit_test(joins_cost_a_wake),
        cmocka_unit_test(deadlock_is_reported),
        cmocka_unit_test(one_seed_one_nanosecond),
        cmocka_unit_test(random_crowds_keep_the_rules),
    };
    end_a_hang();
    return cmocka_run_group_tests_name("executor", tests, NULL, NULL);
}
