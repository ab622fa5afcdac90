/* SPDX-License-Identifier: MIT */
#include "harness/figure/metric_family.h"

#include "harness/base/sizes.h"
#include "harness/record/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double gnn_whole_over_part(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    const char *const text = gnn_kv_get(&run->environment, GNN_ENVIRONMENT_WHOLE_BATCHES);
    const double total = text == NULL ? (double)NAN : strtod(text, NULL);
    const double ran = gnn_known(epoch->counters.batches);
    if (gnn_recorded_figure(epoch, GNN_FIGURE_FULL_EPOCH) == GNN_UNKNOWN)
        return 1;
    return ran > 0 ? total / ran : (double)NAN;
}

/* "sample.work_s" of stage.NAME.FIELD; with a star for the name the sum over all stages. */
static bool of_stage(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch, const char *rest,
                     double *value)
{
    static const struct {
        const char *name;
        size_t offset;
    } fields[] = {{"workers", offsetof(struct gnn_record_stage, workers)},
                  {"work_s", offsetof(struct gnn_record_stage, work_ns)},
                  {"wait_io_s", offsetof(struct gnn_record_stage, wait_io_ns)},
                  {"wait_queue_s", offsetof(struct gnn_record_stage, wait_queue_ns)},
                  {"wall_s", offsetof(struct gnn_record_stage, wall_ns)},
                  {"cpu_s", offsetof(struct gnn_record_stage, cpu_ns)}};
    const char *const dot = strrchr(rest, '.');
    size_t f = 0;
    while (dot != NULL && f < sizeof fields / sizeof *fields && strcmp(dot + 1, fields[f].name) != 0)
        f++;
    if (dot == NULL || dot == rest || f == sizeof fields / sizeof *fields)
        return false;
    *value = epoch != NULL ? 0 : (double)NAN;
    uint32_t found = 0;
    for (uint32_t i = 0; epoch != NULL && i < epoch->stage_count; i++) {
        const char *const name = epoch->stages[i].stage;
        uint64_t part;
        if (strncmp(rest, "*.", 2) != 0 && (strncmp(name, rest, (size_t)(dot - rest)) != 0 || name[dot - rest] != '\0'))
            continue;
        memcpy(&part, (const char *)&epoch->stages[i] + fields[f].offset, sizeof part);
        *value += gnn_known(part);
        found++;
    }
    if (f > 0 && found > 0)
        *value *= gnn_whole_over_part(run, epoch) / 1e9;
    *value = found > 0 ? *value : (double)NAN;
    return true;
}

/* A counter, by its name in results/schema.sql. */
static bool of_counter(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch, const char *rest,
                       double *value)
{
    static const struct gnn_record_counters none;
    bool adds_up;
    if (!gnn_record_counter(epoch != NULL ? &epoch->counters : &none, rest, value, &adds_up))
        return false;
    *value *= epoch != NULL && adds_up ? gnn_whole_over_part(run, epoch) : 1;
    return true;
}

static bool of_statistic(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch, const char *rest,
                         double *value)
{
    (void)run;
    *value = epoch != NULL ? gnn_known(gnn_recorded_figure(epoch, rest)) : (double)NAN;
    return rest[0] != '\0';
}

/* Requests of a class of sizes, "4K". The record leaves out a class that has none; `any` is a statistic that exists if
 * any class does. */
static bool of_size(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch, const char *rest,
                    const char *begin, const char *any, double *value)
{
    char name[GNN_NAME_MAX], text[8];
    uint32_t c = 0;
    while (c < GNN_SIZE_CLASSES && strcmp(gnn_size_class_name(c, text), rest) != 0)
        c++;
    if (c == GNN_SIZE_CLASSES || epoch == NULL)
        return c < GNN_SIZE_CLASSES;
    (void)snprintf(name, sizeof name, "%s%s", begin, rest);
    const uint64_t count = gnn_recorded_figure(epoch, name);
    *value = count == GNN_UNKNOWN ? 0 : (double)count * gnn_whole_over_part(run, epoch);
    if (gnn_recorded_figure(epoch, any) == GNN_UNKNOWN)
        *value = (double)NAN;
    return true;
}

static bool of_reads(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch, const char *rest,
                     double *value)
{
    return of_size(run, epoch, rest, "device_reads_to_", "device_read_bytes_max", value);
}

static bool of_asks(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch, const char *rest,
                    double *value)
{
    return of_size(run, epoch, rest, "reads_to_", "read_bytes_max", value);
}

static const struct gnn_metric_family families[] = {
    {"stage.", false, of_stage}, {"counter.", false, of_counter}, {"own.", true, of_statistic},
    {"reads.", true, of_reads},  {"asks.", true, of_asks},
};

const struct gnn_metric_family *gnn_metric_family(const char *name, const char **rest)
{
    double ignored;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        *rest = name + strlen(families[i].prefix);
        if (strncmp(name, families[i].prefix, strlen(families[i].prefix)) == 0 &&
            families[i].value(NULL, NULL, *rest, &ignored))
            return &families[i];
    }
    return NULL;
}
