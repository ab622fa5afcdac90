/* SPDX-License-Identifier: MIT */
/* Runs end to end on a tiny generated dataset: statuses, digests, caps, limits, Ctrl-C, a killed supervisor. */
#include "tests/support/hang.h"
#include "tests/support/must.h"
#include "tests/support/sanitizers.h"
#include "tests/support/tiny_runs.h"

#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Same seed, same mini-batches, same first loss order-independent facts, for both systems and both I/O
 * engines. */
static void systems_agree(void **state)
{
    const struct tiny_runs *const f = *state;
    const char *const variants[][8] = {
        {"--system", "pygplus", NULL},
        {"--system", "gnndrive", NULL},
        {"--system", "gnndrive", "--io", "pool", NULL},
        {"--system", "gnndrive", "--set", "gnndrive.io=buffered", NULL},
        {"--system", "pygplus", "--sample-only", NULL},
    };
    char digest[64] = "";
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        int exit_status;
        json_t *const run = tiny_runs_json(f, variants[i], &exit_status);
        assert_int_equal(exit_status, 0);
        assert_string_equal(tiny_runs_text(run, "status"), "ok");
        assert_true(json_is_true(json_object_get(run, "valid")) ||
                    json_integer_value(json_object_get(run, "valid")) == 1);
        const json_t *const counters = json_object_get(run, "counters");
        char *const found = json_dumps(json_object_get(counters, "batch_digest"), JSON_ENCODE_ANY);
        assert_non_null(found);
        if (i == 0)
            (void)snprintf(digest, sizeof digest, "%s", found);
        assert_string_equal(found, digest);
        free(found);
        const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
        assert_true(json_integer_value(json_object_get(epoch, "wall_ns")) > 0);
        json_decref(run);
    }
}

/* A record says whether numbers too small to be normal were computed with: no run of the program does. */
static void denormals_are_told(void **state)
{
    const char *const pygplus[] = {"--system", "pygplus", NULL};
    int exit_status;
    json_t *const run = tiny_runs_json(*state, pygplus, &exit_status);
    const char *const told = tiny_runs_text(json_object_get(run, "environment"), "cpu.denormals");
#if defined(__x86_64__) || defined(__aarch64__)
    assert_string_equal(told, "flushed");
#else
    assert_string_equal(told, "kept");
#endif
    json_decref(run);
}

/* Unknown is NULL: a sampling run has no loss and no accuracy, PyG+ has no requested bytes. */
static void unknown_is_null(void **state)
{
    const struct tiny_runs *const f = *state;
    const char *const more[] = {"--system", "pygplus", "--sample-only", NULL};
    int exit_status;
    json_t *const run = tiny_runs_json(f, more, &exit_status);
    const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
    assert_true(json_is_null(json_object_get(epoch, "loss")));
    assert_true(json_is_null(json_object_get(epoch, "test_accuracy")));
    assert_true(json_is_null(json_object_get(run, "cap_bytes")));
    json_decref(run);
}

/* Stage times: work and waits make the wall time, for every stage of every system. */
static void stages_add_up(void **state)
{
    const struct tiny_runs *const f = *state;
    const char *const systems[] = {"pygplus", "gnndrive", "null"};
    for (size_t s = 0; s < sizeof systems / sizeof systems[0]; s++) {
        const char *const more[] = {"--system", systems[s], "--evaluate", "never", NULL};
        int exit_status;
        json_t *const run = tiny_runs_json(f, more, &exit_status);
        assert_int_equal(exit_status, 0);
        const json_t *const stages = json_object_get(run, "stages");
        assert_true(json_array_size(stages) >= 1);
        for (size_t i = 0; i < json_array_size(stages); i++) {
            static const char *const parts[] = {"work_ns",      "wait_io_ns",      "wait_queue_ns",
                                                "wait_lock_ns", "wait_compute_ns", "wait_resource_ns"};
            const json_t *const stage = json_array_get(stages, i);
            double total = 0;
            for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
                total += (double)json_integer_value(json_object_get(stage, parts[p]));
            const double wall = (double)json_integer_value(json_object_get(stage, "wall_ns"));
            assert_true(wall > 0 && fabs(total - wall) <= 0.01 * wall);
        }
        json_decref(run);
    }
}

