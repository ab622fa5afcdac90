/* SPDX-License-Identifier: MIT */
/* --batches: from a part of an epoch to the whole; and --fault's text. */
#include "harness/base/rng.h"
#include "harness/run/fault_option.h"
#include "harness/run/worker/extrapolate.h"

#include <math.h>
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
    assert_int_equal(full.groups, 10);
    assert_true(full.settled);
}

/* Twenty steps in ten groups of two: means 10 and 30 by turns, and nothing but chance between them. */
static void test_spread(void **state)
{
    (void)state;
    uint64_t step_ns[20], now_ns = 0;
    struct gnn_extrapolation full;
    static const uint64_t pairs[10] = {30, 10, 10, 30, 10, 30, 30, 10, 10, 30};
    for (uint32_t i = 0; i < 20; i++)
        step_ns[i] = now_ns += i % 2 == 0 ? pairs[i / 2] - 8 : pairs[i / 2] + 8;
    gnn_extrapolate(step_ns, 20, 0, 0, 200, &full);
    assert_int_equal(full.groups, 10);
    assert_true(full.settled);
    assert_int_equal(full.full_ns, 4000);
    /* sd 10.541, t(9) = 2.262, half = 2.262 x 10.541 / sqrt(10) = 7.540 a step */
    assert_in_range(full.high_ns, 4000 + 1507, 4000 + 1509);
    assert_in_range(full.low_ns, 4000 - 1509, 4000 - 1507);
    gnn_extrapolate(step_ns, 20, 0, 0, 25, &full);
    assert_int_equal(full.low_ns, 400); /* what has passed */
    /* alternating 10 and 30: every group of two costs the same, so nothing is uncertain */
    for (uint32_t i = 0, now = 0; i < 20; i++)
        step_ns[i] = now += i % 2 == 0 ? 10 : 30;
    gnn_extrapolate(step_ns, 20, 0, 0, 40, &full);
    assert_int_equal(full.full_ns, 800);
    assert_int_equal(full.high_ns, 800);
    assert_int_equal(full.low_ns, 800);
}

static void expect_not_settled(const struct gnn_extrapolation *full, uint64_t full_ns, uint32_t groups)
{
    assert_false(full->settled);
    assert_int_equal(full->full_ns, full_ns);
    assert_int_equal(full->groups, groups);
    assert_true(full->low_ns == GNN_UNKNOWN);
    assert_true(full->high_ns == GNN_UNKNOWN);
}

/* Fewer than four groups, steps that get faster, and a warm-up that was too short: a time, and no interval. */
static void test_not_settled(void **state)
{
    (void)state;
    uint64_t step_ns[60], now_ns = 0;
    struct gnn_extrapolation full;
    for (uint32_t i = 0; i < 7; i++)
        step_ns[i] = 20 * (i + 1);
    gnn_extrapolate(step_ns, 7, 0, 0, 10, &full);
    expect_not_settled(&full, 200, 0);
    step_ns[7] = 160;
    gnn_extrapolate(step_ns, 8, 0, 0, 10, &full);
    assert_true(full.settled);
    assert_int_equal(full.groups, 4);
    /* blocks of ten steps of 10 or 30: r = 0.9 or so, and no four groups in forty steps */
    for (uint32_t i = 0; i < 40; i++)
        step_ns[i] = now_ns += i / 10 % 2 == 0 ? 10 : 30;
    gnn_extrapolate(step_ns, 40, 0, 0, 100, &full);
    expect_not_settled(&full, 2000, 0);
    /* noise of 1, and a step is 0.05 faster than the last one; up and down alike */
    for (int sign = -1; sign <= 1; sign += 2) {
        now_ns = 0;
        for (uint32_t i = 0; i < 60; i++)
            step_ns[i] = now_ns += (uint64_t)(1000 + (i * 7 % 5 < 2 ? 20 : -20) + sign * (int)i);
        gnn_extrapolate(step_ns, 60, 0, 0, 60, &full);
        expect_not_settled(&full, now_ns, 10);
    }
    /* 20 steps of warm-up, of which the last ten are as slow as the first; the part is steady */
    now_ns = 0;
    for (uint32_t i = 0; i < 60; i++)
        step_ns[i] = now_ns += (i < 20 ? 130U : 100U) + (i * 7 % 5 < 2 ? 20U : 0U);
    gnn_extrapolate(step_ns, 60, 20, 0, 60, &full);
    expect_not_settled(&full, now_ns, 10);
    gnn_extrapolate(step_ns, 60, 41, 0, 60, &full); /* its second half is steady */
    assert_true(full.settled);
}

