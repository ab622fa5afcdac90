/* SPDX-License-Identifier: MIT */
/* Queues, in-order delivery and stages on either world: order, bounds, shutdown, the first error, time
 * split. */
#include "harness/base/rng.h"
#include "harness/pipeline/pipeline.h"
#include "harness/pipeline/progress.h"
#include "tests/support/hang.h"
#include "tests/support/measured_world.h"
#include "tests/support/must.h"
#include "tests/support/seed.h"
#include "tests/support/sim_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { ITEMS = 400, MS = 1000000 };

static void nap(struct gnn_world *world, uint64_t ns, enum gnn_wait kind)
{
    gnn_sleep_until(world, gnn_now_ns(world) + ns, kind);
}

static void cancel_queue(void *queue)
{
    gnn_queue_cancel(queue);
}

static void cancel_reorder(void *reorder)
{
    gnn_reorder_cancel(reorder);
}

/* ---- queues on one thread ---- */

static void queue_keeps_order(void **state)
{
    struct gnn_world *const world = *state;
    static int items[300];
    for (uint32_t capacity = 0; capacity <= 300; capacity += 300) { /* 0: unbounded, grows past its first slots */
        struct gnn_queue *queue = NULL;
        void *item = NULL;
        assert_int_equal(gnn_queue_open(world, "q", capacity, &queue, NULL), GNN_OK);
        int in = 0;
        int out = 0;
        for (int round = 0; round < 100; round++) { /* three in, two out: the ring wraps while it grows */
            for (int i = 0; i < 3; i++)
                assert_int_equal(gnn_queue_push(queue, &items[in++]), GNN_OK);
            for (int i = 0; i < 2; i++) {
                assert_int_equal(gnn_queue_pop(queue, &item), GNN_OK);
                assert_ptr_equal(item, &items[out++]);
            }
        }
        assert_int_equal(gnn_queue_peak(queue), 102);
        while (out < in) {
            assert_int_equal(gnn_queue_pop(queue, &item), GNN_OK);
            assert_ptr_equal(item, &items[out++]);
        }
        gnn_queue_producers(queue, 1);
        gnn_queue_done(queue);
        assert_int_equal(gnn_queue_pop(queue, &item), GNN_OK);
        assert_null(item);
        gnn_queue_close(queue);
    }
    gnn_queue_close(NULL);
}

static void queue_ends_after_last_producer(void **state)
{
    struct gnn_queue *queue = NULL;
    int one = 1;
    void *item = NULL;
    assert_int_equal(gnn_queue_open(*state, "q", 4, &queue, NULL), GNN_OK);
    for (int epoch = 0; epoch < 2; epoch++) {
        gnn_queue_producers(queue, 2);
        assert_int_equal(gnn_queue_push(queue, &one), GNN_OK);
        gnn_queue_done(queue);
        gnn_queue_done(queue);
        assert_int_equal(gnn_queue_pop(queue, &item), GNN_OK);
        assert_ptr_equal(item, &one); /* what is inside is still delivered */
        for (int i = 0; i < 2; i++) {
            assert_int_equal(gnn_queue_pop(queue, &item), GNN_OK);
            assert_null(item);
        }
    }
    gnn_queue_cancel(queue);
    assert_int_equal(gnn_queue_push(queue, &one), GNN_ECANCELLED);
    assert_int_equal(gnn_queue_pop(queue, &item), GNN_ECANCELLED);
    gnn_queue_producers(queue, 1);
    assert_int_equal(gnn_queue_push(queue, &one), GNN_OK);
    gnn_queue_close(queue);
}

/* ---- a line of stages: make -> work -> (in order) -> collect ---- */

struct line {
    struct gnn_world *world;
    struct gnn_pipeline *pipeline;
    struct gnn_queue *made;
    struct gnn_reorder *reorder;
    uint64_t seed;
    uint64_t first_ticket;
    uint32_t items;
    uint32_t window;
    atomic_uint next;        /* item to make */
    atomic_uint next_ticket; /* to work on, from first_ticket */
    uint32_t collected;
    uint32_t delay_us_max; /* random, per item and stage */
    uint32_t fail_item;    /* work fails here with GNN_EIO; UINT32_MAX: never */
    uint32_t cancels;      /* callbacks run */
    uint64_t tickets[ITEMS];
};