static void a_cap_that_cannot_be_is_oom(void **state)
{
    const struct tiny_runs *const f = *state;
    const char *const planned[] = {"--system", "gnndrive", "--memory", "3M", NULL};
    const char *const killed[] = {"--system", "pygplus", "--memory", "2M", NULL};
    if (!f->confined)
        skip_test("no writable memory control group");
    int exit_status;
    json_t *run = tiny_runs_json(f, planned, &exit_status);
    assert_int_equal(exit_status, 0);
    assert_string_equal(tiny_runs_text(run, "status"), "oom");
    char *reasons = json_dumps(json_object_get(run, "reasons"), JSON_ENCODE_ANY);
    assert_non_null(strstr(reasons, "--memory"));
    free(reasons);
    json_decref(run);

    run = tiny_runs_json(f, killed, &exit_status);
    assert_int_equal(exit_status, 0);
    assert_string_equal(tiny_runs_text(run, "status"), "oom");
    json_decref(run);
}

/* Returns what the plan's message says the run needs, in KiB. */
static double needed_kib(const char *reasons)
{
    static const char words[] = "the run needs about ";
    const char *const at = strstr(reasons, words);
    double number = 0;
    char unit[8] = "";
    if (at == NULL || sscanf(at + sizeof words - 1, "%lf%*[ ]%7[KMGi]", &number, unit) < 1)
        return 0;
    if (unit[0] == '\0')
        (void)sscanf(at + sizeof words - 1, "%lf%7[KMGi]", &number, unit);
    return number * (unit[0] == 'G' ? 1 << 20 : unit[0] == 'M' ? 1 << 10 : 1);
}

/* A cap just above the least that a plan accepts: the run ends well, or is refused by name. Under the kernel's own
 * accounting, which knows more than any plan: a run that it kills was accepted for nothing. */
static void no_accepted_cap_is_killed(void **state)
{
    const struct tiny_runs *const f = *state;
    static const char *const systems[][6] = {
        /* no plan knows what this machine's device reads ahead; more than the cap, on some */
        {"pygplus", "--set", "pygplus.readahead=off"},
        {"gnndrive", "--set", "gnndrive.io=buffered", "--set", "gnndrive.readahead=off"},
        {"ginex", "--set", "ginex.io=buffered", "--set", "ginex.readahead=off"},
        {"ringsampler"},
        {"ringsampler", "--sample-only"},
        {"agnes", "--set", "agnes.io=buffered"},
        {"mariusgnn", "--set", "mariusgnn.io=buffered"},
        {"presort", "--set", "presort.io=buffered"},
        {"graphbolt", "--set", "graphbolt.io=buffered"},
    };
    static const double times[] = {1.01, 1.05, 1.2};
    if (!f->confined)
        skip_test("no writable memory control group");
    if (SANITIZERS_SHADOW_PERCENT > 0)
        skip_test("a sanitizer's own memory is larger than such a cap");
    for (size_t s = 0; s < sizeof systems / sizeof systems[0]; s++) {
        char cap[32] = "4500K"; /* too little for most */
        double needed = 0;
        for (size_t i = 0; i <= sizeof times / sizeof times[0]; i++) {
            const char *more[16] = {"--evaluate", "never", "--memory", cap, "--system"};
            for (uint32_t w = 0; w < 6 && systems[s][w] != NULL; w++)
                more[5 + w] = systems[s][w];
            int exit_status;
            json_t *const run = tiny_runs_json(f, more, &exit_status);
            char *const reasons = json_dumps(json_object_get(run, "reasons"), JSON_ENCODE_ANY);
            const bool ok = strcmp(tiny_runs_text(run, "status"), "ok") == 0;
            if (i == 0)
                needed = ok ? 4500 : needed_kib(reasons);
            const bool stalled = strstr(reasons, "a wait was not counted") != NULL; /* in the kernel's reclaim */
            if (needed <= 0 || (!ok && !stalled && strstr(reasons, "raise --memory or change") == NULL))
                fail_msg("%s under %s: %s: %s", systems[s][0], cap, tiny_runs_text(run, "status"), reasons);
            free(reasons);
            json_decref(run);
            if (i < sizeof times / sizeof times[0])
                (void)snprintf(cap, sizeof cap, "%.0fK", needed * times[i]);
        }
    }
}

