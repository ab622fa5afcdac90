/* SPDX-License-Identifier: MIT */
/* A hardware profile's text: figures, the grid by hand, what is refused with file and line, its age. Files are in
 * test_profile_files.c. */
#include "tests/support/toy_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_figures(void **state)
{
    (void)state;
    struct gnn_profile *p = parse("some/where/toy-box.ini", GOOD);
    assert_string_equal(p->name, "toy-box");
    assert_string_equal(p->machine_id, "toy");
    assert_string_equal(p->title, "A toy");
    assert_int_equal(p->memory_bytes, UINT64_C(8) << 30);
    assert_int_equal(p->kernel, GNN_PROFILE_KERNEL); /* none is named */
    assert_int_equal(p->storage.devices, 2);
    assert_int_equal(p->storage.write_latency_ns, 40000);
    assert_int_equal(p->storage.write_iops, 20000);
    assert_int_equal(p->storage.write_bytes_per_s, 400000000);
    assert_int_equal(p->cpu.cores, 4);
    assert_int_equal(p->cpu.work_ps[GNN_WORK_SAMPLED_EDGE], 7000);
    assert_int_equal(p->cpu.work_ps[GNN_WORK_HASHED_ID], 8500);
    assert_int_equal(p->cpu.work_ps[GNN_WORK_COPIED_BYTE], 70);
    assert_int_equal(p->cpu.work_ps[GNN_WORK_CPU_NS], 1000);
    assert_int_equal(p->cpu.fault_major_ns, 2500);
    assert_true(p->host.present && p->gpu.present);
    assert_int_equal(p->host.gemm_flops_per_s, UINT64_C(100000000000));
    assert_int_equal(p->gpu.gemm_flops_per_s, UINT64_C(24900000000000));
    assert_int_equal(p->gpu.memory_bytes, UINT64_C(24) << 30);
    assert_int_equal(p->gpu.bytes_per_s_shared, UINT64_C(795000000000));
    assert_int_equal(p->gpu.devices, 1); /* one, that has nobody to talk to but the host */
    assert_int_equal(p->bus.link_bytes_per_s, p->bus.pinned_bytes_per_s);
    assert_int_equal(p->bus.link_latency_ns, p->bus.latency_ns);
    assert_int_equal(p->bus.latency_ns, 10000);
    gnn_profile_close(p);
    gnn_profile_close(NULL);
}

