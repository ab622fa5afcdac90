/* SPDX-License-Identifier: MIT */
/* `--workers` from outside: the same losses as one process, the same mini-batches in both worlds, one message and
 * nothing left however a worker ends. */
#include "tests/support/hang.h"
#include "tests/support/sanitizers.h"
#include "tests/support/tiny_runs.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STEPS_MAX = 64 };

static const char *const gnndrive[] = {"--system", "gnndrive", NULL};
#define RUN(t, exit_status, ...) tiny_runs_must((t), (exit_status), gnndrive, (const char *const[]){__VA_ARGS__, NULL})

static void expect_nothing_left(const struct tiny_runs *t)
{
    assert_false(tiny_runs_worker_left(t));
}

/* ---- what is trained ---- */

static void losses_equal_those_of_one_process(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const workers[] = {"1", "2", "4"}, *const batches[] = {"32", "16", "8"};
    double losses[3][STEPS_MAX];
    char trace[700];
    uint32_t steps[3];
    (void)snprintf(trace, sizeof trace, "%s/losses", t->dir);
    for (size_t w = 0; w < 3; w++) {
        json_t *const run = RUN(t, 0, "--workers", workers[w], "--segments", "4", "--batch", batches[w], "--epochs",
                                "3", "--dropout", "0", "--set", "gnndrive.in_order=yes", "--trace-loss", trace);
        assert_string_equal(tiny_runs_text(run, "status"), "ok");
        assert_string_equal(tiny_runs_text(json_object_get(run, "config"), "workers"), workers[w]);
        steps[w] = tiny_runs_losses(trace, losses[w], STEPS_MAX);
        json_decref(run);
        assert_int_equal(steps[w], steps[0]);
        for (uint32_t k = 0; k < steps[w]; k++)
            if (fabs(losses[w][k] / losses[0][k] - 1) > 1e-6)
                fail_msg("%s workers, step %u: %.9g, one process %.9g", workers[w], k, losses[w][k], losses[0][k]);
    }
    assert_true(steps[0] > 20);
}

static json_int_t count_of(const json_t *run, const char *key)
{
    return json_integer_value(json_object_get(json_object_get(run, "counters"), key));
}

static void both_worlds_draw_the_same(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const workers[] = {"2", "4"};
    for (size_t w = 0; w < 2; w++) {
        json_t *const here = RUN(t, 0, "--workers", workers[w], "--batch", "8", "--epochs", "2");
        json_t *const there = RUN(t, 0, "--workers", workers[w], "--batch", "8", "--epochs", "2", "--world",
                                  "simulated", "--profile", "gnndrive-multigpu");
        const char *const digest = tiny_runs_text(json_object_get(here, "counters"), "batch_digest");
        assert_string_equal(tiny_runs_text(json_object_get(there, "counters"), "batch_digest"), digest);
        assert_true(digest[0] != '\0');
        assert_int_equal(count_of(here, "batches"), count_of(there, "batches"));
        assert_int_equal(count_of(here, "sampled_edges"), count_of(there, "sampled_edges"));
        json_decref(here);
        json_decref(there);
    }
}

/* What the first process reads for all of them counts once, before the first epoch. */
static void what_they_share_is_read_once(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const workers[] = {"1", "2", "3"};
    json_int_t read_bytes[3], reads[3];
    for (size_t w = 0; w < 3; w++) {
        json_t *const run = RUN(t, 0, "--workers", workers[w], "--batch", "8", "--epochs", "2");
        const json_t *const before = json_object_get(run, "before_first_epoch");
        read_bytes[w] = json_integer_value(json_object_get(before, "requested_bytes"));
        reads[w] = json_integer_value(json_object_get(before, "requested_ios"));
        assert_true(reads[w] > 0);
        assert_int_equal(read_bytes[w], read_bytes[0]);
        assert_int_equal(reads[w], reads[0]);
        assert_true(json_integer_value(json_object_get(before, "cpu_ns")) > 0);
        json_decref(run);
    }
}

/* ---- what is refused ---- */

static void expect_refusal(const struct tiny_runs *t, int exit_status, const char *part, const char *const *more)
{
    const char *argv[TINY_ARGUMENTS_MAX];
    tiny_runs_arguments(t, more, argv);
    struct process_result r = process_run(argv);
    if (r.exit_status != exit_status || strstr(r.err, part) == NULL)
        fail_msg("exit %d, expected %d and \"%s\" in:\n%s%s", r.exit_status, exit_status, part, r.err, r.out);
    process_free(&r);
}
#define REFUSED(t, exit_status, part, ...)                                                                             \
    expect_refusal((t), (exit_status), (part), (const char *const[]){__VA_ARGS__, NULL})

/* More threads than the machine has cores: what they do not sleep they compute or stand in line for, all workers
 * together. */
