/* SPDX-License-Identifier: MIT */
#include "harness/figure/fio_cells.h"

#include "harness/base/clock.h"
#include "harness/base/data_dirs.h"
#include "harness/base/log.h"
#include "harness/base/text_file.h"
#include "harness/base/units.h"
#include "harness/base/words.h"
#include "harness/fio/fio.h"
#include "harness/measure/device.h"
#include "harness/measure/environment.h"
#include "harness/run/identity.h"
#include "harness/run/sweep/lookup.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, FILE_STEP_BYTES = 1 << 20 /* what it is written in */, KEYS_MAX = 64 };

/* ---- what a cell is ---- */

static bool is_own_key(const char *key)
{
    static const char *const own_keys[] = {GNN_FIGURE_OWN_KEYS, NULL};
    return gnn_list_has(own_keys, key);
}

/* The name of the file that the cell reads: its size says all that there is to it. */
static void name_file(const struct gnn_job_cell *cell, char *name, size_t name_bytes)
{
    (void)snprintf(name, name_bytes, "read-%s", gnn_kv_get(&cell->choices, "size"));
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct gnn_kv *)a)->key, ((const struct gnn_kv *)b)->key);
}

/* Writes what tells a cell from others: where its file is, and its keys in the order of their names, so that a figure
 * that gives them in another order has the same cell. To be freed. */
static enum gnn_status identify(const struct gnn_job_cell *cell, char **text, struct gnn_err *err)
{
    struct gnn_kv sorted[KEYS_MAX];
    size_t bytes = 0;
    const uint32_t count = cell->choices.count;
    assert(count <= KEYS_MAX);
    *text = NULL;
    FILE *const out = open_memstream(text, &bytes);
    if (out == NULL)
        return gnn_fail(err, GNN_ENOMEM, "the name of an fio configuration");
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = cell->choices.items[i];
    qsort(sorted, count, sizeof *sorted, by_key);
    (void)fprintf(out, "fio in %s:", cell->config.data_dir);
    for (uint32_t i = 0; i < count; i++)
        if (!is_own_key(sorted[i].key))
            (void)fprintf(out, " %s=%s", sorted[i].key, sorted[i].value);
    if (fclose(out) == 0)
        return GNN_OK;
    free(*text);
    return gnn_fail(err, GNN_ENOMEM, "the name of an fio configuration");
}

enum gnn_status gnn_fio_cell_settle(struct gnn_job_cell *cell, char **identity, struct gnn_err *err)
{
    uint64_t bytes;
    const char *const text = gnn_kv_get(&cell->choices, "size");
    if (text == NULL)
        return gnn_fail(err, GNN_EUSAGE,
                        "size is missing: fio needs the size of the file that it reads; add `size = 1g`");
    GNN_TRY(gnn_parse_bytes(text, &bytes, err));
    GNN_TRY(gnn_kv_setf(&cell->choices, err, "size", "%" PRIu64,
                        gnn_max_u64(gnn_round_down(bytes, FILE_STEP_BYTES), FILE_STEP_BYTES)));
    return identify(cell, identity, err);
}

/* ---- what is recorded ---- */

/* Returns what the record of a configuration has, with the name of its file in `file`. */
static struct gnn_wanted_run wanted_run(const struct gnn_paper_figure *figure, uint32_t cell, char file[GNN_NAME_MAX])
{
    name_file(&figure->job->cells[cell], file, GNN_NAME_MAX);
    return (struct gnn_wanted_run){.key = GNN_IDENTITY_KEY,
                                   .value = figure->cells[cell].identity,
                                   .system = GNN_FIO_SYSTEM,
                                   .dataset = file,
                                   .world = "measured",
                                   .scale_divisor = figure->scale_divisor,
                                   .epochs = 1};
}

enum gnn_status gnn_fio_cell_find(const struct gnn_paper_figure *figure, uint32_t cell, uint32_t max, int64_t *ids,
                                  uint32_t *count, struct gnn_err *err)
{
    char file[GNN_NAME_MAX];
    const struct gnn_wanted_run wanted = wanted_run(figure, cell, file);
    return gnn_wanted_find(figure->job->cells[cell].config.db, &wanted, max, ids, count, err);
}

