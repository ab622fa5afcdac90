/* SPDX-License-Identifier: MIT */
#include "harness/figure/metric.h"

#include "harness/base/sizes.h"
#include "harness/base/units.h"
#include "harness/figure/fio_cells.h"
#include "harness/record/summary.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double second_ns = 1e9;
static const double gib = 1024.0 * 1024 * 1024, gb = 1e9;

static double known(uint64_t value)
{
    return value == GNN_UNKNOWN ? (double)NAN : (double)value;
}

/* What counts of a part of an epoch are multiplied by: the whole epoch's mini-batches over those that ran. */
static double whole_over_part(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    const char *const text = gnn_kv_get(&run->environment, GNN_ENVIRONMENT_WHOLE_BATCHES);
    const double total = text == NULL ? (double)NAN : strtod(text, NULL);
    const double ran = known(epoch->counters.batches);
    if (gnn_recorded_figure(epoch, GNN_FIGURE_FULL_EPOCH) == GNN_UNKNOWN)
        return 1;
    return ran > 0 ? total / ran : (double)NAN;
}

/* ---- of an epoch ---- */

static double epoch_seconds(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    (void)run;
    return known(gnn_epoch_whole_ns(epoch)) / second_ns;
}

static double epoch_minutes(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    return epoch_seconds(run, epoch) / 60;
}

static double prepare_seconds(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    (void)run;
    return known(epoch->prepare_ns) / second_ns;
}

static double prepare_share(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    return 100 * prepare_seconds(run, epoch) / epoch_seconds(run, epoch);
}

static double sampling_seconds(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    for (uint32_t i = 0; i < epoch->stage_count; i++) {
        const struct gnn_record_stage *const stage = &epoch->stages[i];
        if (strcmp(stage->stage, "sample") == 0)
            return (known(stage->wall_ns) - known(stage->wait_queue_ns)) / known(stage->workers) / second_ns *
                   whole_over_part(run, epoch);
    }
    return (double)NAN;
}

static double longest_wait(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    double longest = (double)NAN;
    for (uint32_t i = 0; i < epoch->stage_count; i++)
        longest = fmax(longest, known(epoch->stages[i].wait_io_ns) / known(epoch->stages[i].workers));
    return longest / second_ns * whole_over_part(run, epoch);
}

static double read_gib(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    return known(epoch->counters.device_read_bytes) / gib * whole_over_part(run, epoch);
}

static double reads(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    return known(epoch->counters.device_read_ios) * whole_over_part(run, epoch);
}

static double read_kib(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    (void)run;
    return known(epoch->counters.device_read_bytes) / known(epoch->counters.device_read_ios) / 1024;
}

static double asked_gib(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    return known(epoch->counters.requested_bytes) / gib * whole_over_part(run, epoch);
}

static double asks(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    return known(epoch->counters.requested_ios) * whole_over_part(run, epoch);
}

static double written_gib(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    return known(epoch->counters.device_write_bytes) / gib * whole_over_part(run, epoch);
}

static double hit_percent(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    (void)run;
    const double ratio = gnn_record_hit_ratio(&epoch->counters);
    return ratio < 0 ? (double)NAN : 100 * ratio; /* MariusGNN reads whole partitions: more rows than were requested */
}

static double peak_gib(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    (void)run;
    return known(epoch->counters.peak_memory_bytes) / gib;
}

static const struct {
    const char *name;
    gnn_epoch_fn *fn;
} epoch_metrics[] = {
    {"epoch_s", epoch_seconds},
    {"epoch_min", epoch_minutes},
    {"prepare_s", prepare_seconds},
    {"prepare_pct", prepare_share},
    {"sampling_s", sampling_seconds},
    {"read_gib", read_gib},
    {"reads", reads},
    {"read_kib", read_kib},
    {"asked_gib", asked_gib},
    {"asks", asks},
    {"written_gib", written_gib},
    {"disk_wait_s", longest_wait},
    {"hit_pct", hit_percent},
    {"peak_gib", peak_gib},
};
enum { EPOCH_METRICS = sizeof epoch_metrics / sizeof *epoch_metrics };