static void time_in_line_is_summed(void **state)
{
    const struct tiny_runs *const t = *state;
    json_t *const run = RUN(t, 0, "--workers", "2", "--batch", "16", "--world", "simulated", "--profile",
                            "tests/golden/machine.ini", "--compute", "cpu", "--set", "gnndrive.samplers=8");
    const json_t *const stages = json_object_get(json_array_get(json_object_get(run, "epochs"), 0), "stages");
    assert_true(json_array_size(stages) > 2);
    for (size_t s = 0; s < json_array_size(stages); s++) {
        const json_t *const stage = json_array_get(stages, s);
        const json_int_t work_ns = json_integer_value(json_object_get(stage, "work_ns"));
        const json_int_t cpu_ns = json_integer_value(json_object_get(stage, "cpu_ns"));
        const json_int_t queued_ns = json_integer_value(json_object_get(stage, "queued_ns"));
        assert_true(queued_ns > 0 && cpu_ns + queued_ns >= work_ns);
    }
    json_decref(run);
}

static void what_cannot_be_is_refused_by_name(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const alone[] = {"null",  "pygplus", "ginex",     "ringsampler",
                                        "agnes", "diskgnn", "mariusgnn", "presort"};
    for (size_t s = 0; s < sizeof alone / sizeof alone[0]; s++) {
        REFUSED(t, 4, alone[s], "--system", alone[s], "--workers", "2");
        REFUSED(t, 4, "--segments 3", "--system", alone[s], "--segments", "3");
    }
    REFUSED(t, 2, "--segments 3 cannot be shared", "--system", "gnndrive", "--workers", "2", "--segments", "3");
    REFUSED(t, 2, "--batch 9", "--system", "gnndrive", "--workers", "2", "--segments", "4", "--batch", "9");
    REFUSED(t, 2, "workers: \"0\"", "--system", "gnndrive", "--workers", "0");
    REFUSED(t, 2, "die-rank", "--system", "gnndrive", "--workers", "2", "--fault", "die-rank=2");
    REFUSED(t, 2, "gnndrive.order=global", "--system", "gnndrive", "--workers", "2", "--set",
            "gnndrive.order=segments");
    /* Told by the worker: the run exists. */
    tiny_runs_expect_reason(RUN(t, 2, "--workers", "8", "--set", "gnndrive.extractors=40"), "failed",
                            "lower --workers");
}

/* The plan is of all workers together, and says what makes it less. */
static void the_cap_is_for_all_of_them(void **state)
{
    const struct tiny_runs *const t = *state;
    tiny_runs_expect_reason(RUN(t, 0, "--workers", "4", "--memory", "1M", "--cap", "program"), "oom", "--workers");
    tiny_runs_expect_reason(
        RUN(t, 0, "--workers", "4", "--memory", "20M", "--world", "simulated", "--profile", "gnndrive-multigpu"), "oom",
        "the other workers' processes");
}

/* ---- how it ends ---- */

static void a_killed_worker_ends_the_run(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const faults[] = {"die-at-batch=3,die-rank=0", "die-at-batch=3,die-rank=1",
                                         "die-at-batch=7,die-rank=3"};
    static const char *const words[] = {"signal 9", "worker 1 of 4 died of signal 9", "worker 3 of 4 died of signal 9"};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        tiny_runs_expect_reason(RUN(t, 1, "--workers", "4", "--batch", "8", "--epochs", "20", "--fault", faults[i]),
                                "failed", words[i]);
        expect_nothing_left(t);
    }
}

static void a_worker_that_cannot_read_ends_the_run(void **state)
{
    const struct tiny_runs *const t = *state;
    tiny_runs_expect_reason(RUN(t, 1, "--workers", "4", "--batch", "8", "--epochs", "4", "--fault", "eio-at=400"),
                            "failed", " of 4: ");
    expect_nothing_left(t);
}

static pid_t start_endless(const struct tiny_runs *t, const char *limit)
{
    const char *const more[] = {"--system", "gnndrive",  "--workers",  "3",     "--batch",      "8",   "--epochs",
                                "100000",   "--no-cold", "--evaluate", "never", "--time-limit", limit, NULL};
    const char *argv[TINY_ARGUMENTS_MAX];
    tiny_runs_arguments(t, more, argv);
    return process_start(argv);
}

/* The processes of the run, without the supervisor; at most max. */
static int workers_of(pid_t supervisor, pid_t *pids, int max)
{
    const pid_t first = tiny_runs_worker_of(supervisor);
    char group[32];
    int count = 0;
    (void)snprintf(group, sizeof group, "%ld", (long)first);
    uint32_t naps = 0;
    do {
        const char *const argv[] = {"pgrep", "-g", group, NULL};
        struct process_result r = process_run(argv);
        char *at = r.out;
        for (count = 0; count < max && *at != '\0'; count++)
            pids[count] = (pid_t)strtol(at, &at, 10), at += *at == '\n';
        process_free(&r);
    } while (count < max && patient(&naps));
    return count;
}

