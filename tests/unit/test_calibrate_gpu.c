/* SPDX-License-Identifier: MIT */
/* Calibration of a GPU: the modelled GPU, measured on its own clock, must give its own figures back, and the shapes
 * that were not fitted to must be predicted. */
#include "harness/calibrate/gpu.h"
#include "harness/world/profile.h"
#include "tests/support/modelled_clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define GB UINT64_C(1000000000)

/* Two GPUs of made-up figures, one of them slow at everything. */
static const struct gnn_profile gpus[] = {
    {.name = "fast",
     .cpu = {.cores = 8},
     .host = {.present = true,
              .gemm_flops_per_s = GB,
              .bytes_per_s = 9 * GB,
              .bytes_per_s_shared = 9 * GB,
              .gather_bytes_per_s = GB,
              .launch_ns = 50},
     .gpu = {.present = true,
             .gemm_flops_per_s = 41000 * GB,
             .bytes_per_s = 2900 * GB,
             .bytes_per_s_shared = 2900 * GB,
             .gather_bytes_per_s = 1700 * GB,
             .launch_ns = 3100,
             .memory_bytes = UINT64_C(80) << 30},
     .bus = {.pinned_bytes_per_s = 52 * GB, .pageable_bytes_per_s = 11 * GB, .latency_ns = 7300}},
    {.name = "slow",
     .cpu = {.cores = 8},
     .host = {.present = true,
              .gemm_flops_per_s = GB,
              .bytes_per_s = 9 * GB,
              .bytes_per_s_shared = 9 * GB,
              .gather_bytes_per_s = GB,
              .launch_ns = 50},
     .gpu = {.present = true,
             .gemm_flops_per_s = 900 * GB,
             .bytes_per_s = 190 * GB,
             .bytes_per_s_shared = 190 * GB,
             .gather_bytes_per_s = 60 * GB,
             .launch_ns = 15000,
             .memory_bytes = UINT64_C(2) << 30},
     .bus = {.pinned_bytes_per_s = 6 * GB, .pageable_bytes_per_s = 2 * GB, .latency_ns = 25000}},
};

static void near(const char *name, const char *what, struct gnn_figure got, uint64_t want)
{
    if (!(fabs(got.value / (double)want - 1) <= 0.03) || got.spread > 0.001)
        fail_msg("%s: %s is %.4g (spread %.3g), the profile says %.4g", name, what, got.value, got.spread,
                 (double)want);
}

static void test_a_modelled_gpu_gives_its_figures_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        const struct gnn_profile *const p = &gpus[i];
        struct clock clock = {.now_ns = 1};
        struct gnn_gpu_figures f;
        struct gnn_err err = {0};
        struct gnn_tensor *const t = open_modelled(&clock, p, true, 1);
        const struct gnn_gpu_bench bench = {
            .tensor = t, .now_ns = clock_now, .ctx = &clock, .repeats = 3, .divisor = 1};
        if (gnn_gpu_measure(&bench, &f, &err) != GNN_OK)
            fail_msg("%s: %s", p->name, err.message);
        near(p->name, "gemm", f.gemm, p->gpu.gemm_flops_per_s);
        near(p->name, "bandwidth", f.bandwidth, p->gpu.bytes_per_s);
        near(p->name, "gather", f.gather, p->gpu.gather_bytes_per_s);
        near(p->name, "launch", f.launch, p->gpu.launch_ns);
        near(p->name, "pinned", f.pinned, p->bus.pinned_bytes_per_s);
        near(p->name, "pageable", f.pageable, p->bus.pageable_bytes_per_s);
        near(p->name, "latency", f.latency, p->bus.latency_ns);
        assert_int_equal(f.check_count, 8);
        for (uint32_t c = 0; c < f.check_count; c++)
            if (!(fabs(f.checks[c].predicted_ns / f.checks[c].measured_ns - 1) <= 0.03))
                fail_msg("%s: %s: predicted %.0f ns, measured %.0f ns", p->name, f.checks[c].what,
                         f.checks[c].predicted_ns, f.checks[c].measured_ns);
        assert_true(gnn_gpu_worst(&f) <= 0.03);
        t->ops->close(t);
        assert_int_equal(clock.memory.current_bytes, 0);
    }
}

static void test_a_small_device_is_a_result(void **state)
{
    (void)state;
    struct gnn_profile small = gpus[0];
    small.gpu.memory_bytes = 64 << 20;
    struct clock clock = {.now_ns = 1};
    struct gnn_gpu_figures f;
    struct gnn_err err = {0};
    struct gnn_tensor *const t = open_modelled(&clock, &small, true, 1);
    const struct gnn_gpu_bench bench = {.tensor = t, .now_ns = clock_now, .ctx = &clock, .repeats = 3, .divisor = 1};
    assert_int_equal(gnn_gpu_measure(&bench, &f, &err), GNN_EGPU);
    assert_non_null(strstr(err.message, "GPU memory"));
    t->ops->close(t);
}

/* A device that takes no time has no figures: said, not divided by. */
static uint64_t clock_stopped(void *ctx)
{
    (void)ctx;
    return 5;
}

static void test_a_clock_that_stands_still_is_refused(void **state)
{
    (void)state;
    struct clock clock = {.now_ns = 1};
    struct gnn_gpu_figures f;
    struct gnn_err err = {0};
    struct gnn_tensor *const t = open_modelled(&clock, &gpus[0], true, 1);
    const struct gnn_gpu_bench bench = {
        .tensor = t, .now_ns = clock_stopped, .ctx = &clock, .repeats = 3, .divisor = 16};
    assert_int_equal(gnn_gpu_measure(&bench, &f, &err), GNN_EBUG);
    assert_non_null(strstr(err.message, "came out as"));
    t->ops->close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_modelled_gpu_gives_its_figures_back),
        cmocka_unit_test(test_a_small_device_is_a_result),
        cmocka_unit_test(test_a_clock_that_stands_still_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
