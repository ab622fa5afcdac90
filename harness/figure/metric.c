/* SPDX-License-Identifier: MIT */
#include "harness/figure/metric.h"

#include "harness/base/units.h"
#include "harness/figure/fio_cells.h"
#include "harness/figure/metric_family.h"
#include "harness/record/summary.h"
#include "harness/run/parameter.h"
#include "harness/run/sweep/grid.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1e9
#define GIB (1024.0 * 1024 * 1024)

/* Where a metric has its value from. */
enum from { COMPUTED, FIELD, PART, ENVIRONMENT, SERIES, WAITS, FIO };

/* Returns the number at an offset, or NAN for GNN_UNKNOWN. */
static double field_of(const void *of, size_t offset)
{
    uint64_t value;
    memcpy(&value, (const char *)of + offset, sizeof value);
    return gnn_known(value);
}

/* ---- of an epoch ---- */

static double epoch_seconds(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    (void)run;
    return gnn_known(gnn_epoch_whole_ns(epoch)) / SECOND_NS;
}

static double epoch_minutes(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    return epoch_seconds(run, epoch) / 60;
}

static double prepare_share(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    return 100 * (gnn_known(epoch->prepare_ns) / SECOND_NS) / epoch_seconds(run, epoch);
}

static double sampling_seconds(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    for (uint32_t i = 0; i < epoch->stage_count; i++) {
        const struct gnn_record_stage *const stage = &epoch->stages[i];
        if (strcmp(stage->stage, "sample") == 0)
            return (gnn_known(stage->wall_ns) - gnn_known(stage->wait_queue_ns)) / gnn_known(stage->workers) /
                   SECOND_NS * gnn_whole_over_part(run, epoch);
    }
    return (double)NAN;
}

static double longest_wait(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    double longest = (double)NAN;
    for (uint32_t i = 0; i < epoch->stage_count; i++)
        longest = fmax(longest, gnn_known(epoch->stages[i].wait_io_ns) / gnn_known(epoch->stages[i].workers));
    return longest / SECOND_NS * gnn_whole_over_part(run, epoch);
}

static double read_kib(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    (void)run;
    return gnn_known(epoch->counters.device_read_bytes) / gnn_known(epoch->counters.device_read_ios) / 1024;
}

static double hit_percent(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    (void)run;
    const double ratio = gnn_record_hit_ratio(&epoch->counters);
    return ratio < 0 ? (double)NAN : 100 * ratio; /* MariusGNN reads whole partitions: more rows than were requested */
}

#define COUNTER(field) offsetof(struct gnn_record_epoch, counters.field)

/* FIELD: a number of the record over its unit. PART: the same, scaled to the whole epoch. */
static const struct {
    const char *name;
    enum from from;
    double (*fn)(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch);
    size_t offset;
    double unit;
} epoch_metrics[] = {
    {"epoch_s", COMPUTED, epoch_seconds, 0, 1},
    {"epoch_min", COMPUTED, epoch_minutes, 0, 1},
    {"prepare_s", FIELD, NULL, offsetof(struct gnn_record_epoch, prepare_ns), SECOND_NS},
    {"prepare_pct", COMPUTED, prepare_share, 0, 1},
    {"sampling_s", COMPUTED, sampling_seconds, 0, 1},
    {"read_gib", PART, NULL, COUNTER(device_read_bytes), GIB},
    {"reads", PART, NULL, COUNTER(device_read_ios), 1},
    {"read_kib", COMPUTED, read_kib, 0, 1},
    {"asked_gib", PART, NULL, COUNTER(requested_bytes), GIB},
    {"asks", PART, NULL, COUNTER(requested_ios), 1},
    {"written_gib", PART, NULL, COUNTER(device_write_bytes), GIB},
    {"disk_wait_s", COMPUTED, longest_wait, 0, 1},
    {"hit_pct", COMPUTED, hit_percent, 0, 1},
    {"peak_gib", FIELD, NULL, COUNTER(peak_memory_bytes), GIB},
};
enum { EPOCH_METRICS = sizeof epoch_metrics / sizeof *epoch_metrics };

static double epoch_value(int metric, const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    if (epoch_metrics[metric].from == COMPUTED)
        return epoch_metrics[metric].fn(run, epoch);
    const double value = field_of(epoch, epoch_metrics[metric].offset) / epoch_metrics[metric].unit;
    return epoch_metrics[metric].from == PART ? value * gnn_whole_over_part(run, epoch) : value;
}