/* ---- of a run ---- */

static double first_epoch(const struct gnn_run_record *run)
{
    return known(gnn_run_first_epoch_ns(run)) / second_ns;
}

static double before_seconds(const struct gnn_run_record *run)
{
    return known(run->before.elapsed_ns) / second_ns;
}

static double before_read_gib(const struct gnn_run_record *run)
{
    return known(run->before.device_read_bytes) / gib;
}

static double before_written_gib(const struct gnn_run_record *run)
{
    return known(run->before.device_write_bytes) / gib;
}

/* Share of the workers' time, as gnn_run_io_wait_pct() has it of waits. */
static double work_percent(const struct gnn_run_record *run)
{
    struct gnn_record_stage sums[GNN_RECORD_STAGES_MAX];
    const uint32_t count = gnn_run_stage_sums(run, sums);
    double wall_ns = 0, work_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        wall_ns += known(sums[i].wall_ns);
        work_ns += known(sums[i].work_ns);
    }
    return wall_ns > 0 ? 100 * work_ns / wall_ns : (double)NAN;
}

static double gpu_busy(const struct gnn_run_record *run)
{
    uint64_t busy_ns, wall_ns;
    return gnn_run_gpu_busy(run, &busy_ns, &wall_ns) ? 100 * (double)busy_ns / (double)wall_ns : (double)NAN;
}

typedef double point_fn(const struct gnn_series_point *point);

static double io_wait_of(const struct gnn_series_point *point)
{
    return point->iowait_pct;
}

static double cpu_of(const struct gnn_series_point *point)
{
    return point->cpu_pct;
}

static double gpu_of(const struct gnn_series_point *point)
{
    return point->gpu_busy_pct;
}

/* The mean over the intervals of the series in which I/O wait is at least that. */
static double over_series(const struct gnn_run_record *run, point_fn *fn, double io_wait_least)
{
    double sum = 0, weight = 0;
    for (uint32_t i = 0; i < run->series_count; i++) {
        const struct gnn_series_point *const point = &run->series[i];
        const double value = fn(point);
        if (!isfinite(value) || point->interval_ns == GNN_UNKNOWN || !(point->iowait_pct >= io_wait_least))
            continue;
        sum += value * (double)point->interval_ns;
        weight += (double)point->interval_ns;
    }
    return weight > 0 ? sum / weight : (double)NAN;
}

static double io_wait_mean(const struct gnn_run_record *run)
{
    return over_series(run, io_wait_of, 0);
}

static double cpu_mean(const struct gnn_run_record *run)
{
    return over_series(run, cpu_of, 0);
}

static double gpu_mean(const struct gnn_run_record *run)
{
    return over_series(run, gpu_of, 0);
}

static double fastest_reads(const struct gnn_run_record *run)
{
    double most = (double)NAN;
    for (uint32_t i = 0; i < run->series_count; i++)
        most = fmax(most, run->series[i].disk_read_bytes_per_s / gb);
    return most;
}

static double cpu_in_waits(const struct gnn_run_record *run)
{
    return over_series(run, cpu_of, io_wait_mean(run));
}

