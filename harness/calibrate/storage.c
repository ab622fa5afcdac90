/* SPDX-License-Identifier: MIT */
/* The storage device, by fio: the time between two completions of random direct reads at every size and depth, into
 * large pages and, where a read is of more than a page, into single ones. Each point is read several times, the whole
 * grid through before it starts again, so that a disturbance of some seconds meets one reading of a point and not all
 * of them. */
#include "harness/base/text_file.h"
#include "harness/calibrate/internal.h"
#include "harness/calibrate/sustained.h"
#include "harness/fio/fio.h"
#include "harness/measure/device.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PASSES = 3, QUICK_PASSES = 1, USUAL_DEPTH = 64 /* what the progress shows */ };

/* A quick grid is every third size and depth of it. */
static const uint64_t sizes[] = {512, 1024, 2048, 4096, 16384, 65536, 262144, 1048576};
static const uint32_t depths[] = {1, 2, 4, 8, 16, 32, 64, 128};
enum { SIZE_COUNT = sizeof sizes / sizeof *sizes, DEPTH_COUNT = sizeof depths / sizeof *depths };
_Static_assert((int)SIZE_COUNT <= (int)GNN_PROFILE_SIZES_MAX, "a profile holds the grid");
_Static_assert((int)DEPTH_COUNT <= (int)GNN_PROFILE_DEPTHS_MAX, "a profile holds the grid");
_Static_assert((int)DEPTH_COUNT <= (int)GNN_FIO_JOBS_MAX, "a report holds the depths of one size");

static const char *const engines[] = {"io_uring", "libaio", NULL};

enum pages { LARGE, SCATTERED, PAGES_KINDS };

struct grid {
    double ps[PAGES_KINDS][SIZE_COUNT][DEPTH_COUNT][PASSES];
};

/* Of the sizes those the device can read. */
static void choose_grid(struct gnn_calibration *out)
{
    struct gnn_profile_storage *const storage = &out->storage;
    const uint32_t step = out->quick ? 3 : 1;
    for (uint32_t s = 0; s < SIZE_COUNT; s += step)
        if (sizes[s] >= storage->sector_bytes)
            storage->size_bytes[storage->size_count++] = sizes[s];
    for (uint32_t d = 0; d < DEPTH_COUNT; d += step)
        storage->depth[storage->depth_count++] = depths[d];
    storage->depth_max = storage->depth[storage->depth_count - 1];
}

/* ---- job files ---- */

static FILE *job_open(const struct gnn_bench *b)
{
    FILE *const file = fopen(b->job, "we");
    if (file != NULL)
        (void)fprintf(file,
                      "[global]\nioengine=%s\ndirect=1\nthread=1\nallow_file_create=0\niomem_align=2m\nfilename=%s\n",
                      b->out->fio_engine, b->data);
    return file;
}

static bool is_stopped(const struct gnn_bench *b)
{
    return b->config->stop != NULL && atomic_load(b->config->stop);
}

static enum gnn_status job_run(const struct gnn_bench *b, FILE *file, struct gnn_fio_report *report,
                               struct gnn_err *err)
{
    if (file == NULL || fclose(file) != 0)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "calibrate: %s cannot be written: %s", b->job,
                        strerror(errno));
    struct gnn_err cause = {0};
    enum gnn_status status = GNN_OK;
    if (!is_stopped(b))
        status = gnn_fio_run(b->job, report, &cause);
    if (is_stopped(b)) /* what fio says of the same Ctrl-C is no cause */
        return gnn_fail(err, GNN_ECANCELLED, "calibrate: stopped");
    return status == GNN_OK ? GNN_OK : gnn_fail(err, status, "%s", cause.message);
}

/* ---- the file ---- */

/* Written and not merely allocated: reads of unwritten extents never reach the device. Where the user named a file,
 * that one is read and a small one is written, which shows whether the engine works. */
static enum gnn_status write_data(struct gnn_bench *b, struct gnn_fio_report *report, struct gnn_err *err)
{
    char probe[GNN_BENCH_PATH_BYTES + 16];
    (void)snprintf(probe, sizeof probe, "%s/probe", b->scratch);
    FILE *const file = fopen(b->job, "we");
    if (file != NULL)
        (void)fprintf(file,
                      "[global]\nioengine=%s\ndirect=1\nthread=1\nfilename=%s\nrefill_buffers=1\n"
                      "[write]\nrw=write\nbs=1m\niodepth=8\nsize=%" PRIu64 "\nend_fsync=1\n",
                      b->out->fio_engine, b->data_given ? probe : b->data,
                      b->data_given ? UINT64_C(4) << 20 : b->data_bytes);
    return job_run(b, file, report, err);
}