static void random_delay(const struct line *line, uint64_t ticket, uint32_t stage)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(gnn_rng_fold(line->seed, stage), ticket));
    if (line->delay_us_max > 0 && gnn_rng_below(&rng, 4) == 0)
        nap(line->world, gnn_rng_below(&rng, line->delay_us_max) * 1000, GNN_WAIT_IO);
}

static enum gnn_status make_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct line *const line = ctx;
    (void)err;
    for (;;) {
        const uint32_t at = atomic_fetch_add(&line->next, 1);
        if (at >= line->items)
            break;
        random_delay(line, at, 0);
        GNN_TRY(gnn_queue_push(line->made, &line->tickets[at]));
        worker->items++;
    }
    gnn_queue_done(line->made);
    return GNN_OK;
}

static enum gnn_status work_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct line *const line = ctx;
    for (;;) {
        void *item = NULL;
        GNN_TRY(gnn_queue_pop(line->made, &item));
        if (item == NULL)
            return GNN_OK;
        const uint64_t ticket = line->first_ticket + atomic_fetch_add(&line->next_ticket, 1);
        *(uint64_t *)item = ticket;
        random_delay(line, ticket, 1);
        if (ticket - line->first_ticket == line->fail_item)
            return gnn_fail(err, GNN_EIO, "item %u broke", line->fail_item);
        GNN_TRY(gnn_reorder_put(line->reorder, ticket, item));
        worker->items++;
    }
}

static enum gnn_status collect_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct line *const line = ctx;
    for (;;) {
        void *item = NULL;
        GNN_TRY(gnn_reorder_take(line->reorder, &item));
        if (item == NULL)
            return GNN_OK;
        const uint64_t ticket = *(uint64_t *)item;
        if (ticket != line->first_ticket + line->collected)
            return gnn_fail(err, GNN_EBUG, "ticket %u in place of %u", (unsigned)ticket, line->collected);
        random_delay(line, ticket, 2);
        line->collected++;
        worker->items++;
    }
}

static void count_cancel(void *count)
{
    ++*(uint32_t *)count;
}

