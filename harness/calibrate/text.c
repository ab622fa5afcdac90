/* SPDX-License-Identifier: MIT */
/* The measured figures as a profile's text: one table says key, unit and source of each. */
#include "harness/base/units.h"
#include "harness/calibrate/calibrate.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a value is written: plain picoseconds and nanoseconds, rates in whole millions. */
enum shape { SHAPE_BYTES, SHAPE_PS, SHAPE_NS, SHAPE_PER_S, SHAPE_MB_PER_S, SHAPE_MFLOP_PER_S, SHAPE_MHZ };

struct row {
    enum gnn_figure_id id;
    enum shape shape;
    const char *section, *key, *source;
};

/* A line of a profile holds at most 198 bytes. */
static const struct row rows[] = {
    {GNN_FIGURE_PROCESS, SHAPE_BYTES, "machine", "process",
     "anonymous memory, page tables and stacks with BLAS warm, less large allocations"},
    {GNN_FIGURE_WRITE_LATENCY, SHAPE_NS, "storage", "write_latency", "fio randwrite, 4 KiB, direct, depth 1"},
    {GNN_FIGURE_WRITE_IOPS, SHAPE_PER_S, "storage", "write_iops", "fio randwrite, 4 KiB, direct, depth 32"},
    {GNN_FIGURE_WRITE_BANDWIDTH, SHAPE_MB_PER_S, "storage", "write_bandwidth", "fio write, 1 MiB, direct, depth 8"},
    {GNN_FIGURE_MIXED_BANDWIDTH, SHAPE_MB_PER_S, "storage", "mixed_bandwidth",
     "fio randrw, 70 % read, 128 KiB, direct, depth 32, both together"},
    {GNN_FIGURE_CLOCK, SHAPE_MHZ, "cpu", "clock", "additions that need one another, one a cycle"},
    {GNN_FIGURE_SAMPLED_EDGE, SHAPE_PS, "cpu", "sampled_edge",
     "the sampler, batch 10, fanout 10,10,10, without fetching, hashing, sorting"},
    {GNN_FIGURE_HASHED_ID, SHAPE_PS, "cpu", "hashed_id", "the ID map alone, keys of such a mini-batch"},
    {GNN_FIGURE_SORTED_KEY, SHAPE_PS, "cpu", "sorted_key", "rows of 10 by insertion"},
    {GNN_FIGURE_COPIED_BYTE, SHAPE_PS, "cpu", "copied_byte",
     "random rows of 256 B to 2 KiB from a resident mapping, slope over their width"},
    {GNN_FIGURE_TABLE_ENTRY, SHAPE_PS, "cpu", "table_entry", "8-byte entries of a 128 MiB table, read and written"},
    {GNN_FIGURE_GATHER_ELEMENT, SHAPE_NS, "cpu", "gather_element",
     "neighbours fetched through a resident mapping in the sampler's order"},
    {GNN_FIGURE_GATHER_ROW, SHAPE_NS, "cpu", "gather_row", "as copied_byte, the row of no bytes"},
    {GNN_FIGURE_FAULT_MINOR, SHAPE_NS, "cpu", "fault_minor", "cached pages alone in their 64 KiB, CPU time"},
    {GNN_FIGURE_FAULT_MAJOR, SHAPE_NS, "cpu", "fault_major",
     "evicted pages, nothing read ahead, 8 threads, CPU time with interrupts"},
    {GNN_FIGURE_READAHEAD_PAGE, SHAPE_NS, "cpu", "readahead_page",
     "a scan of evicted pages through a mapping, less its faults"},
    {GNN_FIGURE_EVICT_PAGE, SHAPE_NS, "cpu", "evict_page",
     "pages read ahead under a full memory limit against none, CPU time with interrupts"},
    {GNN_FIGURE_UNMAP_PAGE, SHAPE_NS, "cpu", "unmap_page",
     "reading faults of 8 threads under a full memory limit against none, less evict_page"},
    {GNN_FIGURE_SYSCALL, SHAPE_NS, "cpu", "syscall", "pread of no bytes"},
    {GNN_FIGURE_SUBMIT, SHAPE_NS, "cpu", "submit", "the ring at depth 64, direct reads, CPU time less its calls"},
    {GNN_FIGURE_COMPLETE, SHAPE_NS, "cpu", "complete", "likewise: reaping, sleeping, and interrupts on any core"},
    {GNN_FIGURE_RING_CACHED_READ, SHAPE_NS, "cpu", "ring_cached_read",
     "4 bytes of 64 MiB in the page cache, ring at depth 64, CPU time less its calls"},
    {GNN_FIGURE_RING_MISSED_READ, SHAPE_NS, "cpu", "ring_missed_read",
     "likewise, evicted pages, nothing read ahead, with interrupts on any core"},
    {GNN_FIGURE_BUFFERED_PAGE, SHAPE_NS, "cpu", "buffered_page", "pread of 1 MiB in cached pages, 1/256"},
    {GNN_FIGURE_LOCK, SHAPE_NS, "cpu", "lock", "a free mutex taken and left, half of it"},
    {GNN_FIGURE_WAKE, SHAPE_NS, "cpu", "wake", "a condition signalled, its sleeper on an idle core"},
    {GNN_FIGURE_WAKE_LATENCY, SHAPE_NS, "cpu", "wake_latency", "from that signal's start until the sleeper runs"},
    {GNN_FIGURE_THREAD_START, SHAPE_NS, "cpu", "thread_start", "started and joined, CPU time"},
    {GNN_FIGURE_GEMM, SHAPE_MFLOP_PER_S, "host", "gemm",
     "SGEMM, 4096 and 64 x 256 by 256 x 256 and both gradients, one core: what is not by their operands"},
    {GNN_FIGURE_GEMM_OPERAND, SHAPE_PS, "host", "gemm_operand", "likewise: what they take in addition, per element"},
    {GNN_FIGURE_BANDWIDTH, SHAPE_MB_PER_S, "host", "bandwidth", "y += x over matrices of 4 MiB, one core"},
    {GNN_FIGURE_BANDWIDTH_SHARED, SHAPE_MB_PER_S, "host", "bandwidth_shared", "likewise, every core its own matrices"},
    {GNN_FIGURE_HOST_GATHER, SHAPE_MB_PER_S, "host", "gather",
     "means of 10 random rows of 1 KiB out of 4 MiB, bytes read"},
    {GNN_FIGURE_LAUNCH, SHAPE_NS, "host", "launch", "an operation on one number"},
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };
_Static_assert((int)ROW_COUNT == (int)GNN_FIGURE_COUNT, "every figure has its row");
static const double noisy = 0.1;