/* ---- of a run ---- */

static double first_epoch(const struct gnn_run_record *run)
{
    return gnn_known(gnn_run_first_epoch_ns(run)) / SECOND_NS;
}

/* Share of the workers' time, as gnn_run_io_wait_pct() has it of waits. */
static double work_percent(const struct gnn_run_record *run)
{
    struct gnn_record_stage sums[GNN_RECORD_STAGES_MAX];
    const uint32_t count = gnn_run_stage_sums(run, sums);
    double wall_ns = 0, work_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        wall_ns += gnn_known(sums[i].wall_ns);
        work_ns += gnn_known(sums[i].work_ns);
    }
    return wall_ns > 0 ? 100 * work_ns / wall_ns : (double)NAN;
}

static double gpu_busy(const struct gnn_run_record *run)
{
    uint64_t busy_ns, wall_ns;
    return gnn_run_gpu_busy(run, &busy_ns, &wall_ns) ? 100 * (double)busy_ns / (double)wall_ns : (double)NAN;
}

/* The mean of a field over the intervals of the series in which I/O wait is at least that. */
static double over_series(const struct gnn_run_record *run, size_t offset, double io_wait_least)
{
    double sum = 0, weight = 0;
    for (uint32_t i = 0; i < run->series_count; i++) {
        const struct gnn_series_point *const point = &run->series[i];
        double value;
        memcpy(&value, (const char *)point + offset, sizeof value);
        if (!isfinite(value) || point->interval_ns == GNN_UNKNOWN || !(point->iowait_pct >= io_wait_least))
            continue;
        sum += value * (double)point->interval_ns;
        weight += (double)point->interval_ns;
    }
    return weight > 0 ? sum / weight : (double)NAN;
}

static double fastest_reads(const struct gnn_run_record *run)
{
    double most = (double)NAN;
    for (uint32_t i = 0; i < run->series_count; i++)
        most = fmax(most, run->series[i].disk_read_bytes_per_s / 1e9);
    return most;
}

static double accuracy(const struct gnn_run_record *run)
{
    return 100 * gnn_run_test_accuracy(run);
}

static double of_environment(const struct gnn_run_record *run, const char *key)
{
    const char *const text = gnn_kv_get(&run->environment, key);
    return text == NULL ? (double)NAN : strtod(text, NULL);
}

static double feature_gib(const struct gnn_run_record *run)
{
    return of_environment(run, "dataset.nodes") * gnn_known(run->dim) * sizeof(float) / GIB;
}

static double topology_gib(const struct gnn_run_record *run)
{
    return gnn_known(run->dataset_bytes) / GIB - feature_gib(run);
}

/* The test accuracy of the epoch with the best validation accuracy, of several the first. */
static double best_accuracy(const struct gnn_run_record *run)
{
    const struct gnn_record_epoch *best = NULL;
    for (uint32_t e = 0; e < run->epoch_count; e++)
        if (isfinite(run->epochs[e].valid_accuracy) &&
            (best == NULL || run->epochs[e].valid_accuracy > best->valid_accuracy))
            best = &run->epochs[e];
    return best != NULL ? 100 * best->test_accuracy : (double)NAN;
}

/* Of all epochs, as far as a double is exact. */
static double digest(const struct gnn_run_record *run)
{
    return run->counters.has_digest ? (double)(run->counters.batch_digest >> 12) : (double)NAN;
}

static double bound_gib(const struct gnn_run_record *run)
{
    return run->epoch_count > 0 ? gnn_known(gnn_run_bound_bytes(run)) / GIB / run->epoch_count : (double)NAN;
}

static double read_bound_ratio(const struct gnn_run_record *run)
{
    return gnn_known(run->counters.device_read_bytes) / gnn_known(gnn_run_bound_bytes(run));
}

/* NAN: it ended in another way, or is invalid, which is no end. */
static double ended_so(const struct gnn_run_record *run, bool so)
{
    const bool ended = run->status == GNN_RUN_OK || run->status == GNN_RUN_OOM || run->status == GNN_RUN_GPU_OOM ||
                       run->status == GNN_RUN_OOT;
    return !ended || gnn_run_withholds_times(run) ? (double)NAN : so ? 1 : 0;
}

static double is_oom(const struct gnn_run_record *run)
{
    return ended_so(run, run->status == GNN_RUN_OOM || run->status == GNN_RUN_GPU_OOM);
}

