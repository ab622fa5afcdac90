/* SPDX-License-Identifier: MIT */
/* Calibration without measuring: fio's report, medians and spreads. Figures to a profile's text and back are in
 * test_calibrate_profile.c. */
#include "harness/calibrate/busy.h"
#include "harness/calibrate/calibrate.h"
#include "harness/calibrate/sustained.h"
#include "harness/fio/fio.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- fio ---- */

/* What fio 3.33 prints, cut down to two jobs and the fields that matter. */
static const char report[] =
    "note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1\n"
    "{\n"
    "  \"fio version\" : \"fio-3.33\",\n"
    "  \"timestamp\" : 1795247822,\n"
    "  \"jobs\" : [\n"
    "    { \"jobname\" : \"d16\", \"error\" : 0, \"job options\" : { \"bs\" : \"4k\", \"iodepth\" : \"16\" "
    "},\n"
    "      \"read\" : { \"io_bytes\" : 26077696, \"bw_bytes\" : 331200000, \"iops\" : 80850.117882,\n"
    "                   \"lat_ns\" : { \"mean\" : 197500.25 } },\n"
    "      \"write\" : { \"io_bytes\" : 0, \"bw_bytes\" : 0, \"iops\" : 0.000000 } },\n"
    "    { \"jobname\" : \"latency\", \"error\" : 0,\n"
    "      \"read\" : { \"bw_bytes\" : 0, \"iops\" : 0.0 },\n"
    "      \"write\" : { \"bw_bytes\" : 88000000, \"iops\" : 21484.5, \"lat_ns\" : { \"mean\" : 45100.5 } } "
    "}\n"
    "  ]\n"
    "}\n"
    "fio: terminating on signal 15\n";

static void test_fio_report(void **state)
{
    (void)state;
    struct gnn_fio_report *const r = malloc(sizeof *r);
    struct gnn_err err = {0};
    assert_non_null(r);
    assert_int_equal(gnn_fio_parse(report, r, &err), GNN_OK);
    assert_string_equal(r->version, "fio-3.33");
    assert_int_equal(r->count, 2);
    assert_string_equal(r->jobs[0].name, "d16");
    assert_true(fabs(r->jobs[0].read_iops - 80850.117882) < 1e-6);
    assert_true(r->jobs[0].read_bytes_per_s == 331200000.0);
    assert_true(r->jobs[0].read_latency_ns == 197500.25);
    assert_true(r->jobs[0].write_iops == 0 && r->jobs[0].write_latency_ns == 0);
    assert_string_equal(r->jobs[1].name, "latency");
    assert_true(fabs(r->jobs[1].write_latency_ns - 45100.5) < 1e-6);
    assert_true(fabs(r->jobs[1].write_iops - 21484.5) < 1e-6);
    assert_true(r->jobs[1].read_latency_ns == 0);
    free(r);
}

#define SIDE "{ \"iops\" : 1, \"bw_bytes\" : 512 }"
#define JOBS(text) "{ \"fio version\" : \"fio-3.33\", \"jobs\" : [" text "] }"

static const struct {
    const char *text;
    enum gnn_status status;
    const char *message;
} bad_reports[] = {
    {"", GNN_EFORMAT, "no JSON"},
    {"fio: unknown engine", GNN_EFORMAT, "no JSON"},
    {"{ \"fio version\" : ", GNN_EFORMAT, "line 1"},
    {"{ \"jobs\" : [] }", GNN_EFORMAT, "fio version"},
    {"{ \"fio version\" : \"\", \"jobs\" : [] }", GNN_EFORMAT, "fio version"},
    {JOBS(""), GNN_EFORMAT, "0 jobs"},
    {"{ \"fio version\" : \"fio-3.33\" }", GNN_EFORMAT, "0 jobs"},
    {JOBS("{ \"read\" : " SIDE ", \"write\" : " SIDE " }"), GNN_EFORMAT, "without jobname"},
    {JOBS("{ \"jobname\" : \"a\", \"read\" : " SIDE " }"), GNN_EFORMAT, "without jobname, read and write"},
    {JOBS("{ \"jobname\" : \"a\", \"read\" : { \"bw_bytes\" : 1 }, \"write\" : " SIDE " }"), GNN_EFORMAT,
     "\"a\": no iops"},
    {JOBS("{ \"jobname\" : \"a\", \"read\" : { \"iops\" : \"many\", \"bw_bytes\" : 1 }, \"write\" : " SIDE " }"),
     GNN_EFORMAT, "\"a\": no iops"},
    {JOBS("{ \"jobname\" : \"a\", \"read\" : { \"iops\" : -1, \"bw_bytes\" : 1 }, \"write\" : " SIDE " }"), GNN_EFORMAT,
     "\"a\": no iops"},
    {JOBS("{ \"jobname\" : \"a\", \"read\" : { \"iops\" : 1, \"bw_bytes\" : 1, \"lat_ns\" : { \"mean\" : -1 } }, "
          "\"write\" : " SIDE " }"),
     GNN_EFORMAT, "negative latency"},
    {JOBS("{ \"jobname\" : \"a\", \"error\" : 28, \"read\" : " SIDE ", \"write\" : " SIDE " }"), GNN_ENOSPC,
     "\"a\" failed"},
    {JOBS("{ \"jobname\" : \"a\", \"error\" : 5, \"read\" : " SIDE ", \"write\" : " SIDE " }"), GNN_EIO,
     "\"a\" failed"},
};

