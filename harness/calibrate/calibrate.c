/* SPDX-License-Identifier: MIT */
#include "harness/calibrate/calibrate.h"

#include "harness/base/text_file.h"
#include "harness/base/units.h"
#include "harness/calibrate/internal.h"
#include "harness/fio/fio.h"
#include "harness/measure/environment.h"
#include "harness/world/measured/measured.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 7, QUICK_REPEATS = 3, FILE_BYTES_MIN = 16 << 20 };

/* ---- the machine ---- */

static void copy_text(char *out, size_t out_bytes, const struct gnn_kv_list *from, const char *key)
{
    const char *const value = gnn_kv_get(from, key);
    (void)snprintf(out, out_bytes, "%s", value != NULL ? value : "unknown");
    /* In a profile's text ';' would begin a comment. */
    for (char *c = out; *c != '\0'; c++)
        *c = *c == ';' ? ',' : *c;
}

static enum gnn_status describe(struct gnn_calibration *out, struct gnn_err *err)
{
    struct gnn_kv_list environment = {0};
    char load[64];
    const enum gnn_status status = gnn_environment_capture(&environment, NULL, err);
    if (status == GNN_OK) {
        copy_text(out->host, sizeof out->host, &environment, "host.name");
        copy_text(out->kernel, sizeof out->kernel, &environment, "kernel.release");
        copy_text(out->cpu_model, sizeof out->cpu_model, &environment, "cpu.model");
    }
    gnn_kv_clear(&environment);
    GNN_TRY(status);
    out->began_s = (uint64_t)time(NULL);
    (void)gnn_text_file_read("/proc/loadavg", load, sizeof load);
    (void)snprintf(out->load, sizeof out->load, "%.*s", (int)strcspn(load, " \n"), load);
    const long cores = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (cores < 1 || pages < 1 || page < 1)
        return gnn_fail(err, GNN_ENOTSUP,
                        "calibrate: the kernel does not report the number of cores or the memory size");
    out->cores = (uint32_t)cores;
    out->memory_bytes = (uint64_t)pages * (uint64_t)page;
    return GNN_OK;
}

/* ---- where things are written ---- */

static enum gnn_status choose_places(struct gnn_bench *b, struct gnn_err *err)
{
    struct stat info;
    char dir[GNN_BENCH_PATH_BYTES], text[64];
    const char *const device = b->config->device;
    GNN_TRY(gnn_fio_check_path("--device", device, err));
    if (stat(device, &info) != 0)
        return gnn_fail(err, errno == EACCES ? GNN_EPERM : GNN_ENOENT,
                        "--device %s: %s; name a directory on the device to measure, or a large file to read there",
                        device, strerror(errno));
    if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
        return gnn_fail(err, GNN_EUSAGE, "--device %s: name a directory on that device, or a file", device);
    b->data_given = S_ISREG(info.st_mode);
    b->data_bytes = b->data_given ? gnn_round_down((uint64_t)info.st_size, UINT64_C(1) << 20) : b->config->file_bytes;
    if (b->data_given && b->data_bytes < FILE_BYTES_MIN)
        return gnn_fail(err, GNN_EUSAGE,
                        "--device %s: a file of %s is too small to measure; name one of 16M or more, or a directory",
                        device, gnn_format_bytes((uint64_t)info.st_size, text, sizeof text));
    (void)snprintf(dir, sizeof dir, "%s", device);
    if (b->data_given) {
        char *const slash = strrchr(dir, '/');
        (void)snprintf(slash == NULL ? dir : slash, slash == NULL ? sizeof dir : 2, "%s", slash == NULL ? "." : "/");
    }
    const int wrote = snprintf(b->scratch, sizeof b->scratch, "%s/oocgnn-calibrate-XXXXXX", dir);
    if (wrote < 0 || (size_t)wrote + 64 > sizeof b->scratch)
        return gnn_fail(err, GNN_EUSAGE, "--device %s: the path is too long", device);
    if (mkdtemp(b->scratch) == NULL) {
        b->scratch[0] = '\0';
        return gnn_fail(err, errno == EACCES || errno == EPERM || errno == EROFS ? GNN_EPERM : GNN_EIO,
                        "--device %s: no directory can be made there: %s; name a place you may write to", device,
                        strerror(errno));
    }
    if (b->data_given)
        (void)snprintf(b->data, sizeof b->data, "%s", device);
    else
        (void)snprintf(b->data, sizeof b->data, "%.1000s/data", b->scratch);
    (void)snprintf(b->job, sizeof b->job, "%.1000s/job.fio", b->scratch);
    b->out->file_bytes = b->data_bytes;
    return GNN_OK;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0; /* what cannot go stays, the rest goes */
}

/* ---- the whole ---- */

static const struct step {
    const char *what;
    enum gnn_status (*run)(struct gnn_bench *bench, struct gnn_err *err);
} steps[] = {
    {"memory of the process", gnn_bench_process},
    {"storage, by fio", gnn_bench_storage},
    {"memory", gnn_bench_memory},
    {"page faults and buffered reads", gnn_bench_pages}, /* needs the data file */
    {"reclaim under a memory limit", gnn_bench_reclaim}, /* needs the data file */
    {"reads through a ring", gnn_bench_ring},            /* needs the cost of a system call */
    {"sampling", gnn_bench_sampling},
    {"locks and threads", gnn_bench_threads},
    {"compute", gnn_bench_compute},
    {"the GPU, where there is one", gnn_bench_cuda},
};

static enum gnn_status run_steps(struct gnn_bench *b, struct gnn_err *err)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (b->config->stop != NULL && atomic_load(b->config->stop))
            return gnn_fail(err, GNN_ECANCELLED, "calibrate: stopped");
        if (b->config->progress != NULL)
            (void)fprintf(b->config->progress, "measuring %s\n", steps[i].what);
        GNN_TRY(steps[i].run(b, err));
    }
    return GNN_OK;
}

enum gnn_status gnn_calibrate(const struct gnn_calibrate_config *config, struct gnn_calibration *out,
                              struct gnn_err *err)
{
    struct gnn_bench b = {.config = config, .out = out, .repeats = config->quick ? QUICK_REPEATS : REPEATS};
    _Static_assert((int)REPEATS <= (int)GNN_REPEATS_MAX, "figure.c has room for them");
    assert(config->device != NULL);
    *out = (struct gnn_calibration){.quick = config->quick};
    GNN_TRY(describe(out, err));
    enum gnn_status status = choose_places(&b, err);
    GNN_NEXT(status, gnn_world_measured_open(NULL, &b.world, err));
    GNN_NEXT(status, run_steps(&b, err));
    if (b.world != NULL)
        gnn_world_measured_close(b.world);
    if (b.scratch[0] != '\0')
        (void)nftw(b.scratch, remove_entry, 4, FTW_DEPTH | FTW_PHYS);
    return status;
}
