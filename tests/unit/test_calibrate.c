/* Calibration without measuring: fio's report, medians and spreads, figures to a profile's text and back, and the
 * check of the simulated device. */
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

/* ---- the profile ---- */

/* Figures that tell each other apart, in the units a profile's text has. */
static struct gnn_calibration *some_calibration(void)
{
    struct gnn_calibration *const c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->began_s = 1767323045; /* 2026-01-02T03:04:05Z */
    (void)snprintf(c->host, sizeof c->host, "host");
    (void)snprintf(c->kernel, sizeof c->kernel, "6.1");
    (void)snprintf(c->cpu_model, sizeof c->cpu_model, "A CPU, quick");
    (void)snprintf(c->device_model, sizeof c->device_model, "vda, scheduler none");
    (void)snprintf(c->fio_version, sizeof c->fio_version, "fio-3.33");
    (void)snprintf(c->fio_engine, sizeof c->fio_engine, "io_uring");
    c->memory_bytes = UINT64_C(25276514304);
    c->file_bytes = UINT64_C(2) << 30;
    c->cores = 3;
    c->sequential_read_bytes_per_s = 1e9;
    struct gnn_profile_storage *const s = &c->storage;
    *s = (struct gnn_profile_storage){
        .devices = 1, .stripe_bytes = 1 << 20, .sector_bytes = 512, .depth_max = 128, .readahead_bytes = 128 << 10};
    for (uint64_t size = 512; size <= 1 << 20; size *= 4)
        s->size_bytes[s->size_count++] = size;
    for (uint32_t depth = 1; depth <= 128; depth *= 2)
        s->depth[s->depth_count++] = depth;
    for (uint32_t i = 0; i < s->size_count; i++)
        for (uint32_t d = 0; d < s->depth_count; d++) {
            const double latency_us = 40.0 + (double)s->size_bytes[i] / 1000, floor_us = 10.0 + latency_us / 40;
            s->read_ps[i][d] = (uint64_t)(1e6 * fmax(latency_us / s->depth[d], floor_us));
            s->scattered_ps[i][d] = s->size_bytes[i] > 4096 ? 2 * s->read_ps[i][d] : 0;
        }
    for (uint32_t i = 0; i < GNN_FIGURE_COUNT; i++)
        c->figure[i] = (struct gnn_figure){.value = 1001 + i, .spread = i % 3 * 0.2};
    c->figure[GNN_FIGURE_PROCESS].value = 3 << 20;
    static const enum gnn_figure_id rates[] = {
        GNN_FIGURE_WRITE_BANDWIDTH, GNN_FIGURE_MIXED_BANDWIDTH,  GNN_FIGURE_CLOCK,      GNN_FIGURE_GEMM,
        GNN_FIGURE_BANDWIDTH,       GNN_FIGURE_BANDWIDTH_SHARED, GNN_FIGURE_HOST_GATHER};
    for (uint32_t i = 0; i < sizeof rates / sizeof *rates; i++)
        c->figure[rates[i]].value *= 1e6;
    return c;
}

static struct gnn_profile *through_text(const struct gnn_calibration *c)
{
    struct gnn_err err = {0};
    struct gnn_profile *profile = NULL;
    char *text = NULL;
    assert_int_equal(gnn_calibration_text(c, &text, &err), GNN_OK);
    const enum gnn_status status = gnn_profile_parse("here/this.ini", text, &profile, &err);
    if (status != GNN_OK)
        fail_msg("%s\n%s", err.message, text);
    free(text);
    return profile;
}

/* Where shared memory is of large pages nothing is known of single ones, and the file says so. */
static void test_what_was_not_scattered_is_told(void **state)
{
    (void)state;
    struct gnn_calibration *const c = some_calibration();
    char *text = NULL;
    memset(c->storage.scattered_ps, 0, sizeof c->storage.scattered_ps);
    (void)snprintf(c->scattered_missing, sizeof c->scattered_missing, "by shmem_enabled: [always] never");
    struct gnn_profile *const p = through_text(c);
    for (uint32_t i = 0; i < p->storage.size_count; i++)
        assert_int_equal(p->storage.scattered_ps[i][0], 0);
    assert_int_equal(gnn_calibration_text(c, &text, NULL), GNN_OK);
    assert_non_null(strstr(text, "\n; no read_scattered_us: by shmem_enabled: [always] never\n"));
    free(text);
    gnn_profile_close(p);
    free(c);
}

