/* SPDX-License-Identifier: MIT */
/* What calibration found as a profile's text and back: grid, figures, notes, what is refused; and the simulated device
 * against such a grid. */
#include "harness/calibrate/calibrate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
    return cmocka_run_group_tests_name("calibrate_profile", tests, NULL, NULL);
}
