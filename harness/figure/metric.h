/* SPDX-License-Identifier: MIT */
/* The metrics of a run that a figure can show, by name: its y axis and its predicates use them. A value of an epoch is
 * the median over the epochs that count: complete epochs after the first, or the only epoch (gnn_run_counts_epoch).
 * For a part of an epoch (--batches), times and counts are scaled to the whole. If such a part is not settled,
 * all metrics but `oom` and `oot` are NAN.
 *
 * Metrics marked (e) are of an epoch. `epoch_s@0` is that of epoch 0, `epoch_s@last` that of the last complete epoch.
 * An epoch that ended has its values even if the run ran out of memory or time later.
 *
 *   `epoch_s`, `epoch_min`     Seconds, minutes of an epoch (e).
 *   `first_epoch_s`            Seconds of the first epoch.
 *   `prepare_s`, `prepare_pct` Preparation inside an epoch: seconds, share of the epoch (e).
 *   `open_s`                   Seconds that the system took to open, its own files included.
 *   `before_s`, `before_read_gib`, `before_written_gib`
 *                              Before the first epoch: seconds since the start of the worker, GiB that the device
 *                              delivered and took.
 *   `sampling_s`               Seconds per sampler for an epoch, without waiting for queues (e).
 *   `read_gib`, `reads`        Device reads of an epoch: GiB, requests (e).
 *   `asked_gib`, `asks`        Explicit reads of an epoch: GiB, requests (e).
 *   `reads.4K`, `asks.4K`      Requests of that size class in the last epoch that counts: up to that size, and more
 *                              than half of it. Classes are 512 (all up to it) and powers of two up to 4G.
 *                              Measured runs have `asks.` only (e).
 *   `read_kib`                 Mean size of a device read, KiB (e).
 *   `written_gib`              GiB written to the device (e).
 *   `disk_wait_s`              Seconds of waiting for storage per worker, in the stage that waits longest (e).
 *   `io_wait_pct`, `work_pct`  Shares of the workers' time: waiting for I/O, working.
 *   `hit_pct`, `peak_gib`      Cache hits, peak memory (e).
 *   `gpu_busy_pct`, `accuracy_pct`, `mrr`
 *                              GPU use, test accuracy, mean reciprocal rank.
 *   `accuracy_pct.1`           Test accuracy after that epoch, in percent; the first is 1.
 *   `best_accuracy_pct`        Test accuracy of the epoch with the best validation accuracy, in percent.
 *   `stage.NAME.FIELD`         A stage of an epoch, summed over its workers: `work_s`, `wait_io_s`, `wait_queue_s`,
 *                              `wall_s`, `cpu_s`, `workers`. A star for NAME sums over all stages (e).
 *   `counter.NAME`             A counter of an epoch, by its name in results/schema.sql (e).
 *   `env.KEY`                  A number of the record's environment, such as `env.cpu.online`.
 *   `profile.KEY`              A parameter of the run's profile: `profile.storage.read_iops`, in bytes, seconds or
 *                              units per second.
 *   `floor_s`, `floor_device_s`, `floor_training_s`
 *                              Minimum time of an epoch, and its two parts (docs/floor.md) (e).
 *   `digest`                   Digest of all mini-batches as a number: equal ones are of equal mini-batches.
 *   `limit_mib`                Memory limit, MiB.
 *   `option.NAME`              An option of the run or a parameter of its system ("option.gnndrive.samplers").
 *   `bound_gib`                Minimum reads of any exact system, GiB of features per epoch (`oocgnn run --bound`).
 *   `bound_ratio`              The system's feature reads over the minimum reads.
 *   `read_bound_ratio`         Device reads of the epochs over the minimum reads, topology and whole pages included.
 *   `floor_ratio`              Time of all epochs over their minimum time: the larger of device and training
 *                              (docs/floor.md).
 *   `rank.NAME`                Ranks of links in the last epoch that counts, in [0, 1]: `valid_mrr`, `test_mrr`,
 *                              `test_raw_mrr` (true edges among the negatives), `test_hits_1`, `test_hits_10` (e).
 *   `scale`                    K of a dataset at scale 1/K.
 *   `nodes`, `edges`, `dim`, `topology_gib`, `feature_gib`, `total_gib`
 *                              Sizes of the dataset.
 *   `oom`, `oot`               The run ended with out of memory, with a timeout: 1, else 0. Unknown if it failed, was
 *                              interrupted or is invalid.
 *   `runs`                     Number of runs that ended ok.
 *   `series.cpu_pct`, `series.gpu_busy_pct`, `series.iowait_pct`
 *                              Means over the run's time series.
 *   `series.read_gbps`         Largest read rate in an interval of the series, GB/s.
 *   `waits.cpu_pct`, `waits.gpu_busy_pct`
 *                              Means over the intervals whose I/O wait is at least the mean.
 *   `target_s`, `target_epochs`
 *                              Time and epochs until the figure's `target` accuracy, with the epoch time of its world.
 *   `fio.read_mbps`, `fio.read_us`
 *                              Reads of fio (fio_cells.h): MB/s, mean from submission to completion.
 *   `own.NAME`, `first.NAME`   A statistic of the system: of the last epoch that counts (e), of the first.
 *
 * Predicates also have `published.METRIC`, the published value of a metric of the figure at that place. */