enum gnn_status gnn_fio_cell_cost(const struct gnn_paper_figure *figure, uint32_t cell, struct gnn_run_cost *out,
                                  struct gnn_err *err)
{
    char file[GNN_NAME_MAX];
    const struct gnn_wanted_run wanted = wanted_run(figure, cell, file);
    return gnn_wanted_cost(figure->job->cells[cell].config.db, &wanted, out, err);
}

/* ---- one job ---- */

/* What is the same for all cells of a figure, and the cell at hand. */
struct reading {
    const struct gnn_paper_figure *figure;
    const atomic_bool *stop;
    const struct gnn_job_cell *cell;
    char version[64]; /* "": not asked yet */
    char dir[PATH_BYTES], file[PATH_BYTES + GNN_NAME_MAX];
    uint64_t sector_bytes;
    struct gnn_fio_report *report;
};

/* Has fio run a job file of this text. */
static enum gnn_status run_job(const struct reading *r, const char *text, struct gnn_err *err)
{
    char path[PATH_BYTES + 32];
    (void)snprintf(path, sizeof path, "%s/job-%ld", r->dir, (long)getpid());
    GNN_TRY(gnn_text_file_replace(path, text, "name another folder with --data", err));
    const enum gnn_status status = gnn_fio_run(path, r->report, err);
    (void)unlink(path);
    return status;
}

/* Makes the file where it is not there: written and not merely allocated, since reads of unwritten extents never reach
 * the device; under another name until it is whole. */
static enum gnn_status make_file(const struct reading *r, struct gnn_err *err)
{
    struct stat info;
    char part[sizeof r->file + 8], text[sizeof part + 200], shown[32];
    const uint64_t bytes = strtoull(gnn_kv_get(&r->cell->choices, "size"), NULL, 10);
    if (stat(r->file, &info) == 0 && (uint64_t)info.st_size == bytes)
        return GNN_OK;
    gnn_log_info("fio writes %s, %s", r->file, gnn_format_bytes(bytes, shown, sizeof shown));
    (void)snprintf(part, sizeof part, "%s.part", r->file);
    (void)snprintf(text, sizeof text,
                   "[write]\nfilename=%s\nrw=write\nioengine=psync\nbs=%d\nsize=%" PRIu64
                   "\nrefill_buffers=1\nend_fsync=1\nthread=1\n",
                   part, FILE_STEP_BYTES, bytes);
    GNN_TRY(run_job(r, text, err));
    if (stat(part, &info) != 0 || (uint64_t)info.st_size != bytes)
        return gnn_fail(err, GNN_EIO, "fio wrote no %s of %" PRIu64 " bytes", part, bytes);
    if (rename(part, r->file) != 0)
        return gnn_fail(err, GNN_EIO, "%s: %s", r->file, strerror(errno));
    return GNN_OK;
}

static bool is_direct(const struct gnn_job_cell *cell)
{
    const char *const text = gnn_kv_get(&cell->choices, "direct");
    return text != NULL && strcmp(text, "1") == 0;
}

/* A key's value as fio is told it: a direct read is not smaller than a sector. */
static const char *told(const struct reading *r, const struct gnn_kv *choice, char *text, size_t text_bytes)
{
    uint64_t bytes;
    if (strcmp(choice->key, "bs") != 0 || !is_direct(r->cell) ||
        gnn_parse_bytes(choice->value, &bytes, NULL) != GNN_OK || bytes >= r->sector_bytes)
        return choice->value;
    (void)snprintf(text, text_bytes, "%" PRIu64, r->sector_bytes);
    return text;
}

/* Reads as the cell says; the report has one job then. */
static enum gnn_status measure(const struct reading *r, struct gnn_err *err)
{
    char *text = NULL, value[32];
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    if (out == NULL)
        return gnn_fail(err, GNN_ENOMEM, "a job file of fio's");
    (void)fprintf(out, "[global]\nfilename=%s\nallow_file_create=0\n", r->file);
    for (uint32_t i = 0; i < r->cell->choices.count; i++) {
        const struct gnn_kv *const choice = &r->cell->choices.items[i];
        if (!is_own_key(choice->key))
            (void)fprintf(out, "%s=%s\n", choice->key, told(r, choice, value, sizeof value));
    }
    (void)fputs("[read]\n", out);
    enum gnn_status status = fclose(out) == 0 ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "a job file of fio's");
    GNN_NEXT(status, run_job(r, text, err));
    free(text);
    GNN_TRY(status);
    if (r->report->count != 1)
        return gnn_fail(err, GNN_EFORMAT,
                        "fio: %u jobs in its report, expected one: does the figure lack "
                        "group_reporting?",
                        r->report->count);
    if (!(r->report->jobs[0].read_bytes_per_s > 0))
        return gnn_fail(err, GNN_EFORMAT, "fio: no read of %s was completed", r->file);
    return GNN_OK;
}

