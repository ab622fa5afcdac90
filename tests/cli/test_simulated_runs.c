/* SPDX-License-Identifier: MIT */
/* Simulated runs from outside, most on a paper's machine: they repeat byte for byte, end as the papers' cells do, say
 * what they do not know, and a part of an epoch stands for the whole. Nothing here runs on this machine's device:
 * tests/cli/test_worlds.c compares the two worlds. */
#include "tests/support/run_figures.h"
#include "tests/support/tiny_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIMULATED "--world", "simulated", "--profile", "gnndrive-paper"

static const char *const systems[] = {"null",  "pygplus", "gnndrive",  "ginex",   "ringsampler",
                                      "agnes", "diskgnn", "mariusgnn", "presort", "graphbolt"};

static json_t *simulate(const struct tiny_runs *t, const char *const *more, int *exit_status)
{
    const char *all[TINY_ARGUMENTS_MAX] = {SIMULATED, "--dim", "32"};
    uint32_t count = 6;
    for (; *more != NULL; more++)
        all[count++] = *more;
    all[count] = NULL;
    return tiny_runs_json(t, all, exit_status);
}

/* What may differ between two runs: identity and the host's own clock. */
static char *comparable(json_t *run)
{
    static const char *const host[] = {"run_id",         "started_unix_ns",        "finished_unix_ns",
                                       "supervisor_pid", "supervisor_start_ticks", "machine_id",
                                       "boot_id",        "pid_namespace"};
    for (size_t i = 0; i < sizeof host / sizeof host[0]; i++)
        (void)json_object_del(run, host[i]);
    (void)json_object_del(json_object_get(run, "environment"), "host.wall_ns");
    return json_dumps(run, JSON_COMPACT | JSON_PRESERVE_ORDER);
}

static void the_same_run_gives_the_same_bytes(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const variants[][4] = {
        {"--memory", "0", NULL}, {"--compute", "cpu", NULL}, {"--sample-only", NULL}};
    for (size_t s = 0; s < sizeof systems / sizeof systems[0]; s++)
        for (size_t v = 0; v < sizeof variants / sizeof variants[0]; v++) {
            const char *more[8] = {"--system", systems[s], "--epochs", "2"};
            for (uint32_t i = 0; variants[v][i] != NULL; i++)
                more[4 + i] = variants[v][i];
            char *texts[2];
            for (int turn = 0; turn < 2; turn++) {
                int exit_status;
                json_t *const run = simulate(t, more, &exit_status);
                assert_int_equal(exit_status, 0);
                assert_string_equal(tiny_runs_text(run, "status"), "ok");
                assert_string_equal(tiny_runs_text(run, "world"), "simulated");
                texts[turn] = comparable(run);
                json_decref(run);
            }
            assert_string_equal(texts[0], texts[1]);
            free(texts[0]);
            free(texts[1]);
        }
}

/* The time series is taken on the virtual clock: its intervals are the run from the start nearly to the end, and what
 * they say was read is what the counters say. */
static void the_series_is_the_whole_run(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const more[] = {"--system", "gnndrive", "--epochs", "2", "--evaluate", "never",
                                       "--batch",  "2",        "--memory", "0", NULL};
    int exit_status;
    json_decref(simulate(t, more, &exit_status));
    json_t *const run = tiny_runs_last(t); /* the run's own JSON has no series */
    const json_t *const series = json_object_get(run, "series");
    const double wall_ns = (double)whole(run, NULL, "wall_ns");
    double end_ns = 0, read_bytes = 0, gpu_ns = 0;
    assert_int_equal(exit_status, 0);
    assert_in_range(json_array_size(series), 4, 256);
    for (size_t i = 0; i < json_array_size(series); i++) {
        const json_t *const point = json_array_get(series, i);
        const double interval_ns = json_number_value(json_object_get(point, "interval_ns"));
        end_ns += interval_ns;
        read_bytes += json_number_value(json_object_get(point, "disk_read_bytes_per_s")) * interval_ns / 1e9;
        gpu_ns += json_number_value(json_object_get(point, "gpu_busy_pct")) / 100 * interval_ns;
        assert_true(json_number_value(json_object_get(point, "cpu_pct")) +
                        json_number_value(json_object_get(point, "iowait_pct")) <=
                    100.001);
        assert_float_equal(json_number_value(json_object_get(point, "time_ns")), end_ns, 0.5);
    }
    assert_true(end_ns <= wall_ns);
    assert_true(end_ns > 0.7 * wall_ns);
    assert_true(read_bytes > 0.7 * (double)whole(run, "counters", "device_read_bytes"));
    assert_true(read_bytes <= 1.001 * (double)whole(run, "counters", "device_read_bytes"));
    assert_true(gpu_ns > 0);
    json_decref(run);
}