/* Writes the number and its unit. */
static void write_value(FILE *out, enum shape shape, double value)
{
    static const struct {
        double scale;
        const char *unit;
    } shapes[] = {
        [SHAPE_BYTES] = {1, ""},     [SHAPE_PS] = {1000, "ps"},         [SHAPE_NS] = {1, "ns"},
        [SHAPE_PER_S] = {1, "/s"},   [SHAPE_MB_PER_S] = {1e-6, "MB/s"}, [SHAPE_MFLOP_PER_S] = {1e-6, "MFLOP/s"},
        [SHAPE_MHZ] = {1e-6, "MHz"},
    };
    assert(shape < sizeof shapes / sizeof *shapes);
    (void)fprintf(out, "%.0f%s", fmax(1, round(value * shapes[shape].scale)), shapes[shape].unit);
}

/* Whether the figure is left out of the profile: one of reclaim that could not be measured. The profile's keys are
 * optional. */
static bool is_left_out(enum gnn_figure_id id, const struct gnn_figure *figure)
{
    return (id == GNN_FIGURE_EVICT_PAGE || id == GNN_FIGURE_UNMAP_PAGE) && figure->value == 0;
}

static void write_rows(FILE *out, const struct gnn_calibration *c, const char *section)
{
    for (uint32_t i = 0; i < ROW_COUNT; i++) {
        const struct gnn_figure *const figure = &c->figure[rows[i].id];
        if (strcmp(rows[i].section, section) != 0)
            continue;
        if (is_left_out(rows[i].id, figure)) {
            (void)fprintf(out, "; no %s: %.150s\n", rows[i].key, c->reclaim_missing);
            continue;
        }
        (void)fprintf(out, "%s = ", rows[i].key);
        write_value(out, rows[i].shape, figure->value);
        (void)fprintf(out, " measured: %s", rows[i].source);
        if (figure->spread > noisy)
            (void)fprintf(out, " ; spread %.0f %%", 100 * figure->spread);
        (void)fputc('\n', out);
    }
}

