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
                                       cmocka_unit_test(test_faults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
