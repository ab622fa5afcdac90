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

const char *const gnn_time_metrics[GNN_TIME_METRICS] = {"epoch", "GPU kernels", "GPU copies"};

/* ---- metrics of a run ---- */

static double value_of(const json_t *epoch, uint32_t metric)
{
    static const char *const figures[GNN_TIME_METRICS] = {NULL, "gpu_busy_ns", "gpu_copy_ns"};
    const json_t *const value = metric == 0 ? json_object_get(epoch, "wall_ns")
                                            : json_object_get(json_object_get(epoch, "figures"), figures[metric]);
    return json_is_integer(value) ? (double)json_integer_value(value) : (double)NAN;
}

void gnn_time_metrics_of(const json_t *run, double metrics[GNN_AB_METRICS_MAX])
{
    const json_t *const epochs = json_object_get(run, "epochs");
    const size_t count = json_array_size(epochs);
    for (uint32_t m = 0; m < GNN_AB_METRICS_MAX; m++) {
        double values[EPOCHS_MAX];
        uint32_t known = 0;
        for (size_t e = count > 1 ? 1 : 0; e < count && m < GNN_TIME_METRICS && known < EPOCHS_MAX; e++) {
            const double value = value_of(json_array_get(epochs, e), m);
            if (value > 0)
                values[known++] = value;
        }
        gnn_sort_doubles(values, known);
        metrics[m] = gnn_quantile(values, known, 0.5);
    }
}

/* ---- pairs ---- */

struct timing {
    const struct gnn_time_request *request;
    struct gnn_build_job jobs[2]; /* of base and of head */
};

static const char *text_of(const json_t *object, const char *key)
{
    const char *const text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static enum gnn_status observe(void *ctx, uint32_t cell, bool head, double metrics[GNN_AB_METRICS_MAX],
                               struct gnn_err *err)
{
    const struct timing *const t = ctx;
    const char *const program = head ? t->request->head : t->request->base;
    const struct gnn_build_cell *const what = &t->jobs[head].cells[cell];
    char db[PATH_BYTES];
    json_t *run;
    (void)snprintf(db, sizeof db, "%.900s/time.db", t->request->dir);
    GNN_TRY(gnn_build_run(program, what, db, &run, err));
    const bool ok = strcmp(text_of(run, "status"), "ok") == 0;
    enum gnn_status status = GNN_OK;
    if (!ok)
        status = gnn_fail(err, GNN_EFORMAT, "%s [%s]: the run is %s: %s", program, what->section,
                          text_of(run, "status"), text_of(run, "reasons"));
    else
        gnn_time_metrics_of(run, metrics);
    json_decref(run);
    gnn_log_info("%s [%s]: %.4g s", program, what->section, 1e-9 * metrics[0]);
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

static enum gnn_status measure(struct timing *t, struct gnn_changes *out, struct gnn_err *err)
{
    struct gnn_ab_series *series;
    const uint32_t cells = t->jobs[0].count, count = cells * GNN_TIME_METRICS;
    GNN_NEW(series, count + 1, err, "pairs of %u times", count);
    enum gnn_status status = gnn_ab_run(t->request->plan, cells, GNN_TIME_METRICS, observe, t, series, err);
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