/* "512", "4K", "1M" */
static void write_size(FILE *out, uint64_t bytes)
{
    if (bytes % (1U << 20) == 0)
        (void)fprintf(out, "%" PRIu64 "M", bytes >> 20);
    else if (bytes % 1024 == 0)
        (void)fprintf(out, "%" PRIu64 "K", bytes >> 10);
    else
        (void)fprintf(out, "%" PRIu64, bytes);
}

/* Microseconds with as many decimals as seven digits leave room for. */
static void write_us(FILE *out, uint64_t ps)
{
    assert(ps > 0); /* check() refuses a grid with less */
    const double us = (double)ps * 1e-6;
    (void)fprintf(out, "%.*f", us >= 1000 ? 1 : us >= 100 ? 2 : 3, us);
}

static void write_grid_row(FILE *out, const struct gnn_profile_storage *storage, const char *prefix, uint32_t s,
                           const uint64_t *ps, const char *source)
{
    (void)fputs(prefix, out);
    write_size(out, storage->size_bytes[s]);
    (void)fputs(" = ", out);
    for (uint32_t d = 0; d < storage->depth_count; d++) {
        (void)fputs(d == 0 ? "" : ",", out);
        write_us(out, ps[d]);
    }
    (void)fprintf(out, " %s\n", source);
}

static void write_grid(FILE *out, const struct gnn_profile_storage *storage, const char *missing)
{
    (void)fputs("read_depths = ", out);
    for (uint32_t d = 0; d < storage->depth_count; d++)
        (void)fprintf(out, "%s%" PRIu32, d == 0 ? "" : ",", storage->depth[d]);
    (void)fputs(" measured: fio randread, direct, into large pages, microseconds between completions\n", out);
    for (uint32_t s = 0; s < storage->size_count; s++) {
        write_grid_row(out, storage, "read_us.", s, storage->read_ps[s], "measured");
        if (storage->scattered_ps[s][0] > 0)
            write_grid_row(out, storage, "read_scattered_us.", s, storage->scattered_ps[s],
                           "measured: likewise, into single pages");
    }
    if (missing[0] != '\0')
        (void)fprintf(out, "; no read_scattered_us: %.150s\n", missing);
}

/* Only of a device that became slower: for one that did not they say nothing. */
static void write_sustained(FILE *out, const struct gnn_sustained *sustained)
{
    const double mib = sustained->burst_bytes / (1 << 20);
    if (sustained->falls && round(mib) >= 1 && round(sustained->bytes_per_s * 1e-6) >= 1)
        (void)fprintf(out,
                      "write_sustained = %.0fMB/s measured: fio write, 1 MiB, direct, depth 8, the last 6 of 20 s\n"
                      "write_burst = %.0fM measured: likewise, what went at full speed before\n",
                      floor(sustained->bytes_per_s * 1e-6), mib);
    else
        (void)fprintf(out, "; writing in order kept its rate over %.1f GB\n", sustained->written_bytes * 1e-9);
}

static void write_storage(FILE *out, const struct gnn_calibration *c)
{
    const struct gnn_profile_storage *const storage = &c->storage;
    (void)fprintf(out, "\n[storage]\nmodel = %.90s\n", c->device_model);
    (void)fprintf(out, "devices = %" PRIu32 " assumed: one device as this machine sees it\n", storage->devices);
    (void)fputs("stripe = ", out);
    write_size(out, storage->stripe_bytes);
    (void)fputs(" assumed: none, with one device\n", out);
    (void)fprintf(out, "sector = %" PRIu32 " stated: logical block of the device\n", storage->sector_bytes);
    (void)fprintf(out, "depth_max = %" PRIu32 " measured: the deepest queue of the grid; beyond it requests wait\n",
                  storage->depth_max);
    write_grid(out, storage, c->scattered_missing);
    write_rows(out, c, "storage");
    write_sustained(out, &c->sustained);
    (void)fputs("readahead = ", out);
    write_size(out, storage->readahead_bytes);
    (void)fputs(" stated: read_ahead_kb of the kernel\n", out);
}

