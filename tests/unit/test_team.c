/* SPDX-License-Identifier: MIT */
/* A team of workers: parts of one job, tasks in any order, loops, errors and cancellation, on both worlds; and the
 * virtual time that parts and tasks take together. */
#include "harness/pipeline/team.h"
#include "tests/support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

enum { WORKERS = 4, THINGS = 1003, TASKS = 32, NAP_NS = 1000000, OVERHEAD_NS = 100000 };

struct team_case;

struct numbered_task {
    struct gnn_task task; /* first */
    struct team_case *f;
    uint32_t number;
};

struct team_case {
    struct fixture base;
    struct numbered_task tasks[TASKS]; /* not on the driver's stack: workers may outlive a driver that failed */
    struct gnn_team *team;
    enum gnn_status (*drive)(struct team_case *f, struct gnn_err *err);
    atomic_uint touched[THINGS];
    atomic_uint running, running_peak;
    uint32_t fail_at; /* thing whose visit fails; THINGS: none */
    struct gnn_err err;
    uint64_t wall_ns, worker_items;
};

static enum gnn_status touch(struct team_case *f, uint64_t i, struct gnn_err *err)
{
    atomic_fetch_add(&f->touched[i], 1);
    return i == f->fail_at ? gnn_fail(err, GNN_EIO, "thing %u broke", f->fail_at) : GNN_OK;
}

static void nap(struct team_case *f)
{
    const unsigned now = atomic_fetch_add(&f->running, 1) + 1;
    unsigned peak = atomic_load(&f->running_peak);
    while (peak < now && !atomic_compare_exchange_weak(&f->running_peak, &peak, now))
        ;
    gnn_sleep_until(f->base.world, gnn_now_ns(f->base.world) + NAP_NS, GNN_WAIT_RESOURCE);
    atomic_fetch_sub(&f->running, 1);
}

static enum gnn_status touch_share(void *ctx, uint32_t part, uint32_t parts, struct gnn_err *err)
{
    struct team_case *f = ctx;
    uint64_t first, end;
    assert_int_equal(parts, WORKERS);
    gnn_team_share(THINGS, part, parts, &first, &end);
    for (uint64_t i = first; i < end; i++)
        GNN_TRY(touch(f, i, err));
    nap(f);
    return GNN_OK;
}

static enum gnn_status touch_one(void *ctx, uint32_t worker, uint64_t index, struct gnn_err *err)
{
    assert_true(worker < WORKERS);
    return touch(ctx, index, err);
}

static enum gnn_status run_task(struct gnn_task *task, uint32_t worker, struct gnn_err *err)
{
    struct numbered_task *t = (struct numbered_task *)task;
    assert_true(worker < WORKERS);
    nap(t->f);
    return touch(t->f, t->number, err);
}

/* ---- drivers ---- */

static enum gnn_status drive_parts(struct team_case *f, struct gnn_err *err)
{
    (void)err;
    GNN_TRY(gnn_team_wait(f->team)); /* nothing posted: returns at once */
    for (int round = 0; round < 3; round++) {
        gnn_team_post(f->team, touch_share, f);
        GNN_TRY(gnn_team_wait(f->team));
    }
    return GNN_OK;
}

static enum gnn_status drive_each(struct team_case *f, struct gnn_err *err)
{
    (void)err;
    GNN_TRY(gnn_team_each(f->team, 0, touch_one, f));
    GNN_TRY(gnn_team_each(f->team, 2, touch_one, f)); /* fewer than workers */
    return gnn_team_each(f->team, THINGS, touch_one, f);
}

static enum gnn_status drive_tasks(struct team_case *f, struct gnn_err *err)
{
    (void)err;
    struct gnn_task *back;
    GNN_TRY(gnn_team_take(f->team, false, &back));
    assert_null(back); /* none is out */
    for (uint32_t i = 0; i < TASKS; i++) {
        f->tasks[i] = (struct numbered_task){.task = {.run = run_task}, .f = f, .number = i};
        gnn_team_give(f->team, &f->tasks[i].task);
    }
    bool seen[TASKS] = {false};
    for (uint32_t i = 0; i < TASKS; i++) {
        GNN_TRY(gnn_team_take(f->team, true, &back));
        const uint32_t number = ((struct numbered_task *)back)->number;
        assert_false(seen[number]);
        seen[number] = true;
    }
    return GNN_OK;
}

/* ---- running ---- */

static enum gnn_status driver_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct team_case *f = ctx;
    (void)worker;
    GNN_TRY(f->drive(f, err));
    gnn_team_done(f->team);
    return GNN_OK;
}