/* The first engine that can; io_uring may be forbidden. */
static enum gnn_status write_with_engine(struct gnn_bench *b, struct gnn_fio_report *report, struct gnn_err *err)
{
    struct gnn_err first = {0};
    for (const char *const *engine = engines; *engine != NULL; engine++) {
        struct gnn_err again = {0};
        (void)snprintf(b->out->fio_engine, sizeof b->out->fio_engine, "%s", *engine);
        const enum gnn_status status = write_data(b, report, engine == engines ? &first : &again);
        if (status == GNN_OK)
            return GNN_OK;
        if (status != GNN_ENOTSUP && status != GNN_EIO)
            return gnn_fail(err, status, "%s", engine == engines ? first.message : again.message);
    }
    return gnn_fail(err, first.status, "%s (direct writes to %s; --device names another place)", first.message,
                    b->scratch);
}

/* ---- reads ---- */

/* Looks whether shared memory, which scattered reads go into, is of single pages here. */
static void look_at_shared_memory(struct gnn_calibration *out)
{
    char setting[128] = "";
    (void)gnn_text_file_read("/sys/kernel/mm/transparent_hugepage/shmem_enabled", setting, sizeof setting);
    setting[strcspn(setting, "\n")] = '\0';
    if (strstr(setting, "[always]") != NULL || strstr(setting, "[within_size]") != NULL ||
        strstr(setting, "[force]") != NULL)
        (void)snprintf(out->scattered_missing, sizeof out->scattered_missing,
                       "shared memory is of large pages here, by shmem_enabled: %.100s", setting);
}

static bool is_long(uint64_t size_bytes)
{
    return size_bytes > GNN_PAGE_BYTES;
}

static bool is_scattered_too(const struct gnn_calibration *out, uint64_t size_bytes)
{
    return is_long(size_bytes) && out->scattered_missing[0] == '\0';
}

/* Writes the lines that say where reads of a size go. Blocks of 2 MiB, of which none is read, make every buffer one
 * large page: so memory of direct I/O lies here (gnn_mem_alloc), and it decides what a virtual disk does. A block up to
 * a page is one piece of memory anyway, and side by side they are fewer pages. Shared memory is of single pages, as the
 * page cache is; fresh ones may lie together by chance, as the page cache's do on a machine that just started. */
static void write_memory(FILE *file, uint64_t size_bytes, enum pages pages)
{
    if (is_long(size_bytes) && pages == LARGE)
        (void)fprintf(file, "bssplit=%" PRIu64 "/100:2m/0\n", size_bytes);
    else
        (void)fprintf(file, "bs=%" PRIu64 "\n%s", size_bytes, pages == SCATTERED ? "iomem=mmapshared\n" : "");
}

/* Runs all depths of one size in one job file, one after another. */
static enum gnn_status read_size(struct gnn_bench *b, uint32_t size, enum pages pages, uint32_t pass,
                                 struct gnn_fio_report *report, struct gnn_err *err)
{
    const struct gnn_profile_storage *const storage = &b->out->storage;
    const uint32_t runtime_ms = b->config->quick ? 30 : 350, ramp_ms = b->config->quick ? 10 : 80;
    FILE *const file = job_open(b);
    if (file != NULL) {
        (void)fprintf(file,
                      "rw=randread\nnorandommap=1\nrandrepeat=0\nrandseed=%u\ngtod_reduce=1\nsize=%" PRIu64
                      "\ntime_based=1\nruntime=%ums\nramp_time=%ums\n",
                      (pages * PASSES + pass) * SIZE_COUNT + size + 1, b->data_bytes, runtime_ms, ramp_ms);
        write_memory(file, storage->size_bytes[size], pages);
        for (uint32_t d = 0; d < storage->depth_count; d++)
            (void)fprintf(file, "[d%u]\nstonewall\niodepth=%u\n", storage->depth[d], storage->depth[d]);
    }
    return job_run(b, file, report, err);
}

/* Reads one row of the grid, once. */
static enum gnn_status read_row(struct gnn_bench *b, uint32_t s, enum pages pages, uint32_t pass, struct grid *grid,
                                struct gnn_fio_report *report, struct gnn_err *err)
{
    const struct gnn_profile_storage *const storage = &b->out->storage;
    GNN_TRY(read_size(b, s, pages, pass, report, err));
    for (uint32_t d = 0; d < storage->depth_count; d++) {
        if (d >= report->count || !(report->jobs[d].read_iops > 0))
            return gnn_fail(err, GNN_EFORMAT, "fio: no read of %" PRIu64 " bytes at depth %u was completed",
                            storage->size_bytes[s], storage->depth[d]);
        grid->ps[pages][s][d][pass] = 1e12 / report->jobs[d].read_iops;
        if (b->config->progress != NULL && storage->size_bytes[s] == GNN_PAGE_BYTES && storage->depth[d] == USUAL_DEPTH)
            (void)fprintf(b->config->progress, "  read grid, pass %u: %.0f reads/s of 4 KiB at depth %d\n", pass + 1,
                          report->jobs[d].read_iops, USUAL_DEPTH);
    }
    return GNN_OK;
}

