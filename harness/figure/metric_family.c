/* SPDX-License-Identifier: MIT */
#include "harness/figure/metric_family.h"

#include "harness/base/sizes.h"
#include "harness/record/summary.h"

#include <assert.h>
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

/* ---- stage.NAME.FIELD ---- */

static const struct {
    const char *name;
    size_t offset;
    double divisor;
    bool adds_up; /* over the parts of an epoch */
} stage_fields[] = {
    {"work_s", offsetof(struct gnn_record_stage, work_ns), 1e9, true},
    {"wait_io_s", offsetof(struct gnn_record_stage, wait_io_ns), 1e9, true},
    {"wait_queue_s", offsetof(struct gnn_record_stage, wait_queue_ns), 1e9, true},
    {"wall_s", offsetof(struct gnn_record_stage, wall_ns), 1e9, true},
    {"cpu_s", offsetof(struct gnn_record_stage, cpu_ns), 1e9, true},
    {"workers", offsetof(struct gnn_record_stage, workers), 1, false},
};
enum { STAGE_FIELDS = sizeof stage_fields / sizeof *stage_fields };

/* Which field "NAME.FIELD" ends with; STAGE_FIELDS: none. */
static int stage_field(const char *rest)
{
    const char *const dot = strrchr(rest, '.');
    int field = dot != NULL && dot > rest ? 0 : STAGE_FIELDS;
    while (field < STAGE_FIELDS && strcmp(dot + 1, stage_fields[field].name) != 0)
        field++;
    return field;
}

static bool stage_known(const char *rest)
{
    return stage_field(rest) < STAGE_FIELDS;
}

/* Of the stage with that name, or the sum over all for a star. */
static double of_stage(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch, const char *rest)
{
    const int field = stage_field(rest);
    assert(field < STAGE_FIELDS);
    const size_t length = strlen(rest) - strlen(stage_fields[field].name) - 1;
    const bool all = length == 1 && rest[0] == '*';
    uint32_t found = 0;
    double sum = 0;
    for (uint32_t i = 0; i < epoch->stage_count; i++) {
        const struct gnn_record_stage *const stage = &epoch->stages[i];
        uint64_t value;
        if (!all && (strlen(stage->stage) != length || strncmp(stage->stage, rest, length) != 0))
            continue;
        memcpy(&value, (const char *)stage + stage_fields[field].offset, sizeof value);
        sum += gnn_known(value);
        found++;
    }
    if (found == 0)
        return (double)NAN;
    return sum / stage_fields[field].divisor * (stage_fields[field].adds_up ? gnn_whole_over_part(run, epoch) : 1);
}

/* ---- counter.NAME, own.NAME ---- */

static bool counter_known(const char *rest)
{
    static const struct gnn_record_counters none;
    double ignored;
    bool adds_up;
    return gnn_record_counter(&none, rest, &ignored, &adds_up);
}

static double of_counter(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch, const char *rest)
{
    double value;
    bool adds_up;
    const bool found = gnn_record_counter(&epoch->counters, rest, &value, &adds_up);
    assert(found);
    return value * (adds_up ? gnn_whole_over_part(run, epoch) : 1);
}

static bool any_name(const char *rest)
{
    return rest[0] != '\0';
}

static double of_statistic(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch, const char *rest)
{
    (void)run;
    return gnn_known(gnn_recorded_figure(epoch, rest));
}

/* ---- reads.SIZE, asks.SIZE ---- */

static bool size_known(const char *rest)
{
    char text[8];
    for (uint32_t c = 0; c < GNN_SIZE_CLASSES; c++)
        if (strcmp(gnn_size_class_name(c, text), rest) == 0)
            return true;
    return false;
}

/* The record leaves out a class that has none; `any` is a statistic that exists if any class does. */
static double of_size(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch, const char *begin,
                      const char *rest, const char *any)
{
    char name[GNN_NAME_MAX];
    if (gnn_recorded_figure(epoch, any) == GNN_UNKNOWN)
        return (double)NAN;
    (void)snprintf(name, sizeof name, "%s%s", begin, rest);
    const uint64_t count = gnn_recorded_figure(epoch, name);
    return count == GNN_UNKNOWN ? 0 : (double)count * gnn_whole_over_part(run, epoch);
}

static double of_device_size(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch, const char *rest)
{
    return of_size(run, epoch, "device_reads_to_", rest, "device_read_bytes_max");
}

static double of_explicit_size(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch, const char *rest)
{
    return of_size(run, epoch, "reads_to_", rest, "read_bytes_max");
}

static const struct gnn_metric_family families[] = {
    {"stage.", false, stage_known, of_stage},      {"counter.", false, counter_known, of_counter},
    {"own.", true, any_name, of_statistic},        {"reads.", true, size_known, of_device_size},
    {"asks.", true, size_known, of_explicit_size},
};

const struct gnn_metric_family *gnn_metric_family(const char *name, const char **rest)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const size_t length = strlen(families[i].prefix);
        *rest = name + length;
        if (strncmp(name, families[i].prefix, length) == 0 && families[i].known(*rest))
            return &families[i];
    }
    return NULL;
}