static void test_grid_survives(void **state)
{
    (void)state;
    struct gnn_calibration *const c = some_calibration();
    struct gnn_profile *const p = through_text(c);
    const struct gnn_profile_storage *const a = &c->storage, *const b = &p->storage;
    assert_int_equal(a->size_count, b->size_count);
    assert_int_equal(a->depth_count, b->depth_count);
    assert_memory_equal(a->size_bytes, b->size_bytes, sizeof a->size_bytes);
    assert_memory_equal(a->depth, b->depth, sizeof a->depth);
    for (uint32_t i = 0; i < a->size_count; i++)
        for (uint32_t d = 0; d < a->depth_count; d++) {
            const double ratio = (double)b->read_ps[i][d] / (double)a->read_ps[i][d];
            if (fabs(ratio - 1) > 1e-4) /* a nanosecond below 100 us, four digits above */
                fail_msg("%u at depth %u: %g", (unsigned)a->size_bytes[i], a->depth[d], ratio);
            const double both = (double)b->scattered_ps[i][d] / (double)b->read_ps[i][d];
            const double wanted = a->size_bytes[i] > 4096 ? 2 : 0;
            if (fabs(both - wanted) > 2e-4)
                fail_msg("%u at depth %u: into single pages %g times", (unsigned)a->size_bytes[i], a->depth[d], both);
        }
    assert_int_equal(b->sector_bytes, 512);
    assert_int_equal(b->depth_max, 128);
    assert_int_equal(b->devices, 1);
    assert_int_equal(b->readahead_bytes, 128 << 10);
    assert_int_equal(p->kernel, 6001);
    assert_int_equal(p->calibrated_s, c->began_s);
    gnn_profile_close(p);
    free(c);
}

static void test_figures_survive(void **state)
{
    (void)state;
    struct gnn_calibration *const c = some_calibration();
    struct gnn_profile *const p = through_text(c);
    const struct gnn_profile_cpu *const cpu = &p->cpu;
    const struct {
        enum gnn_figure_id id;
        uint64_t got, factor; /* factor: of the figure's own unit */
    } rows[] = {
        {GNN_FIGURE_PROCESS, p->process_bytes, 1},
        {GNN_FIGURE_WRITE_LATENCY, p->storage.write_latency_ns, 1},
        {GNN_FIGURE_WRITE_IOPS, p->storage.write_iops, 1},
        {GNN_FIGURE_WRITE_BANDWIDTH, p->storage.write_bytes_per_s, 1},
        {GNN_FIGURE_MIXED_BANDWIDTH, p->storage.mixed_bytes_per_s, 1},
        {GNN_FIGURE_SAMPLED_EDGE, cpu->work_ps[GNN_WORK_SAMPLED_EDGE], 1000},
        {GNN_FIGURE_HASHED_ID, cpu->work_ps[GNN_WORK_HASHED_ID], 1000},
        {GNN_FIGURE_SORTED_KEY, cpu->work_ps[GNN_WORK_SORTED_KEY], 1000},
        {GNN_FIGURE_COPIED_BYTE, cpu->work_ps[GNN_WORK_COPIED_BYTE], 1000},
        {GNN_FIGURE_TABLE_ENTRY, cpu->work_ps[GNN_WORK_TABLE_ENTRY], 1000},
        {GNN_FIGURE_GATHER_ELEMENT, cpu->gather_element_ns, 1},
        {GNN_FIGURE_GATHER_ROW, cpu->gather_row_ns, 1},
        {GNN_FIGURE_FAULT_MINOR, cpu->fault_minor_ns, 1},
        {GNN_FIGURE_FAULT_MAJOR, cpu->fault_major_ns, 1},
        {GNN_FIGURE_READAHEAD_PAGE, cpu->readahead_page_ns, 1},
        {GNN_FIGURE_EVICT_PAGE, cpu->evict_page_ns, 1},
        {GNN_FIGURE_UNMAP_PAGE, cpu->unmap_page_ns, 1},
        {GNN_FIGURE_SYSCALL, cpu->syscall_ns, 1},
        {GNN_FIGURE_SUBMIT, cpu->submit_ns, 1},
        {GNN_FIGURE_COMPLETE, cpu->complete_ns, 1},
        {GNN_FIGURE_RING_CACHED_READ, cpu->ring_cached_ns, 1},
        {GNN_FIGURE_RING_MISSED_READ, cpu->ring_missed_ns, 1},
        {GNN_FIGURE_BUFFERED_PAGE, cpu->buffered_page_ns, 1},
        {GNN_FIGURE_LOCK, cpu->lock_ns, 1},
        {GNN_FIGURE_WAKE, cpu->wake_ns, 1},
        {GNN_FIGURE_WAKE_LATENCY, cpu->wake_latency_ns, 1},
        {GNN_FIGURE_THREAD_START, cpu->thread_start_ns, 1},
        {GNN_FIGURE_GEMM, p->host.gemm_flops_per_s, 1},
        {GNN_FIGURE_GEMM_OPERAND, p->host.gemm_operand_ps, 1000},
        {GNN_FIGURE_BANDWIDTH, p->host.bytes_per_s, 1},
        {GNN_FIGURE_BANDWIDTH_SHARED, p->host.bytes_per_s_shared, 1},
        {GNN_FIGURE_HOST_GATHER, p->host.gather_bytes_per_s, 1},
        {GNN_FIGURE_LAUNCH, p->host.launch_ns, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].got != (uint64_t)c->figure[rows[i].id].value * rows[i].factor)
            fail_msg("figure %d: %g became %llu", rows[i].id, c->figure[rows[i].id].value,
                     (unsigned long long)rows[i].got);
    assert_int_equal(p->cpu.cores, 3);
    assert_int_equal(p->memory_bytes, c->memory_bytes);
    assert_string_equal(p->name, "this");
    assert_false(p->gpu.present);
    gnn_profile_close(p);
    free(c);
}

