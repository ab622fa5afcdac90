/* SPDX-License-Identifier: MIT */
/* The world's table over the executor: pipelines of known service times, charged work, memory against the cap. */
#include "harness/pipeline/pipeline.h"
#include "harness/pipeline/team.h"
#include "tests/support/hang.h"
#include "tests/support/sanitizers.h"
#include "tests/support/sim_profile.h"
#include "tests/support/sim_world.h"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { US = 1000, MS = 1000000, MIB = 1 << 20, LINE_STAGES_MAX = 4 };

/* The machine of round figures without the costs of threads and locks, and with as many cores as asked for. */
static void bare_profile(struct gnn_profile *out, uint32_t cores)
{
    sim_profile_fill(out);
    out->cpu.cores = cores;
    out->cpu.lock_ns = out->cpu.wake_ns = out->cpu.wake_latency_ns = out->cpu.thread_start_ns = 0;
    out->cpu.syscall_ns = 0; /* of mutexes that are taken */
}

/* ---- pipelines ---- */

struct line_case {
    const char *what;
    uint32_t cores, stages, items;
    uint32_t workers[LINE_STAGES_MAX], capacity[LINE_STAGES_MAX]; /* of the queue behind the stage */
    uint64_t cpu_ns[LINE_STAGES_MAX], sleep_ns[LINE_STAGES_MAX];  /* of one item */
    uint64_t makespan_ns;
};

struct line {
    const struct line_case *c;
    struct gnn_queue *queues[LINE_STAGES_MAX]; /* queues[s] from stage s to stage s + 1 */
    uint32_t made;
};

struct line_stage {
    struct line *line;
    uint32_t number;
};

static enum gnn_status take_item(struct line *line, uint32_t stage, void **item)
{
    if (stage > 0)
        return gnn_queue_pop(line->queues[stage - 1], item);
    *item = line->made < line->c->items ? line : NULL;
    line->made++;
    return GNN_OK;
}

static enum gnn_status line_stage_run(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    const struct line_stage *const stage = ctx;
    struct line *const line = stage->line;
    const struct line_case *const c = line->c;
    (void)err;
    for (;;) {
        void *item = NULL;
        GNN_TRY(take_item(line, stage->number, &item));
        if (item == NULL)
            break;
        gnn_charge(worker->world, GNN_WORK_CPU_NS, c->cpu_ns[stage->number]);
        if (c->sleep_ns[stage->number] > 0)
            gnn_sleep_until(worker->world, gnn_now_ns(worker->world) + c->sleep_ns[stage->number], GNN_WAIT_IO);
        if (stage->number + 1 < c->stages)
            GNN_TRY(gnn_queue_push(line->queues[stage->number], item));
        worker->items++;
    }
    if (stage->number + 1 < c->stages)
        gnn_queue_done(line->queues[stage->number]);
    return GNN_OK;
}

/* Runs the line on a world of its own; returns the makespan. */
static uint64_t run_line(const struct line_case *c, const struct gnn_profile *profile, struct gnn_stage_time *times)
{
    struct gnn_world *const world = sim_world_of(profile, 0);
    struct line line = {.c = c};
    struct line_stage stages[LINE_STAGES_MAX];
    struct gnn_pipeline *pipeline = NULL;
    struct gnn_err err = {0};
    assert_int_equal(gnn_pipeline_open(world, &pipeline, &err), GNN_OK);
    for (uint32_t s = 0; s < c->stages; s++) {
        stages[s] = (struct line_stage){.line = &line, .number = s};
        if (s + 1 < c->stages) {
            assert_int_equal(gnn_queue_open(world, "q", c->capacity[s], &line.queues[s], &err), GNN_OK);
            gnn_queue_producers(line.queues[s], c->workers[s]);
        }
        assert_int_equal(gnn_pipeline_stage(pipeline, "stage", c->workers[s], line_stage_run, &stages[s], &err),
                         GNN_OK);
    }
    const uint64_t start_ns = gnn_now_ns(world);
    if (gnn_pipeline_run(pipeline, &err) != GNN_OK)
        fail_msg("%s: %s", c->what, err.message);
    const uint64_t makespan_ns = gnn_now_ns(world) - start_ns;
    assert_int_equal(gnn_pipeline_times(pipeline, times, LINE_STAGES_MAX), c->stages);
    gnn_pipeline_close(pipeline);
    for (uint32_t s = 0; s + 1 < c->stages; s++)
        gnn_queue_close(line.queues[s]);
    gnn_world_simulated_close(world);
    return makespan_ns;
}