static double is_oot(const struct gnn_run_record *run)
{
    return ended_so(run, run->status == GNN_RUN_OOT);
}

static double is_ok(const struct gnn_run_record *run)
{
    return run->status == GNN_RUN_OK && !gnn_run_withholds_times(run) ? 1 : 0;
}

/* What a metric of a run describes. */
enum subject { OF_WORK, OF_DATASET, OF_END };

#define RUN(field) offsetof(struct gnn_run_record, field)
#define POINT(field) offsetof(struct gnn_series_point, field)

/* FIELD: a number of the record over its unit. SERIES, WAITS: the mean of a field of the series. */
static const struct run_metric {
    const char *name;
    enum subject subject;
    enum from from;
    double (*fn)(const struct gnn_run_record *run);
    size_t offset;
    double unit;
    const char *key; /* of the environment, or of the one epoch that stands for what fio told */
} run_metrics[] = {
    {"first_epoch_s", OF_WORK, COMPUTED, first_epoch, 0, 1, NULL},
    {"open_s", OF_WORK, ENVIRONMENT, NULL, 0, SECOND_NS, "system.open_ns"},
    {"before_s", OF_WORK, FIELD, NULL, RUN(before.elapsed_ns), SECOND_NS, NULL},
    {"before_read_gib", OF_WORK, FIELD, NULL, RUN(before.device_read_bytes), GIB, NULL},
    {"before_written_gib", OF_WORK, FIELD, NULL, RUN(before.device_write_bytes), GIB, NULL},
    {"io_wait_pct", OF_WORK, COMPUTED, gnn_run_io_wait_pct, 0, 1, NULL},
    {"work_pct", OF_WORK, COMPUTED, work_percent, 0, 1, NULL},
    {"gpu_busy_pct", OF_WORK, COMPUTED, gpu_busy, 0, 1, NULL},
    {"series.cpu_pct", OF_WORK, SERIES, NULL, POINT(cpu_pct), 1, NULL},
    {"series.gpu_busy_pct", OF_WORK, SERIES, NULL, POINT(gpu_busy_pct), 1, NULL},
    {"series.iowait_pct", OF_WORK, SERIES, NULL, POINT(iowait_pct), 1, NULL},
    {"series.read_gbps", OF_WORK, COMPUTED, fastest_reads, 0, 1, NULL},
    {"waits.cpu_pct", OF_WORK, WAITS, NULL, POINT(cpu_pct), 1, NULL},
    {"waits.gpu_busy_pct", OF_WORK, WAITS, NULL, POINT(gpu_busy_pct), 1, NULL},
    {"accuracy_pct", OF_WORK, COMPUTED, accuracy, 0, 1, NULL},
    {"best_accuracy_pct", OF_WORK, COMPUTED, best_accuracy, 0, 1, NULL},
    {"mrr", OF_WORK, COMPUTED, gnn_run_test_mrr, 0, 1, NULL},
    {"limit_mib", OF_WORK, FIELD, NULL, RUN(cap_bytes), 1 << 20, NULL},
    {"digest", OF_WORK, COMPUTED, digest, 0, 1, NULL},
    {"bound_gib", OF_WORK, COMPUTED, bound_gib, 0, 1, NULL},
    {"bound_ratio", OF_WORK, COMPUTED, gnn_run_bound_ratio, 0, 1, NULL},
    {"read_bound_ratio", OF_WORK, COMPUTED, read_bound_ratio, 0, 1, NULL},
    {"floor_ratio", OF_WORK, COMPUTED, gnn_run_floor_ratio, 0, 1, NULL},
    {"nodes", OF_DATASET, ENVIRONMENT, NULL, 0, 1, "dataset.nodes"},
    {"edges", OF_DATASET, ENVIRONMENT, NULL, 0, 1, "dataset.edges"},
    {"dim", OF_DATASET, FIELD, NULL, RUN(dim), 1, NULL},
    {"scale", OF_DATASET, FIELD, NULL, RUN(scale_divisor), 1, NULL},
    {"feature_gib", OF_DATASET, COMPUTED, feature_gib, 0, 1, NULL},
    {"total_gib", OF_DATASET, FIELD, NULL, RUN(dataset_bytes), GIB, NULL},
    {"topology_gib", OF_DATASET, COMPUTED, topology_gib, 0, 1, NULL},
    {"fio.read_mbps", OF_WORK, FIO, NULL, 0, 1e6, GNN_FIO_READ_RATE},
    {"fio.read_us", OF_WORK, FIO, NULL, 0, 1e3, GNN_FIO_READ_LATENCY},
    {"oom", OF_END, COMPUTED, is_oom, 0, 1, NULL},
    {"oot", OF_END, COMPUTED, is_oot, 0, 1, NULL},
    {GNN_METRIC_RUNS, OF_END, COMPUTED, is_ok, 0, 1, NULL},
};
enum { RUN_METRICS = sizeof run_metrics / sizeof *run_metrics };