static void test_bad_fio_reports(void **state)
{
    (void)state;
    struct gnn_fio_report *const r = malloc(sizeof *r);
    assert_non_null(r);
    for (size_t i = 0; i < sizeof bad_reports / sizeof *bad_reports; i++) {
        struct gnn_err err = {0};
        const enum gnn_status status = gnn_fio_parse(bad_reports[i].text, r, &err);
        if (status != bad_reports[i].status || strstr(err.message, bad_reports[i].message) == NULL || r->count != 0)
            fail_msg("report %zu: status %d, \"%s\", %u jobs; expected %d, \"%s\"", i, status, err.message, r->count,
                     bad_reports[i].status, bad_reports[i].message);
    }
    free(r);
}

/* ---- mixtures, and writing for long ---- */

/* fio is asked to have its buffers in large pages, unless the user set what malloc does. */
static void test_fio_has_large_pages(void **state)
{
    (void)state;
    char dir[] = "/tmp/oocgnn-test-XXXXXX", path[64], before[4096], version[128];
    struct gnn_err err = {0};
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/fio", dir);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("#!/bin/sh\necho \"fio-3.33 $GLIBC_TUNABLES\"\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    (void)snprintf(before, sizeof before, "%s", getenv("PATH"));
    assert_int_equal(setenv("PATH", dir, 1), 0);
    assert_int_equal(gnn_fio_version(version, sizeof version, &err), GNN_OK);
    assert_string_equal(version, "fio-3.33 glibc.malloc.hugetlb=1");
    assert_int_equal(setenv("GLIBC_TUNABLES", "glibc.malloc.check=0", 1), 0);
    assert_int_equal(gnn_fio_version(version, sizeof version, &err), GNN_OK);
    assert_string_equal(version, "fio-3.33 glibc.malloc.check=0");
    assert_int_equal(unsetenv("GLIBC_TUNABLES"), 0);
    assert_int_equal(setenv("PATH", before, 1), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

/* A job of both kinds, as fio 3.33 prints it. */
static const char mixed_report[] =
    "{ \"fio version\" : \"fio-3.33\", \"jobs\" : [\n"
    "    { \"jobname\" : \"mixed\", \"error\" : 0,\n"
    "      \"read\" : { \"io_bytes\" : 734003200, \"bw_bytes\" : 366818190, \"iops\" : 2798.6 },\n"
    "      \"write\" : { \"io_bytes\" : 314572800, \"bw_bytes\" : 157207796, \"iops\" : 1199.4,\n"
    "                    \"lat_ns\" : { \"mean\" : 8012345.5 } } } ] }";

static void test_a_mixed_report(void **state)
{
    (void)state;
    struct gnn_fio_report *const r = malloc(sizeof *r);
    struct gnn_err err = {0};
    assert_non_null(r);
    assert_int_equal(gnn_fio_parse(mixed_report, r, &err), GNN_OK);
    const struct gnn_fio_job *const mixed = gnn_fio_job_named(r, "mixed");
    assert_non_null(mixed);
    assert_null(gnn_fio_job_named(r, "mix"));
    assert_true(mixed->read_bytes_per_s == 366818190.0 && mixed->write_bytes_per_s == 157207796.0);
    assert_true(mixed->write_bytes == 314572800.0);
    free(r);
}

/* Pieces of two seconds each, at these MB/s, as a report of fio's; the text is to be freed. */
static char *pieces_text(const double *mb_per_s, uint32_t count)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    assert_non_null(out);
    (void)fprintf(out, "{ \"fio version\" : \"fio-3.33\", \"jobs\" : [");
    for (uint32_t i = 0; i < count; i++)
        (void)fprintf(out,
                      "%s{ \"jobname\" : \"piece%u\", \"read\" : { \"iops\" : 0, \"bw_bytes\" : 0 }, \"write\" : "
                      "{ \"iops\" : %.0f, \"bw_bytes\" : %.0f, \"io_bytes\" : %.0f } }",
                      i == 0 ? "" : ",", i, mb_per_s[i] / 1.048576, 1e6 * mb_per_s[i], 2e6 * mb_per_s[i]);
    (void)fprintf(out, "] }");
    assert_int_equal(fclose(out), 0);
    return text;
}

static enum gnn_status sustained(const double *mb_per_s, uint32_t count, double full, struct gnn_sustained *out)
{
    struct gnn_fio_report *const r = malloc(sizeof *r);
    char *const text = pieces_text(mb_per_s, count);
    assert_non_null(r);
    assert_int_equal(gnn_fio_parse(text, r, NULL), GNN_OK);
    const enum gnn_status status = gnn_sustained_of(r, full, out, NULL);
    free(text);
    free(r);
    return status;
}

/* 3.3 GB at 500 MB/s, then 100: three pieces whole, 0.6 s of the fourth. */
static void test_a_device_that_falls(void **state)
{
    (void)state;
    static const double rates[] = {500, 500, 500, 220, 100, 100, 100, 100, 100, 100};
    struct gnn_sustained s;
    assert_int_equal(sustained(rates, 10, 500e6, &s), GNN_OK);
    assert_true(s.falls);
    assert_true(fabs(s.bytes_per_s - 100e6) < 1);
    assert_true(fabs(s.burst_bytes - 3.3e9) < 1e3);
    assert_true(fabs(s.written_bytes - 4.64e9) < 1);
    assert_int_equal(sustained(rates, 10, 90e6, &s), GNN_OK); /* no more than what it writes for a moment */
    assert_true(s.bytes_per_s == 90e6);
    assert_int_equal(sustained(rates, 9, 500e6, &s), GNN_EFORMAT);
    static const double stuck[] = {500, 500, 500, 0, 100, 100, 100, 100, 100, 100};
    assert_int_equal(sustained(stuck, 10, 500e6, &s), GNN_EFORMAT);
}

/* A tenth up and down, or one slow piece, is no fall. */
static void test_a_device_that_keeps_its_rate(void **state)
{
    (void)state;
    static const double rates[][10] = {{500, 500, 500, 500, 500, 500, 500, 500, 500, 500},
                                       {500, 450, 540, 510, 470, 460, 530, 450, 410, 480},
                                       {500, 500, 90, 500, 500, 500, 500, 100, 500, 500}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        struct gnn_sustained s;
        assert_int_equal(sustained(rates[i], 10, 500e6, &s), GNN_OK);
        assert_false(s.falls);
        assert_true(s.bytes_per_s == 0 && s.burst_bytes == 0);
    }
}

/* ---- figures ---- */

static const struct {
    uint32_t count;
    double values[8];
    double median, spread;
} medians[] = {
    {1, {5}, 5, 0},
    {2, {2, 4}, 3, 2.0 / 3},
    {3, {9, 1, 5}, 5, 8.0 / 5},
    {4, {4, 1, 3, 2}, 2.5, 1.0 / 2.5}, /* the outer two are outside the quartiles */
    {7, {10, 10, 1000, 10, 12, 10, 1}, 10, 0.2},
};

static void test_median_and_spread(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof medians / sizeof *medians; i++) {
        double values[8];
        memcpy(values, medians[i].values, sizeof values);
        const struct gnn_figure figure = gnn_figure_of(values, medians[i].count);
        if (fabs(figure.value - medians[i].median) > 1e-12 || fabs(figure.spread - medians[i].spread) > 1e-12)
            fail_msg("case %zu: median %g, spread %g", i, figure.value, figure.spread);
    }
}

