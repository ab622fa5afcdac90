/* SPDX-License-Identifier: MIT */
/* --batches: from a part of an epoch to the whole; and --fault's text. */
#include "harness/run/fault_option.h"
#include "harness/run/worker/extrapolate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Steps of equal cost: the whole is exact and has no spread. */
static void test_constant_steps(void **state)
{
    (void)state;
    uint64_t step_ns[30];
    for (uint32_t i = 0; i < 30; i++)
        step_ns[i] = 1000 + (i < 5 ? 70 * (i + 1) : 350 + 10 * (i - 4));
    struct gnn_extrapolation full;
    gnn_extrapolate(step_ns, 30, 5, 1000, 105, &full);
    assert_int_equal(full.full_ns, 350 + 100 * 10);
    assert_int_equal(full.low_ns, full.full_ns);
    assert_int_equal(full.high_ns, full.full_ns);
    assert_int_equal(full.warmup, 5);
    assert_int_equal(full.used, 25);
}

/* Two steps of 10 and 30: mean 20, sd of the means 14.14, t(1) = 12.706: the interval is cut below at the
 * 40 that have passed. */
static void test_spread(void **state)
{
    (void)state;
    const uint64_t two_ns[] = {10, 40};
    struct gnn_extrapolation full;
    gnn_extrapolate(two_ns, 2, 0, 0, 10, &full);
    assert_int_equal(full.full_ns, 200);
    assert_int_equal(full.low_ns, 40);
    assert_in_range(full.high_ns, 1470, 1471); /* 10 (20 + 12.706 * 10) */
    /* 20 steps alternating 10 and 30: every group of two costs the same, so nothing is uncertain. */
    uint64_t step_ns[20], now_ns = 0;
    for (uint32_t i = 0; i < 20; i++)
        step_ns[i] = now_ns += i % 2 == 0 ? 10 : 30;
    gnn_extrapolate(step_ns, 20, 0, 0, 40, &full);
    assert_int_equal(full.full_ns, 800);
    assert_int_equal(full.high_ns, 800);
    /* ten groups of one: sd 10.54, t(9) = 2.262, half = 2.262 * 10.54 / sqrt(10) = 7.54 a step */
    uint64_t ten_ns[10];
    now_ns = 0;
    for (uint32_t i = 0; i < 10; i++)
        ten_ns[i] = now_ns += i % 2 == 0 ? 10 : 30;
    gnn_extrapolate(ten_ns, 10, 0, 0, 100, &full);
    assert_int_equal(full.full_ns, 2000);
    assert_in_range(full.high_ns, 2753, 2755);
    assert_in_range(full.low_ns, 1245, 1247);
}

/* Phases of two mini-batches that take 100 (the first), 30 or 50 (those that count), 17 and 12 (the last two). Of 17
 * mini-batches, nine phases, the last is half full: 100 + 6 x 40 + 17 + 6. */
static void test_phases(void **state)
{
    (void)state;
    static const uint64_t phase_ns[] = {100, 30, 50, 30, 50, 17, 12};
    uint64_t step_ns[14], now_ns = 1000;
    for (uint32_t p = 0; p < 7; p++) {
        step_ns[2 * p] = now_ns + phase_ns[p] - 1;
        step_ns[2 * p + 1] = now_ns += phase_ns[p];
    }
    const struct gnn_phases phases = {.batches = 2, .head = 1, .count = 7};
    struct gnn_extrapolation full;
    gnn_extrapolate_phases(step_ns, &phases, 1000, 17, &full);
    assert_int_equal(full.full_ns, 363);
    /* four phases: sd 11.547, t(3) = 3.182, half = 3.182 * 11.547 / 2 = 18.37 a phase */
    assert_int_equal(full.high_ns, 363 + 110);
    assert_int_equal(full.low_ns, 289); /* what has passed */
    assert_int_equal(full.warmup, 2);
    assert_int_equal(full.used, 8);
    gnn_extrapolate_phases(step_ns, &phases, 1000, 18, &full); /* the last is full */
    assert_int_equal(full.full_ns, 369);
    const struct gnn_phases later = {.batches = 2, .head = 3, .count = 7};
    gnn_extrapolate_phases(step_ns, &later, 1000, 18, &full); /* 180 + 4 x 40 + 29 */
    assert_int_equal(full.full_ns, 369);
}