static void a_cap_is_read_back(void **state)
{
    const struct tiny_runs *const f = *state;
    const char *const more[] = {"--system", "pygplus", "--memory", "96M", NULL};
    if (!f->confined)
        skip_test("no writable memory control group");
    int exit_status;
    json_t *const run = tiny_runs_json(f, more, &exit_status);
    assert_int_equal(exit_status, 0);
    assert_string_equal(tiny_runs_text(run, "status"), "ok");
    assert_int_equal(json_integer_value(json_object_get(run, "cap_read_back_bytes")), 96 << 20);
    const json_t *const counters = json_object_get(run, "counters");
    const json_int_t peak = json_integer_value(json_object_get(counters, "peak_memory_bytes"));
    assert_true(peak > 0 && peak <= 96 << 20);
    assert_true(json_integer_value(json_object_get(counters, "device_read_bytes")) > 0);
    json_decref(run);
}

/* A cap that the process leaves too little of for the dataset's own arrays (1.3 MB at this scale): they are loaded
 * before anything is planned, so the allocation itself must say so, and not the kernel, which kills the process itself
 * below 1 MB. */
static void a_cap_below_the_dataset_is_refused(void **state)
{
    const struct tiny_runs *const f = *state;
    if (!f->confined)
        skip_test("no writable memory control group");
    if (SANITIZERS_SHADOW_PERCENT > 0)
        skip_test("a sanitizer's own memory is larger than such a cap");
    process_expect(process_shell("%s prepare papers100m --scale 1/1000 --dim 8 --data %s", process_program(), f->data),
                   0, "", "prepare");
    process_expect(
        process_shell("%s run --system ringsampler --sample-only --dataset papers100m --scale 1/1000 --data %s "
                      "--db %s --fanout 3,3 --batch 10 --memory 1500K 2>&1 | grep -c 'indptr.*raise --memory' "
                      ">&2",
                      process_program(), f->data, f->db),
        0, "1", "a run below the dataset's arrays");
}

/* What finished before the limit is kept. A machine whose first epoch takes longer is given longer. */
static void the_time_limit_is_oot(void **state)
{
    const struct tiny_runs *const f = *state;
    static const char *const limits[] = {"1s", "5s", "25s", "125s"};
    size_t epochs = 0;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0] && epochs == 0; i++) {
        const char *const more[] = {"--system", "pygplus", "--epochs", "100000", "--time-limit", limits[i], NULL};
        int exit_status;
        json_t *const run = tiny_runs_json(f, more, &exit_status);
        assert_int_equal(exit_status, 0);
        assert_string_equal(tiny_runs_text(run, "status"), "oot");
        epochs = json_array_size(json_object_get(run, "epochs"));
        if (epochs == 0)
            print_message("no epoch in %s\n", limits[i]);
        json_decref(run);
    }
    assert_true(epochs > 0);
}

/* The exit status is a shell's for the signal. */
static void a_signal_is_recorded(void **state)
{
    const struct tiny_runs *const f = *state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    const char *const more[] = {"--system", "gnndrive", "--epochs", "100000", NULL};
    void (*const hang_up)(int) = signal(SIGHUP, SIG_DFL); /* nohup ignores it, and so would the program */
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        const pid_t pid = tiny_runs_start_training(f, more);
        assert_int_equal(kill(pid, signals[i]), 0);
        assert_int_equal(process_wait(pid), 128 + signals[i]);
        json_t *const run = tiny_runs_last(f);
        assert_string_equal(tiny_runs_text(run, "status"), "interrupted");
        json_decref(run);
        assert_false(tiny_runs_worker_left(f));
    }
    (void)signal(SIGHUP, hang_up);
}