/* Where no group could be made the profile has no costs of reclaim, and says why. */
static void test_unseen_reclaim_is_left_out(void **state)
{
    (void)state;
    struct gnn_calibration *const c = some_calibration();
    (void)snprintf(c->reclaim_missing, sizeof c->reclaim_missing, "no group for us");
    c->figure[GNN_FIGURE_EVICT_PAGE] = c->figure[GNN_FIGURE_UNMAP_PAGE] = (struct gnn_figure){.value = 0};
    struct gnn_profile *const p = through_text(c);
    assert_int_equal(p->cpu.evict_page_ns, 0);
    assert_int_equal(p->cpu.unmap_page_ns, 0);
    gnn_profile_close(p);
    char *text = NULL;
    assert_int_equal(gnn_calibration_text(c, &text, NULL), GNN_OK);
    assert_non_null(strstr(text, "; no evict_page: no group for us\n"));
    assert_non_null(strstr(text, "; no unmap_page: no group for us\n"));
    free(text);
    c->figure[GNN_FIGURE_UNMAP_PAGE].value = -1;
    assert_int_equal(gnn_calibration_text(c, &text, NULL), GNN_EBUG);
    free(c);
}

/* A device that fell has its two figures in the profile; of one that did not, the text says how much it was written. */
static void test_a_sustained_rate_survives(void **state)
{
    (void)state;
    struct gnn_calibration *const c = some_calibration();
    c->sustained = (struct gnn_sustained){.written_bytes = 4.64e9};
    struct gnn_profile *p = through_text(c);
    assert_int_equal(p->storage.write_sustained_bytes_per_s, 0);
    assert_int_equal(p->storage.write_burst_bytes, 0);
    gnn_profile_close(p);
    char *text = NULL;
    assert_int_equal(gnn_calibration_text(c, &text, NULL), GNN_OK);
    assert_non_null(strstr(text, "kept its rate over 4.6 GB"));
    free(text);
    c->sustained = (struct gnn_sustained){
        .written_bytes = 4.64e9, .falls = true, .bytes_per_s = 100.7e6, .burst_bytes = 3.25 * 1024 * 1024 * 1024};
    p = through_text(c);
    assert_int_equal(p->storage.write_sustained_bytes_per_s, 100000000);
    assert_int_equal(p->storage.write_burst_bytes, UINT64_C(3328) << 20);
    gnn_profile_close(p);
    free(c);
}

static void test_a_gpu_survives(void **state)
{
    (void)state;
    struct gnn_calibration *const c = some_calibration();
    (void)snprintf(c->gpu_model, sizeof c->gpu_model, "A made-up GPU");
    c->gpu_present = true;
    c->gpu_memory_bytes = UINT64_C(80) << 30;
    c->gpu = (struct gnn_gpu_figures){.gemm = {41e12, 0},
                                      .bandwidth = {2.9e12, 0.3},
                                      .gather = {1.7e12, 0},
                                      .launch = {3100, 0},
                                      .pinned = {52e9, 0},
                                      .pageable = {11e9, 0},
                                      .latency = {7300, 0},
                                      .checks = {{"a shape", 900, 1000}},
                                      .check_count = 1};
    struct gnn_profile *const p = through_text(c);
    assert_true(p->gpu.present);
    assert_true(p->gpu.gemm_flops_per_s == UINT64_C(41000000000000));
    assert_true(p->gpu.bytes_per_s == UINT64_C(2900000000000));
    assert_true(p->gpu.gather_bytes_per_s == UINT64_C(1700000000000));
    assert_true(p->gpu.launch_ns == 3100 && p->gpu.memory_bytes == c->gpu_memory_bytes);
    assert_true(p->bus.pinned_bytes_per_s == UINT64_C(52000000000));
    assert_true(p->bus.pageable_bytes_per_s == UINT64_C(11000000000) && p->bus.latency_ns == 7300);
    char *text = NULL;
    assert_int_equal(gnn_calibration_text(c, &text, NULL), GNN_OK);
    assert_non_null(strstr(text, "predicted / measured 0.90: a shape"));
    free(text);
    gnn_profile_close(p);
    free(c);
}