/* Latency 80 us, 100 k/s, 409.6 MB/s: 10 us a request, and 10 us for each 4 KiB. */
static void test_grid_from_three_figures(void **state)
{
    (void)state;
    struct gnn_profile *p = parse("toy.ini", GOOD);
    const struct gnn_profile_storage *st = &p->storage;
    assert_int_equal(st->size_count, 12);
    assert_int_equal(st->size_bytes[0], 512);
    assert_int_equal(st->size_bytes[11], 1 << 20);
    assert_int_equal(st->depth_count, 6);
    assert_int_equal(st->depth[0], 1);
    assert_int_equal(st->depth[5], 32);
    const struct {
        uint32_t size, depth;
        uint64_t us;
    } cases[] = {
        {0, 0, 80},    {3, 0, 80},    {0, 3, 10}, /* 512 B and 4 KiB alike: 80 / 8 = 10 */
        {3, 2, 20},    {3, 5, 10},                /* IOPS bound */
        {4, 0, 90},    {4, 3, 20},                /* 8 KiB: 80 + 10 alone; the bandwidth at depth */
        {11, 0, 2630}, {11, 5, 2560},             /* 1 MiB */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(st->read_ps[cases[i].size][cases[i].depth], cases[i].us * 1000000);
    gnn_profile_close(p);
    p = parse("deep.ini", MACHINE "[storage]\ndevices = 1 stated\nstripe = 64K stated\nsector = 4096 stated\n"
                                  "depth_max = 48 stated\nwrite_latency = 1us stated\nwrite_iops = 1/s stated\n"
                                  "write_bandwidth = 1B/s stated\nreadahead = 0 stated\n" CURVE CPU COSTS HOST);
    assert_int_equal(p->storage.size_bytes[0], 4096);
    assert_int_equal(p->storage.depth_count, 7);
    assert_int_equal(p->storage.depth[6], 48); /* the deepest is in the grid */
    assert_false(p->gpu.present);
    gnn_profile_close(p);
}

static void test_the_kernel_is_a_version(void **state)
{
    (void)state;
    static const struct {
        const char *figure;
        uint32_t kernel; /* 0: refused */
    } cases[] = {{"5.19 stated", 5019}, {"6.8 assumed: not stated", 6008},
                 {"6.10 stated", 6010}, {"5.19", 0},
                 {"5 stated", 0},       {"5.1x stated", 0},
                 {".19 stated", 0},     {"5. stated", 0},
                 {"2.6 stated", 0},     {"5.1000 stated", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096];
        struct gnn_profile *p = NULL;
        struct gnn_err err = {0};
        (void)snprintf(text, sizeof text, "%skernel = %s\n[storage]\n%s%s%s%s%s", MACHINE, cases[i].figure, WRITES,
                       CURVE, CPU, COSTS, HOST);
        const enum gnn_status status = gnn_profile_parse("p.ini", text, &p, &err);
        assert_int_equal(status, cases[i].kernel == 0 ? GNN_EFORMAT : GNN_OK);
        if (status == GNN_OK)
            assert_int_equal(p->kernel, cases[i].kernel);
        gnn_profile_close(p);
    }
}

static void test_grid_given(void **state)
{
    (void)state;
    struct gnn_profile *p = parse("toy.ini", MACHINE "[storage]\n" WRITES "read_depths = 1,4,128 measured: fio\n"
                                                     "read_us.512 = 80.25,20.000001,10 measured\n"
                                                     "read_us.1M = 2000,1900,1900 measured\n" CPU COSTS HOST);
    const struct gnn_profile_storage *st = &p->storage;
    assert_int_equal(st->size_count, 2);
    assert_int_equal(st->depth_count, 3);
    assert_int_equal(st->depth[2], 128);
    assert_int_equal(st->size_bytes[1], 1 << 20);
    assert_int_equal(st->read_ps[0][0], 80250000);
    assert_int_equal(st->read_ps[0][1], 20000001);
    assert_int_equal(st->read_ps[1][2], UINT64_C(1900000000));
    assert_int_equal(st->scattered_ps[1][0], 0); /* not known */
    gnn_profile_close(p);
}

/* Reads into single pages have rows of their own, of sizes that have one already. */
static void test_scattered_rows(void **state)
{
    (void)state;
    struct gnn_profile *p = parse("toy.ini", MACHINE "[storage]\n" WRITES "read_depths = 1,4 measured: fio\n"
                                                     "read_us.4K = 80,20 measured\n"
                                                     "read_us.64K = 100,30 measured\n"
                                                     "read_us.1M = 400,300 measured\n"
                                                     "read_scattered_us.1M = 900,800.5 measured\n"
                                                     "read_scattered_us.64K = 110,31 measured\n" CPU COSTS HOST);
    static const uint64_t expected_us[3][2] = {{0, 0}, {110, 31}, {900, 800}};
    for (uint32_t s = 0; s < 3; s++)
        for (uint32_t d = 0; d < 2; d++)
            assert_int_equal(p->storage.scattered_ps[s][d] / 1000000, expected_us[s][d]);
    assert_int_equal(p->storage.scattered_ps[2][1], UINT64_C(800500000));
    assert_int_equal(p->storage.read_ps[2][1], UINT64_C(300000000));
    gnn_profile_close(p);
}

/* What a device does with reads beside writes, and written to for long, may be left out. */
static void test_mixed_and_sustained_figures(void **state)
{
    (void)state;
    struct gnn_profile *p = parse("p.ini", MACHINE "[storage]\n" WRITES CURVE CPU COSTS HOST);
    assert_int_equal(p->storage.mixed_bytes_per_s, 0);
    assert_int_equal(p->storage.write_sustained_bytes_per_s, 0);
    assert_int_equal(p->storage.write_burst_bytes, 0);
    gnn_profile_close(p);
    p = parse("p.ini", MACHINE "[storage]\nmixed_bandwidth = 300MB/s measured\nwrite_sustained = 90MB/s datasheet\n"
                               "write_burst = 42G datasheet\n" WRITES CURVE CPU COSTS HOST);
    assert_int_equal(p->storage.mixed_bytes_per_s, 300000000);
    assert_int_equal(p->storage.write_sustained_bytes_per_s, 90000000);
    assert_int_equal(p->storage.write_burst_bytes, UINT64_C(42) << 30);
    gnn_profile_close(p);
}

/* ---- refusals ---- */

static void test_refusals_name_file_line_and_key(void **state)
{
    (void)state;
    const struct {
        const char *text, *words[3];
    } cases[] = {
        {MACHINE "[storage]\n" WRITES CURVE "[cpu]\ncores = 4\n", {"p.ini:19:", "cores = 4", "stated, datasheet"}},
        {MACHINE "[cpu]\ncores = 4 guessed\n", {"p.ini:7:", "cores", "source"}},
        {MACHINE "[cpu]\ncores = 4 stated by nobody\n", {"p.ini:7:", "colon"}},
        {MACHINE "[cpu]\ncores = 4 statedly\n", {"p.ini:7:", "source"}},
        {MACHINE "[cpu]\ncoers = 4 stated\n", {"p.ini:7:", "coers", "did you mean \"cores\""}},
        {"[machin]\nmemory = 8G stated\n", {"p.ini:1:", "[machin]", "\"machine\""}},
        {"[global]\nmemory = 8G stated\n", {"p.ini:1:", "[global]"}},
        {MACHINE "[cpu]\nclock = 2.6 stated\n", {"p.ini:7:", "MHz or GHz"}},
        {MACHINE "[cpu]\nclock = 2.6GB/s stated\n", {"p.ini:7:", "clock"}},
        {MACHINE "[cpu]\ncores = 4.5 stated\n", {"p.ini:7:", "plain integer"}},
        {MACHINE "[cpu]\ncores = -4 stated\n", {"p.ini:7:", "plain integer"}},
        {MACHINE "[cpu]\ncores = 0 stated\n", {"p.ini:7:", "too small"}},
        {MACHINE "[cpu]\ncores = 99999999999 stated\n", {"p.ini:7:", "too large"}},
        {MACHINE "[cpu]\nsyscall = 0.5ns stated\n", {"p.ini:7:", "whole nanoseconds"}},
        {MACHINE "[cpu]\nsampled_edge = 0.0001ns stated\n", {"p.ini:7:", "whole picoseconds"}},
        {MACHINE "[cpu]\nsyscall = 99999999999999999999999s stated\n", {"p.ini:7:", "syscall"}},
        {MACHINE "[cpu]\nsyscall = . stated\n", {"p.ini:7:", "syscall"}},
        {MACHINE "[storage]\nread_bandwidth = 550MiB/s stated\n", {"p.ini:7:", "powers of 1000"}},
        {MACHINE "[storage]\nread_iops = 98000 stated\n", {"p.ini:7:", "98k/s"}},
        {MACHINE "[storage]\nstripe = 64Q stated\n", {"p.ini:7:", "128K"}},
        {MACHINE "[storage]\nread_us.512 = 1 stated\n", {"p.ini:7:", "read_depths"}},
        {MACHINE "[storage]\nread_uss.512 = 1 stated\n",
         {"p.ini:7:", "no key \"read_uss.512\"", "did you mean \"read_us.512\"?"}},
        {MACHINE "[storage]\nread_us64K = 1 stated\n", {"p.ini:7:", "did you mean \"read_us.64K\"?"}},
        {MACHINE "[storage]\nread_us = 1 stated\n", {"p.ini:7:", "did you mean \"read_us.SIZE\"?"}},
        {MACHINE "[storage]\nread_scatered_us.64K = 1 stated\n",
         {"p.ini:7:", "did you mean \"read_scattered_us.64K\"?"}},
        {MACHINE "[storage]\nread_scattered.4K = 1 stated\n", {"p.ini:7:", "did you mean \"read_scattered_us.4K\"?"}},
        {MACHINE "[storage]\nread_scattered = 1 stated\n", {"p.ini:7:", "did you mean \"read_scattered_us.SIZE\"?"}},
        {MACHINE "[storage]\nread_depths = 2,4 stated\n", {"p.ini:7:", "start at 1"}},
        {MACHINE "[storage]\nread_depths = 1,4,4 stated\n", {"p.ini:7:", "ascend"}},
        {MACHINE "[storage]\nread_depths = 1,,4 stated\n", {"p.ini:7:", "1,2,4"}},
        {MACHINE "[storage]\nread_depths = 1,2 stated\nread_us.4K = 3 stated\n", {"p.ini:8:", "each of read_depths"}},
        {MACHINE "[storage]\nread_depths = 1 stated\nread_us.4K = 0 stated\n", {"p.ini:8:", "microseconds"}},
        {MACHINE "[storage]\nread_depths = 1 stated\nread_us.4K = 3 stated\nread_us.512 = 3 stated\n",
         {"p.ini:9:", "above"}},
        {MACHINE "[storage]\n" WRITES "read_depths = 1 stated\n" CPU COSTS HOST, {"p.ini:15:", "read_us.SIZE"}},
        {MACHINE "[storage]\nread_scattered_us.4K = 3 stated\n", {"p.ini:7:", "read_us", "must come before"}},
        {MACHINE "[storage]\nread_depths = 1 stated\nread_us.4K = 3 stated\nread_scattered_us.8K = 3 stated\n",
         {"p.ini:9:", "read_us", "must come before"}},
        {MACHINE "[storage]\nread_depths = 1 stated\nread_us.4K = 3 stated\nread_scattered_us.x = 3 stated\n",
         {"p.ini:9:", "read_us", "must come before"}},
        {MACHINE "[storage]\nread_depths = 1 stated\nread_us.4K = 3 stated\nread_scattered_us.4K = 3,4 stated\n",
         {"p.ini:9:", "each of read_depths"}},
        {MACHINE "[storage]\nread_depths = 1 stated\nread_us.4K = 3 stated\nread_scattered_us.4K = 0 stated\n",
         {"p.ini:9:", "microseconds"}},
        {MACHINE "[storage]\nread_depths = 1 stated\nread_us.1M = 3 stated\nread_scattered_us.1M = 4 stated\n"
                 "read_scattered_us.1024K = 5 stated\n",
         {"p.ini:10:", "second row"}},
        {MACHINE "[storage]\n" WRITES CPU COSTS HOST, {"p.ini:", "read_latency"}},
        {MACHINE "[storage]\nmixed_bandwidth = 900kB/s stated\n", {"p.ini:7:", "mixed_bandwidth", "too small"}},
        {MACHINE "[storage]\nwrite_burst = 1G stated\n" WRITES CURVE CPU COSTS HOST,
         {"p.ini:", "must be given together"}},
        {MACHINE "[storage]\nwrite_sustained = 1MB/s stated\n" WRITES CURVE CPU COSTS HOST,
         {"p.ini:", "must be given together"}},
        {MACHINE "[storage]\nwrite_sustained = 401MB/s stated\nwrite_burst = 1G stated\n" WRITES CURVE CPU COSTS HOST,
         {"p.ini:", "write_bandwidth"}},
        {MACHINE "[storage]\n" WRITES CURVE CPU HOST, {"p.ini:", "sampled_edge"}},
        {MACHINE "[storage]\n" WRITES CURVE CPU COSTS, {"p.ini:", "[host] lacks gemm"}},
        {MACHINE "[storage]\n" WRITES CURVE CPU COSTS HOST GPU, {"p.ini:", "[bus] lacks pinned"}},
        {MACHINE "[storage]\n" WRITES CURVE CPU COSTS HOST "[gpu]\n" BUS, {"p.ini:", "[gpu] lacks gemm"}},
        {MACHINE "[storage]\n" WRITES CURVE CPU COSTS "[host]\ngemm = 100GFLOP/s derived\nbandwidth = 10GB/s assumed\n"
                 "bandwidth_shared = 9.9GB/s derived\ngather = 4GB/s assumed\nlaunch = 200ns assumed\n",
         {"p.ini:", "bandwidth_shared is below"}},
        {MACHINE "[storage]\n" WRITES CURVE CPU "costs = no/such.ini\n" HOST, {"no/such.ini"}},
        {"[machine]\nmachine_id = toy\n", {"p.ini:", "title"}},
        {"[machine]\nmachine_id =\n", {"p.ini:2:"}},
        {"[machine]\ncalibrated = 2026-11-24T17:33:34Z\n", {"p.ini:2:", "source"}},
        {"[machine]\ncalibrated = 2026-11-24 stated\n", {"p.ini:2:", "calibrated", "2026-11-24T17:33:34Z"}},
        {"[machine]\ncalibrated = 2026-11-24T17:33:34+01:00 stated\n", {"p.ini:2:", "2026-11-24T17:33:34Z"}},
        {"[machine]\ncalibrated = 1970-01-01T00:00:00Z stated\n", {"p.ini:2:", "too small"}},
        {"memory = 8G stated\n", {"p.ini:1:", "section"}},
        {"", {"p.ini:", "machine_id"}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct gnn_profile *p = NULL;
        struct gnn_err err = {0};
        const enum gnn_status status = gnn_profile_parse("p.ini", cases[c].text, &p, &err);
        if (status == GNN_OK)
            fail_msg("case %zu is taken", c);
        for (size_t w = 0; w < 3 && cases[c].words[w] != NULL; w++)
            if (strstr(err.message, cases[c].words[w]) == NULL)
                fail_msg("case %zu: \"%s\" is not in: %s", c, cases[c].words[w], err.message);
        assert_null(p);
    }
}

/* Rows of the grid belong into [storage] alone, and what resembles none is told without a guess. */
static void test_a_key_that_is_far_from_all_gets_no_guess(void **state)
{
    (void)state;
    static const char *const texts[] = {MACHINE "[cpu]\nread_uss.4K = 1 stated\n",
                                        MACHINE "[storage]\nanswer_time.4K = 1 stated\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct gnn_profile *p = NULL;
        struct gnn_err err = {0};
        assert_int_equal(gnn_profile_parse("p.ini", texts[i], &p, &err), GNN_EFORMAT);
        assert_non_null(strstr(err.message, "p.ini:7:"));
        assert_non_null(strstr(err.message, " has no key \""));
        assert_null(strstr(err.message, "did you mean"));
    }
}

/* ---- when it was calibrated ---- */

static void test_the_age_of_a_calibration(void **state)
{
    (void)state;
    static const uint64_t then = 1767323045; /* 2026-01-02T03:04:05Z */
    static const struct {
        const char *line;
        uint64_t now_s, age_s;
        const char *text;
    } cases[] = {
        {"", then, GNN_UNKNOWN, "calibrated at an unknown time"},
        {"calibrated = 2026-01-02T03:04:05Z stated\n", then, 0, "calibrated 2026-01-02T03:04:05Z, 0 hours ago"},
        {"calibrated = 2026-01-02T03:04:05Z stated: by a clock\n", then + 3600, 3600,
         "calibrated 2026-01-02T03:04:05Z, 1 hour ago"},
        {"calibrated = 2026-01-02T03:04:05Z stated\n", then + 48 * 3600 - 1, 48 * 3600 - 1,
         "calibrated 2026-01-02T03:04:05Z, 47 hours ago"},
        {"calibrated = 2026-01-02T03:04:05Z stated\n", then + 48 * 3600, 48 * 3600,
         "calibrated 2026-01-02T03:04:05Z, 2 days ago"},
        {"calibrated = 2026-01-02T03:04:05Z stated\n", then - 1, GNN_UNKNOWN,
         "calibrated 2026-01-02T03:04:05Z, which is yet to come by this machine's clock"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char text[2048], age[GNN_PROFILE_AGE_BYTES];
        (void)snprintf(text, sizeof text, "%s%s%s", MACHINE, cases[c].line, "[storage]\n" WRITES CURVE CPU COSTS HOST);
        struct gnn_profile *const p = parse("p.ini", text);
        assert_int_equal(gnn_profile_age_s(p, cases[c].now_s), cases[c].age_s);
        assert_string_equal(gnn_profile_age_text(p, cases[c].now_s, age, sizeof age), cases[c].text);
        gnn_profile_close(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_grid_from_three_figures),
        cmocka_unit_test(test_the_kernel_is_a_version),
        cmocka_unit_test(test_grid_given),
        cmocka_unit_test(test_scattered_rows),
        cmocka_unit_test(test_mixed_and_sustained_figures),
        cmocka_unit_test(test_refusals_name_file_line_and_key),
        cmocka_unit_test(test_a_key_that_is_far_from_all_gets_no_guess),
        cmocka_unit_test(test_the_age_of_a_calibration),
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