static enum gnn_status read_pass(struct gnn_bench *b, uint32_t pass, struct grid *grid, struct gnn_fio_report *report,
                                 struct gnn_err *err)
{
    for (uint32_t s = 0; s < b->out->storage.size_count; s++) {
        GNN_TRY(read_row(b, s, LARGE, pass, grid, report, err));
        if (is_scattered_too(b->out, b->out->storage.size_bytes[s]))
            GNN_TRY(read_row(b, s, SCATTERED, pass, grid, report, err));
    }
    return GNN_OK;
}

static void keep_row(double (*row)[PASSES], uint32_t count, uint32_t passes, uint64_t *ps, double *spread)
{
    for (uint32_t d = 0; d < count; d++) {
        const struct gnn_figure figure = gnn_figure_of(row[d], passes);
        ps[d] = (uint64_t)llround(figure.value);
        spread[d] = figure.spread;
    }
}

static void keep_grid(struct gnn_calibration *out, struct grid *grid, uint32_t passes)
{
    struct gnn_profile_storage *const storage = &out->storage;
    const uint32_t count = storage->depth_count;
    for (uint32_t s = 0; s < storage->size_count; s++) {
        keep_row(grid->ps[LARGE][s], count, passes, storage->read_ps[s], out->read_spread[s]);
        if (is_scattered_too(out, storage->size_bytes[s]))
            keep_row(grid->ps[SCATTERED][s], count, passes, storage->scattered_ps[s], out->scattered_spread[s]);
    }
}

/* ---- writes, mixtures, and reads in order ---- */

/* What is written over: a file of this program's own, written before, as reads of unwritten extents never reach the
 * device. */
static const char *written_path(const struct gnn_bench *b, char path[GNN_BENCH_PATH_BYTES + 16])
{
    (void)snprintf(path, GNN_BENCH_PATH_BYTES + 16, "%s/written", b->scratch);
    return b->data_given ? path : b->data;
}

static enum gnn_status stream_once(void *ctx, double *values, struct gnn_err *err)
{
    struct gnn_bench *const b = ctx;
    char written[GNN_BENCH_PATH_BYTES + 16];
    const char *const mixed_path = written_path(b, written);
    const uint32_t runtime_ms = b->config->quick ? 30 : 500;
    struct gnn_fio_report *report;
    GNN_NEW(report, 1, err, "calibrate: fio's report: %zu bytes", sizeof *report);
    FILE *const file = job_open(b);
    if (file != NULL)
        (void)fprintf(file,
                      "size=%" PRIu64 "\ntime_based=1\nruntime=%ums\nramp_time=20ms\n"
                      "[latency]\nstonewall\nallow_file_create=1\nfilename=%s\nrw=randwrite\nnorandommap=1\nbs=4k\n"
                      "iodepth=1\n"
                      "[iops]\nstonewall\nfilename=%s\nrw=randwrite\nnorandommap=1\nbs=4k\niodepth=32\n"
                      "[bandwidth]\nstonewall\nfilename=%s\nrw=write\nbs=1m\niodepth=8\n"
                      "[mixed]\nstonewall\nfilename=%s\nrw=randrw\nrwmixread=%d\nnorandommap=1\nbs=%d\niodepth=32\n"
                      "[sequential]\nstonewall\nrw=read\nbs=1m\niodepth=8\nsize=%" PRIu64 "\n",
                      b->data_bytes < (64U << 20) ? b->data_bytes : (64U << 20), runtime_ms, written, written, written,
                      mixed_path, GNN_MIXED_READ_PERCENT, GNN_MIXED_BYTES, b->data_bytes);
    const enum gnn_status status = job_run(b, file, report, err);
    const struct gnn_fio_job *const latency = gnn_fio_job_named(report, "latency");
    const struct gnn_fio_job *const iops = gnn_fio_job_named(report, "iops");
    const struct gnn_fio_job *const bandwidth = gnn_fio_job_named(report, "bandwidth");
    const struct gnn_fio_job *const mixed = gnn_fio_job_named(report, "mixed");
    const struct gnn_fio_job *const sequential = gnn_fio_job_named(report, "sequential");
    const bool whole =
        status == GNN_OK && latency != NULL && iops != NULL && bandwidth != NULL && mixed != NULL && sequential != NULL;
    if (whole) {
        values[0] = latency->write_latency_ns;
        values[1] = iops->write_iops;
        values[2] = bandwidth->write_bytes_per_s;
        values[3] = mixed->read_bytes_per_s + mixed->write_bytes_per_s;
        values[4] = sequential->read_bytes_per_s;
    }
    free(report);
    if (status == GNN_OK && !whole)
        return gnn_fail(err, GNN_EFORMAT, "fio: jobs are missing in its report");
    return status;
}