static void pipelines_take_the_textbook_time(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        /* fill the line once, then one item per turn of the slowest stage: sum + (items - 1) x max */
        {"one stage", 4, 1, 10, {1}, {0}, {2 * MS}, {0}, 20 * MS},
        {"equal stages", 4, 3, 10, {1, 1, 1}, {1, 1}, {2 * MS, 2 * MS, 2 * MS}, {0}, 24 * MS},
        {"slow first", 4, 3, 10, {1, 1, 1}, {1, 1}, {5 * MS, 1 * MS, 2 * MS}, {0}, 53 * MS},
        {"slow middle", 4, 3, 10, {1, 1, 1}, {1, 1}, {1 * MS, 5 * MS, 2 * MS}, {0}, 53 * MS},
        {"slow last, no bound", 4, 3, 10, {1, 1, 1}, {0, 0}, {1 * MS, 2 * MS, 5 * MS}, {0}, 53 * MS},
        {"I/O and computing", 4, 3, 100, {1, 1, 1}, {2, 2}, {1 * MS, 0, 2 * MS}, {0, 3 * MS, 0}, (6 + 99 * 3) * MS},
        /* three readers sleep at once: a turn of the second stage is a third of its time */
        {"three readers", 4, 3, 30, {1, 3, 1}, {3, 3}, {1 * MS, 0, 1 * MS}, {0, 3 * MS, 0}, 34 * MS},
        /* one core: everything computed, one after the other, and reads beside it */
        {"one core", 1, 3, 10, {1, 1, 1}, {0, 0}, {2 * MS, 1 * MS, 3 * MS}, {0}, 60 * MS},
        {"no overlap", 4, 1, 10, {1}, {0}, {2 * MS}, {3 * MS}, 50 * MS},
        /* three workers computing on two cores */
        {"processor sharing", 2, 1, 12, {3}, {0}, {2 * MS}, {0}, 12 * MS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct line_case *const c = &cases[i];
        struct gnn_profile profile;
        struct gnn_stage_time times[LINE_STAGES_MAX];
        bare_profile(&profile, c->cores);
        const uint64_t makespan_ns = run_line(c, &profile, times);
        if (makespan_ns != c->makespan_ns)
            fail_msg("%s: %" PRIu64 " ns, the textbook says %" PRIu64, c->what, makespan_ns, c->makespan_ns);
        for (uint32_t s = 0; s < c->stages; s++) {
            assert_int_equal(times[s].items, c->items);
            assert_int_equal(times[s].cpu_ns, c->items * c->cpu_ns[s]);
            assert_int_equal(times[s].wait_ns[GNN_WAIT_IO], c->items * c->sleep_ns[s]);
            uint64_t sum_ns = times[s].work_ns;
            for (int kind = 0; kind < GNN_WAIT_KINDS; kind++)
                sum_ns += times[s].wait_ns[kind];
            assert_int_equal(sum_ns, times[s].wall_ns);
            if (c->cores >= 4) /* nobody stands in line for a core: work is what was computed */
                assert_int_equal(times[s].work_ns, times[s].cpu_ns);
        }
    }
}

/* With the costs of locks and wakes a line takes longer, and the same time every time. */
static void costs_slow_a_line_down(void **state)
{
    (void)state;
    static const struct line_case c = {"costs",         4, 3, 200, {1, 1, 1}, {2, 2}, {30 * US, 20 * US, 15 * US},
                                       {0, 50 * US, 0}, 0};
    struct gnn_profile with;
    struct gnn_profile without;
    struct gnn_stage_time times[LINE_STAGES_MAX];
    struct gnn_stage_time again[LINE_STAGES_MAX];
    sim_profile_fill(&with);
    bare_profile(&without, 4);
    const uint64_t with_ns = run_line(&c, &with, times);
    const uint64_t without_ns = run_line(&c, &without, again);
    assert_int_equal(without_ns, 115 * US + 199 * 70 * US);
    /* an item of the slowest stage passes two queues: two locks, two unlocks, at most two signals with their wakes */
    assert_true(with_ns > without_ns + 200 * 4 * 20);
    assert_true(with_ns < without_ns + 20 * US + 200 * (8 * 20 + 2 * 1000 + 2 * 5000));
    assert_int_equal(run_line(&c, &with, again), with_ns);
    for (uint32_t s = 0; s < c.stages; s++)
        assert_memory_equal(&times[s], &again[s], sizeof times[s]);
}