static double run_value(const struct run_metric *m, const struct gnn_run_record *run)
{
    switch (m->from) {
    case COMPUTED:
        return m->fn(run);
    case ENVIRONMENT:
        return of_environment(run, m->key) / m->unit;
    case SERIES:
        return over_series(run, m->offset, 0);
    case WAITS:
        return over_series(run, m->offset, over_series(run, POINT(iowait_pct), 0));
    case FIO:
        return run->epoch_count > 0 ? gnn_known(gnn_recorded_figure(&run->epochs[0], m->key)) / m->unit : (double)NAN;
    default:
        return field_of(run, m->offset) / m->unit;
    }
}

/* Returns the metric of a run of that name, or NULL. */
static const struct run_metric *find_run_metric(const char *name)
{
    for (int i = 0; i < RUN_METRICS; i++)
        if (strcmp(run_metrics[i].name, name) == 0)
            return &run_metrics[i];
    return NULL;
}

/* ---- by name ---- */

static const char first[] = "first.", accuracy_after[] = "accuracy_pct.", environment[] = "env.",
                  profile[] = "profile.", option[] = "option.";

static bool begins(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0 && name[strlen(prefix)] != '\0';
}

const char *gnn_metric_name(uint32_t i)
{
    return i < EPOCH_METRICS                 ? epoch_metrics[i].name
           : i < EPOCH_METRICS + RUN_METRICS ? run_metrics[i - EPOCH_METRICS].name
                                             : NULL;
}

bool gnn_metric_of_target(const char *name)
{
    return strcmp(name, GNN_METRIC_TARGET_S) == 0 || strcmp(name, GNN_METRIC_TARGET_EPOCHS) == 0;
}

/* The epoch whose accuracy a metric is, the first being 1; 0: it is none. */
static uint32_t epoch_of_accuracy(const char *name)
{
    uint64_t epoch;
    const bool is_one = begins(name, accuracy_after) &&
                        gnn_parse_u64(name + strlen(accuracy_after), &epoch, NULL) == GNN_OK && epoch <= UINT32_MAX;
    return is_one ? (uint32_t)epoch : 0;
}

bool gnn_metric_of_accuracy(const char *name)
{
    return strcmp(name, "accuracy_pct") == 0 || strcmp(name, "best_accuracy_pct") == 0 || begins(name, "rank.") ||
           epoch_of_accuracy(name) > 0;
}

bool gnn_metric_split(const char *name, char base[GNN_NAME_MAX], int32_t *epoch)
{
    const size_t length = strcspn(name, "@");
    uint64_t number;
    *epoch = GNN_EPOCHS_COUNTED;
    if (length >= GNN_NAME_MAX)
        return false;
    memcpy(base, name, length);
    base[length] = '\0';
    if (name[length] == '\0')
        return true;
    if (strcmp(name + length + 1, "last") == 0) {
        *epoch = GNN_EPOCH_LAST;
        return true;
    }
    if (gnn_parse_u64(name + length + 1, &number, NULL) != GNN_OK || number > INT32_MAX)
        return false;
    *epoch = (int32_t)number;
    return true;
}

/* Which metric of an epoch the name is; EPOCH_METRICS: none. */
static int find_epoch_metric(const char *base)
{
    int found = 0;
    while (found < EPOCH_METRICS && strcmp(epoch_metrics[found].name, base) != 0)
        found++;
    return found;
}

/* A recorded option as a number; NAN: it is a word, or of another system. */
static double of_option(const struct gnn_run_record *run, const char *name)
{
    const char *const text = gnn_kv_get(&run->config, name);
    uint64_t bytes;
    char *end;
    if (text == NULL || gnn_parse_bytes(text, &bytes, NULL) == GNN_OK)
        return text == NULL ? (double)NAN : (double)bytes;
    const double number = strtod(text, &end);
    return end != text && *end == '\0' ? number : (double)NAN;
}