/* Any worker, at any moment, by a signal that it cannot see coming. */
static void kill_campaign(void **state)
{
    const struct tiny_runs *const t = *state;
    for (int i = 0; i < 9; i++) {
        const pid_t supervisor = start_endless(t, "1h");
        pid_t pids[3];
        assert_int_equal(workers_of(supervisor, pids, 3), 3);
        tiny_runs_nap(0.02 * i);
        assert_int_equal(kill(pids[i % 3], i < 6 ? SIGKILL : SIGABRT), 0);
        assert_int_equal(process_wait(supervisor), 1);
        tiny_runs_expect_reason(tiny_runs_last(t), "failed", i < 6 ? "signal 9" : "signal 6");
        expect_nothing_left(t);
    }
}

static void interrupt_time_limit_and_dead_supervisor(void **state)
{
    const struct tiny_runs *const t = *state;
    pid_t pids[3];
    const pid_t interrupted = start_endless(t, "1h");
    assert_int_equal(workers_of(interrupted, pids, 3), 3);
    tiny_runs_nap(0.2);
    assert_int_equal(kill(interrupted, SIGINT), 0);
    assert_int_equal(process_wait(interrupted), 130);
    tiny_runs_expect_reason(tiny_runs_last(t), "interrupted", "user");
    expect_nothing_left(t);

    const pid_t late = start_endless(t, "600ms");
    assert_int_equal(process_wait(late), 0);
    tiny_runs_expect_reason(tiny_runs_last(t), "oot", "time limit");
    expect_nothing_left(t);

    const pid_t killed = start_endless(t, "1h");
    assert_int_equal(workers_of(killed, pids, 3), 3);
    assert_int_equal(kill(killed, SIGKILL), 0);
    assert_int_equal(process_wait(killed), -SIGKILL);
    tiny_runs_await_end(t);
    expect_nothing_left(t);
}

/* ---- simulated ---- */

/* As golden_times of test_simulated.c: the same nanosecond everywhere; a changed entry needs its commit's reason. */
static void golden_times(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct {
        const char *workers, *compute, *digest;
        json_int_t wall_ns, device_read_ios;
    } cases[] = {
        {"1", "cuda", "0811772de46a8999", 15850548, 1513}, {"2", "cuda", "3946dff533db7c4b", 11196180, 1436},
        {"1", "cpu", "0811772de46a8999", 15887661, 1513},  {"2", "cpu", "3946dff533db7c4b", 10800166, 1386},
        {"4", "cpu", "5f411f4cfc903b49", 8581273, 1396},
    };
    int different = 0;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        json_t *const run =
            RUN(t, 0, "--workers", cases[c].workers, "--compute", cases[c].compute, "--batch", "8", "--dim", "100",
                "--set", "gnndrive.samplers=2", "--set", "gnndrive.extractors=2", "--set", "gnndrive.readahead=off",
                "--world", "simulated", "--profile", "tests/golden/machine.ini");
        const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
        const json_int_t wall_ns = json_integer_value(json_object_get(epoch, "wall_ns"));
        const json_int_t reads = count_of(run, "device_read_ios");
        const char *const digest = tiny_runs_text(json_object_get(run, "counters"), "batch_digest");
        if (strcmp(digest, cases[c].digest) != 0 || wall_ns != cases[c].wall_ns || reads != cases[c].device_read_ios) {
            print_error("case %zu: now {\"%s\", \"%s\", \"%s\", %lld, %lld}\n", c, cases[c].workers, cases[c].compute,
                        digest, (long long)wall_ns, (long long)reads);
            different++;
        }
        json_decref(run);
    }
    assert_int_equal(different, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_in_line_is_summed),
        cmocka_unit_test(what_cannot_be_is_refused_by_name),
        cmocka_unit_test(losses_equal_those_of_one_process),
        cmocka_unit_test(both_worlds_draw_the_same),
        cmocka_unit_test(what_they_share_is_read_once),
        cmocka_unit_test(the_cap_is_for_all_of_them),
        cmocka_unit_test(a_killed_worker_ends_the_run),
        cmocka_unit_test(a_worker_that_cannot_read_ends_the_run),
        cmocka_unit_test(kill_campaign),
        cmocka_unit_test(interrupt_time_limit_and_dead_supervisor),
        cmocka_unit_test(golden_times),
    };
    return cmocka_run_group_tests_name("workers", tests, tiny_runs_set_up, tiny_runs_tear_down);
}