/* The requests of the device, for reads and for faults: each has a class, also where nothing but a mapping is read. */
static void the_devices_requests_have_sizes(void **state)
{
    const struct tiny_runs *const t = *state;
    for (size_t s = 1; s < sizeof systems / sizeof systems[0]; s++) {
        const char *const more[] = {"--system", systems[s], "--epochs", "2", "--memory", "0", NULL};
        int exit_status;
        json_t *const run = simulate(t, more, &exit_status);
        assert_string_equal(tiny_runs_text(run, "status"), "ok");
        for (size_t e = 0; e < 2; e++) {
            const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), e);
            const json_int_t reads = whole(epoch, "counters", "device_read_ios");
            if (sum_of_figures(epoch, "device_reads_to_") != reads)
                fail_msg("%s: %lld of %lld requests have a size", systems[s],
                         (long long)sum_of_figures(epoch, "device_reads_to_"), (long long)reads);
            assert_int_equal(whole(epoch, "figures", "device_read_bytes_max") > 0, reads > 0);
        }
        json_decref(run);
    }
}

/* Each epoch's record says whether the epoch did the work of exactly one: not where it prepared for the next one. */
static void epochs_are_complete_or_not(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct {
        const char *more[8];
        const char *complete; /* a digit for each epoch */
    } cases[] = {
        {{"--system", "pygplus", "--epochs", "2"}, "11"},
        {{"--system", "presort", "--epochs", "3"}, "010"},
        {{"--system", "presort", "--epochs", "1"}, "1"},
        {{"--system", "presort", "--epochs", "2", "--set", "presort.ahead=false"}, "11"},
        {{"--system", "agnes", "--epochs", "2", "--set", "agnes.overlap=epochs"}, "00"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        int exit_status;
        json_t *const run = simulate(t, cases[c].more, &exit_status);
        const json_t *const epochs = json_object_get(run, "epochs");
        assert_int_equal(exit_status, 0);
        assert_int_equal(json_array_size(epochs), strlen(cases[c].complete));
        for (size_t e = 0; e < json_array_size(epochs); e++)
            if (whole(json_array_get(epochs, e), NULL, "complete") != cases[c].complete[e] - '0')
                fail_msg("case %zu: epoch %zu", c, e);
        json_decref(run);
    }
}

/* Thread counts that nobody gave follow the cores of the profile (3 and 48), up to what the papers use. */
static void threads_follow_the_cores_of_the_world(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct {
        const char *system, *profile, *key, *number; /* NULL: given, so no rule's */
        const char *set;
    } cases[] = {
        {"pygplus", "tests/golden/machine.ini", "rule.pygplus.workers", "3", NULL},
        {"pygplus", "tests/golden/machine.ini", "rule.pygplus.gather_threads", "24", NULL},
        {"pygplus", "gnndrive-paper", "rule.pygplus.workers", "9", NULL}, /* an eighth of 76 batches */
        {"pygplus", "gnndrive-paper", "rule.pygplus.gather_threads", "128", NULL},
        {"pygplus", "gnndrive-paper", "rule.pygplus.workers", NULL, "pygplus.workers=5"},
        {"gnndrive", "tests/golden/machine.ini", "rule.gnndrive.samplers", "4", NULL},
        {"gnndrive", "gnndrive-paper", "rule.gnndrive.extractors", "4", NULL},
        {"ginex", "tests/golden/machine.ini", "rule.ginex.samplers", "6", NULL},
        {"ginex", "gnndrive-paper", "rule.ginex.gather_threads", "128", NULL},
        {"agnes", "tests/golden/machine.ini", "rule.agnes.workers", "3", NULL},
        {"mariusgnn", "gnndrive-paper", "rule.mariusgnn.loaders", "4", NULL},
        {"mariusgnn", "gnndrive-paper", "rule.mariusgnn.staleness", "9", NULL},
        {"agnes", "gnndrive-paper", "rule.agnes.workers", "16", NULL},
        {"ringsampler", "gnndrive-paper", "rule.ringsampler.threads", "48", NULL},
        {"diskgnn", "tests/golden/machine.ini", "rule.diskgnn.samplers", "3", NULL},
        {"diskgnn", "gnndrive-paper", "rule.diskgnn.pack_workers", "8", NULL},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const char *const more[] = {"--world",
                                    "simulated",
                                    "--profile",
                                    cases[c].profile,
                                    "--batch",
                                    "4",
                                    "--dim",
                                    "32",
                                    "--system",
                                    cases[c].system,
                                    cases[c].set == NULL ? NULL : "--set",
                                    cases[c].set,
                                    NULL};
        int exit_status;
        json_t *const run = tiny_runs_once(t, more, &exit_status);
        const json_t *const found = json_object_get(json_object_get(run, "environment"), cases[c].key);
        assert_int_equal(exit_status, 0);
        const char *const number = json_string_value(found);
        if ((number == NULL) != (cases[c].number == NULL) || (number != NULL && strcmp(number, cases[c].number) != 0))
            fail_msg("%s, %s: %s is %s", cases[c].system, cases[c].profile, cases[c].key, number);
        json_decref(run);
    }
}

/* A model has no values: nothing may pretend otherwise. */
static void no_loss_and_no_accuracy(void **state)
{
    const struct tiny_runs *const t = *state;
    const char *const more[] = {"--system", "gnndrive", NULL};
    int exit_status;
    json_t *const run = simulate(t, more, &exit_status);
    json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
    static const char *const unknown[] = {"loss", "train_accuracy", "valid_accuracy", "test_accuracy"};
    for (size_t k = 0; k < sizeof unknown / sizeof unknown[0]; k++)
        assert_true(json_is_null(json_object_get(epoch, unknown[k])));
    assert_true(whole(run, "counters", "device_read_ios") > 0);
    assert_null(json_object_get(json_object_get(run, "environment"), "model.hash"));
    json_decref(run);
}

/* papers100m at scale 1/4000 without a file on disk: 27 765 nodes. */
static void a_registry_graph_needs_no_disk(void **state)
{
    const struct tiny_runs *const t = *state;
    const char *const more[] = {"--system", "pygplus", "--data", "/nowhere", "--dim", "128", NULL};
    int exit_status;
    json_t *const run = simulate(t, more, &exit_status);
    assert_string_equal(tiny_runs_text(run, "status"), "ok");
    assert_int_equal(whole(run, NULL, "dim"), 128);
    json_decref(run);
}

static void endings(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct {
        const char *more[8];
        const char *status, *reason;
    } cases[] = {
        {{"--system", "gnndrive", "--memory", "1M"}, "oom", "--memory"},
        {{"--system", "pygplus", "--time-limit", "1us"}, "oot", "time limit"},
        {{"--system", "gnndrive", "--fault", "eio-at=300"}, "failed", "features"},
        {{"--system", "pygplus", "--fault", "eio-at=5"}, "failed", "indices"},
        {{"--system", "gnndrive", "--fault", "alloc-at=9"}, "oom", ""},
        {{"--system", "gnndrive", "--fault", "die-at-batch=3"}, "failed", "signal 9"},
        {{"--system", "gnndrive", "--fault", "short=0.2,again=0.2,shuffle=yes"}, "ok", ""},
        {{"--system", "pygplus", "--fault", "slow=0.1,slow-by=1ms"}, "ok", ""},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        int exit_status;
        json_t *const run = simulate(t, cases[c].more, &exit_status);
        const char *const reasons = tiny_runs_text(run, "reasons");
        if (strcmp(tiny_runs_text(run, "status"), cases[c].status) != 0 || strstr(reasons, cases[c].reason) == NULL)
            fail_msg("%s %s %s: %s (%s), expected %s (%s)", cases[c].more[1], cases[c].more[2], cases[c].more[3],
                     tiny_runs_text(run, "status"), reasons, cases[c].status, cases[c].reason);
        json_decref(run);
        assert_false(tiny_runs_worker_left(t));
    }
}

/* A device four times as slow is felt by a run that waits for it. */
static void a_slowed_device(void **state)
{
    const struct tiny_runs *const t = *state;
    json_int_t wall_ns[2];
    static const char *const faults[] = {"", "device-slowdown=4"};
    for (int i = 0; i < 2; i++) {
        const char *const more[] = {"--system", "gnndrive", "--fault", faults[i], NULL};
        int exit_status;
        json_t *const run = simulate(t, more, &exit_status);
        wall_ns[i] = whole(json_array_get(json_object_get(run, "epochs"), 0), NULL, "wall_ns");
        json_decref(run);
    }
    assert_in_range(wall_ns[1], 2 * wall_ns[0], 4 * wall_ns[0]);
}

/* The same of what a mapping reads into single pages, which has figures of its own: a window of 128K takes 1.2 ms. */
static void a_slowed_device_is_slow_into_single_pages(void **state)
{
    const struct tiny_runs *const t = *state;
    json_int_t wall_ns[2];
    char path[700];
    static const char *const faults[] = {"", "device-slowdown=4"};
    (void)snprintf(path, sizeof path, "%s/scattered.ini", t->dir);
    process_expect(
        process_shell("sed '/^read_latency/d; /^read_iops/d; s/^read_bandwidth.*/read_depths = 1,32 stated\\n"
                      "read_us.4K = 90,10 stated\\nread_us.1M = 2000,2000 stated\\n"
                      "read_scattered_us.1M = 9000,9000 stated/' tests/golden/machine.ini >%s",
                      path),
        0, "", "a profile with scattered reads");
    for (int i = 0; i < 2; i++) {
        const char *const more[] = {"--world",  "simulated", "--profile", path,      "--dim",   "32",
                                    "--system", "pygplus",   "--cold",    "--fault", faults[i], NULL};
        int exit_status;
        json_t *const run = tiny_runs_once(t, more, &exit_status);
        assert_int_equal(exit_status, 0);
        wall_ns[i] = whole(json_array_get(json_object_get(run, "epochs"), 0), NULL, "wall_ns");
        json_decref(run);
    }
    assert_in_range(wall_ns[1], 2 * wall_ns[0], 4 * wall_ns[0]);
}

static void a_part_of_an_epoch(void **state)
{
    const struct tiny_runs *const t = *state;
    const char *const more[] = {"--system", "gnndrive", "--warmup", "2", "--batches", "5", NULL};
    int exit_status;
    json_t *const run = simulate(t, more, &exit_status);
    assert_string_equal(tiny_runs_text(run, "status"), "ok");
    const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
    assert_int_equal(whole(epoch, "counters", "batches"), 7);
    assert_int_equal(whole(epoch, "figures", "warmup_batches"), 2);
    assert_int_equal(whole(epoch, "figures", "extrapolated_from_batches"), 5);
    assert_true(whole(epoch, "figures", "full_epoch_ns") > whole(epoch, NULL, "wall_ns"));
    assert_true(whole(epoch, "figures", "full_epoch_low_ns") <= whole(epoch, "figures", "full_epoch_ns"));
    assert_string_equal(tiny_runs_text(run, "part"), "extrapolated from 5 mini-batches");
    json_decref(run);
}

/* The record has the size of the whole, over all workers, and says which part of it ran. */
static void a_part_of_an_epoch_is_told(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct {
        const char *more[7], *whole, *part;
    } cases[] = {
        {{"--system", "gnndrive"}, "10", ""},
        {{"--system", "gnndrive", "--max-batches", "10"}, "10", ""},
        {{"--system", "gnndrive", "--max-batches", "3"}, "10", "first 3 of 10 mini-batches"},
        {{"--system", "gnndrive", "--max-batches", "2", "--workers", "2"}, "10", "first 4 of 10 mini-batches"},
        {{"--system", "null", "--max-batches", "3"}, "10", "first 3 of 10 mini-batches"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int exit_status;
        json_t *const run = simulate(t, cases[i].more, &exit_status);
        assert_int_equal(exit_status, 0);
        assert_string_equal(tiny_runs_text(json_object_get(run, "environment"), "epoch.whole_batches"), cases[i].whole);
        assert_string_equal(tiny_runs_text(run, "part"), cases[i].part);
        assert_int_equal(json_is_null(json_object_get(run, "part")), cases[i].part[0] == '\0');
        json_decref(run);
    }
}

/* Systems that work in phases: the whole lies in the interval that whole phases give (5 % besides: it is one of 95 %),
 * and a part of a phase is refused, because its steps say nothing about the rest. What such a system sizes by the epoch
 * does not shrink with the part. */
static void a_part_of_an_epoch_in_phases(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const bases[][12] = {
        {"--system", "ginex", "--batch", "4", "--set", "ginex.superbatch=5", "--set", "ginex.feature_cache=400K"},
        {"--system", "agnes", "--batch", "4", "--set", "agnes.hyperbatch=5", "--set", "agnes.feature_cache=400K"},
        {"--system", "agnes", "--batch", "4", "--set", "agnes.hyperbatch=5", "--set", "agnes.overlap=full"},
    };
    for (size_t b = 0; b < sizeof bases / sizeof bases[0]; b++) {
        const char *more[20] = {"--evaluate", "never"};
        uint32_t count = 2;
        for (; bases[b][count - 2] != NULL; count++)
            more[count] = bases[b][count - 2];
        int exit_status;
        json_t *run = simulate(t, more, &exit_status);
        const json_int_t whole_ns = whole(json_array_get(json_object_get(run, "epochs"), 0), NULL, "wall_ns");
        json_decref(run);
        const char *const part[] = {"--warmup", "5", "--batches", "30"};
        memcpy(more + count, part, sizeof part);
        run = simulate(t, more, &exit_status);
        assert_int_equal(exit_status, 0);
        const json_t *const figures = json_object_get(json_array_get(json_object_get(run, "epochs"), 0), "figures");
        const json_int_t low_ns = whole(figures, NULL, "full_epoch_low_ns");
        const json_int_t high_ns = whole(figures, NULL, "full_epoch_high_ns");
        if (whole_ns < low_ns / 20 * 19 || whole_ns > high_ns / 20 * 21 || high_ns > 2 * low_ns)
            fail_msg("system %zu: %lld, extrapolated %lld to %lld", b, (long long)whole_ns, (long long)low_ns,
                     (long long)high_ns);
        json_decref(run);
        more[count + 3] = "31";
        run = simulate(t, more, &exit_status);
        char *const reasons = json_dumps(json_object_get(run, "reasons"), JSON_ENCODE_ANY);
        assert_int_equal(exit_status, 2);
        assert_non_null(strstr(reasons, "--warmup 5 --batches 20"));
        free(reasons);
        json_decref(run);
    }
}

static void a_part_is_sized_as_the_whole(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const parts[] = {"0", "3"};
    json_int_t sizes[2];
    for (int i = 0; i < 2; i++) {
        const char *const more[] = {"--system", "agnes", "--max-batches", parts[i], NULL};
        int exit_status;
        json_t *const run = simulate(t, more, &exit_status);
        assert_int_equal(exit_status, 0);
        sizes[i] = whole(json_array_get(json_object_get(run, "epochs"), 0), "figures", "hyperbatch_size");
        json_decref(run);
    }
    assert_int_equal(sizes[0], 5); /* half of an epoch of ten */
    assert_int_equal(sizes[1], 5);
}

/* A superbatch that asks for less than four times its feature cache measures the filling of it, and says so. */
static void filling_alone_is_told(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const caches[] = {"ginex.feature_cache=3M", "ginex.feature_cache=150K"};
    for (int i = 0; i < 2; i++) {
        const char *const more[] = {SIMULATED, "--dim", "32", "--system", "ginex", "--set", caches[i], NULL};
        const char *argv[TINY_ARGUMENTS_MAX];
        tiny_runs_arguments(t, more, argv);
        struct process_result r = process_run(argv);
        assert_int_equal(r.exit_status, 0);
        assert_true((strstr(r.err, "filling the cache dominates") != NULL) == (i == 0));
        process_free(&r);
    }
}

/* A profile with changed parameters is another machine: time, identity and digest differ, the record has the list. */
static void a_profile_can_be_changed(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const more[][9] = {{"--system", "gnndrive", NULL},
                                          {"--system", "gnndrive", "--profile-set", "storage.read_iops=x0.5",
                                           "--profile-set", "storage.read_latency=1ms", NULL}};
    json_t *runs[2];
    for (int i = 0; i < 2; i++) {
        int exit_status;
        runs[i] = simulate(t, more[i], &exit_status);
        assert_int_equal(exit_status, 0);
    }
    static const char *const differ[] = {"run.identity", "profile.digest"};
    for (size_t i = 0; i < sizeof differ / sizeof *differ; i++)
        assert_string_not_equal(tiny_runs_text(json_object_get(runs[0], "environment"), differ[i]),
                                tiny_runs_text(json_object_get(runs[1], "environment"), differ[i]));
    assert_string_equal(tiny_runs_text(json_object_get(runs[0], "config"), "profile-set"), "");
    assert_string_equal(tiny_runs_text(json_object_get(runs[1], "config"), "profile-set"),
                        "storage.read_iops=x0.5,storage.read_latency=1ms");
    assert_true(json_integer_value(json_object_get(runs[1], "wall_ns")) >
                json_integer_value(json_object_get(runs[0], "wall_ns")));
    for (int i = 0; i < 2; i++)
        json_decref(runs[i]);
    const char *const told[] = {SIMULATED,       "--dim",       "32",        "--system", "null",
                                "--profile-set", "cpu.lock=x2", "--no-json", NULL};
    const char *argv[TINY_ARGUMENTS_MAX];
    tiny_runs_arguments(t, told, argv);
    struct process_result r = process_run(argv);
    assert_non_null(strstr(r.out, " cpu.lock=x2, "));
    process_free(&r);
}

static void wrong_words(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct {
        const char *more[10];
        int exit_status;
        const char *message;
    } cases[] = {
        {{"--world", "simulated", "--system", "null"}, 2, "--profile"},
        {{"--world", "simulated", "--profile", "gnndrive-papre", "--system", "null"}, 2, "gnndrive-paper"},
        {{"--profile", "gnndrive-paper", "--system", "null"}, 2, "--world simulated"},
        {{SIMULATED, "--compute", "ref", "--system", "null", NULL}, 2, "--compute ref"},
        {{SIMULATED, "--no-cold", "--system", "null", NULL}, 4, "--no-cold"},
        {{SIMULATED, "--cap", "program", "--system", "null", NULL}, 4, "--cap program"},
        {{SIMULATED, "--memory", "129G", "--system", "null", NULL}, 2, "profile gnndrive-paper has"},
        {{SIMULATED, "--trace-loss", "/tmp/none", "--system", "null", NULL}, 4, "no loss"},
        {{"--world", "simulated", "--profile", "this?", "--system", "null"}, 2, "list profiles"},
        {{"--compute", "model:", "--system", "null"}, 2, "no profile named"},
        {{"--compute", "model:nosuch", "--system", "null"}, 2, "--compute model: no profile \"nosuch\" in "},
        {{"--compute", "model:gnndrive-paper", "--trace-loss", "x", "--system", "null"}, 4, "no loss"},
        {{SIMULATED, "--dataset", "paper100m", "--system", "null", NULL}, 2, "papers100m"},
        {{SIMULATED, "--device-iops", "1000", "--system", "null", NULL}, 4, "device-slowdown"},
        {{SIMULATED, "--costs", "relaesed", "--system", "null", NULL}, 2, "ideal and released"},
        {{"--costs", "released", "--system", "null", NULL}, 2, "--world simulated"},
        {{SIMULATED, "--profile-set", "storage.read_iop=3000/s", "--system", "null", NULL},
         2,
         "storage.read_iop: a profile has no such parameter; did you mean \"storage.read_iops\""},
        {{SIMULATED, "--profile-set", "storage.read_iops=3000", "--system", "null", NULL}, 2, "expected a rate as"},
        {{SIMULATED, "--profile-set", "released.step=x2", "--system", "null", NULL}, 2, "require --costs released"},
        {{"--profile-set", "gpu.memory=x2", "--system", "null", NULL}, 2, "this run has no profile"},
        {{"--profile-set", "cpu.lock=x2", "--compute", "model:gnndrive-paper", "--system", "null", NULL},
         2,
         "[storage] and [cpu] have no effect in the measured world"},
        {{SIMULATED, "--device-readahead", "100", "--system", "null", NULL}, 2, "a multiple of 4K"},
        {{SIMULATED, "--device-readahead", "2G", "--system", "null", NULL}, 2, "a multiple of 4K"},
        {{SIMULATED, "--device-readahead", "much", "--system", "null", NULL}, 2, "a multiple of 4K"},
        {{"--compute", "model:nobody", "--system", "null"}, 2, "nobody"},
        {{"--warmup", "3", "--system", "null"}, 2, "--batches"},
        {{"--batches", "3", "--sample-only", "--system", "ringsampler"}, 2, "--max-batches"},
        {{"--fault", "eoi=1", "--system", "null"}, 2, "eio"},
        {{"--fault", "device-slowdown=2", "--system", "null"}, 2, "--device-iops"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const char *argv[TINY_ARGUMENTS_MAX];
        tiny_runs_arguments(t, cases[c].more, argv);
        struct process_result r = process_run(argv);
        if (r.exit_status != cases[c].exit_status || strstr(r.err, cases[c].message) == NULL)
            fail_msg("case %zu: exit %d, expected %d and \"%s\" in: %s", c, r.exit_status, cases[c].exit_status,
                     cases[c].message, r.err);
        process_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_series_is_the_whole_run),
        cmocka_unit_test(the_same_run_gives_the_same_bytes),
        cmocka_unit_test(the_devices_requests_have_sizes),
        cmocka_unit_test(epochs_are_complete_or_not),
        cmocka_unit_test(threads_follow_the_cores_of_the_world),
        cmocka_unit_test(no_loss_and_no_accuracy),
        cmocka_unit_test(a_registry_graph_needs_no_disk),
        cmocka_unit_test(endings),
        cmocka_unit_test(a_slowed_device),
        cmocka_unit_test(a_slowed_device_is_slow_into_single_pages),
        cmocka_unit_test(a_part_of_an_epoch),
        cmocka_unit_test(a_part_of_an_epoch_is_told),
        cmocka_unit_test(a_part_of_an_epoch_in_phases),
        cmocka_unit_test(a_part_is_sized_as_the_whole),
        cmocka_unit_test(filling_alone_is_told),
        cmocka_unit_test(a_profile_can_be_changed),
        cmocka_unit_test(wrong_words),
    };
    return cmocka_run_group_tests(tests, tiny_runs_prepare, tiny_runs_tear_down);
}