static double gpu_in_waits(const struct gnn_run_record *run)
{
    return over_series(run, gpu_of, io_wait_mean(run));
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

static double open_seconds(const struct gnn_run_record *run)
{
    return of_environment(run, "system.open_ns") / second_ns;
}

static double nodes(const struct gnn_run_record *run)
{
    return of_environment(run, "dataset.nodes");
}

static double edges(const struct gnn_run_record *run)
{
    return of_environment(run, "dataset.edges");
}

static double dim(const struct gnn_run_record *run)
{
    return known(run->dim);
}

static double feature_gib(const struct gnn_run_record *run)
{
    return nodes(run) * dim(run) * sizeof(float) / gib;
}

static double total_gib(const struct gnn_run_record *run)
{
    return known(run->dataset_bytes) / gib;
}

static double topology_gib(const struct gnn_run_record *run)
{
    return total_gib(run) - feature_gib(run);
}

static double bound_gib(const struct gnn_run_record *run)
{
    return run->epoch_count > 0 ? known(gnn_run_bound_bytes(run)) / gib / run->epoch_count : (double)NAN;
}

static double read_bound_ratio(const struct gnn_run_record *run)
{
    return known(run->counters.device_read_bytes) / known(gnn_run_bound_bytes(run));
}

/* A figure of the one epoch that stands for what fio told. */
static double of_fio(const struct gnn_run_record *run, const char *name)
{
    return run->epoch_count > 0 ? known(gnn_recorded_figure(&run->epochs[0], name)) : (double)NAN;
}

static double fio_read_mbps(const struct gnn_run_record *run)
{
    return of_fio(run, GNN_FIO_READ_RATE) / 1e6;
}

static double fio_read_us(const struct gnn_run_record *run)
{
    return of_fio(run, GNN_FIO_READ_LATENCY) / 1e3;
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

/* What a metric of a run describes. */
enum subject { OF_WORK, OF_DATASET, OF_END };

static const struct {
    const char *name;
    double (*fn)(const struct gnn_run_record *run);
    enum subject subject;
} run_metrics[] = {
    {"first_epoch_s", first_epoch, OF_WORK},
    {"open_s", open_seconds, OF_WORK},
    {"before_s", before_seconds, OF_WORK},
    {"before_read_gib", before_read_gib, OF_WORK},
    {"before_written_gib", before_written_gib, OF_WORK},
    {"io_wait_pct", gnn_run_io_wait_pct, OF_WORK},
    {"work_pct", work_percent, OF_WORK},
    {"gpu_busy_pct", gpu_busy, OF_WORK},
    {"series.cpu_pct", cpu_mean, OF_WORK},
    {"series.gpu_busy_pct", gpu_mean, OF_WORK},
    {"series.iowait_pct", io_wait_mean, OF_WORK},
    {"series.read_gbps", fastest_reads, OF_WORK},
    {"waits.cpu_pct", cpu_in_waits, OF_WORK},
    {"waits.gpu_busy_pct", gpu_in_waits, OF_WORK},
    {"accuracy_pct", accuracy, OF_WORK},
    {"mrr", gnn_run_test_mrr, OF_WORK},
    {"bound_gib", bound_gib, OF_WORK},
    {"bound_ratio", gnn_run_bound_ratio, OF_WORK},
    {"read_bound_ratio", read_bound_ratio, OF_WORK},
    {"floor_ratio", gnn_run_floor_ratio, OF_WORK},
    {"nodes", nodes, OF_DATASET},
    {"edges", edges, OF_DATASET},
    {"dim", dim, OF_DATASET},
    {"feature_gib", feature_gib, OF_DATASET},
    {"total_gib", total_gib, OF_DATASET},
    {"topology_gib", topology_gib, OF_DATASET},
    {"fio.read_mbps", fio_read_mbps, OF_WORK},
    {"fio.read_us", fio_read_us, OF_WORK},
    {"oom", is_oom, OF_END},
    {"oot", is_oot, OF_END},
};
enum { RUN_METRICS = sizeof run_metrics / sizeof *run_metrics };

/* ---- of a class of sizes ---- */

static const struct {
    const char *metric, *figure,
        *any; /* of a metric's beginning: a class's figure, and one that is there if any class is */
} sized_metrics[] = {
    {"reads.", "device_reads_to_", "device_read_bytes_max"},
    {"asks.", "reads_to_", "read_bytes_max"},
};
enum { SIZED_METRICS = sizeof sized_metrics / sizeof *sized_metrics };

/* Which of sized_metrics the name belongs to, *most its class: "4K"; SIZED_METRICS: none. */
static int sized_metric(const char *name, const char **most)
{
    char text[8];
    for (int i = 0; i < SIZED_METRICS; i++) {
        const size_t length = strlen(sized_metrics[i].metric);
        *most = name + length;
        if (strncmp(name, sized_metrics[i].metric, length) != 0)
            continue;
        for (uint32_t c = 0; c < GNN_SIZE_CLASSES; c++)
            if (strcmp(gnn_size_class_name(c, text), *most) == 0)
                return i;
    }
    return SIZED_METRICS;
}

/* The record leaves out a class that has none. */
static double of_size_class(const struct gnn_run_record *run, const char *name)
{
    const struct gnn_record_epoch *const last = gnn_run_last_epoch(run);
    const char *most;
    const int sized = sized_metric(name, &most);
    char figure[GNN_NAME_MAX];
    if (gnn_recorded_figure(last, sized_metrics[sized].any) == GNN_UNKNOWN)
        return (double)NAN;
    (void)snprintf(figure, sizeof figure, "%s%s", sized_metrics[sized].figure, most);
    const uint64_t count = gnn_recorded_figure(last, figure);
    return count == GNN_UNKNOWN ? 0 : (double)count * whole_over_part(run, last);
}

/* ---- by name ---- */

static const char own[] = "own.", first[] = "first.", accuracy_after[] = "accuracy_pct.";

static bool begins(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0 && name[strlen(prefix)] != '\0';
}

static bool is_of_figure(const char *name)
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
    return strcmp(name, "accuracy_pct") == 0 || epoch_of_accuracy(name) > 0;
}

bool gnn_metric_known(const char *name)
{
    const char *most;
    for (int i = 0; i < EPOCH_METRICS; i++)
        if (strcmp(epoch_metrics[i].name, name) == 0)
            return true;
    if (sized_metric(name, &most) != SIZED_METRICS)
        return true;
    for (int i = 0; i < RUN_METRICS; i++)
        if (strcmp(run_metrics[i].name, name) == 0)
            return true;
    return begins(name, own) || begins(name, first) || epoch_of_accuracy(name) > 0 || is_of_figure(name);
}

bool gnn_metric_of_end(const char *name)
{
    for (int i = 0; i < RUN_METRICS; i++)
        if (strcmp(run_metrics[i].name, name) == 0)
            return run_metrics[i].subject == OF_END;
    return false;
}

bool gnn_metric_of_dataset(const char *name)
{
    for (int i = 0; i < RUN_METRICS; i++)
        if (strcmp(run_metrics[i].name, name) == 0)
            return run_metrics[i].subject == OF_DATASET;
    return false;
}

bool gnn_metric_of_paper(const char *name)
{
    return begins(name, GNN_METRIC_PUBLISHED);
}

double gnn_metric_of(const struct gnn_run_record *run, const char *name)
{
    const bool withheld = gnn_run_withholds_times(run) || gnn_run_is_unsettled(run);
    assert(gnn_metric_known(name));
    for (int i = 0; i < RUN_METRICS; i++)
        if (strcmp(run_metrics[i].name, name) == 0)
            return run_metrics[i].subject == OF_END || !withheld ? run_metrics[i].fn(run) : (double)NAN;
    if (withheld || run->status != GNN_RUN_OK || run->epoch_count == 0 || is_of_figure(name))
        return (double)NAN;
    for (int i = 0; i < EPOCH_METRICS; i++)
        if (strcmp(epoch_metrics[i].name, name) == 0)
            return gnn_run_epoch_median(run, epoch_metrics[i].fn);
    const uint32_t epoch = epoch_of_accuracy(name);
    if (epoch > 0)
        return epoch <= run->epoch_count ? 100 * run->epochs[epoch - 1].test_accuracy : (double)NAN;
    if (!begins(name, first) && !begins(name, own))
        return of_size_class(run, name);
    if (begins(name, first))
        return known(gnn_recorded_figure(&run->epochs[0], name + strlen(first)));
    return known(gnn_recorded_figure(gnn_run_last_epoch(run), name + strlen(own)));
}