/* ---- a driver and its team ---- */

enum { READS = 4000, READS_OUT = 16 };

struct small_task {
    struct gnn_task task; /* first: a task is cast to this */
    struct gnn_world *world;
};

/* As AGNES handles its blocks: a device delivers one every read_ns, the driver spends 3 us on it and gives it to a
 * worker, which spends 1 us and gives it back; at most READS_OUT are out. The device decides how long that takes. */
struct small_tasks {
    struct gnn_team *team;
    struct small_task tasks[READS_OUT];
    uint64_t read_ns;
};

static enum gnn_status small_task_run(struct gnn_task *task, uint32_t worker, struct gnn_err *err)
{
    (void)worker;
    (void)err;
    gnn_charge(((struct small_task *)task)->world, GNN_WORK_CPU_NS, 1 * US);
    return GNN_OK;
}

static enum gnn_status drive_small_tasks(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct small_tasks *const all = ctx;
    (void)err;
    uint32_t out = 0;
    const uint64_t start_ns = gnn_now_ns(worker->world);
    for (uint32_t i = 0; i < READS; i++) {
        struct gnn_task *task = &all->tasks[i % READS_OUT].task;
        GNN_TRY(out == READS_OUT ? gnn_team_take(all->team, true, &task) : GNN_OK);
        out -= out == READS_OUT;
        gnn_sleep_until(worker->world, start_ns + i * all->read_ns, GNN_WAIT_IO);
        gnn_charge(worker->world, GNN_WORK_CPU_NS, 3 * US);
        gnn_team_give(all->team, task);
        out++;
    }
    for (struct gnn_task *task; out > 0; out--)
        GNN_TRY(gnn_team_take(all->team, true, &task));
    gnn_team_done(all->team);
    return GNN_OK;
}