static enum gnn_status measure_streams(struct gnn_bench *b, struct gnn_err *err)
{
    struct gnn_figure figures[5];
    GNN_TRY(gnn_figures_measure(stream_once, b, b->config->quick ? 1 : 3, 5, figures, err));
    memcpy(&b->out->figure[GNN_FIGURE_WRITE_LATENCY], figures, 4 * sizeof *figures);
    b->out->sequential_read_bytes_per_s = figures[4].value;
    return GNN_OK;
}

/* Twenty seconds of writing in order, in pieces: long enough for a small write cache or a volume's credits, not for
 * every drive's. Comes last of what asks the device for its speed. */
static enum gnn_status sustained_pieces(struct gnn_bench *b, struct gnn_fio_report *report, struct gnn_err *err)
{
    char written[GNN_BENCH_PATH_BYTES + 16];
    FILE *const file = job_open(b);
    if (file != NULL) {
        (void)fprintf(file,
                      "allow_file_create=1\nfilename=%s\nrw=write\nbs=1m\niodepth=8\nsize=%" PRIu64
                      "\ntime_based=1\nruntime=%ums\n",
                      written_path(b, written), b->data_given ? UINT64_C(64) << 20 : b->data_bytes,
                      b->config->quick ? 30U : 2000U);
        for (uint32_t i = 0; i < GNN_SUSTAINED_PIECES; i++)
            (void)fprintf(file, "[piece%u]\nstonewall\n", i);
    }
    return job_run(b, file, report, err);
}

static enum gnn_status measure_sustained(struct gnn_bench *b, struct gnn_err *err)
{
    struct gnn_fio_report *report;
    GNN_NEW(report, 1, err, "calibrate: fio's report: %zu bytes", sizeof *report);
    enum gnn_status status = sustained_pieces(b, report, err);
    const double full_bytes_per_s = b->out->figure[GNN_FIGURE_WRITE_BANDWIDTH].value;
    GNN_NEXT(status, gnn_sustained_of(report, full_bytes_per_s, &b->out->sustained, err));
    free(report);
    return status;
}

/* ---- the whole ---- */

static enum gnn_status find_device(struct gnn_bench *b, struct gnn_err *err)
{
    struct gnn_device_info device;
    struct gnn_profile_storage *const storage = &b->out->storage;
    GNN_TRY(gnn_device_find(b->scratch, &device, err));
    *storage = (struct gnn_profile_storage){.devices = 1, .stripe_bytes = UINT64_C(1) << 20};
    storage->sector_bytes = device.logical_block_bytes == GNN_UNKNOWN ? 4096 : (uint32_t)device.logical_block_bytes;
    storage->readahead_bytes = device.readahead_bytes == GNN_UNKNOWN ? UINT64_C(128) << 10 : device.readahead_bytes;
    choose_grid(b->out);
    look_at_shared_memory(b->out);
    (void)snprintf(b->out->device_model, sizeof b->out->device_model, "%.40s%s%.40s, scheduler %.20s", device.name,
                   device.model[0] != '\0' ? " " : "", device.model,
                   device.scheduler[0] != '\0' ? device.scheduler : "unknown");
    (void)snprintf(b->out->file_system, sizeof b->out->file_system, "%.63s", device.file_system);
    return GNN_OK;
}

static enum gnn_status read_grid(struct gnn_bench *b, struct grid *grid, struct gnn_fio_report *report,
                                 struct gnn_err *err)
{
    const uint32_t passes = b->config->quick ? QUICK_PASSES : PASSES;
    GNN_TRY(write_with_engine(b, report, err));
    (void)snprintf(b->out->fio_version, sizeof b->out->fio_version, "%s", report->version);
    for (uint32_t pass = 0; pass < passes; pass++)
        GNN_TRY(read_pass(b, pass, grid, report, err));
    keep_grid(b->out, grid, passes);
    return GNN_OK;
}

enum gnn_status gnn_bench_storage(struct gnn_bench *b, struct gnn_err *err)
{
    GNN_TRY(find_device(b, err));
    struct grid *const grid = calloc(1, sizeof *grid);
    struct gnn_fio_report *const report = malloc(sizeof *report);
    enum gnn_status status =
        grid == NULL || report == NULL
            ? gnn_fail(err, GNN_ENOMEM, "calibrate: the read grid: %zu bytes", sizeof *grid + sizeof *report)
            : read_grid(b, grid, report, err);
    free(report);
    free(grid);
    GNN_NEXT(status, measure_streams(b, err));
    GNN_NEXT(status, measure_sustained(b, err));
    return status;
}