static void write_head(FILE *out, const struct gnn_calibration *c)
{
    char moment[GNN_UTC_BYTES];
    double worst = 0;
    uint32_t points = 0, apart = 0;
    for (uint32_t s = 0; s < c->storage.size_count; s++)
        for (uint32_t d = 0; d < c->storage.depth_count; d++) {
            const bool both = c->storage.scattered_ps[s][d] > 0;
            points += both ? 2 : 1;
            apart += c->read_spread[s][d] > noisy ? 1 : 0;
            apart += both && c->scattered_spread[s][d] > noisy ? 1 : 0;
            worst = fmax(worst, fmax(c->read_spread[s][d], c->scattered_spread[s][d]));
        }
    (void)fprintf(out,
                  "; Written by `oocgnn calibrate%s` on %s. Medians; a spread is (upper - lower quartile) / median.\n",
                  c->quick ? " --quick" : "", gnn_format_utc(c->began_s, moment, sizeof moment));
    if (c->quick)
        (void)fputs("; QUICK: a trial of the command, too short for figures to rely on.\n", out);
    (void)fprintf(out, "; kernel %.100s, load %.40s when it began\n", c->kernel, c->load);
    (void)fprintf(out, "; %s with %s on %.30s, a file of %" PRIu64 " MiB; 1 MiB reads in order at depth 8: %.0f MB/s\n",
                  c->fio_version, c->fio_engine, c->file_system, c->file_bytes >> 20,
                  c->sequential_read_bytes_per_s * 1e-6);
    (void)fprintf(out, "; read grid: %u of %u points spread by more than %.0f %%, the widest by %.0f %%\n", apart,
                  points, 100 * noisy, 100 * worst);
    uint32_t figures = 0;
    for (uint32_t i = 0; i < GNN_FIGURE_COUNT; i++)
        figures += c->figure[i].spread > noisy;
    (void)fprintf(out, "; other figures: %u of %d did%s\n", figures, GNN_FIGURE_COUNT,
                  figures + apart > 0 ? "; such a machine was not idle, or is not alone on its hardware" : "");
}

/* How far the cost model with these figures is off on shapes they were not fitted to. */
static void write_checks(FILE *out, const struct gnn_check *checks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct gnn_check *const check = &checks[i];
        (void)fprintf(out, "; predicted / measured %.2f: %s, %.1f us measured\n",
                      check->predicted_ns / check->measured_ns, check->what, check->measured_ns * 1e-3);
    }
}

/* One of the device's figures; gnn_gpu_measure checked that it is a positive number. */
static void write_gpu_figure(FILE *out, const char *key, enum shape shape, struct gnn_figure figure, const char *source)
{
    (void)fprintf(out, "%s = ", key);
    write_value(out, shape, figure.value);
    (void)fprintf(out, " measured: %s", source);
    if (figure.spread > noisy)
        (void)fprintf(out, " ; spread %.0f %%", 100 * figure.spread);
    (void)fputc('\n', out);
}

static void write_gpu(FILE *out, const struct gnn_calibration *c)
{
    if (!c->gpu_present) {
        (void)fprintf(out, "\n; no [gpu]: %.150s\n", c->gpu_missing);
        return;
    }
    const struct gnn_gpu_figures *const gpu = &c->gpu;
    (void)fprintf(out, "\n[gpu]\n; driver %.60s; shapes that nothing was fitted to:\n", c->gpu_driver);
    write_checks(out, gpu->checks, gpu->check_count);
    (void)fprintf(out, "model = %.90s\n", c->gpu_model);
    write_gpu_figure(out, "gemm", SHAPE_MFLOP_PER_S, gpu->gemm, "fp32, 65536 x 256 by 256 x 256 and its two gradients");
    write_gpu_figure(out, "bandwidth", SHAPE_MB_PER_S, gpu->bandwidth, "copies of 256 MiB or y += x, the faster");
    write_gpu_figure(out, "gather", SHAPE_MB_PER_S, gpu->gather,
                     "means of 10 random rows of 1 KiB out of 512 MiB, bytes read");
    write_gpu_figure(out, "launch", SHAPE_NS, gpu->launch, "an operation on one number, many in a row");
    (void)fprintf(out, "memory = %" PRIu64 " stated: by the driver\n\n[bus]\n", c->gpu_memory_bytes);
    write_gpu_figure(out, "pinned", SHAPE_MB_PER_S, gpu->pinned, "64 MiB up, in a lane");
    write_gpu_figure(out, "pageable", SHAPE_MB_PER_S, gpu->pageable, "64 MiB up, waited for");
    write_gpu_figure(out, "latency", SHAPE_NS, gpu->latency, "4 KiB up, less its bytes and its launch");
}