/* Returns how long the driver took, start of the workers not included. */
static uint64_t run_small_tasks(const struct gnn_profile *profile, uint64_t read_ns, uint32_t workers)
{
    struct gnn_world *const world = sim_world_of(profile, 0);
    struct small_tasks all = {.read_ns = read_ns};
    struct gnn_pipeline *pipeline = NULL;
    struct gnn_stage_time times[2];
    struct gnn_err err = {0};
    for (uint32_t i = 0; i < READS_OUT; i++)
        all.tasks[i] = (struct small_task){.task.run = small_task_run, .world = world};
    assert_int_equal(gnn_team_open(world, workers, &all.team, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_open(world, &pipeline, &err), GNN_OK);
    assert_int_equal(gnn_team_stage(all.team, pipeline, "work", &err), GNN_OK);
    assert_int_equal(gnn_pipeline_stage(pipeline, "drive", 1, drive_small_tasks, &all, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_run(pipeline, &err), GNN_OK);
    assert_int_equal(gnn_pipeline_times(pipeline, times, 2), 2);
    assert_int_equal(times[0].items, READS);
    gnn_pipeline_close(pipeline);
    gnn_team_close(all.team);
    gnn_world_simulated_close(world);
    return times[1].wall_ns;
}

/* Where the device decides, idle workers cost nothing. Where the driver does, one of them is asleep whenever a task is
 * given, and waking it is all that the crowd may cost: no mutex is idle while its next owner wakes up. */
static void more_workers_never_slow_small_tasks(void **state)
{
    (void)state;
    static const struct {
        uint64_t read_ns, more_ns; /* more_ns: a task, with more than one worker */
    } cases[] = {{14 * US, 0}, {2 * US, 3500 + 1000}};
    struct gnn_profile profile;
    sim_profile_fill(&profile);
    profile.cpu.cores = 64;
    profile.cpu.wake_ns = 3500;
    profile.cpu.wake_latency_ns = 5700;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const uint64_t alone_ns = run_small_tasks(&profile, cases[c].read_ns, 1);
        const uint64_t most_ns = alone_ns + alone_ns / 100 + READS * cases[c].more_ns;
        for (uint32_t workers = 2; workers <= 64; workers *= 2) {
            const uint64_t wall_ns = run_small_tasks(&profile, cases[c].read_ns, workers);
            if (wall_ns > most_ns)
                fail_msg("case %zu: %" PRIu32 " workers take %" PRIu64 " ns, one %" PRIu64, c, workers, wall_ns,
                         alone_ns);
        }
    }
}

/* ---- the clock and charged work ---- */

static void looking_at_the_clock_settles(void **state)
{
    struct gnn_world *const world = *state;
    const uint64_t start_ns = gnn_now_ns(world);
    gnn_charge(world, GNN_WORK_SAMPLED_EDGE, 300);
    assert_int_equal(gnn_now_ns(world) - start_ns, 300);
    assert_int_equal(gnn_now_ns(world) - start_ns, 300);
    assert_string_equal(world->ops->name, "simulated");
}

static void work_is_charged_by_kind(void **state)
{
    (void)state;
    struct gnn_profile profile;
    bare_profile(&profile, 1);
    for (int kind = 0; kind < GNN_WORK_KINDS; kind++)
        profile.cpu.work_ps[kind] = 1500 + 1000 * (uint64_t)kind;
    struct gnn_world *const world = sim_world_of(&profile, 0);
    uint64_t sum_ns = 0;
    for (int kind = 0; kind < GNN_WORK_KINDS; kind++) {
        gnn_charge(world, (enum gnn_work)kind, 2000);
        /* nanoseconds that somebody has modelled are nanoseconds, whatever the profile says */
        sum_ns += kind == GNN_WORK_CPU_NS ? 2000 : 3000 + 2000 * (uint64_t)kind;
        assert_int_equal(gnn_now_ns(world), sum_ns);
    }
    struct gnn_simulated_counts counts;
    gnn_world_simulated_counts(world, &counts);
    assert_int_equal(counts.cpu_busy_ns, sum_ns);
    assert_int_equal(counts.device_read_ios, 0);
    assert_int_equal(counts.page_major_faults, 0);
    gnn_world_simulated_close(world);
    gnn_world_simulated_close(NULL);
}

/* ---- memory ---- */

static void allocations_count_against_the_cap(void **state)
{
    (void)state;
    struct gnn_profile profile;
    sim_profile_fill(&profile); /* 64 MiB, 1 MiB for the process */
    static const struct {
        uint64_t cap_bytes, room_bytes;
    } cases[] = {{0, 63 * (uint64_t)MIB}, {UINT64_C(16) * MIB, 15 * (uint64_t)MIB}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_world *const world = sim_world_of(&profile, cases[i].cap_bytes);
        struct gnn_err err = {0};
        struct gnn_mem_usage usage;
        void *first = NULL;
        void *rest = NULL;
        void *none = &err;
        assert_int_equal(gnn_mem_alloc(world, "first", 5000, GNN_MEM_PLAIN, &first, &err), GNN_OK);
        gnn_mem_usage(world, &usage);
        assert_int_equal(usage.current_bytes, 8192); /* whole pages */
        const uint64_t left_bytes = cases[i].room_bytes - 8192;
        assert_int_equal(gnn_mem_alloc(world, "the feature buffer", left_bytes + 1, GNN_MEM_FEATURES, &none, &err),
                         GNN_ECAP);
        assert_null(none);
        char expected[256];
        (void)snprintf(expected, sizeof expected,
                       "the feature buffer: %" PRIu64 " B in addition to the %d B already held (%d B of them by the "
                       "process itself) make %" PRIu64 " B. The memory limit is %" PRIu64 " B: raise --memory",
                       left_bytes + 1, MIB + 8192, MIB, cases[i].room_bytes + MIB + 4096, cases[i].room_bytes + MIB);
        assert_string_equal(err.message, expected);
        err = (struct gnn_err){0};
        assert_int_equal(gnn_mem_alloc(world, "rest", left_bytes, GNN_MEM_FEATURES, &rest, &err), GNN_OK);
        assert_int_equal(gnn_mem_alloc(world, "a byte", 1, GNN_MEM_PINNED, &none, &err), GNN_ECAP);
        gnn_mem_free(world, rest);
        gnn_mem_free(world, NULL);
        gnn_mem_usage(world, &usage);
        assert_int_equal(usage.current_bytes, 8192);
        assert_int_equal(usage.peak_bytes, cases[i].room_bytes);
        gnn_mem_free(world, first);
        gnn_mem_usage(world, &usage);
        assert_int_equal(usage.current_bytes, 0);
        err = (struct gnn_err){0};
        assert_int_equal(gnn_mem_alloc(world, "huge", UINT64_MAX - 5, GNN_MEM_PLAIN, &none, &err), GNN_ENOMEM);
        gnn_world_simulated_close(world);
    }
}

static void a_cap_below_the_process(void **state)
{
    (void)state;
    struct gnn_profile profile;
    sim_profile_fill(&profile);
    const struct gnn_simulated_config config = {.profile = &profile, .cap_bytes = MIB - 1};
    struct gnn_world *world = NULL;
    struct gnn_err err = {0};
    assert_int_equal(gnn_world_simulated_open(&config, &world, &err), GNN_ECAP);
    assert_null(world);
    assert_string_equal(
        err.message,
        "the process itself takes 1048576 B (profile round), but the memory limit is 1048575 B; raise --memory");
}

static uint64_t resident_bytes(const void *memory, uint64_t bytes)
{
    const size_t pages = bytes / GNN_PAGE_BYTES;
    unsigned char *const in_core = malloc(pages);
    assert_non_null(in_core);
    uint64_t resident = 0;
    if (mincore((void *)(uintptr_t)memory, bytes, in_core) == 0)
        for (size_t i = 0; i < pages; i++)
            resident += (in_core[i] & 1) * (uint64_t)GNN_PAGE_BYTES;
    free(in_core);
    return resident;
}

static bool touching_kills(const volatile unsigned char *memory)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        _exit(*memory);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void feature_memory_has_no_pages(void **state)
{
    struct gnn_world *const world = *state;
    struct gnn_err err = {0};
    enum { BYTES = 16 * MIB };
    void *features = NULL;
    void *plain = NULL;
    void *pinned = NULL;
    assert_int_equal(gnn_mem_alloc(world, "features", BYTES, GNN_MEM_FEATURES | GNN_MEM_PINNED, &features, &err),
                     GNN_OK);
    assert_int_equal(gnn_mem_alloc(world, "plain", MIB, GNN_MEM_PLAIN, &plain, &err), GNN_OK);
    assert_int_equal(gnn_mem_alloc(world, "pinned", MIB, GNN_MEM_PINNED, &pinned, &err), GNN_OK);
    for (uint32_t at = 0; at < MIB; at++) /* real and zero */
        assert_true(((unsigned char *)plain)[at] == 0 && ((unsigned char *)pinned)[at] == 0);
    memset(plain, 7, MIB);
    const uint64_t start_ns = gnn_now_ns(world);
    gnn_mem_copy(world, features, plain, MIB); /* each charged at 50 ns, and 1 ns a byte */
    gnn_mem_copy(world, plain, (unsigned char *)features + BYTES - 100, 100);
    gnn_mem_copy(world, (unsigned char *)features + 100, features, 1000);
    gnn_mem_copy(world, pinned, plain, 200);
    assert_int_equal(gnn_now_ns(world) - start_ns, 4 * 50 + MIB + 100 + 1000 + 200);
    assert_int_equal(((unsigned char *)plain)[0], 7);
    assert_int_equal(((unsigned char *)pinned)[199], 7);
    assert_int_equal(((unsigned char *)pinned)[200], 0);
    assert_int_equal(resident_bytes(features, BYTES), 0);
    assert_true(resident_bytes(plain, MIB) == MIB);
    assert_true(touching_kills(features));
    assert_true(touching_kills((unsigned char *)features + BYTES - 1));
    assert_false(touching_kills(plain));
    gnn_mem_free(world, pinned);
    gnn_mem_free(world, plain);
    gnn_mem_free(world, features);
}

static uint64_t charged_bytes(struct gnn_world *world)
{
    struct gnn_simulated_counts counts;
    gnn_world_simulated_counts(world, &counts);
    return counts.charged_bytes;
}

/* A page is charged once, when it is first written by whoever it may be; what is freed is given back. */
static void memory_is_charged_when_touched(void **state)
{
    (void)state;
    enum { PAGE = GNN_PAGE_BYTES, PAGES = 10000, STEP = 7 };
    struct gnn_profile profile;
    sim_profile_fill(&profile);
    struct gnn_world *const world = sim_world_of(&profile, 0);
    struct gnn_err err = {0};
    void *plain, *features, *pinned, *row;
    assert_int_equal(gnn_mem_alloc(world, "plain", (uint64_t)PAGES * PAGE, GNN_MEM_PLAIN, &plain, &err), GNN_OK);
    assert_int_equal(gnn_mem_alloc(world, "row", 100, GNN_MEM_PLAIN, &row, &err), GNN_OK);
    assert_int_equal(gnn_mem_alloc(world, "features", 70 * PAGE, GNN_MEM_FEATURES, &features, &err), GNN_OK);
    assert_int_equal(charged_bytes(world), 0);
    assert_int_equal(gnn_mem_alloc(world, "pinned", 5000, GNN_MEM_PINNED, &pinned, &err), GNN_OK);
    assert_int_equal(charged_bytes(world), 2 * PAGE);
    assert_int_equal(sanitizers_forbid((unsigned char *)pinned + 5000),
                     SANITIZERS_ADDRESS); /* to the end of its page */
    gnn_mem_free(world, pinned);
    assert_false(sanitizers_forbid((unsigned char *)pinned + 5000)); /* the kernel may give it to others */
    assert_int_equal(charged_bytes(world), 0);
    uint64_t expected = 1; /* row */
    memset(row, 1, 100);
    for (uint32_t page = 0; page < PAGES; page += STEP, expected++)
        ((unsigned char *)plain)[(uint64_t)page * PAGE + page % PAGE] = 1;
    assert_int_equal(charged_bytes(world), expected * PAGE);
    memset(plain, 1, UINT64_C(130) * PAGE);
    expected += 130 - gnn_div_up(130, STEP);
    assert_int_equal(charged_bytes(world), expected * PAGE);
    gnn_mem_copy(world, (unsigned char *)features + 2 * PAGE - 50, row, 100);
    gnn_mem_copy(world, (unsigned char *)features + 2 * PAGE - 50, row, 100);
    assert_int_equal(charged_bytes(world), (expected + 2) * PAGE);
    gnn_mem_touch(world, (unsigned char *)features + 2 * PAGE, UINT64_C(65) * PAGE);
    gnn_mem_touch(world, plain, PAGE); /* plain memory is looked at, and needs no word */
    assert_int_equal(charged_bytes(world), (expected + 66) * PAGE);
    gnn_mem_touch(world, features, UINT64_C(70) * PAGE);
    assert_int_equal(charged_bytes(world), (expected + 70) * PAGE);
    gnn_mem_free(world, features);
    assert_int_equal(charged_bytes(world), expected * PAGE);
    memset(plain, 1, (uint64_t)PAGES * PAGE);
    assert_int_equal(charged_bytes(world), (PAGES + 1) * PAGE);
    gnn_mem_free(world, plain);
    gnn_mem_free(world, row);
    assert_int_equal(charged_bytes(world), 0);
    struct gnn_simulated_counts counts;
    gnn_world_simulated_counts(world, &counts);
    assert_int_equal(counts.charged_peak_bytes, (PAGES + 1) * PAGE);
    gnn_world_simulated_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipelines_take_the_textbook_time),
        cmocka_unit_test(costs_slow_a_line_down),
        cmocka_unit_test(more_workers_never_slow_small_tasks),
        cmocka_unit_test(looking_at_the_clock_settles),
        cmocka_unit_test(work_is_charged_by_kind),
        cmocka_unit_test(allocations_count_against_the_cap),
        cmocka_unit_test(a_cap_below_the_process),
        cmocka_unit_test(feature_memory_has_no_pages),
        cmocka_unit_test(memory_is_charged_when_touched),
    };
    end_a_hang();
    return cmocka_run_group_tests_name("simulated world", tests, sim_world_open, sim_world_close);
}