static enum gnn_status count_up(void *ctx, double *values, struct gnn_err *err)
{
    double *const calls = ctx;
    if (*calls == 4)
        return gnn_fail(err, GNN_EIO, "the fifth call");
    *calls += 1;
    values[0] = *calls;
    values[1] = -*calls;
    return GNN_OK;
}

static void test_repetitions(void **state)
{
    (void)state;
    struct gnn_figure figures[2];
    struct gnn_err err = {0};
    double calls = 0;
    assert_int_equal(gnn_figures_measure(count_up, &calls, 3, 2, figures, &err), GNN_OK);
    assert_true(calls == 4); /* one more to warm up, not counted: the median of 2, 3, 4 */
    assert_true(figures[0].value == 3 && figures[1].value == -3);
    assert_int_equal(gnn_figures_measure(count_up, &calls, 3, 2, figures, &err), GNN_EIO);
}

/* Time of this thread is not "besides"; more than all cores cannot be. */
static void test_busy(void **state)
{
    (void)state;
    struct gnn_busy busy;
    gnn_busy_begin(1, &busy);
    const uint64_t start_ns = gnn_host_now_ns();
    while (gnn_host_now_ns() - start_ns < 30000000)
        continue;
    assert_true(gnn_busy_besides_ns(&busy, 1e12) == 0);
    assert_true(gnn_busy_besides_ns(&busy, 0) <= (double)(gnn_host_now_ns() - busy.wall_ns) + 4e7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fio_report),
        cmocka_unit_test(test_bad_fio_reports),
        cmocka_unit_test(test_fio_has_large_pages),
        cmocka_unit_test(test_a_mixed_report),
        cmocka_unit_test(test_a_device_that_falls),
        cmocka_unit_test(test_a_device_that_keeps_its_rate),
        cmocka_unit_test(test_median_and_spread),
        cmocka_unit_test(test_repetitions),
        cmocka_unit_test(test_busy),
    };
    return cmocka_run_group_tests_name("calibrate", tests, NULL, NULL);
}
