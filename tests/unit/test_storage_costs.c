/* SPDX-License-Identifier: MIT */
/* What requests cost a device, from a profile's grid: by hand, and in proportion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/world/storage_costs.h"

/* 4 KiB in 100 us alone and 10 us at depth 32; 64 KiB in 200 us and 64 us. */
static const struct gnn_profile_storage grid = {
    .devices = 1,
    .size_count = 2,
    .depth_count = 2,
    .size_bytes = {4096, 65536},
    .depth = {1, 32},
    .read_ps = {{100000000, 10000000}, {200000000, 64000000}},
    .write_bytes_per_s = 1000000000,
};

static void test_the_best_depth_counts(void **state)
{
    (void)state;
    struct gnn_storage_costs c;
    gnn_storage_costs_of(&grid, 512, &c);
    assert_int_equal(c.read_ps, 10000000); /* as 4 KiB */
    assert_int_equal(c.alone_ps, 100000000);
    assert_int_equal(c.page_ps, 4000000); /* a sixteenth of 64 KiB */
    assert_int_equal(c.page_write_ps, 4096000);
    gnn_storage_costs_of(&grid, 4096 + (65536 - 4096) / 3, &c);
    assert_int_equal(c.read_ps, 28000000); /* a third of the way */
    assert_in_range(c.alone_ps, 133333333, 133333334);
    gnn_storage_costs_of(&grid, 131072, &c);
    assert_int_equal(c.read_ps, 128000000);
}

static void test_a_larger_read_may_be_the_cheaper_one(void **state)
{
    (void)state;
    struct gnn_profile_storage odd = grid;
    struct gnn_storage_costs c;
    odd.read_ps[1][1] = 8000000;
    gnn_storage_costs_of(&odd, 4096, &c);
    assert_int_equal(c.read_ps, 8000000);
    assert_int_equal(c.page_ps, 500000);
}

/* A drive that serves one read after another is quickest alone. */
static void test_the_first_depth_may_be_the_best(void **state)
{
    (void)state;
    struct gnn_profile_storage alone = grid;
    struct gnn_storage_costs c;
    alone.read_ps[0][0] = 5000000;
    alone.read_ps[1][0] = 32000000;
    gnn_storage_costs_of(&alone, 4096, &c);
    assert_int_equal(c.read_ps, 5000000);
    assert_int_equal(c.page_ps, 2000000);
    alone.depth_count = 1;
    gnn_storage_costs_of(&alone, 65536, &c);
    assert_int_equal(c.read_ps, 32000000);
}

static void test_devices_share_the_work(void **state)
{
    (void)state;
    struct gnn_profile_storage raid = grid;
    struct gnn_storage_costs c;
    raid.devices = 4;
    raid.write_sustained_bytes_per_s = 250000000; /* after a while */
    gnn_storage_costs_of(&raid, 4096, &c);
    assert_int_equal(c.read_ps, 2500000);
    assert_int_equal(c.page_ps, 1000000);
    assert_int_equal(c.page_write_ps, 4096000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_best_depth_counts),
        cmocka_unit_test(test_a_larger_read_may_be_the_cheaper_one),
        cmocka_unit_test(test_the_first_depth_may_be_the_best),
        cmocka_unit_test(test_devices_share_the_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
