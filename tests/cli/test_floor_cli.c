/* SPDX-License-Identifier: MIT */
/* The floor from outside: every epoch's record has it, its parts are those of the record's own counters and stages at
 * the profile's figures, and no epoch is faster. Simulated runs on the machine of round figures: all of it is exact. */
#include "tests/support/must.h"
#include "tests/support/process.h"
#include "tests/support/tiny_runs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static json_t *simulate(const struct tiny_runs *t, const char *const *more)
{
    static const char *const machine[] = {"--world",    "simulated", "--profile",  "tests/golden/machine.ini",
                                          "--dim",      "100",       "--generate", "reach=0",
                                          "--evaluate", "never",     NULL};
    return tiny_runs_must(t, 0, machine, more);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static json_int_t whole(const json_t *object, const char *key)
{
    const json_t *const value = json_object_get(object, key);
    if (!json_is_integer(value))
        fail_msg("%s is no number", key);
    return json_integer_value(value);
}

static const json_t *epoch_of(const json_t *run, size_t epoch)
{
    return json_array_get(json_object_get(run, "epochs"), epoch);
}

static json_int_t figure_of(const json_t *run, size_t epoch, const char *name)
{
    return whole(json_object_get(epoch_of(run, epoch), "figures"), name);
}

/* The machine's two drives: 100 000 reads or 500 MB read or 400 MB written a second each; between the grid's sizes of
 * 4 KiB, which 10 us bring, and 8 KiB in proportion. */
static double device_ns(const json_t *counters)
{
    const double reads = (double)whole(counters, "device_read_ios"),
                 bytes = (double)whole(counters, "device_read_bytes");
    const double size = reads > 0 ? floor(bytes / reads) : 0, written = (double)whole(counters, "device_write_bytes");
    const double read_ns = size <= 4096 ? 10000 : size < 8192 ? 10000 + 6384 * (size - 4096) / 4096 : 2 * size;
    return reads * read_ns / 2 + written * 2.5 / 2;
}

static json_int_t training_ns(const json_t *epoch)
{
    const json_t *const busy = json_object_get(json_object_get(epoch, "figures"), "gpu_busy_ns");
    json_int_t ns = -1;
    size_t i;
    const json_t *stage;
    json_array_foreach(json_object_get(epoch, "stages"), i, stage)
    {
        const json_int_t work_ns = json_integer_value(json_object_get(stage, "work_ns"));
        const json_int_t cpu_ns = json_integer_value(json_object_get(stage, "cpu_ns"));
        if (strcmp(tiny_runs_text(stage, "stage"), "train") == 0)
            ns = ((work_ns < cpu_ns ? work_ns : cpu_ns) + whole(stage, "wait_compute_ns")) / whole(stage, "workers");
    }
    return busy != NULL && json_integer_value(busy) > ns ? json_integer_value(busy) : ns;
}

/* Returns 0: the device's part is the larger one; 1: training's. */
static int expect_floor(const json_t *run, size_t e, const char *what)
{
    const json_t *const epoch = epoch_of(run, e);
    const double wanted_device_ns = device_ns(json_object_get(epoch, "counters"));
    const json_int_t wanted_training_ns = training_ns(epoch);
    const json_int_t on_device_ns = figure_of(run, e, "floor_device_ns");
    const json_int_t in_training_ns = figure_of(run, e, "floor_training_ns");
    if (fabs((double)on_device_ns - wanted_device_ns) > 0.5 || in_training_ns != wanted_training_ns)
        fail_msg("%s, epoch %zu: device %lld, expected %.1f; training %lld, expected %lld", what, e,
                 (long long)on_device_ns, wanted_device_ns, (long long)in_training_ns, (long long)wanted_training_ns);
    assert_true(in_training_ns > 0);
    const json_int_t larger_ns = on_device_ns > in_training_ns ? on_device_ns : in_training_ns;
    assert_int_equal(figure_of(run, e, "floor_ns"), larger_ns);
    if (whole(epoch, "wall_ns") < larger_ns)
        fail_msg("%s, epoch %zu: %lld ns, below its floor of %lld", what, e, (long long)whole(epoch, "wall_ns"),
                 (long long)larger_ns);
    return on_device_ns > in_training_ns ? 0 : 1;
}

static void no_epoch_is_below_its_floor(void **state)
{
    static const char *const systems[] = {"pygplus", "gnndrive", "ginex",    "ringsampler",
                                          "agnes",   "diskgnn",  "mariusgnn"};
    static const char *const computes[] = {"auto", "cpu"};
    enum { SYSTEMS = sizeof systems / sizeof systems[0] };
    int seen[2] = {0, 0};
    for (size_t s = 0; s < SYSTEMS; s++)
        for (size_t c = 0; c < 2; c++) {
            json_t *const run =
                simulate(*state, WORDS("--system", systems[s], "--compute", computes[c], "--epochs", "2"));
            json_int_t wall_ns = 0, floor_ns = 0;
            for (size_t e = 0; e < 2; e++) {
                seen[expect_floor(run, e, systems[s])]++;
                wall_ns += whole(epoch_of(run, e), "wall_ns");
                floor_ns += figure_of(run, e, "floor_ns");
            }
            assert_int_equal(whole(run, "floor_ns"), floor_ns);
            assert_true(json_real_value(json_object_get(run, "floor_ratio")) == (double)wall_ns / (double)floor_ns);
            assert_memory_equal(tiny_runs_text(json_object_get(run, "environment"), "floor.profile"), "machine ", 8);
            json_decref(run);
        }
    assert_true(seen[0] > 0); /* both are the larger one somewhere */
    assert_true(seen[1] > 0);
}

/* Of several workers each trains its part: the stage's time is one's. */
static void workers_train_side_by_side(void **state)
{
    json_t *const run =
        simulate(*state, WORDS("--system", "gnndrive", "--workers", "2", "--compute", "cpu", "--batch", "16"));
    (void)expect_floor(run, 0, "two workers");
    json_decref(run);
}

/* What the nanoseconds were when this was written: a change of the floor's definition shows here, as a changed cost or
 * policy does. Renewed as the golden times of test_simulated.c are. */
static void golden_floors(void **state)
{
    static const struct {
        const char *more[12];
        json_int_t device_ns, training_ns;
    } cases[] = {
        {{"--system", "gnndrive", "--memory", "12M"}, 26785000, 919670},
        {{"--system", "pygplus", "--compute", "cpu", "--hidden", "256"}, 12726064, 12386786},
        {{"--system", "agnes", "--set", "agnes.block=4K", "--set", "agnes.feature_cache=200K", "--set",
          "agnes.hyperbatch=4"},
         28170800,
         880136},
    };
    int different = 0;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        json_t *const run = simulate(*state, cases[c].more);
        const json_int_t on_device_ns = figure_of(run, 0, "floor_device_ns");
        const json_int_t in_training_ns = figure_of(run, 0, "floor_training_ns");
        (void)expect_floor(run, 0, cases[c].more[1]);
        if (on_device_ns != cases[c].device_ns || in_training_ns != cases[c].training_ns) {
            print_error("case %zu is now %lld, %lld\n", c, (long long)on_device_ns, (long long)in_training_ns);
            different++;
        }
        json_decref(run);
    }
    assert_int_equal(different, 0);
}