static enum gnn_status check(const struct gnn_calibration *c, struct gnn_err *err)
{
    for (uint32_t i = 0; i < ROW_COUNT; i++) {
        const double value = c->figure[rows[i].id].value;
        if (!is_left_out(rows[i].id, &c->figure[rows[i].id]) && (!isfinite(value) || value <= 0))
            return gnn_fail(err, GNN_EBUG, "calibrate: %s came out as %g", rows[i].key, value);
    }
    if (c->storage.size_count == 0 || c->storage.depth_count == 0)
        return gnn_fail(err, GNN_EBUG, "calibrate: the read grid is empty");
    for (uint32_t s = 0; s < c->storage.size_count; s++)
        for (uint32_t d = 0; d < c->storage.depth_count; d++)
            if (c->storage.read_ps[s][d] < 1000 ||
                (c->storage.scattered_ps[s][0] > 0) != (c->storage.scattered_ps[s][d] >= 1000))
                return gnn_fail(err, GNN_EBUG, "calibrate: no time for a read of %" PRIu64 " bytes at depth %" PRIu32,
                                c->storage.size_bytes[s], c->storage.depth[d]);
    return GNN_OK;
}

static void write_moment(FILE *out, uint64_t began_s)
{
    char moment[GNN_UTC_BYTES];
    (void)fprintf(out, "calibrated = %s stated: by this machine's clock, when it began\n",
                  gnn_format_utc(began_s, moment, sizeof moment));
}

/* The release's first two numbers; a release without them names no kernel. */
static void write_kernel(FILE *out, const char *release)
{
    unsigned major, minor;
    if (sscanf(release, "%u.%u", &major, &minor) == 2 && major >= 4 && major <= 99 && minor <= 999)
        (void)fprintf(out, "kernel = %u.%u stated: uname\n", major, minor);
}

enum gnn_status gnn_calibration_text(const struct gnn_calibration *c, char **text, struct gnn_err *err)
{
    char *written = NULL;
    size_t bytes = 0;
    *text = NULL;
    GNN_TRY(check(c, err));
    FILE *const out = open_memstream(&written, &bytes);
    if (out == NULL)
        return gnn_fail(err, GNN_ENOMEM, "calibrate: the profile's text");
    write_head(out, c);
    (void)fprintf(out, "\n[machine]\nmachine_id = this\ntitle = %.60s, %.50s\n",
                  c->host[0] != '\0' ? c->host : "this machine", c->cpu_model);
    write_moment(out, c->began_s);
    write_kernel(out, c->kernel);
    (void)fprintf(out, "memory = %" PRIu64 " stated: MemTotal\n", c->memory_bytes);
    write_rows(out, c, "machine");
    write_storage(out, c);
    (void)fprintf(out, "\n[cpu]\nmodel = %.100s\ncores = %" PRIu32 " stated: online processors\n", c->cpu_model,
                  c->cores);
    write_rows(out, c, "cpu");
    (void)fprintf(out, "\n[host]\n%s", c->check_count > 0 ? "; shapes that nothing was fitted to:\n" : "");
    write_checks(out, c->checks, c->check_count);
    write_rows(out, c, "host");
    write_gpu(out, c);
    if (fclose(out) != 0) {
        free(written);
        return gnn_fail(err, GNN_ENOMEM, "calibrate: the profile's text");
    }
    *text = written;
    return GNN_OK;
}
