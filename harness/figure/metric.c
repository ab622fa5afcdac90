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
enum from { COMPUTED, FIELD, PART, STATISTIC, RANK, ENVIRONMENT, SERIES, WAITS, FIO };

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

/* Returns a text of the list as a number, or NAN if it is none. */
static double number_of(const struct gnn_kv_list *list, const char *key)
{
    const char *const text = gnn_kv_get(list, key);
    char *end = NULL;
    const double value = text != NULL ? strtod(text, &end) : (double)NAN;
    return text != NULL && end != text && *end == '\0' ? value : (double)NAN;
}

static double feature_gib(const struct gnn_run_record *run)
{
    return number_of(&run->environment, "dataset.nodes") * gnn_known(gnn_run_row_bytes(run)) / GIB;
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

/* What a metric describes. */
enum subject { OF_EPOCH, OF_WORK, OF_DATASET, OF_END };

#define RUN(field) offsetof(struct gnn_run_record, field)
#define POINT(field) offsetof(struct gnn_series_point, field)
#define EPOCH(field) offsetof(struct gnn_record_epoch, field)
#define COUNTER(field) EPOCH(counters.field)
#define OF_EACH(fn) OF_EPOCH, COMPUTED, .epoch_fn = (fn)
#define OF_RUN(fn) OF_WORK, COMPUTED, .run_fn = (fn)
#define OF_SET(fn) OF_DATASET, COMPUTED, .run_fn = (fn)

/* FIELD: a number of the record over its unit. PART, STATISTIC: the same, scaled to the whole epoch. RANK: of the last
 * epoch that counts. SERIES, WAITS: the mean of a field of the series. */
static const struct metric {
    const char *name, *words;
    enum subject subject;
    enum from from;
    double (*epoch_fn)(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch);
    double (*run_fn)(const struct gnn_run_record *run);
    size_t offset;
    double unit;     /* 0: 1 */
    const char *key; /* of the environment, or a statistic of an epoch */
} metrics[] = {
    {"epoch_s", "epoch time", OF_EACH(epoch_seconds)},
    {"epoch_min", "epoch time", OF_EACH(epoch_seconds), .unit = 60},
    {"prepare_s", "preparation in the epoch", OF_EPOCH, FIELD, .offset = EPOCH(prepare_ns), .unit = SECOND_NS},
    {"prepare_pct", "share of preparation in the epoch", OF_EACH(prepare_share)},
    {"sampling_s", "sampling time per sampler, without waits for queues", OF_EACH(sampling_seconds)},
    {"read_gib", "device reads per epoch", OF_EPOCH, PART, .offset = COUNTER(device_read_bytes), .unit = GIB},
    {"reads", "device reads per epoch", OF_EPOCH, PART, .offset = COUNTER(device_read_ios), .unit = 1},
    {"read_kib", "mean size of a device read", OF_EACH(read_kib)},
    {"asked_gib", "explicit reads per epoch", OF_EPOCH, PART, .offset = COUNTER(requested_bytes), .unit = GIB},
    {"asks", "explicit reads per epoch", OF_EPOCH, PART, .offset = COUNTER(requested_ios), .unit = 1},
    {"written_gib", "device writes per epoch", OF_EPOCH, PART, .offset = COUNTER(device_write_bytes), .unit = GIB},
    {"disk_wait_s", "wait for storage per worker, longest stage", OF_EACH(longest_wait)},
    {"hit_pct", "cache hits", OF_EACH(hit_percent)},
    {"peak_gib", "peak memory", OF_EPOCH, FIELD, .offset = COUNTER(peak_memory_bytes), .unit = GIB},
    {"floor_s", "minimum time of an epoch", OF_EPOCH, STATISTIC, .unit = SECOND_NS, .key = GNN_FIGURE_FLOOR},
    {"floor_device_s", "minimum time of an epoch, reads", OF_EPOCH, STATISTIC, .unit = SECOND_NS,
     .key = GNN_FIGURE_FLOOR_DEVICE},
    {"floor_training_s", "minimum time of an epoch, training", OF_EPOCH, STATISTIC, .unit = SECOND_NS,
     .key = GNN_FIGURE_FLOOR_TRAINING},
    {"rank.valid_mrr", "mean reciprocal rank, validation", OF_EPOCH, RANK, .offset = EPOCH(valid_mrr)},
    {"rank.test_mrr", "mean reciprocal rank, test", OF_EPOCH, RANK, .offset = EPOCH(test_mrr)},
    {"rank.test_raw_mrr", "mean reciprocal rank with true edges among the negatives, test", OF_EPOCH, RANK,
     .offset = EPOCH(test_raw_mrr)},
    {"rank.test_hits_1", "Hits@1, test", OF_EPOCH, RANK, .offset = EPOCH(test_hits_1)},
    {"rank.test_hits_10", "Hits@10, test", OF_EPOCH, RANK, .offset = EPOCH(test_hits_10)},
    {"first_epoch_s", "time of the first epoch", OF_RUN(first_epoch)},
    {"open_s", "time to open the system", OF_WORK, ENVIRONMENT, .unit = SECOND_NS, .key = "system.open_ns"},
    {"before_s", "time before the first epoch", OF_WORK, FIELD, .offset = RUN(before.elapsed_ns), .unit = SECOND_NS},
    {"before_read_gib", "device reads before the first epoch", OF_WORK, FIELD, .offset = RUN(before.device_read_bytes),
     .unit = GIB},
    {"before_written_gib", "device writes before the first epoch", OF_WORK, FIELD,
     .offset = RUN(before.device_write_bytes), .unit = GIB},
    {"io_wait_pct", "share of the workers' time spent waiting for I/O", OF_RUN(gnn_run_io_wait_pct)},
    {"work_pct", "share of the workers' time spent working", OF_RUN(work_percent)},
    {"gpu_busy_pct", "GPU use", OF_RUN(gpu_busy)},
    {"series.cpu_pct", "CPU use, mean over the run", OF_WORK, SERIES, .offset = POINT(cpu_pct)},
    {"series.gpu_busy_pct", "GPU use, mean over the run", OF_WORK, SERIES, .offset = POINT(gpu_busy_pct)},
    {"series.iowait_pct", "I/O wait, mean over the run", OF_WORK, SERIES, .offset = POINT(iowait_pct)},
    {"series.read_gbps", "largest read rate of an interval", OF_RUN(fastest_reads)},
    {"waits.cpu_pct", "CPU use in intervals with at least the mean I/O wait", OF_WORK, WAITS, .offset = POINT(cpu_pct)},
    {"waits.gpu_busy_pct", "GPU use in intervals with at least the mean I/O wait", OF_WORK, WAITS,
     .offset = POINT(gpu_busy_pct)},
    {"accuracy_pct", "test accuracy", OF_RUN(gnn_run_test_accuracy), .unit = 0.01},
    {"best_accuracy_pct", "test accuracy after the epoch with the best validation accuracy", OF_RUN(best_accuracy)},
    {"mrr", "mean reciprocal rank, test", OF_RUN(gnn_run_test_mrr)},
    {"own_first_pct", "test queries whose own end ranks first", OF_RUN(gnn_run_test_own_first), .unit = 0.01},
    {"roc_auc", "area under the ROC curve, test", OF_RUN(gnn_run_test_roc_auc)},
    {"macro_f1", "macro-averaged F1, test", OF_RUN(gnn_run_test_macro_f1)},
    {"limit_mib", "memory limit", OF_WORK, FIELD, .offset = RUN(cap_bytes), .unit = 1 << 20},
    {"digest", "digest of all mini-batches as a number", OF_RUN(digest)},
    {"bound_gib", "minimum feature reads of any exact system per epoch", OF_RUN(bound_gib)},
    {"bound_ratio", "feature reads / minimum reads", OF_RUN(gnn_run_bound_ratio)},
    {"read_bound_ratio", "device reads / minimum reads", OF_RUN(read_bound_ratio)},
    {"floor_ratio", "time of all epochs / their minimum time", OF_RUN(gnn_run_floor_ratio)},
    {"nodes", "nodes of the dataset", OF_DATASET, ENVIRONMENT, .unit = 1, .key = "dataset.nodes"},
    {"edges", "edges of the dataset", OF_DATASET, ENVIRONMENT, .unit = 1, .key = "dataset.edges"},
    {"dim", "floats in a feature row", OF_DATASET, FIELD, .offset = RUN(dim), .unit = 1},
    {"scale", "K of a dataset at scale 1/K", OF_DATASET, FIELD, .offset = RUN(scale_divisor), .unit = 1},
    {"feature_gib", "features of the dataset", OF_SET(feature_gib)},
    {"total_gib", "dataset with topology", OF_DATASET, FIELD, .offset = RUN(dataset_bytes), .unit = GIB},
    {"topology_gib", "topology of the dataset", OF_SET(topology_gib)},
    {"fio.read_mbps", "read rate of fio", OF_WORK, FIO, .unit = 1e6, .key = GNN_FIO_READ_RATE},
    {"fio.read_us", "mean read latency of fio", OF_WORK, FIO, .unit = 1e3, .key = GNN_FIO_READ_LATENCY},
    {"oom", "1 if the run ran out of memory, else 0", OF_END, COMPUTED, .run_fn = is_oom},
    {"oot", "1 if the run ran into its time limit, else 0", OF_END, COMPUTED, .run_fn = is_oot},
    {GNN_METRIC_RUNS, "runs that ended ok", OF_END, COMPUTED, .run_fn = is_ok},
};
enum { METRICS = sizeof metrics / sizeof *metrics };

static double epoch_value(const struct metric *m, const struct gnn_run_record *run,
                          const struct gnn_record_epoch *epoch)
{
    double rank;
    switch (m->from) {
    case COMPUTED:
        return m->epoch_fn(run, epoch);
    case PART:
        return field_of(epoch, m->offset) * gnn_whole_over_part(run, epoch);
    case STATISTIC:
        return gnn_known(gnn_recorded_figure(epoch, m->key)) * gnn_whole_over_part(run, epoch);
    case RANK:
        memcpy(&rank, (const char *)epoch + m->offset, sizeof rank);
        return rank;
    default:
        return field_of(epoch, m->offset);
    }
}

static double run_value(const struct metric *m, const struct gnn_run_record *run)
{
    switch (m->from) {
    case COMPUTED:
        return m->run_fn(run);
    case ENVIRONMENT:
        return number_of(&run->environment, m->key);
    case SERIES:
        return over_series(run, m->offset, 0);
    case WAITS:
        return over_series(run, m->offset, over_series(run, POINT(iowait_pct), 0));
    case FIO:
        return run->epoch_count > 0 ? gnn_known(gnn_recorded_figure(&run->epochs[0], m->key)) : (double)NAN;
    default:
        return field_of(run, m->offset);
    }
}

static double in_unit(const struct metric *m, double value)
{
    return m->unit != 0 ? value / m->unit : value;
}

/* Returns the metric of that name, or NULL. */
static const struct metric *find(const char *name)
{
    for (int i = 0; i < METRICS; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
    return NULL;
}

/* ---- by name ---- */

static const char first[] = "first.", accuracy_after[] = "accuracy_pct.", environment[] = "env.",
                  profile[] = "profile.", option[] = "option.";

static bool begins(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0 && name[strlen(prefix)] != '\0';
}

const char *gnn_metric_words(const char *name)
{
    const struct metric *const metric = find(name);
    return metric != NULL ? metric->words : NULL;
}

const char *gnn_metric_name(uint32_t i)
{
    return i < METRICS ? metrics[i].name : NULL;
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
    return strcmp(name, "accuracy_pct") == 0 || strcmp(name, "best_accuracy_pct") == 0 ||
           strcmp(name, "roc_auc") == 0 || strcmp(name, "macro_f1") == 0 || begins(name, "rank.") ||
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

/* A recorded option as a number; NAN: it is a word, or of another system. */
static double of_option(const struct gnn_run_record *run, const char *name)
{
    const char *const text = gnn_kv_get(&run->config, name);
    uint64_t bytes;
    return text != NULL && gnn_parse_bytes(text, &bytes, NULL) == GNN_OK ? (double)bytes
                                                                         : number_of(&run->config, name);
}

bool gnn_metric_known(const char *name)
{
    char base[GNN_NAME_MAX];
    int32_t epoch;
    const char *rest;
    if (!gnn_metric_split(name, base, &epoch))
        return false;
    const struct metric *const metric = find(base);
    if (metric != NULL || gnn_metric_family(base, &rest) != NULL)
        return metric == NULL || metric->subject == OF_EPOCH || epoch == GNN_EPOCHS_COUNTED;
    if (epoch != GNN_EPOCHS_COUNTED)
        return false;
    if (begins(base, profile))
        return gnn_run_parameter_known(base + strlen(profile));
    if (begins(base, option))
        return gnn_grid_option(base + strlen(option)) != NULL;
    return begins(base, first) || begins(base, environment) || epoch_of_accuracy(base) > 0 ||
           gnn_metric_of_target(base);
}

bool gnn_metric_of_end(const char *name)
{
    const struct metric *const metric = find(name);
    return metric != NULL && metric->subject == OF_END;
}

bool gnn_metric_of_dataset(const char *name)
{
    const struct metric *const metric = find(name);
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
    const struct metric *const metric = find(base);
    if (metric != NULL)
        return in_unit(metric, epoch_value(metric, run, epoch));
    double value = (double)NAN;
    (void)gnn_metric_family(base, &rest)->value(run, epoch, rest, &value);
    return value;
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
    const struct metric *const metric = find(base);
    if (metric != NULL && metric->subject != OF_EPOCH)
        return metric->subject == OF_END || (!withheld && run->status == GNN_RUN_OK)
                   ? in_unit(metric, run_value(metric, run))
                   : (double)NAN;
    if (begins(base, profile))
        return gnn_run_parameter(run->profile, gnn_kv_get(&run->config, "profile-set"), base + strlen(profile));
    if (begins(base, environment))
        return number_of(&run->environment, base + strlen(environment));
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
    const bool of_last =
        epoch == GNN_EPOCH_LAST || (family != NULL && family->of_last) || (metric != NULL && metric->from == RANK);
    return of_last ? of_epoch(run, gnn_run_last_epoch(run), base) : gnn_run_epoch_median(run, of_epoch, base);
}

double gnn_metric_of(const struct gnn_run_record *run, const char *name)
{
    return gnn_metric_at(run, name, GNN_EPOCHS_COUNTED);
}