static void a_killed_supervisor_takes_its_worker_along(void **state)
{
    const struct tiny_runs *const f = *state;
    const char *const more[] = {"--system", "gnndrive", "--epochs", "100000", NULL};
    const pid_t pid = tiny_runs_start_training(f, more);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(process_wait(pid), -SIGKILL);
    tiny_runs_await_end(f);
    assert_false(tiny_runs_worker_left(f));

    /* The database is readable, and the next writer sees that nobody is running that run any more. */
    const char *const next[] = {"--system", "null", "--evaluate", "never", NULL};
    int exit_status;
    json_decref(tiny_runs_json(f, next, &exit_status));
    assert_int_equal(exit_status, 0);
    const char *const report[] = {process_program(), "report", "--last", "2", "--json", "--db", f->db, NULL};
    struct process_result r = process_run(report);
    assert_non_null(strstr(r.out, "\"interrupted\""));
    process_free(&r);
}

static void two_runs_share_a_database(void **state)
{
    const struct tiny_runs *const f = *state;
    const char *const more[] = {"--system", "pygplus", "--evaluate", "never", NULL};
    const char *argv[TINY_ARGUMENTS_MAX];
    tiny_runs_arguments(f, more, argv);
    const pid_t first = process_start(argv), second = process_start(argv);
    /* Both evict the dataset when they start, so one may find pages of the other: invalid, not broken. */
    const int a = process_wait(first), b = process_wait(second);
    assert_true(a == 0 || a == 1);
    assert_true(b == 0 || b == 1);
    json_t *const run = tiny_runs_last(f);
    assert_true(strcmp(tiny_runs_text(run, "status"), "ok") == 0 ||
                strcmp(tiny_runs_text(run, "status"), "invalid") == 0);
    json_decref(run);
}

/* --trace-loss writes the exact bits, in training order: two runs in order give the same file. */
static void losses_repeat_bit_for_bit(void **state)
{
    const struct tiny_runs *const f = *state;
    char traces[2][700];
    const char *const systems[] = {"pygplus", "gnndrive"};
    for (int i = 0; i < 2; i++) {
        int exit_status;
        (void)snprintf(traces[i], sizeof traces[i], "%s/loss%d", f->dir, i);
        const char *const more[] = {"--system", systems[i], "--trace-loss",          traces[i], "--evaluate",
                                    "never",    "--set",    "gnndrive.in_order=yes", NULL};
        json_decref(tiny_runs_json(f, more, &exit_status));
        assert_int_equal(exit_status, 0);
    }
    const char *const diff[] = {"cmp", traces[0], traces[1], NULL};
    struct process_result r = process_run(diff);
    if (r.exit_status != 0)
        print_error("%s%s", r.out, r.err);
    assert_int_equal(r.exit_status, 0);
    process_free(&r);
}

static void expect_threads(const struct tiny_runs *f, const char *const *more, uint32_t threads)
{
    char wanted[16];
    int exit_status;
    json_t *const run = tiny_runs_json(f, more, &exit_status);
    (void)snprintf(wanted, sizeof wanted, "%u", threads);
    assert_int_equal(exit_status, 0);
    assert_string_equal(tiny_runs_text(json_object_get(run, "config"), "compute-threads"), wanted);
    json_decref(run);
}

/* Values are computed on the machine's cores, a worker's on its share; where they are modelled, or none are, on one. */
static void threads_are_a_rule_over_the_cores(void **state)
{
    const struct tiny_runs *const f = *state;
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    const uint32_t cores = (uint32_t)CPU_COUNT(&set) < 16 ? (uint32_t)CPU_COUNT(&set) : 16;
#define WITH(...) ((const char *const[]){"--system", "gnndrive", "--evaluate", "never", __VA_ARGS__, NULL})
    expect_threads(f, WITH("--compute", "auto"), cores);
    expect_threads(f, WITH("--compute-threads", "3"), 3);
    expect_threads(f, WITH("--compute", "ref"), 1);
    expect_threads(f, WITH("--sample-only"), 1);
    expect_threads(f, WITH("--workers", "2", "--batch", "16"), cores / 2 > 0 ? cores / 2 : 1);
    expect_threads(f, WITH("--world", "simulated", "--profile", "gnndrive-paper", "--compute", "cpu"), 1);
#undef WITH
}