/* A fault is no floor: the slowed device's is what the whole one would take, and the epoch is far above it. */
static void a_slowed_device_has_the_floor_of_a_whole_one(void **state)
{
    double ratio[2];
    for (size_t slowed = 0; slowed < 2; slowed++) {
        json_t *const run =
            simulate(*state, WORDS("--system", "ringsampler", "--fault", slowed ? "device-slowdown=5" : ""));
        assert_int_equal(expect_floor(run, 0, "ringsampler"), 0);
        ratio[slowed] = json_real_value(json_object_get(run, "floor_ratio"));
        json_decref(run);
    }
    assert_true(ratio[1] > 3 * ratio[0]);
}

/* Sampling alone waits for no training; a system without a stage that trains has no floor. */
static void without_training(void **state)
{
    json_t *run = simulate(*state, WORDS("--system", "ringsampler", "--sample-only"));
    assert_int_equal(figure_of(run, 0, "floor_training_ns"), 0);
    assert_int_equal(figure_of(run, 0, "floor_ns"), figure_of(run, 0, "floor_device_ns"));
    assert_true(figure_of(run, 0, "floor_ns") > 0);
    json_decref(run);
    run = simulate(*state, WORDS("--system", "null"));
    assert_null(json_object_get(json_object_get(epoch_of(run, 0), "figures"), "floor_ns"));
    assert_true(json_is_null(json_object_get(run, "floor_ns")));
    assert_true(json_is_null(json_object_get(run, "floor_ratio")));
    json_decref(run);
}

static void report(const struct tiny_runs *t, const char *style, struct process_result *out)
{
    const char *const argv[] = {process_program(), "report", "--runs", "--last", "1", "--db", t->db, style, NULL};
    *out = process_run(argv);
    assert_int_equal(out->exit_status, 0);
}

static void tables_show_it(void **state)
{
    const struct tiny_runs *const t = *state;
    struct process_result r;
    char ratio[32];
    json_t *const run = simulate(t, WORDS("--system", "gnndrive"));
    (void)snprintf(ratio, sizeof ratio, " %.2f |", json_real_value(json_object_get(run, "floor_ratio")));
    report(t, "--markdown", &r);
    must_show(r.out, "| epoch/floor |");
    must_show(r.out, ratio);
    assert_null(strstr(r.out, "rows read/bound"));
    process_free(&r);
    (void)snprintf(ratio, sizeof ratio, ",%lld,%.9g,", (long long)whole(run, "floor_ns"),
                   json_real_value(json_object_get(run, "floor_ratio")));
    report(t, "--csv", &r);
    must_show(r.out, ",bound_ratio,floor_ns,floor_ratio,");
    must_show(r.out, ratio);
    process_free(&r);
    json_decref(run);
    json_decref(simulate(t, WORDS("--system", "null")));
    report(t, "--markdown", &r);
    assert_null(strstr(r.out, "epoch/floor"));
    process_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_epoch_is_below_its_floor),
        cmocka_unit_test(workers_train_side_by_side),
        cmocka_unit_test(golden_floors),
        cmocka_unit_test(a_slowed_device_has_the_floor_of_a_whole_one),
        cmocka_unit_test(without_training),
        cmocka_unit_test(tables_show_it),
    };
    return cmocka_run_group_tests_name("floor from outside", tests, tiny_runs_prepare, tiny_runs_tear_down);
}