static void line_open(struct line *line, struct gnn_world *world, uint32_t capacity, uint32_t window, uint32_t makers,
                      uint32_t workers)
{
    *line = (struct line){.world = world, .items = ITEMS, .window = window, .fail_item = UINT32_MAX};
    struct gnn_err err = {0};
    assert_int_equal(gnn_pipeline_open(world, &line->pipeline, &err), GNN_OK);
    assert_int_equal(gnn_queue_open(world, "made", capacity, &line->made, &err), GNN_OK);
    assert_int_equal(gnn_reorder_open(world, window, &line->reorder, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_stage(line->pipeline, "make", makers, make_stage, line, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_stage(line->pipeline, "work", workers, work_stage, line, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_stage(line->pipeline, "collect", 1, collect_stage, line, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_on_cancel(line->pipeline, cancel_queue, line->made, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_on_cancel(line->pipeline, cancel_reorder, line->reorder, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_on_cancel(line->pipeline, count_cancel, &line->cancels, &err), GNN_OK);
}

static enum gnn_status line_run(struct line *line, uint32_t makers, struct gnn_err *err)
{
    atomic_store(&line->next, 0);
    atomic_store(&line->next_ticket, 0);
    line->collected = 0;
    line->cancels = 0;
    void *left = NULL; /* a run that failed leaves items behind */
    gnn_queue_producers(line->made, 1);
    gnn_queue_done(line->made);
    while (gnn_queue_pop(line->made, &left) == GNN_OK && left != NULL)
        continue;
    gnn_queue_producers(line->made, makers);
    gnn_reorder_reset(line->reorder, line->first_ticket, line->first_ticket + line->items);
    return gnn_pipeline_run(line->pipeline, err);
}

static void line_close(struct line *line)
{
    gnn_pipeline_close(line->pipeline);
    gnn_reorder_close(line->reorder);
    gnn_queue_close(line->made);
}

static void check_sums(const struct gnn_stage_time *time)
{
    uint64_t sum_ns = time->work_ns;
    for (int kind = 0; kind < GNN_WAIT_KINDS; kind++)
        sum_ns += time->wait_ns[kind];
    if (sum_ns > time->wall_ns + time->wall_ns / 100 || sum_ns + time->wall_ns / 100 < time->wall_ns)
        fail_msg("stage %s: work and waits make %.3f ms, wall is %.3f ms", time->stage, (double)sum_ns / MS,
                 (double)time->wall_ns / MS);
}

static void line_runs_epochs_in_order(void **state)
{
    static struct line line;
    struct gnn_err err = {0};
    line_open(&line, *state, 3, 4, 2, 3);
    for (int epoch = 0; epoch < 3; epoch++) {
        line.first_ticket = (uint64_t)epoch * ITEMS;
        assert_int_equal(line_run(&line, 2, &err), GNN_OK);
        assert_int_equal(line.collected, ITEMS);
        assert_int_equal(line.cancels, 0);
        assert_in_range(gnn_queue_peak(line.made), 1, 3);
        struct gnn_stage_time times[GNN_STAGES_MAX];
        assert_int_equal(gnn_pipeline_times(line.pipeline, times, GNN_STAGES_MAX), 3);
        static const char *const names[] = {"make", "work", "collect"};
        static const uint32_t workers[] = {2, 3, 1};
        for (int s = 0; s < 3; s++) {
            assert_string_equal(times[s].stage, names[s]);
            assert_int_equal(times[s].workers, workers[s]);
            assert_int_equal(times[s].items, ITEMS);
            check_sums(&times[s]);
        }
    }
    line_close(&line);
}

static void first_error_reaches_the_caller(void **state)
{
    static struct line line;
    static const uint32_t fail_items[] = {0, 7, ITEMS - 1};
    line_open(&line, *state, 2, 2, 2, 4);
    for (size_t i = 0; i < sizeof fail_items / sizeof *fail_items; i++) {
        struct gnn_err err = {0};
        char expected[64];
        (void)snprintf(expected, sizeof expected, "item %u broke", fail_items[i]);
        line.fail_item = fail_items[i];
        assert_int_equal(line_run(&line, 2, &err), GNN_EIO);
        assert_int_equal(err.status, GNN_EIO);
        assert_string_equal(err.message, expected);
        assert_non_null(strstr(err.file, "test_pipeline.c")); /* where it was found, not where it was passed on */
        assert_int_equal(line.cancels, 1);
        assert_true(line.collected <= fail_items[i]);
        assert_false(gnn_pipeline_stopping(line.pipeline));
        line.fail_item = UINT32_MAX; /* and the next epoch works */
        struct gnn_err none = {0};
        assert_int_equal(line_run(&line, 2, &none), GNN_OK);
        assert_int_equal(line.collected, ITEMS);
    }
    line_close(&line);
}

/* ---- what ends a run, and where time goes ---- */

struct stuck {
    struct gnn_world *world;
    struct gnn_queue *never;
    atomic_uint arrived;
    atomic_bool cancelled;
};

static enum gnn_status stuck_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct stuck *const stuck = ctx;
    (void)worker;
    (void)err;
    void *item = NULL;
    atomic_fetch_add(&stuck->arrived, 1);
    return gnn_queue_pop(stuck->never, &item);
}

struct stopper {
    struct gnn_world *world;
    struct gnn_pipeline *pipeline;
    struct stuck *stuck;
};

static void stop_later(void *arg)
{
    struct stopper *const stopper = arg;
    while (atomic_load(&stopper->stuck->arrived) < 5)
        nap(stopper->world, MS / 10, GNN_WAIT_LOCK);
    nap(stopper->world, 2 * MS, GNN_WAIT_LOCK);
    gnn_pipeline_stop(stopper->pipeline, GNN_ETIME, "the time limit of 2 ms has passed");
    gnn_pipeline_stop(stopper->pipeline, GNN_EIO, "too late to count");
}

static void stop_from_another_thread(void **state)
{
    struct gnn_world *const world = *state;
    struct stuck stuck = {.world = world};
    struct stopper stopper = {.world = world, .stuck = &stuck};
    struct gnn_thread *thread = NULL;
    struct gnn_err err = {0};
    assert_int_equal(gnn_queue_open(world, "never", 1, &stuck.never, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_open(world, &stopper.pipeline, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_stage(stopper.pipeline, "stuck", 5, stuck_stage, &stuck, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_on_cancel(stopper.pipeline, cancel_queue, stuck.never, &err), GNN_OK);
    assert_int_equal(gnn_thread_start(world, "stopper", stop_later, &stopper, &thread, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_run(stopper.pipeline, &err), GNN_ETIME);
    assert_string_equal(err.message, "the time limit of 2 ms has passed");
    gnn_thread_join(world, thread);
    gnn_pipeline_close(stopper.pipeline);
    gnn_queue_close(stuck.never);
}

static void slow_cancel(void *target)
{
    struct stuck *const stuck = target;
    gnn_queue_cancel(stuck->never);
    nap(stuck->world, 20 * MS, GNN_WAIT_LOCK); /* the workers have left long before */
    atomic_store(&stuck->cancelled, true);
}

/* What a callback touches may be freed after the run: so the run waits for a callback on another thread. */
static void run_waits_for_callbacks(void **state)
{
    struct gnn_world *const world = *state;
    struct stuck stuck = {.world = world};
    struct stopper stopper = {.world = world, .stuck = &stuck};
    struct gnn_thread *thread = NULL;
    struct gnn_err err = {0};
    assert_int_equal(gnn_queue_open(world, "never", 1, &stuck.never, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_open(world, &stopper.pipeline, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_stage(stopper.pipeline, "stuck", 5, stuck_stage, &stuck, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_on_cancel(stopper.pipeline, slow_cancel, &stuck, &err), GNN_OK);
    assert_int_equal(gnn_thread_start(world, "stopper", stop_later, &stopper, &thread, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_run(stopper.pipeline, &err), GNN_ETIME);
    assert_true(atomic_load(&stuck.cancelled));
    gnn_thread_join(world, thread);
    gnn_pipeline_close(stopper.pipeline);
    gnn_queue_close(stuck.never);
}

static void stop_between_runs(void **state)
{
    static struct line line;
    struct gnn_err err = {0};
    line_open(&line, *state, 2, 2, 1, 1);
    gnn_pipeline_stop(line.pipeline, GNN_ECANCELLED, "Ctrl-C");
    assert_true(gnn_pipeline_stopping(line.pipeline));
    assert_int_equal(line.cancels, 0); /* nobody runs: nothing to cancel */
    assert_int_equal(line_run(&line, 1, &err), GNN_ECANCELLED);
    assert_string_equal(err.message, "Ctrl-C");
    assert_int_equal(line.collected, 0);
    err = (struct gnn_err){0};
    assert_int_equal(line_run(&line, 1, &err), GNN_OK);
    line_close(&line);
}

static enum gnn_status silent_failure(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    (void)worker;
    (void)err;
    return *(enum gnn_status *)ctx;
}

static void one_stage_too_many(void **state)
{
    struct gnn_pipeline *pipeline = NULL;
    enum gnn_status status = GNN_OK;
    struct gnn_err err = {0};
    assert_int_equal(gnn_pipeline_open(*state, &pipeline, &err), GNN_OK);
    for (uint32_t i = 0; i < GNN_STAGES_MAX; i++)
        assert_int_equal(gnn_pipeline_stage(pipeline, "one of many", 1, silent_failure, &status, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_stage(pipeline, "last", 1, silent_failure, &status, &err), GNN_EBUG);
    assert_non_null(strstr(err.message, "stage last is one more than 12"));
    gnn_pipeline_close(pipeline);
}

static void failure_without_text(void **state)
{
    struct gnn_pipeline *pipeline = NULL;
    enum gnn_status status = GNN_ECAP;
    struct gnn_err err = {0};
    assert_int_equal(gnn_pipeline_open(*state, &pipeline, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_stage(pipeline, "extract", 1, silent_failure, &status, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_stage(pipeline, "none", 0, silent_failure, &status, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "none"));
    err = (struct gnn_err){0};
    assert_int_equal(gnn_pipeline_stage(pipeline, "crowd", GNN_WORKERS_MAX + 1, silent_failure, &status, &err),
                     GNN_EUSAGE);
    assert_non_null(strstr(err.message, "stage crowd has 257 workers"));
    err = (struct gnn_err){0};
    assert_int_equal(gnn_pipeline_run(pipeline, &err), GNN_ECAP);
    assert_string_equal(err.message, "stage extract, worker 0: cap");
    gnn_pipeline_close(pipeline);
    gnn_pipeline_close(NULL);
}

static const struct gnn_world_ops *real_ops;
static uint32_t threads_allowed;

static enum gnn_status meagre_thread_start(struct gnn_world *w, const char *name, gnn_thread_fn *fn, void *arg,
                                           struct gnn_thread **out, struct gnn_err *err)
{
    if (threads_allowed-- == 0)
        return gnn_fail(err, GNN_ETHREADS, "no thread for %s", name);
    return real_ops->thread_start(w, name, fn, arg, out, err);
}

static void a_thread_that_does_not_start(void **state)
{
    struct gnn_world *const world = *state;
    static struct line line;
    real_ops = world->ops;
    struct gnn_world_ops meagre = *real_ops;
    meagre.thread_start = meagre_thread_start;
    line_open(&line, world, 2, 2, 2, 2);
    world->ops = &meagre;
    for (uint32_t allowed = 0; allowed < 5; allowed++) { /* 2 + 2 + 1 workers */
        struct gnn_err err = {0};
        threads_allowed = allowed;
        assert_int_equal(line_run(&line, 2, &err), GNN_ETHREADS);
        assert_non_null(strstr(err.message, "no thread for"));
    }
    world->ops = real_ops;
    struct gnn_err err = {0};
    assert_int_equal(line_run(&line, 2, &err), GNN_OK);
    line_close(&line);
}

struct sleeper {
    struct gnn_queue *queue;
    uint64_t ns[GNN_WAIT_KINDS];
    int item;
};

static enum gnn_status sleeper_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct sleeper *const sleeper = ctx;
    (void)err;
    for (int kind = 0; kind < GNN_WAIT_KINDS; kind++)
        if (sleeper->ns[kind] > 0)
            nap(worker->world, sleeper->ns[kind], (enum gnn_wait)kind);
    const enum gnn_status status = gnn_queue_push(sleeper->queue, &sleeper->item);
    gnn_queue_done(sleeper->queue);
    return status;
}

static enum gnn_status waiter_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct sleeper *const sleeper = ctx;
    (void)worker;
    (void)err;
    void *item = &sleeper->item;
    while (item != NULL)
        GNN_TRY(gnn_queue_pop(sleeper->queue, &item));
    const struct timespec unnamed = {.tv_nsec = 200 * MS}; /* no wait the world knows of: counts as work */
    (void)nanosleep(&unnamed, NULL);
    return GNN_OK;
}

/* A waiter that starts after its sleepers waits less; the upper limit leaves a busy machine room. Returns false above
 * it: a thread that got no core in time says nothing. */
static bool about_ms(const char *what, uint64_t ns, uint64_t ms)
{
    if (ns + 20 * MS < ms * MS)
        fail_msg("%s: %.3f ms, expected about %u", what, (double)ns / MS, (unsigned)ms);
    if (ns > (ms + 75) * MS)
        print_message("%s: %.3f ms, expected about %u\n", what, (double)ns / MS, (unsigned)ms);
    return ns <= (ms + 75) * MS;
}

static bool sleeps_once(struct gnn_world *world)
{
    struct sleeper sleeper = {
        .ns = {[GNN_WAIT_IO] = 150 * MS, [GNN_WAIT_COMPUTE] = 100 * MS, [GNN_WAIT_RESOURCE] = 50 * MS}};
    struct gnn_pipeline *pipeline = NULL;
    struct gnn_stage_time times[2];
    struct gnn_err err = {0};
    assert_int_equal(gnn_queue_open(world, "q", 1, &sleeper.queue, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_open(world, &pipeline, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_stage(pipeline, "sleep", 2, sleeper_stage, &sleeper, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_stage(pipeline, "wait", 1, waiter_stage, &sleeper, &err), GNN_OK);
    gnn_queue_producers(sleeper.queue, 2);
    assert_int_equal(gnn_pipeline_run(pipeline, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_times(pipeline, times, 1), 1);
    assert_int_equal(gnn_pipeline_times(pipeline, times, 2), 2);
    bool in_time = about_ms("two sleepers' io", times[0].wait_ns[GNN_WAIT_IO], 300);
    in_time &= about_ms("two sleepers' compute", times[0].wait_ns[GNN_WAIT_COMPUTE], 200);
    in_time &= about_ms("two sleepers' resource", times[0].wait_ns[GNN_WAIT_RESOURCE], 100);
    in_time &= about_ms("two sleepers' work", times[0].work_ns, 0);
    in_time &= about_ms("the waiter's queue", times[1].wait_ns[GNN_WAIT_QUEUE], 300);
    assert_int_equal(times[1].wait_ns[GNN_WAIT_IO], 0);
    in_time &= about_ms("the waiter's work", times[1].work_ns, 200);
    if (times[1].queued_ns != GNN_UNKNOWN) /* work that no core did and none was wanted for: the kernel knows */
        assert_true(times[1].work_ns > times[1].cpu_ns + times[1].queued_ns + 150 * MS);
    check_sums(&times[0]);
    check_sums(&times[1]);
    gnn_pipeline_close(pipeline);
    gnn_queue_close(sleeper.queue);
    return in_time;
}

static void sleeps_land_in_their_kind(void **state)
{
    bool in_time = false;
    for (int turn = 0; turn < 50 && !in_time; turn++)
        in_time = sleeps_once(*state);
    assert_true(in_time);
}

/* ---- many random lines ---- */

static void stress(void **state)
{
    static struct line line;
    struct gnn_rng rng = gnn_rng_at(test_seed());
    const uint64_t end_ns = gnn_now_ns(*state) + UINT64_C(1500) * MS;
    for (uint32_t round = 0; round < 3 || gnn_now_ns(*state) < end_ns; round++) {
        const uint32_t makers = 1 + (uint32_t)gnn_rng_below(&rng, 4);
        const uint32_t capacity = (uint32_t)gnn_rng_below(&rng, 4); /* 0: unbounded */
        const uint32_t window = 1 + (uint32_t)gnn_rng_below(&rng, 8);
        line_open(&line, *state, capacity, window, makers, 1 + (uint32_t)gnn_rng_below(&rng, 8));
        line.seed = gnn_rng_next(&rng);
        line.items = 1 + (uint32_t)gnn_rng_below(&rng, ITEMS);
        for (int epoch = 0; epoch < 3; epoch++) {
            struct gnn_err err = {0};
            line.delay_us_max = (uint32_t)gnn_rng_below(&rng, 2) * 300;
            line.first_ticket = gnn_rng_below(&rng, 1000);
            const bool fails = gnn_rng_below(&rng, 2) == 0;
            line.fail_item = fails ? (uint32_t)gnn_rng_below(&rng, line.items) : UINT32_MAX;
            const enum gnn_status status = line_run(&line, makers, &err);
            if (status != (fails ? GNN_EIO : GNN_OK))
                fail_msg("round %u: %s: %s", round, gnn_status_name(status), err.message);
            assert_true(fails ? line.collected <= line.fail_item : line.collected == line.items);
            assert_int_equal(line.cancels, fails ? 1 : 0);
        }
        line_close(&line);
    }
}

/* With a slow first ticket no put may pass the window: the put of ticket `window` waits for the first take. */
struct window_probe {
    struct gnn_reorder *reorder;
    atomic_uint put;
    int items[8];
};

static enum gnn_status put_all(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct window_probe *const probe = ctx;
    (void)worker;
    (void)err;
    for (uint32_t ticket = 1; ticket < 8; ticket++) {
        GNN_TRY(gnn_reorder_put(probe->reorder, ticket, &probe->items[ticket]));
        atomic_store(&probe->put, ticket);
    }
    return GNN_OK;
}

static enum gnn_status take_all(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct window_probe *const probe = ctx;
    (void)err;
    void *item = probe;
    for (;;) {
        GNN_TRY(gnn_reorder_take(probe->reorder, &item));
        if (item == NULL)
            return GNN_OK;
        worker->items++;
    }
}

/* Several takers share the items, and all of them end. */
static void reorder_with_many_takers(void **state)
{
    struct window_probe probe = {0};
    struct gnn_pipeline *pipeline = NULL;
    struct gnn_stage_time times[2];
    struct gnn_err err = {0};
    assert_int_equal(gnn_reorder_open(*state, 2, &probe.reorder, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_open(*state, &pipeline, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_stage(pipeline, "take", 4, take_all, &probe, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_stage(pipeline, "put", 1, put_all, &probe, &err), GNN_OK);
    for (int round = 0; round < 50; round++) {
        gnn_reorder_reset(probe.reorder, 1, 8);
        must(gnn_pipeline_run(pipeline, &err), &err);
        (void)gnn_pipeline_times(pipeline, times, 2);
        assert_int_equal(times[0].items, 7);
    }
    gnn_pipeline_close(pipeline);
    gnn_reorder_close(probe.reorder);
}

static enum gnn_status take_late(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct window_probe *const probe = ctx;
    nap(worker->world, 20 * MS, GNN_WAIT_IO);
    if (atomic_load(&probe->put) > 2)
        return gnn_fail(err, GNN_EBUG, "ticket %u entered a window of 3", atomic_load(&probe->put));
    GNN_TRY(gnn_reorder_put(probe->reorder, 0, &probe->items[0]));
    for (uint32_t i = 0; i < 8; i++) {
        void *item = NULL;
        GNN_TRY(gnn_reorder_take(probe->reorder, &item));
        if (item != &probe->items[i])
            return gnn_fail(err, GNN_EBUG, "item %u is out of order", i);
    }
    return GNN_OK;
}

static void reorder_window_holds(void **state)
{
    struct window_probe probe = {0};
    struct gnn_pipeline *pipeline = NULL;
    struct gnn_err err = {0};
    void *item = &probe;
    assert_int_equal(gnn_reorder_open(*state, 3, &probe.reorder, &err), GNN_OK);
    gnn_reorder_reset(probe.reorder, 0, 8);
    assert_int_equal(gnn_pipeline_open(*state, &pipeline, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_stage(pipeline, "put", 1, put_all, &probe, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_stage(pipeline, "take", 1, take_late, &probe, &err), GNN_OK);
    must(gnn_pipeline_run(pipeline, &err), &err);
    assert_int_equal(gnn_reorder_take(probe.reorder, &item), GNN_OK);
    assert_null(item);
    gnn_reorder_reset(probe.reorder, 5, 5); /* an empty epoch */
    assert_int_equal(gnn_reorder_take(probe.reorder, &item), GNN_OK);
    assert_null(item);
    gnn_pipeline_close(pipeline);
    gnn_reorder_close(probe.reorder);
    gnn_reorder_close(NULL);
}

/* ---- progress: two stages of pieces, the second one behind, the first at most two ahead ---- */

enum { AHEAD_FIRST, AHEAD_SECOND, AHEAD_COUNTS, PIECES = 50 };

struct pieces {
    struct gnn_progress *progress;
    uint32_t fail_at;
};

static enum gnn_status go_first(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct pieces *const p = ctx;
    for (int64_t k = 0; k < PIECES; k++) {
        GNN_TRY(gnn_progress_wait(p->progress, AHEAD_SECOND, k - 1));
        assert_in_range(gnn_progress_count(p->progress, AHEAD_SECOND) + 2, k + 1, k + 2);
        if (k == p->fail_at)
            return gnn_fail(err, GNN_EIO, "piece %d", (int)k);
        nap(worker->world, MS / 50, GNN_WAIT_IO);
        gnn_progress_add(p->progress, AHEAD_FIRST);
    }
    return GNN_OK;
}

static enum gnn_status go_second(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct pieces *const p = ctx;
    (void)err;
    for (int64_t k = 0; k < PIECES; k++) {
        GNN_TRY(gnn_progress_wait(p->progress, AHEAD_FIRST, k + 1));
        assert_true(gnn_progress_count(p->progress, AHEAD_FIRST) >= (uint64_t)k + 1);
        nap(worker->world, MS / 50, GNN_WAIT_IO);
        gnn_progress_add(p->progress, AHEAD_SECOND);
    }
    return GNN_OK;
}

static void progress_keeps_stages_apart(void **state)
{
    static const uint32_t fail_at[] = {PIECES, 7, PIECES}; /* the second run stops both, the third runs again */
    struct pieces pieces = {0};
    struct gnn_err err = {0};
    assert_int_equal(gnn_progress_open(*state, AHEAD_COUNTS, &pieces.progress, &err), GNN_OK);
    for (int run = 0; run < 3; run++) {
        struct gnn_pipeline *pipeline = NULL;
        pieces.fail_at = fail_at[run];
        gnn_progress_clear(pieces.progress);
        assert_int_equal(gnn_pipeline_open(*state, &pipeline, &err), GNN_OK);
        assert_int_equal(gnn_progress_join(pieces.progress, pipeline, &err), GNN_OK);
        assert_int_equal(gnn_pipeline_stage(pipeline, "first", 1, go_first, &pieces, &err), GNN_OK);
        assert_int_equal(gnn_pipeline_stage(pipeline, "second", 1, go_second, &pieces, &err), GNN_OK);
        assert_int_equal(gnn_pipeline_run(pipeline, &err), run == 1 ? GNN_EIO : GNN_OK);
        assert_int_equal(gnn_progress_count(pieces.progress, AHEAD_FIRST), run == 1 ? 7 : PIECES);
        err = (struct gnn_err){0};
        gnn_pipeline_close(pipeline);
    }
    gnn_progress_close(pieces.progress);
    gnn_progress_close(NULL);
}

int main(void)
{
    const struct CMUnitTest measured[] = {
        cmocka_unit_test(queue_keeps_order),
        cmocka_unit_test(queue_ends_after_last_producer),
        cmocka_unit_test(line_runs_epochs_in_order),
        cmocka_unit_test(first_error_reaches_the_caller),
        cmocka_unit_test(stop_from_another_thread),
        cmocka_unit_test(run_waits_for_callbacks),
        cmocka_unit_test(stop_between_runs),
        cmocka_unit_test(one_stage_too_many),
        cmocka_unit_test(failure_without_text),
        cmocka_unit_test(a_thread_that_does_not_start),
        cmocka_unit_test(sleeps_land_in_their_kind),
        cmocka_unit_test(reorder_window_holds),
        cmocka_unit_test(reorder_with_many_takers),
        cmocka_unit_test(progress_keeps_stages_apart),
        cmocka_unit_test(stress),
    };
    /* The same on a virtual clock; sleeps_land_in_their_kind uses the host's (tests/sim has its counterpart). */
    const struct CMUnitTest simulated[] = {
        cmocka_unit_test(queue_keeps_order),           cmocka_unit_test(queue_ends_after_last_producer),
        cmocka_unit_test(line_runs_epochs_in_order),   cmocka_unit_test(first_error_reaches_the_caller),
        cmocka_unit_test(stop_from_another_thread),    cmocka_unit_test(run_waits_for_callbacks),
        cmocka_unit_test(stop_between_runs),           cmocka_unit_test(one_stage_too_many),
        cmocka_unit_test(failure_without_text),        cmocka_unit_test(a_thread_that_does_not_start),
        cmocka_unit_test(reorder_window_holds),        cmocka_unit_test(reorder_with_many_takers),
        cmocka_unit_test(progress_keeps_stages_apart), cmocka_unit_test(stress),
    };
    end_a_hang(); /* a worker that nobody wakes is a failure, not a wait */
    const int failed =
        cmocka_run_group_tests_name("pipeline, measured", measured, measured_world_open, measured_world_close);
    return failed + cmocka_run_group_tests_name("pipeline, simulated", simulated, sim_world_open, sim_world_close);
}