static json_int_t whole_of(const json_t *object, const char *key)
{
    return json_is_null(json_object_get(object, key)) ? -1 : json_integer_value(json_object_get(object, key));
}

/* What was asked for and what was seen of direct reads stand in the record, for every way of reading. */
static void direct_reads_are_observed(void **state)
{
    const struct tiny_runs *const f = *state;
    static const struct {
        const char *more[8];
        int asked, observed;
    } cases[] = {
        {{"--system", "pygplus"}, 0, -1},
        {{"--system", "gnndrive"}, 1, 1},
        {{"--system", "gnndrive", "--set", "gnndrive.io=buffered"}, 0, -1},
        {{"--system", "gnndrive", "--sample-only"}, 0, -1},
        {{"--system", "ginex", "--sample-only"}, 1, 1},
        {{"--system", "ringsampler", "--sample-only", "--set", "ringsampler.io=direct"}, 1, 1},
        {{"--system", "ringsampler"}, 1, 1}, /* its features */
        {{"--system", "agnes"}, 1, 1},
        {{"--system", "agnes", "--set", "agnes.io=buffered"}, 0, -1},
        {{"--system", "diskgnn"}, 1, 1},
        {{"--system", "diskgnn", "--set", "diskgnn.meta_io=buffered"}, 1, 1}, /* its chunks */
        {{"--system", "diskgnn", "--set", "diskgnn.io=buffered"}, 0, -1},
        {{"--system", "presort"}, 1, 1},
        {{"--system", "presort", "--set", "presort.io=buffered"}, 0, -1},
        {{"--system", "graphbolt"}, 1, 1},
        {{"--system", "graphbolt", "--set", "graphbolt.io=buffered"}, 0, -1},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        int exit_status;
        json_t *const run = tiny_runs_json(f, cases[c].more, &exit_status);
        const json_int_t asked = whole_of(run, "direct_asked"), observed = whole_of(run, "direct_observed");
        if (exit_status != 0 || asked != cases[c].asked || (observed != cases[c].observed && observed != -1))
            fail_msg("case %zu: exit %d, asked %lld, observed %lld", c, exit_status, (long long)asked,
                     (long long)observed);
        if (f->confined)
            assert_int_equal(observed, cases[c].observed);
        json_decref(run);
    }
}

/* A layout that another run left in the page cache, or that this run wrote a moment ago, is as cold as the dataset: the
 * device delivers it once, whoever made it. */
static void a_prepared_layout_starts_cold(void **state)
{
    const struct tiny_runs *const f = *state;
    static const char *const worlds[][5] = {{"measured"}, {"simulated", "--profile", "gnndrive-paper"}};
    for (size_t w = f->confined ? 0 : 1; w < 2; w++) {
        json_int_t delivered[2];
        for (int turn = 0; turn < 2; turn++) { /* the layout is made by the first */
            const char *more[16] = {"--system",          "agnes", "--sample-only",       "--set",
                                    "agnes.io=buffered", "--set", "agnes.layout=random", "--world"};
            for (uint32_t i = 0; worlds[w][i] != NULL; i++)
                more[8 + i] = worlds[w][i];
            int exit_status;
            json_t *const run = tiny_runs_json(f, more, &exit_status);
            assert_int_equal(exit_status, 0);
            assert_int_equal(whole_of(run, "cold_observed"), 1);
            delivered[turn] = whole_of(json_object_get(run, "counters"), "device_read_bytes");
            json_decref(run);
        }
        assert_true(delivered[0] > 1000000);
        assert_in_range(delivered[1], delivered[0] / 10 * 9, delivered[0] / 10 * 11);
    }
}

static const json_t *epoch_of(const json_t *run, size_t epoch)
{
    return json_array_get(json_object_get(run, "epochs"), epoch);
}

/* What a layout takes on the disk counts for every run that uses it, the time it took for the one that made it, outside
 * any epoch; and what a system writes in an epoch is counted. */
