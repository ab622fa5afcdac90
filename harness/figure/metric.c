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

static const double second_ns = 1e9;
static const double gib = 1024.0 * 1024 * 1024, gb = 1e9;

/* ---- of an epoch ---- */

static double epoch_seconds(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    (void)run;
    return gnn_known(gnn_epoch_whole_ns(epoch)) / second_ns;
}

static double epoch_minutes(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    return epoch_seconds(run, epoch) / 60;
}

static double prepare_seconds(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    (void)run;
    return gnn_known(epoch->prepare_ns) / second_ns;
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
            return (gnn_known(stage->wall_ns) - gnn_known(stage->wait_queue_ns)) / gnn_known(stage->workers) /
                   second_ns * gnn_whole_over_part(run, epoch);
    }
    return (double)NAN;
}

static double longest_wait(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    double longest = (double)NAN;
    for (uint32_t i = 0; i < epoch->stage_count; i++)
        longest = fmax(longest, gnn_known(epoch->stages[i].wait_io_ns) / gnn_known(epoch->stages[i].workers));
    return longest / second_ns * gnn_whole_over_part(run, epoch);
}

static double read_gib(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    return gnn_known(epoch->counters.device_read_bytes) / gib * gnn_whole_over_part(run, epoch);
}

static double reads(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    return gnn_known(epoch->counters.device_read_ios) * gnn_whole_over_part(run, epoch);
}

static double read_kib(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    (void)run;
    return gnn_known(epoch->counters.device_read_bytes) / gnn_known(epoch->counters.device_read_ios) / 1024;
}

static double asked_gib(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    return gnn_known(epoch->counters.requested_bytes) / gib * gnn_whole_over_part(run, epoch);
}

static double asks(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    return gnn_known(epoch->counters.requested_ios) * gnn_whole_over_part(run, epoch);
}

static double written_gib(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch)
{
    return gnn_known(epoch->counters.device_write_bytes) / gib * gnn_whole_over_part(run, epoch);
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
    return gnn_known(epoch->counters.peak_memory_bytes) / gib;
}

static const struct {
    const char *name;
    double (*fn)(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch);
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
    return gnn_known(gnn_run_first_epoch_ns(run)) / second_ns;
}

static double before_seconds(const struct gnn_run_record *run)
{
    return gnn_known(run->before.elapsed_ns) / second_ns;
}

static double before_read_gib(const struct gnn_run_record *run)
{
    return gnn_known(run->before.device_read_bytes) / gib;
}

static double before_written_gib(const struct gnn_run_record *run)
{
    return gnn_known(run->before.device_write_bytes) / gib;
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
    return gnn_known(run->dim);
}

static double scale(const struct gnn_run_record *run)
{
    return gnn_known(run->scale_divisor);
}

static double feature_gib(const struct gnn_run_record *run)
{
    return nodes(run) * dim(run) * sizeof(float) / gib;
}

static double total_gib(const struct gnn_run_record *run)
{
    return gnn_known(run->dataset_bytes) / gib;
}

static double topology_gib(const struct gnn_run_record *run)
{
    return total_gib(run) - feature_gib(run);
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

static double limit_mib(const struct gnn_run_record *run)
{
    return gnn_known(run->cap_bytes) / (1 << 20);
}

/* Of all epochs, as far as a double is exact. */
static double digest(const struct gnn_run_record *run)
{
    return run->counters.has_digest ? (double)(run->counters.batch_digest >> 12) : (double)NAN;
}

static double bound_gib(const struct gnn_run_record *run)
{
    return run->epoch_count > 0 ? gnn_known(gnn_run_bound_bytes(run)) / gib / run->epoch_count : (double)NAN;
}

static double read_bound_ratio(const struct gnn_run_record *run)
{
    return gnn_known(run->counters.device_read_bytes) / gnn_known(gnn_run_bound_bytes(run));
}

/* A figure of the one epoch that stands for what fio told. */
static double of_fio(const struct gnn_run_record *run, const char *name)
{
    return run->epoch_count > 0 ? gnn_known(gnn_recorded_figure(&run->epochs[0], name)) : (double)NAN;
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

static double is_ok(const struct gnn_run_record *run)
{
    return run->status == GNN_RUN_OK && !gnn_run_withholds_times(run) ? 1 : 0;
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
    {"best_accuracy_pct", best_accuracy, OF_WORK},
    {"mrr", gnn_run_test_mrr, OF_WORK},
    {"limit_mib", limit_mib, OF_WORK},
    {"digest", digest, OF_WORK},
    {"bound_gib", bound_gib, OF_WORK},
    {"bound_ratio", gnn_run_bound_ratio, OF_WORK},
    {"read_bound_ratio", read_bound_ratio, OF_WORK},
    {"floor_ratio", gnn_run_floor_ratio, OF_WORK},
    {"nodes", nodes, OF_DATASET},
    {"edges", edges, OF_DATASET},
    {"dim", dim, OF_DATASET},
    {"scale", scale, OF_DATASET},
    {"feature_gib", feature_gib, OF_DATASET},
    {"total_gib", total_gib, OF_DATASET},
    {"topology_gib", topology_gib, OF_DATASET},
    {"fio.read_mbps", fio_read_mbps, OF_WORK},
    {"fio.read_us", fio_read_us, OF_WORK},
    {"oom", is_oom, OF_END},
    {"oot", is_oot, OF_END},
    {GNN_METRIC_RUNS, is_ok, OF_END},
};
enum { RUN_METRICS = sizeof run_metrics / sizeof *run_metrics };

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
    for (int i = 0; i < RUN_METRICS; i++)
        if (strcmp(run_metrics[i].name, base) == 0)
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
        return epoch_metrics[found].fn(run, epoch);
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
    for (int i = 0; i < RUN_METRICS; i++)
        if (strcmp(run_metrics[i].name, base) == 0)
            return run_metrics[i].subject == OF_END || (!withheld && run->status == GNN_RUN_OK) ? run_metrics[i].fn(run)
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