static void test_text_tells_noise(void **state)
{
    (void)state;
    struct gnn_calibration *const c = some_calibration();
    struct gnn_err err = {0};
    char *text = NULL;
    assert_int_equal(gnn_calibration_text(c, &text, &err), GNN_OK);
    assert_non_null(strstr(text, "; spread 40 %"));
    assert_non_null(strstr(text, "was not idle"));
    free(text);
    for (uint32_t i = 0; i < GNN_FIGURE_COUNT; i++)
        c->figure[i].spread = 0.05;
    c->quick = true;
    assert_int_equal(gnn_calibration_text(c, &text, &err), GNN_OK);
    assert_null(strstr(text, "was not idle"));
    assert_non_null(strstr(text, "QUICK"));
    free(text);
    free(c);
}

static void test_text_refuses_nonsense(void **state)
{
    (void)state;
    static const double nonsense[] = {0, -1, NAN, INFINITY};
    struct gnn_calibration *const c = some_calibration();
    char *text = NULL;
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        struct gnn_err err = {0};
        c->figure[GNN_FIGURE_WAKE].value = nonsense[i];
        assert_int_equal(gnn_calibration_text(c, &text, &err), GNN_EBUG);
        assert_non_null(strstr(err.message, "wake"));
        assert_null(text);
    }
    c->figure[GNN_FIGURE_WAKE].value = 1;
    const uint64_t kept_ps = c->storage.read_ps[1][2];
    c->storage.read_ps[1][2] = 0;
    assert_int_equal(gnn_calibration_text(c, &text, NULL), GNN_EBUG);
    c->storage.read_ps[1][2] = kept_ps;
    c->storage.scattered_ps[3][2] = 0;
    assert_int_equal(gnn_calibration_text(c, &text, NULL), GNN_EBUG);
    free(c);
}

/* The simulated device reproduces a grid with its knee and its floor within a tenth (issue's third acceptance). */
static void test_device_keeps_to_the_grid(void **state)
{
    (void)state;
    struct gnn_calibration *const c = some_calibration();
    struct gnn_profile *const profile = through_text(c);
    struct gnn_profile_storage storage = profile->storage;
    struct gnn_grid_check check;
    struct gnn_err err = {0};
    storage.devices = 4; /* the grid is one device's, whatever the RAID */
    assert_int_equal(gnn_grid_check(&storage, &check, &err), GNN_OK);
    double worst = 0;
    uint32_t at = 0;
    for (uint32_t s = 0; s < storage.size_count; s++)
        for (uint32_t kind = 0; kind < (storage.scattered_ps[s][0] > 0 ? 2 : 1); kind++)
            for (uint32_t d = 0; d < storage.depth_count; d++) {
                const struct gnn_grid_point *const p = &check.points[at++];
                const uint64_t ps = kind == 0 ? storage.read_ps[s][d] : storage.scattered_ps[s][d];
                assert_int_equal(p->size_bytes, storage.size_bytes[s]);
                assert_int_equal(p->depth, storage.depth[d]);
                assert_int_equal(p->scattered, kind == 1);
                assert_true(fabs(p->profile_iops * (double)ps - 1e12) < 1e3);
                worst = fmax(worst, fabs(p->simulated_iops / p->profile_iops - 1));
            }
    assert_int_equal(at, check.count);
    assert_true(at > storage.size_count * storage.depth_count); /* both grids */
    assert_true(worst == check.worst);
    if (check.worst > 0.1)
        fail_msg("off by %.1f %%", 100 * check.worst);
    gnn_profile_close(profile);
    free(c);
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
        cmocka_unit_test(test_grid_survives),
        cmocka_unit_test(test_what_was_not_scattered_is_told),
        cmocka_unit_test(test_figures_survive),
        cmocka_unit_test(test_unseen_reclaim_is_left_out),
        cmocka_unit_test(test_a_sustained_rate_survives),
        cmocka_unit_test(test_a_gpu_survives),
        cmocka_unit_test(test_text_tells_noise),
        cmocka_unit_test(test_text_refuses_nonsense),
        cmocka_unit_test(test_device_keeps_to_the_grid),
    };
    return cmocka_run_group_tests_name("calibrate", tests, NULL, NULL);
}