static void preparing_and_writing_are_told_apart(void **state)
{
    const struct tiny_runs *const f = *state;
    json_int_t disk_bytes[2];
    for (int turn = 0; turn < 2; turn++) {
        const char *const more[] = {"--system", "agnes", "--set", "agnes.layout=degree", "--evaluate", "never", NULL};
        int exit_status;
        json_t *const run = tiny_runs_json(f, more, &exit_status);
        const json_t *const epoch = epoch_of(run, 0), *const counters = json_object_get(run, "counters");
        assert_int_equal(exit_status, 0);
        assert_int_equal(whole_of(epoch, "prepare_ns"), 0);
        const json_int_t made_ns = whole_of(json_object_get(epoch, "figures"), "layout_prepare_ns");
        assert_true((made_ns > 0) == (turn == 0));
        disk_bytes[turn] = whole_of(counters, "prepare_disk_bytes");
        const json_int_t written = whole_of(counters, "requested_write_bytes");
        const json_int_t spool = whole_of(json_object_get(epoch, "figures"), "spool_write_bytes");
        assert_true(spool > 0);
        assert_int_equal(written, spool + whole_of(json_object_get(epoch, "figures"), "spill_write_bytes"));
        assert_true(whole_of(counters, "requested_write_ios") > 0);
        json_decref(run);
    }
    assert_true(disk_bytes[0] > 5000000);
    assert_int_equal(disk_bytes[1], disk_bytes[0]);
}

/* On demand an epoch is a stream of requests: the record is valid, counts them, and has their latencies in order. */
static void requests_on_demand_are_recorded(void **state)
{
    const struct tiny_runs *const f = *state;
    static const char *const quantiles[] = {"latency_p50_ns", "latency_p90_ns", "latency_p99_ns", "latency_p999_ns",
                                            "latency_max_ns"};
    const char *const more[] = {"--system",
                                "ringsampler",
                                "--sample-only",
                                "--set",
                                "ringsampler.requests=300",
                                "--set",
                                "ringsampler.concurrency=2",
                                NULL};
    int exit_status;
    json_t *const run = tiny_runs_json(f, more, &exit_status);
    const json_t *const figures = json_object_get(epoch_of(run, 0), "figures");
    json_int_t last = 1;
    assert_int_equal(exit_status, 0);
    assert_string_equal(tiny_runs_text(run, "status"), "ok");
    assert_int_equal(whole_of(run, "valid"), 1);
    assert_int_equal(whole_of(json_object_get(run, "counters"), "batches"), 300);
    for (size_t q = 0; q < sizeof quantiles / sizeof quantiles[0]; q++) {
        assert_true(whole_of(figures, quantiles[q]) >= last);
        last = whole_of(figures, quantiles[q]);
    }
    json_decref(run);
}

/* The peak is training's: what is evaluated after the last epoch has the system's memory, and is told apart. */
static void evaluation_is_not_in_the_peak(void **state)
{
    const struct tiny_runs *const f = *state;
    if (!f->confined)
        skip_test("no writable memory control group");
    const char *const more[] = {"--system", "gnndrive", "--epochs", "2", "--batch", "300", NULL};
    int exit_status;
    json_t *const run = tiny_runs_json(f, more, &exit_status);
    const json_int_t peak = whole_of(json_object_get(run, "counters"), "peak_memory_bytes");
    const char *const whole_run = tiny_runs_text(json_object_get(run, "environment"), "memory.peak_bytes");
    assert_int_equal(exit_status, 0);
    assert_int_equal(peak, whole_of(json_object_get(epoch_of(run, 1), "counters"), "peak_memory_bytes"));
    assert_true(strtoll(whole_run, NULL, 10) >= peak);
    json_decref(run);
}

