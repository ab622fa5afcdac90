/* SPDX-License-Identifier: MIT */
/* The time series of a simulated run: its intervals, what they say, and how it thins itself out. */
#include "harness/run/virtual_series.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CORES = 4 };

static void what_an_interval_says(void **state)
{
    (void)state;
    struct gnn_virtual_series *const series = calloc(1, sizeof *series);
    struct gnn_series_point point;
    assert_non_null(series);
    series->cores = CORES;
    series->devices = 2;
    series->gpus = 1;
    struct gnn_virtual_reading reading = {.now_ns = 0};
    assert_int_equal(gnn_virtual_series_add(series, &reading), 100000); /* the start is no interval */
    assert_int_equal(series->count, 0);
    reading = (struct gnn_virtual_reading){.now_ns = 100000,
                                           .cpu_busy_ns = 100000, /* one core of four */
                                           .io_sleep_ns = 900000, /* nine threads, and three cores idle */
                                           .device_busy_ns = 50000,
                                           .read_bytes = 4096,
                                           .read_ios = 1,
                                           .gpu_busy_ns = 20000,
                                           .major_faults = 3,
                                           .anon_bytes = 10,
                                           .file_bytes = 5};
    assert_int_equal(gnn_virtual_series_add(series, &reading), 200000);
    reading.now_ns = 250000; /* late */
    reading.cpu_busy_ns += 15000;
    reading.io_sleep_ns += 60000;
    reading.gpu_busy_ns = 19000; /* a copy put off what was to come */
    reading.major_faults = 4;
    assert_int_equal(gnn_virtual_series_add(series, &reading), 300000);
    assert_int_equal(series->count, 2);
    gnn_virtual_series_point(series, 0, &point);
    assert_int_equal(point.time_ns, 100000);
    assert_int_equal(point.interval_ns, 100000);
    assert_float_equal(point.cpu_pct, 25, 1e-9);
    assert_float_equal(point.iowait_pct, 75, 1e-9);
    assert_float_equal(point.worker_cpu_pct, 100, 1e-9);
    assert_float_equal(point.disk_busy_pct, 25, 1e-9);
    assert_float_equal(point.gpu_busy_pct, 20, 1e-9);
    assert_float_equal(point.disk_read_bytes_per_s, 40960000, 1e-3);
    assert_float_equal(point.group_read_ios_per_s, 10000, 1e-3);
    assert_int_equal(point.memory_bytes, 15);
    assert_int_equal(point.worker_major_faults, 3);
    assert_true(isnan(point.psi_io_full_pct));
    gnn_virtual_series_point(series, 1, &point);
    assert_int_equal(point.interval_ns, 150000);
    assert_float_equal(point.cpu_pct, 2.5, 1e-9);
    assert_float_equal(point.iowait_pct, 10, 1e-9);
    assert_float_equal(point.gpu_busy_pct, 0, 1e-9);
    assert_float_equal(point.disk_read_bytes_per_s, 0, 1e-9);
    assert_int_equal(point.worker_major_faults, 1);
    free(series);
}

/* However long the run is, there are between half as many points as there is room for and all; together they are the
 * whole run, and none is much longer than another. */
static void a_long_run_is_thinned_out(void **state)
{
    (void)state;
    static const uint64_t ends_ns[] = {UINT64_C(25600000), UINT64_C(25700000), UINT64_C(123456789012),
                                       UINT64_C(5000000000000)};
    for (size_t e = 0; e < sizeof ends_ns / sizeof *ends_ns; e++) {
        struct gnn_virtual_series *const series = calloc(1, sizeof *series);
        uint64_t sum_ns = 0, shortest_ns = UINT64_MAX, longest_ns = 0;
        assert_non_null(series);
        series->cores = CORES;
        series->devices = 1;
        for (uint64_t now_ns = 0; now_ns <= ends_ns[e];) {
            const struct gnn_virtual_reading reading = {
                .now_ns = now_ns, .cpu_busy_ns = now_ns, .gpu_busy_ns = GNN_UNKNOWN};
            now_ns = gnn_virtual_series_add(series, &reading);
        }
        assert_in_range(series->count, GNN_VIRTUAL_POINTS_MAX / 2, GNN_VIRTUAL_POINTS_MAX);
        for (uint32_t i = 0; i < series->count; i++) {
            struct gnn_series_point point;
            gnn_virtual_series_point(series, i, &point);
            sum_ns += point.interval_ns;
            shortest_ns = gnn_min_u64(shortest_ns, point.interval_ns);
            longest_ns = gnn_max_u64(longest_ns, point.interval_ns);
            assert_float_equal(point.cpu_pct, 25, 1e-6);
            assert_true(isnan(point.gpu_busy_pct));
        }
        assert_int_equal(sum_ns, series->readings[series->count].now_ns);
        assert_true(ends_ns[e] - sum_ns < series->every_ns);
        assert_true(longest_ns <= 2 * shortest_ns);
        free(series);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_interval_says),
        cmocka_unit_test(a_long_run_is_thinned_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