static enum gnn_status run(struct team_case *f)
{
    struct gnn_pipeline *pipeline;
    struct gnn_stage_time times[GNN_STAGES_MAX];
    f->err = (struct gnn_err){0};
    memset(f->touched, 0, sizeof f->touched);
    assert_int_equal(gnn_pipeline_open(f->base.world, &pipeline, &f->err), GNN_OK);
    assert_int_equal(gnn_pipeline_stage(pipeline, "drive", 1, driver_stage, f, &f->err), GNN_OK);
    assert_int_equal(gnn_team_stage(f->team, pipeline, "work", &f->err), GNN_OK);
    const uint64_t start_ns = gnn_now_ns(f->base.world);
    const enum gnn_status status = gnn_pipeline_run(pipeline, &f->err);
    f->wall_ns = gnn_now_ns(f->base.world) - start_ns;
    assert_int_equal(gnn_pipeline_times(pipeline, times, GNN_STAGES_MAX), 2);
    f->worker_items = times[1].items;
    gnn_pipeline_close(pipeline);
    return status;
}

static void open_case(struct team_case *f, bool simulated)
{
    *f = (struct team_case){.fail_at = THINGS};
    fixture_open(&f->base, .simulated = simulated);
    assert_int_equal(gnn_team_open(f->base.world, WORKERS, &f->team, &f->err), GNN_OK);
}

static void close_case(struct team_case *f)
{
    gnn_team_close(f->team);
    fixture_close(&f->base);
}

static void all_touched(const struct team_case *f, uint32_t count, unsigned times)
{
    for (uint32_t i = 0; i < count; i++)
        if (atomic_load(&f->touched[i]) != times)
            fail_msg("thing %u was touched %u times, not %u", i, atomic_load(&f->touched[i]), times);
}

/* ---- tests ---- */

static void test_every_share_is_done_once_a_job(void **state)
{
    (void)state;
    for (int simulated = 0; simulated < 2; simulated++) {
        struct team_case f;
        open_case(&f, simulated);
        f.drive = drive_parts;
        assert_int_equal(run(&f), GNN_OK);
        all_touched(&f, THINGS, 3);
        assert_int_equal(f.worker_items, 3); /* jobs, not parts */
        if (simulated) {
            assert_int_equal(atomic_load(&f.running_peak), WORKERS); /* all at the same time */
            assert_in_range(f.wall_ns, 3 * NAP_NS, 3 * (NAP_NS + OVERHEAD_NS));
        }
        close_case(&f);
    }
}

static void test_a_loop_visits_every_index_once(void **state)
{
    (void)state;
    for (int simulated = 0; simulated < 2; simulated++) {
        struct team_case f;
        open_case(&f, simulated);
        f.drive = drive_each;
        assert_int_equal(run(&f), GNN_OK);
        assert_int_equal(atomic_load(&f.touched[0]), 2);
        assert_int_equal(atomic_load(&f.touched[1]), 2);
        for (uint32_t i = 2; i < THINGS; i++)
            assert_int_equal(atomic_load(&f.touched[i]), 1);
        close_case(&f);
    }
}

static void test_tasks_come_back_once(void **state)
{
    (void)state;
    for (int simulated = 0; simulated < 2; simulated++) {
        struct team_case f;
        open_case(&f, simulated);
        f.drive = drive_tasks;
        assert_int_equal(run(&f), GNN_OK);
        all_touched(&f, TASKS, 1);
        assert_int_equal(f.worker_items, TASKS);
        if (simulated) {
            assert_int_equal(atomic_load(&f.running_peak), WORKERS);
            assert_in_range(f.wall_ns, TASKS / WORKERS * NAP_NS, TASKS / WORKERS * (NAP_NS + OVERHEAD_NS));
        }
        close_case(&f);
    }
}

/* The first error ends the pipeline, everyone wakes, and the team serves the next run. */
static void test_an_error_ends_the_run_and_the_next_one_works(void **state)
{
    (void)state;
    enum gnn_status (*const drives[])(struct team_case *, struct gnn_err *) = {drive_parts, drive_each, drive_tasks};
    for (int simulated = 0; simulated < 2; simulated++)
        for (size_t d = 0; d < sizeof drives / sizeof *drives; d++) {
            struct team_case f;
            open_case(&f, simulated);
            f.drive = drives[d];
            f.fail_at = 17;
            assert_int_equal(run(&f), GNN_EIO);
            assert_string_equal(f.err.message, "thing 17 broke");
            f.fail_at = THINGS;
            assert_int_equal(run(&f), GNN_OK);
            close_case(&f);
        }
}

static void test_shares_cover_everything(void **state)
{
    (void)state;
    for (uint64_t count = 0; count < 20; count++)
        for (uint32_t parts = 1; parts < 9; parts++) {
            uint64_t next = 0;
            for (uint32_t part = 0; part < parts; part++) {
                uint64_t first, end;
                gnn_team_share(count, part, parts, &first, &end);
                assert_int_equal(first, next);
                assert_true(end - first <= count / parts + 1);
                next = end;
            }
            assert_int_equal(next, count);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_share_is_done_once_a_job),
        cmocka_unit_test(test_a_loop_visits_every_index_once),
        cmocka_unit_test(test_tasks_come_back_once),
        cmocka_unit_test(test_an_error_ends_the_run_and_the_next_one_works),
        cmocka_unit_test(test_shares_cover_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