#ifndef GNN_FIGURE_METRIC_H
#define GNN_FIGURE_METRIC_H

#include "harness/record/record.h"

/* Metrics of a figure, not of a run: gnn_metric_of() returns NAN for them. */
#define GNN_METRIC_TARGET_S "target_s"
#define GNN_METRIC_TARGET_EPOCHS "target_epochs"
#define GNN_METRIC_RUNS "runs"
#define GNN_METRIC_PUBLISHED                                                                                           \
    "published." /* begins the name of a published value; gnn_metric_known() does not have it */

bool gnn_metric_known(const char *name);

/* The epoch that a metric is of: its number from 0, or one of these. */
enum {
    GNN_EPOCHS_COUNTED = -1, /* without @: the median over the epochs that count */
    GNN_EPOCH_LAST = -2,
};

/* Splits "reads@1" into "reads" and 1. Returns false if the name is too long, or neither a number nor "last" follows
 * the @. */
bool gnn_metric_split(const char *name, char base[GNN_NAME_MAX], int32_t *epoch);
/* Returns the name of metric number i of those with a fixed name, or NULL after the last one. */
const char *gnn_metric_name(uint32_t i);

/* Returns whether the metric needs the target of a figure: one of the two above. */
bool gnn_metric_of_target(const char *name);

/* Returns whether the metric is a test accuracy, of the run or after an epoch, or a rank of links. */
bool gnn_metric_of_accuracy(const char *name);

/* Returns whether the metric is a size of the dataset, which the run's configuration decides. */
bool gnn_metric_of_dataset(const char *name);

/* Returns whether the metric is proportional to the size of the graph: the time, bytes and requests of an epoch, or a
 * size of the dataset. At scale 1/K it is a K-th. The unit at the end of the name decides. Shares, ratios, rates and
 * quantiles are the same at every scale. */
bool gnn_metric_shrinks(const char *name);

/* Returns whether the name is that of a published value. */
bool gnn_metric_of_paper(const char *name);

/* Returns whether the metric describes how a run ended. Such a metric has a value even if the run has no time. */
bool gnn_metric_of_end(const char *name);

/* Returns the metric of a recorded run, or NAN if the run does not have it. The name must be known. */
double gnn_metric_of(const struct gnn_run_record *run, const char *name);

/* Returns the same, of epoch `outer` if the metric is of an epoch and names none. */
double gnn_metric_at(const struct gnn_run_record *run, const char *name, int32_t outer);

#endif