bool gnn_metric_known(const char *name)
{
    char base[GNN_NAME_MAX];
    int32_t epoch;
    const char *rest;
    if (!gnn_metric_split(name, base, &epoch))
        return false;
    if (find_epoch_metric(base) < EPOCH_METRICS || gnn_metric_family(base, &rest) != NULL)
        return true;
    if (epoch != GNN_EPOCHS_COUNTED)
        return false;
    if (find_run_metric(base) != NULL)
        return true;
    if (begins(base, profile))
        return gnn_run_parameter_known(base + strlen(profile));
    if (begins(base, option))
        return gnn_grid_option(base + strlen(option)) != NULL;
    return begins(base, first) || begins(base, environment) || epoch_of_accuracy(base) > 0 ||
           gnn_metric_of_target(base);
}

bool gnn_metric_of_end(const char *name)
{
    const struct run_metric *const metric = find_run_metric(name);
    return metric != NULL && metric->subject == OF_END;
}

bool gnn_metric_of_dataset(const char *name)
{
    const struct run_metric *const metric = find_run_metric(name);
    return metric != NULL && metric->subject == OF_DATASET;
}

bool gnn_metric_of_paper(const char *name)
{
    return begins(name, GNN_METRIC_PUBLISHED);
}

/* Whether the run has values of that epoch: of one before its end in any case, else only if it ended ok. */
static bool has_epoch(const struct gnn_run_record *run, int32_t epoch)
{
    const bool ended_early = run->status == GNN_RUN_OOM || run->status == GNN_RUN_GPU_OOM || run->status == GNN_RUN_OOT;
    return run->epoch_count > 0 && (run->status == GNN_RUN_OK || (ended_early && epoch >= 0));
}

static double of_epoch(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch, const char *base)
{
    const char *rest;
    const int found = find_epoch_metric(base);
    if (found < EPOCH_METRICS)
        return epoch_value(found, run, epoch);
    double value = (double)NAN;
    (void)gnn_metric_family(base, &rest)->value(run, epoch, rest, &value);
    return value;
}

/* A number of the machine: of the record's environment or of the profile; NAN: the text is none. */
static double of_machine(const struct gnn_run_record *run, const char *base)
{
    if (begins(base, profile))
        return gnn_run_parameter(run->profile, gnn_kv_get(&run->config, "profile-set"), base + strlen(profile));
    const char *const text = gnn_kv_get(&run->environment, base + strlen(environment));
    char *end = NULL;
    const double value = text != NULL ? strtod(text, &end) : (double)NAN;
    return text != NULL && end != text && *end == '\0' ? value : (double)NAN;
}

double gnn_metric_at(const struct gnn_run_record *run, const char *name, int32_t outer)
{
    const bool withheld = gnn_run_withholds_times(run) || gnn_run_is_unsettled(run);
    char base[GNN_NAME_MAX];
    int32_t own;
    const char *rest;
    assert(gnn_metric_known(name));
    (void)gnn_metric_split(name, base, &own);
    const int32_t epoch = own != GNN_EPOCHS_COUNTED ? own : outer;
    const struct run_metric *const metric = find_run_metric(base);
    if (metric != NULL)
        return metric->subject == OF_END || (!withheld && run->status == GNN_RUN_OK) ? run_value(metric, run)
                                                                                     : (double)NAN;
    if (begins(base, environment) || begins(base, profile))
        return of_machine(run, base);
    if (withheld || !has_epoch(run, epoch) || gnn_metric_of_target(base))
        return (double)NAN;
    const uint32_t after = epoch_of_accuracy(base);
    if (after > 0)
        return after <= run->epoch_count ? 100 * run->epochs[after - 1].test_accuracy : (double)NAN;
    if (begins(base, option))
        return of_option(run, base + strlen(option));
    if (begins(base, first))
        return gnn_known(gnn_recorded_figure(&run->epochs[0], base + strlen(first)));
    if (epoch >= 0)
        return (uint32_t)epoch < run->epoch_count ? of_epoch(run, &run->epochs[epoch], base) : (double)NAN;
    const struct gnn_metric_family *const family = gnn_metric_family(base, &rest);
    const bool of_last = epoch == GNN_EPOCH_LAST || (family != NULL && family->of_last);
    return of_last ? of_epoch(run, gnn_run_last_epoch(run), base) : gnn_run_epoch_median(run, of_epoch, base);
}

double gnn_metric_of(const struct gnn_run_record *run, const char *name)
{
    return gnn_metric_at(run, name, GNN_EPOCHS_COUNTED);
}