/* ---- one cell ---- */

static enum gnn_status fill_record(const struct reading *r, struct gnn_run_record *run, struct gnn_err *err)
{
    char value[32];
    gnn_run_record_init(run);
    (void)snprintf(run->system, sizeof run->system, "%s", GNN_FIO_SYSTEM);
    name_file(r->cell, run->dataset, sizeof run->dataset);
    (void)snprintf(run->world, sizeof run->world, "measured");
    (void)snprintf(run->cap_enforcement, sizeof run->cap_enforcement, "none");
    run->scale_divisor = r->figure->scale_divisor;
    run->epochs_planned = 1;
    run->direct_asked = is_direct(r->cell) ? 1 : 0;
    for (uint32_t i = 0; i < r->cell->choices.count; i++) {
        const struct gnn_kv *const choice = &r->cell->choices.items[i];
        if (!is_own_key(choice->key))
            GNN_TRY(gnn_kv_set(&run->config, choice->key, told(r, choice, value, sizeof value), err));
    }
    GNN_TRY(gnn_kv_set(&run->config, "filename", r->file, err));
    GNN_TRY(gnn_environment_capture(&run->environment, r->dir, err));
    GNN_TRY(gnn_kv_set(&run->environment, "fio.version", r->version, err));
    const char *const identity = r->figure->cells[r->cell - r->figure->job->cells].identity;
    return gnn_kv_set(&run->environment, GNN_IDENTITY_KEY, identity, err);
}

static void add_figure(struct gnn_record_epoch *epoch, const char *name, double value)
{
    struct gnn_record_figure *const figure = &epoch->figures[epoch->figure_count++];
    (void)snprintf(figure->name, sizeof figure->name, "%s", name);
    figure->value = (uint64_t)llround(value);
}

static enum gnn_status write_epoch(const struct reading *r, struct gnn_db *db, int64_t run_id, struct gnn_err *err)
{
    const struct gnn_fio_job *const job = &r->report->jobs[0];
    struct gnn_record_epoch epoch;
    gnn_record_epoch_unknown(&epoch);
    epoch.epoch = 0;
    epoch.stage_count = epoch.figure_count = 0;
    add_figure(&epoch, GNN_FIO_READ_RATE, job->read_bytes_per_s);
    add_figure(&epoch, "reads_per_s", job->read_iops);
    if (job->read_latency_ns > 0)
        add_figure(&epoch, GNN_FIO_READ_LATENCY, job->read_latency_ns);
    return gnn_db_epoch(db, run_id, &epoch, err);
}

/* Measures between the run's first row and its last. What went wrong with fio itself is in the record, and returned in
 * *cause; a stopped one is GNN_ECANCELLED. */
static enum gnn_status record(const struct reading *r, struct gnn_db *db, struct gnn_run_record *run,
                              struct gnn_err *cause, struct gnn_err *err)
{
    GNN_TRY(gnn_db_begin(db, run, err));
    const uint64_t start_ns = gnn_host_now_ns();
    const enum gnn_status status = measure(r, cause);
    run->wall_ns = gnn_host_now_ns() - start_ns;
    const bool stopped = r->stop != NULL && atomic_load(r->stop);
    run->status = stopped ? GNN_RUN_INTERRUPTED : status != GNN_OK ? GNN_RUN_FAILED : GNN_RUN_OK;
    run->valid = run->status == GNN_RUN_OK ? 1 : -1;
    if (run->status == GNN_RUN_FAILED)
        gnn_run_record_reason(run, "%s", cause->message);
    if (run->status == GNN_RUN_OK)
        GNN_TRY(write_epoch(r, db, run->run_id, err));
    GNN_TRY(gnn_db_finish(db, run, err));
    return stopped ? gnn_fail(err, GNN_ECANCELLED, "figure %s: stopped", r->figure->id) : GNN_OK;
}

