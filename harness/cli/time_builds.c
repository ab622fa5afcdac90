/* SPDX-License-Identifier: MIT */
#include "harness/cli/time_builds.h"

#include "harness/base/log.h"
#include "harness/cli/builds.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EPOCHS_MAX = 512, PATH_BYTES = 1024 };
_Static_assert((int)GNN_TIME_METRICS <= (int)GNN_AB_METRICS_MAX, "room for each");

enum { EPOCH, FIRST_EPOCH, OPENING, GPU_KERNELS, GPU_COPIES };
_Static_assert((int)GPU_COPIES + 1 == (int)GNN_TIME_METRICS, "each has a name");

#define LEAST_OPENING_NS 20e6

const char *const gnn_time_metrics[GNN_TIME_METRICS] = {"epoch", "first epoch", "opening", "GPU kernels", "GPU copies"};

/* ---- metrics of a run ---- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *const text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static double value_of(const json_t *object, const char *key)
{
    const json_t *const value = json_object_get(object, key);
    return json_is_integer(value) ? (double)json_integer_value(value) : (double)NAN;
}

/* Returns true if the run's record counts the epoch. Records of older builds count all but the first of several. */
static bool is_counted(const json_t *epochs, size_t e)
{
    const json_t *const counted = json_object_get(json_array_get(epochs, e), "counted");
    return json_is_integer(counted) ? json_integer_value(counted) != 0 : e > 0 || json_array_size(epochs) == 1;
}

/* Returns the median over the epochs that count. figure: its name among the figures of an epoch, or NULL for the wall
 * time. */
static double median_over_epochs(const json_t *epochs, const char *figure)
{
    const size_t count = json_array_size(epochs);
    double values[EPOCHS_MAX];
    uint32_t found = 0;
    for (size_t e = 0; e < count && found < EPOCHS_MAX; e++) {
        const json_t *const epoch = is_counted(epochs, e) ? json_array_get(epochs, e) : NULL;
        const double value =
            figure == NULL ? value_of(epoch, "wall_ns") : value_of(json_object_get(epoch, "figures"), figure);
        if (value > 0)
            values[found++] = value;
    }
    gnn_sort_doubles(values, found);
    return gnn_quantile(values, found, 0.5);
}

static double opening_of(const json_t *run)
{
    const char *const text = text_of(json_object_get(run, "environment"), "system.open_ns");
    return text[0] == '\0' ? (double)NAN : fmax(strtod(text, NULL), LEAST_OPENING_NS);
}

void gnn_time_metrics_of(const json_t *run, double metrics[GNN_AB_METRICS_MAX])
{
    const json_t *const epochs = json_object_get(run, "epochs");
    for (uint32_t m = 0; m < GNN_AB_METRICS_MAX; m++)
        metrics[m] = (double)NAN;
    metrics[EPOCH] = median_over_epochs(epochs, NULL);
    if (json_array_size(epochs) > 1)
        metrics[FIRST_EPOCH] = value_of(json_array_get(epochs, 0), "wall_ns");
    metrics[OPENING] = opening_of(run);
    metrics[GPU_KERNELS] = median_over_epochs(epochs, "gpu_busy_ns");
    metrics[GPU_COPIES] = median_over_epochs(epochs, "gpu_copy_ns");
}

/* ---- pairs ---- */

struct timing {
    const struct gnn_time_request *request;
    struct gnn_build_job jobs[2]; /* of base and of head */
};

static enum gnn_status observe(void *ctx, uint32_t cell, bool head, double metrics[GNN_AB_METRICS_MAX],
                               struct gnn_err *err)
{
    const struct timing *const t = ctx;
    const char *const program = head ? t->request->head : t->request->base;
    const struct gnn_build_cell *const what = &t->jobs[head].cells[cell];
    char db[PATH_BYTES];
    json_t *run;
    (void)snprintf(db, sizeof db, "%.900s/time-%s.db", t->request->dir, head ? "head" : "base");
    GNN_TRY(gnn_build_run(program, what, db, &run, err));
    const bool ok = strcmp(text_of(run, "status"), "ok") == 0;
    enum gnn_status status = GNN_OK;
    if (!ok)
        status = gnn_fail(err, GNN_EFORMAT, "%s [%s]: the run is %s: %s", program, what->section,
                          text_of(run, "status"), text_of(run, "reasons"));
    else
        gnn_time_metrics_of(run, metrics);
    json_decref(run);
    gnn_log_info("%s [%s]: %.4g s", program, what->section, 1e-9 * metrics[EPOCH]);
    return status;
}