/* ---- coverage ---- */

enum { EPOCH_STEPS = 1200, TRIALS = 400 };

/* Steps of mean 1 with noise, of which each keeps a share `carry` of the one before; a warm-up that decays. */
struct process {
    double carry, noise, warmup;
};

static void draw_epoch(struct gnn_rng *rng, const struct process *p, uint64_t *step_ns)
{
    double x = gnn_rng_normal(rng), now_ns = 0;
    for (uint32_t i = 0; i < EPOCH_STEPS; i++) {
        x = p->carry * x + sqrt(1 - p->carry * p->carry) * gnn_rng_normal(rng);
        now_ns += 1e6 * fmax(1 + p->warmup * exp(-(double)i / 300) + p->noise * x, 0.01);
        step_ns[i] = (uint64_t)now_ns;
    }
}

/* Counts trials whose time is settled, and those of them whose interval misses the epoch's. */
static void try_part(const struct process *p, uint32_t warmup, uint32_t used, uint32_t *settled, uint32_t *missed)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(used, warmup));
    static uint64_t step_ns[EPOCH_STEPS];
    *settled = *missed = 0;
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        struct gnn_extrapolation full;
        draw_epoch(&rng, p, step_ns);
        gnn_extrapolate(step_ns, warmup + used, warmup, 0, EPOCH_STEPS, &full);
        *settled += full.settled;
        *missed += full.settled && (step_ns[EPOCH_STEPS - 1] < full.low_ns || step_ns[EPOCH_STEPS - 1] > full.high_ns);
    }
}

/* In all trials but 10 % the interval holds the time of the whole epoch, or the time is not settled. settled_pct: what
 * is settled, so that the mark is neither on everything nor on nothing. */