/* The device's readahead in bytes, as `doctor` finds it out; -1 where there is none to set. */
static long long device_readahead(const struct tiny_runs *f, char *path, size_t path_bytes)
{
    const char *const more[] = {"--system", "null", "--evaluate", "never", NULL};
    int exit_status;
    json_t *const run = tiny_runs_json(f, more, &exit_status);
    const json_t *const environment = json_object_get(run, "environment");
    char device[64];
    (void)snprintf(device, sizeof device, "%s", tiny_runs_text(environment, "device.name"));
    const char *const text = tiny_runs_text(environment, "device.readahead_bytes");
    const long long bytes = text[0] == '\0' ? -1 : strtoll(text, NULL, 10);
    json_decref(run);
    (void)snprintf(path, path_bytes, "/sys/block/%s/queue/read_ahead_kb", device);
    return access(path, W_OK) == 0 ? bytes : -1;
}

static long long bytes_in(const char *path)
{
    long long kib = -1;
    FILE *const file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lld", &kib), 1);
    (void)fclose(file);
    return kib * 1024;
}

static void wait_for_readahead(const char *path, long long bytes)
{
    uint32_t naps = 0;
    while (bytes_in(path) != bytes && patient(&naps))
        continue;
    assert_int_equal(bytes_in(path), bytes);
}

/* --device-readahead holds while the run lasts, and is gone however it ends: at its end, by Ctrl-C, by SIGKILL of its
 * worker, by SIGKILL of everything that is it. */
static void a_readahead_is_held_and_given_back(void **state)
{
    const struct tiny_runs *const f = *state;
    char path[128], value[32];
    const long long before = device_readahead(f, path, sizeof path), held = before + 4096;
    if (before < 0)
        skip_test("no block device whose readahead this user may set");
    (void)snprintf(value, sizeof value, "%lld", held);
    const char *const more[] = {"--system", "pygplus", "--device-readahead", value, "--evaluate", "never", NULL};
    int exit_status;
    json_t *run = tiny_runs_json(f, more, &exit_status);
    const json_t *const environment = json_object_get(run, "environment");
    assert_int_equal(exit_status, 0);
    assert_string_equal(tiny_runs_text(environment, "device.readahead_bytes"), value);
    assert_int_equal(strtoll(tiny_runs_text(environment, "device.readahead_before_bytes"), NULL, 10), before);
    json_decref(run);
    assert_int_equal(bytes_in(path), before);

    const char *const endless[] = {"--system", "gnndrive", "--epochs", "100000", "--device-readahead", value, NULL};
    for (int end = 0; end < 3; end++) {
        const pid_t pid = tiny_runs_start_training(f, endless);
        assert_int_equal(bytes_in(path), held);
        if (end == 1) {
            struct process_result killed = process_shell("pkill -KILL -P %d -f 'data=%s'", (int)pid, f->data);
            assert_int_equal(killed.exit_status, 0);
            process_free(&killed);
        } else {
            assert_int_equal(kill(pid, end == 0 ? SIGINT : SIGKILL), 0);
        }
        (void)process_wait(pid);
        wait_for_readahead(path, before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(systems_agree),
        cmocka_unit_test(denormals_are_told),
        cmocka_unit_test(unknown_is_null),
        cmocka_unit_test(stages_add_up),
        cmocka_unit_test(a_cap_that_cannot_be_is_oom),
        cmocka_unit_test(no_accepted_cap_is_killed),
        cmocka_unit_test(a_cap_is_read_back),
        cmocka_unit_test(a_cap_below_the_dataset_is_refused),
        cmocka_unit_test(the_time_limit_is_oot),
        cmocka_unit_test(a_signal_is_recorded),
        cmocka_unit_test(a_killed_supervisor_takes_its_worker_along),
        cmocka_unit_test(two_runs_share_a_database),
        cmocka_unit_test(losses_repeat_bit_for_bit),
        cmocka_unit_test(threads_are_a_rule_over_the_cores),
        cmocka_unit_test(direct_reads_are_observed),
        cmocka_unit_test(a_prepared_layout_starts_cold),
        cmocka_unit_test(preparing_and_writing_are_told_apart),
        cmocka_unit_test(requests_on_demand_are_recorded),
        cmocka_unit_test(evaluation_is_not_in_the_peak),
        cmocka_unit_test(a_readahead_is_held_and_given_back),
    };
    return cmocka_run_group_tests_name("run", tests, tiny_runs_set_up, tiny_runs_tear_down);
}