static enum gnn_status write_samples(const struct timing *t, const struct gnn_ab_series *series, struct gnn_err *err)
{
    if (t->request->samples[0] == '\0')
        return GNN_OK;
    FILE *const out = fopen(t->request->samples, "we");
    if (out == NULL)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "--samples %s: %s", t->request->samples,
                        strerror(errno));
    (void)fputs("cell,metric,pair,first,base_ns,head_ns\n", out);
    for (uint32_t i = 0; i < t->jobs[0].count * GNN_TIME_METRICS; i++)
        for (uint32_t p = 0; p < series[i].count; p++)
            (void)fprintf(out, "%s,%s,%u,%s,%.0f,%.0f\n", t->jobs[0].cells[i / GNN_TIME_METRICS].section,
                          gnn_time_metrics[i % GNN_TIME_METRICS], p, series[i].head_first[p] ? "head" : "base",
                          series[i].base[p], series[i].head[p]);
    const bool failed = ferror(out) != 0;
    return fclose(out) == 0 && !failed ? GNN_OK
                                       : gnn_fail(err, GNN_EIO, "--samples %s: cannot be written", t->request->samples);
}

static enum gnn_status check_same(const struct timing *t, struct gnn_err *err)
{
    bool same = t->jobs[0].count == t->jobs[1].count;
    for (uint32_t i = 0; same && i < t->jobs[0].count; i++)
        same = strcmp(t->jobs[0].cells[i].section, t->jobs[1].cells[i].section) == 0;
    return same ? GNN_OK
                : gnn_fail(err, GNN_EFORMAT, "%s: one build reads %u configurations from it, the other %u",
                           t->request->job_file, t->jobs[0].count, t->jobs[1].count);
}

/* Runs every configuration of both builds once. The first run of a system may write files that later runs open. */
static enum gnn_status warm_up(struct timing *t, struct gnn_err *err)
{
    double ignored[GNN_AB_METRICS_MAX];
    for (uint32_t cell = 0; cell < t->jobs[0].count; cell++)
        for (int head = 0; head < 2; head++)
            GNN_TRY(observe(t, cell, head == 1, ignored, err));
    return GNN_OK;
}

static enum gnn_status measure(struct timing *t, struct gnn_changes *out, struct gnn_err *err)
{
    struct gnn_ab_series *series;
    const uint32_t cells = t->jobs[0].count, count = cells * GNN_TIME_METRICS;
    GNN_NEW(series, count + 1, err, "pairs of %u times", count);
    enum gnn_status status = warm_up(t, err);
    GNN_NEXT(status, gnn_ab_run(t->request->plan, cells, GNN_TIME_METRICS, observe, t, series, err));
    GNN_NEXT(status, write_samples(t, series, err));
    for (uint32_t i = 0; i < count && status == GNN_OK; i++)
        status = gnn_compare_time(t->jobs[0].cells[i / GNN_TIME_METRICS].section,
                                  gnn_time_metrics[i % GNN_TIME_METRICS], t->request->plan, &series[i], out, err);
    free(series);
    return status;
}

enum gnn_status gnn_time_builds(const struct gnn_time_request *request, struct gnn_changes *out, struct gnn_err *err)
{
    struct timing t = {.request = request};
    enum gnn_status status = gnn_build_job_open(request->base, request->job_file, request->data, &t.jobs[0], err);
    GNN_NEXT(status, gnn_build_job_open(request->head, request->job_file, request->data, &t.jobs[1], err));
    GNN_NEXT(status, check_same(&t, err));
    GNN_NEXT(status, measure(&t, out, err));
    gnn_build_job_close(&t.jobs[0]);
    gnn_build_job_close(&t.jobs[1]);
    return status;
}