static void test_coverage(void **state)
{
    (void)state;
    static const struct {
        struct process process;
        uint32_t warmup, used, settled_pct[2];
    } cases[] = {
        {{0, 0.2, 0}, 20, 40, {80, 100}},      {{0, 0.2, 0}, 20, 100, {80, 100}},   {{0, 0.2, 0}, 200, 40, {80, 100}},
        {{0.5, 0.2, 0}, 20, 40, {70, 90}},     {{0.5, 0.2, 0}, 20, 100, {80, 100}}, {{0.5, 0.2, 0}, 200, 40, {70, 90}},
        {{0.9, 0.2, 0}, 20, 40, {0, 10}},      {{0.9, 0.2, 0}, 20, 100, {10, 30}},  {{0.9, 0.2, 0}, 200, 40, {0, 10}},
        {{0.9, 0.2, 0}, 20, 400, {85, 100}},   {{0, 0.01, 0.25}, 20, 40, {0, 10}},  {{0, 0.01, 1}, 20, 40, {0, 1}},
        {{0, 0.05, 0.25}, 20, 100, {0, 10}},   {{0, 0.05, 1}, 20, 100, {0, 1}},     {{0, 0.2, 0.25}, 20, 400, {0, 5}},
        {{0, 0.02, 0.25}, 200, 40, {0, 1}},    {{0, 0.05, 1}, 200, 40, {0, 1}},     {{0, 0.05, 0.25}, 200, 100, {0, 1}},
        {{0.5, 0.01, 0.25}, 200, 100, {0, 1}}, {{0.9, 0.05, 1}, 20, 400, {0, 5}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t settled, missed;
        const uint32_t *const pct = cases[i].settled_pct;
        try_part(&cases[i].process, cases[i].warmup, cases[i].used, &settled, &missed);
        if (missed * 10 > TRIALS || settled * 100 < pct[0] * TRIALS || settled * 100 > pct[1] * TRIALS)
            fail_msg("case %zu: of %d trials %u are settled, of which %u miss", i, TRIALS, settled, missed);
    }
}

/* Where parts are settled as a rule, nine of ten settled intervals hold the epoch's time. */
static void test_coverage_of_settled(void **state)
{
    (void)state;
    static const struct {
        double carry;
        uint32_t used;
    } cases[] = {{0, 20}, {0, 40}, {0, 100}, {0, 400}, {0.5, 40}, {0.5, 100}, {0.5, 400}, {0.9, 400}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct process process = {.carry = cases[i].carry, .noise = 0.1};
        uint32_t settled, missed;
        try_part(&process, 20, cases[i].used, &settled, &missed);
        if (settled * 100 < 70 * TRIALS || missed * 10 > settled)
            fail_msg("case %zu: of %d trials %u are settled, of which %u miss", i, TRIALS, settled, missed);
    }
}

/* The limit of the test, which docs/extrapolation.md states: with 40 steps of 20 % noise, a warm-up that goes on for a
 * quarter of the epoch passes as settled. */
static void test_a_drift_below_the_noise_is_not_seen(void **state)
{
    (void)state;
    const struct process process = {.noise = 0.2, .warmup = 0.25};
    uint32_t settled, missed;
    try_part(&process, 20, 40, &settled, &missed);
    assert_in_range(settled * 100, 80 * TRIALS, 95 * TRIALS);
    assert_true(missed * 10 > settled * 9);
}

/* ---- phases ---- */

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
    assert_int_equal(full.groups, 4);
    assert_true(full.settled);
    gnn_extrapolate_phases(step_ns, &phases, 1000, 18, &full); /* the last is full */
    assert_int_equal(full.full_ns, 369);
    const struct gnn_phases later = {.batches = 2, .head = 3, .count = 7};
    gnn_extrapolate_phases(step_ns, &later, 1000, 18, &full); /* 180 + 4 x 40 + 29 */
    assert_int_equal(full.full_ns, 369);
}

static uint64_t fill_phases(uint64_t middle_ns, uint64_t step_ns[12])
{
    const uint64_t phase_ns[] = {100, 500, middle_ns, 300, 17, 12};
    uint64_t now_ns = 0;
    for (uint32_t p = 0; p < 6; p++) {
        step_ns[2 * p] = now_ns + phase_ns[p] / 2;
        step_ns[2 * p + 1] = now_ns += phase_ns[p];
    }
    return now_ns;
}

/* Three phases on a line, nearly: slope -100, and its error is 0.58 (of 401) or 8.66 (of 415). t(1) = 12.706. */
static void test_phases_that_drift(void **state)
{
    (void)state;
    uint64_t step_ns[12], now_ns = fill_phases(401, step_ns);
    const struct gnn_phases three = {.batches = 2, .head = 1, .count = 6}, two = {.batches = 2, .head = 2, .count = 6};
    struct gnn_extrapolation full;
    gnn_extrapolate_phases(step_ns, &three, 0, 12, &full);
    expect_not_settled(&full, now_ns, 3);
    gnn_extrapolate_phases(step_ns, &two, 0, 12, &full); /* two phases show no drift */
    assert_true(full.settled);
    assert_int_equal(full.groups, 2);
    assert_int_equal(full.low_ns, now_ns);
    /* sd 71.418, t(1) = 12.706, half = 12.706 x 71.418 / sqrt(2) = 641.7 a phase */
    assert_in_range(full.high_ns, now_ns + 1282, now_ns + 1285);
    now_ns = fill_phases(415, step_ns);
    gnn_extrapolate_phases(step_ns, &three, 0, 12, &full);
    assert_true(full.settled);
    assert_int_equal(full.full_ns, now_ns);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant_steps),      cmocka_unit_test(test_spread),
        cmocka_unit_test(test_not_settled),         cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_coverage_of_settled), cmocka_unit_test(test_a_drift_below_the_noise_is_not_seen),
        cmocka_unit_test(test_phases_that_drift),   cmocka_unit_test(test_phases),
        cmocka_unit_test(test_phases_are_whole),    cmocka_unit_test(test_faults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