/* Whole phases, at least five of them, or the remedy; no phases where all is run or every step is like the others. */
static void test_phases_are_whole(void **state)
{
    (void)state;
    const struct gnn_intent intent = {.whole_batches = 100, .phase_batches = 8, .phase_option = "agnes.hyperbatch"};
    static const struct {
        uint32_t warmup, batches;
        struct gnn_phases phases; /* count 0: refused, or nothing to do */
        const char *says;
    } cases[] = {
        {8, 32, {8, 1, 5}, ""},
        {0, 40, {8, 1, 5}, ""},
        {24, 40, {8, 3, 8}, ""},
        {8, 33, {0}, "--warmup 8 --batches 32"},
        {5, 35, {0}, "phases of 8"},
        {8, 24, {0}, "at least 5"},
        {16, 24, {0}, "--batches 32"},
        {60, 40, {0}, ""}, /* the whole epoch */
        {20, 20, {0}, "agnes.hyperbatch"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_phases phases;
        struct gnn_err err = {0};
        const bool refused = cases[i].says[0] != '\0';
        assert_int_equal(gnn_phases_choose(&intent, cases[i].warmup, cases[i].batches, &phases, &err),
                         refused ? GNN_EUSAGE : GNN_OK);
        assert_non_null(strstr(err.message, cases[i].says));
        if (!refused)
            assert_memory_equal(&phases, &cases[i].phases,
                                cases[i].phases.count > 0 ? sizeof phases : sizeof(uint32_t));
    }
    const struct gnn_intent few = {.whole_batches = 39, .phase_batches = 8, .phase_option = "ginex.superbatch"};
    const struct gnn_intent steady = {.whole_batches = 100, .phase_batches = 1};
    struct gnn_phases phases;
    struct gnn_err err = {0};
    assert_int_equal(gnn_phases_choose(&few, 0, 30, &phases, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "leave --batches out"));
    assert_int_equal(gnn_phases_choose(&steady, 3, 30, &phases, &err), GNN_OK);
    assert_int_equal(phases.batches, 0);
}

static void test_faults(void **state)
{
    (void)state;
    struct gnn_err err = {0};
    struct gnn_run_faults faults;
    assert_int_equal(gnn_faults_parse("", &faults, &err), GNN_OK);
    assert_int_equal(faults.plan.read_eio_at, 0);
    assert_true(faults.device_slowdown == 1);
    assert_int_equal(
        gnn_faults_parse("seed=7,eio-at=1000,short=0.25,slow_by=3ms,enospc=yes,die-at-batch=4", &faults, &err), GNN_OK);
    assert_int_equal(faults.plan.seed, 7);
    assert_int_equal(faults.plan.read_eio_at, 1000);
    assert_true(faults.plan.read_short_probability == 0.25);
    assert_int_equal(faults.plan.slow_ns, 3000000);
    assert_true(faults.plan.write_enospc);
    assert_int_equal(faults.die_at_batch, 4);

    static const struct {
        const char *text, *expected;
    } wrong[] = {
        {"eio-at", "'eio-at' is no key=value"}, {"eoi-at=3", "eio-at"}, {"eio-at=3,,short=0.1", "'' is no key=value"},
        {"eio-at=3,", "'' is no key=value"},    {"short=1.5", "short"}, {"device-slowdown=0", "device-slowdown"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct gnn_err said = {0};
        assert_int_equal(gnn_faults_parse(wrong[i].text, &faults, &said), GNN_EUSAGE);
        if (strstr(said.message, wrong[i].expected) == NULL)
            fail_msg("--fault %s: %s", wrong[i].text, said.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_constant_steps), cmocka_unit_test(test_spread),
                                       cmocka_unit_test(test_phases), cmocka_unit_test(test_phases_are_whole),
                                       cmocka_unit_test(test_faults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