/* Finds where the cell's file is, and makes it. */
static enum gnn_status prepare(struct reading *r, struct gnn_err *err)
{
    char name[GNN_NAME_MAX];
    struct gnn_device_info device;
    name_file(r->cell, name, sizeof name);
    const int wrote = snprintf(r->dir, sizeof r->dir, "%s/fio", r->cell->config.data_dir);
    if (wrote < 0 || (size_t)wrote >= sizeof r->dir)
        return gnn_fail(err, GNN_EUSAGE, "--data: the path is too long");
    (void)snprintf(r->file, sizeof r->file, "%s/%s", r->dir, name);
    GNN_TRY(gnn_fio_check_path("--data", r->file, err));
    if (r->version[0] == '\0')
        GNN_TRY(gnn_fio_version(r->version, sizeof r->version, err));
    GNN_TRY(gnn_make_dirs(r->dir, err));
    GNN_TRY(gnn_device_find(r->dir, &device, err));
    r->sector_bytes = device.logical_block_bytes == GNN_UNKNOWN ? GNN_PAGE_BYTES : device.logical_block_bytes;
    return make_file(r, err);
}

/* A cell of which fio makes nothing is told, recorded as failed and counted. */
static enum gnn_status run_cell(struct reading *r, struct gnn_fio_ran *ran, struct gnn_err *err)
{
    struct gnn_run_record run;
    struct gnn_db *db = NULL;
    struct gnn_err cause = {0};
    GNN_TRY(prepare(r, err));
    gnn_log_info("configuration %u of %u [%s]", (uint32_t)(r->cell - r->figure->job->cells) + 1, r->figure->job->count,
                 r->cell->section);
    enum gnn_status status = fill_record(r, &run, err);
    GNN_NEXT(status, gnn_db_open(r->cell->config.db, GNN_DB_WRITE, &db, err));
    GNN_NEXT(status, record(r, db, &run, &cause, err));
    if (status == GNN_OK && cause.status != GNN_OK) {
        gnn_log_warn("%s", cause.message);
        ran->failed++;
    } else if (status == GNN_OK) {
        ran->made++;
    }
    gnn_db_close(db);
    gnn_run_record_free(&run);
    return status;
}

/* ---- all ---- */

static enum gnn_status run_round(struct reading *r, uint32_t round, struct gnn_fio_ran *ran, struct gnn_err *err)
{
    for (uint32_t i = 0; i < r->figure->job->count; i++) {
        uint32_t done = 0;
        r->cell = &r->figure->job->cells[i];
        const bool refused = r->cell->refusal[0] != '\0';
        if (refused)
            gnn_log_warn("configuration %u [%s] is not possible: %s", i + 1, r->cell->section, r->cell->refusal);
        else
            GNN_TRY(gnn_fio_cell_find(r->figure, i, 0, NULL, &done, err));
        if (refused || done > round)
            ran->passed++;
        else
            GNN_TRY(run_cell(r, ran, err));
    }
    return GNN_OK;
}

enum gnn_status gnn_fio_cells_run(const struct gnn_paper_figure *figure, uint32_t repeat, const atomic_bool *stop,
                                  struct gnn_fio_ran *out, struct gnn_err *err)
{
    struct reading *r;
    assert(figure->by_fio);
    assert(repeat > 0);
    *out = (struct gnn_fio_ran){.made = 0};
    GNN_NEW(r, 1, err, "the jobs of figure %s", figure->id);
    *r = (struct reading){.figure = figure, .stop = stop, .report = malloc(sizeof *r->report)};
    enum gnn_status status = r->report != NULL ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "fio's report");
    for (uint32_t round = 0; round < repeat && status == GNN_OK; round++)
        status = run_round(r, round, out, err);
    gnn_log_info("%u run%s made, %u skipped, %u failed", out->made, out->made == 1 ? "" : "s", out->passed,
                 out->failed);
    free(r->report);
    free(r);
    /* Ctrl-C ends fio too, which then tells of an error of its own. */
    return status != GNN_OK && stop != NULL && atomic_load(stop) ? GNN_ECANCELLED : status;
}
