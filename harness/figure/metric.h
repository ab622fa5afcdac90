/* SPDX-License-Identifier: MIT */
/* The quantities a figure can show of a run, by name: what stands on its y axis and in its predicates.
 *
 *   epoch_s          seconds of an epoch: the median of those after the first, or the first where it is alone; of a
 *                    part of an epoch (--batches) what the whole would take
 *   first_epoch_s    of the first; epoch_min is epoch_s in minutes
 *   prepare_s        seconds of preparation inside that epoch (median of later epochs likewise)
 *   prepare_pct      that as a share of the epoch
 *   open_s           what the system took to open, its own files included
 *   sampling_s       time one sampler spends on an epoch, waiting for the next stage left out
 *   read_gib, reads  what the device delivered in an epoch, and in how many requests
 *   asked_gib, asks  what was asked of storage by explicit reads
 *   reads.4K, asks.4K   how many of reads and of asks had so many bytes or fewer and more than half of that (512: all
 *                    that had no more), in the last epoch; powers of two to 4G. The measured world knows asks alone
 *   read_kib         mean size of a request to the device
 *   written_gib      to the device
 *   disk_wait_s      the longest time that a worker of a stage waited for storage
 *   io_wait_pct, gpu_busy_pct, hit_pct, peak_gib, accuracy_pct, mrr
 *   bound_gib        the least feature bytes that any exact system brings in for the run's mini-batches, in the mean of
 *                    its epochs (`oocgnn run --bound`)
 *   bound_ratio      the feature bytes that the system brought in over that
 *   read_bound_ratio what the device delivered in all epochs over that: topology and whole pages count
 *   floor_ratio      the wall time of all epochs over their floors, the larger of device and training (docs/floor.md)
 *   nodes, edges, dim, topology_gib, feature_gib, total_gib   of the dataset
 *   oom, oot         1: the run ended so, 0: it did not
 *   series.cpu_pct, series.gpu_busy_pct, series.iowait_pct   means over the run's time series; waits.cpu_pct and
 *                    waits.gpu_busy_pct over those of its intervals that have more I/O wait than the mean
 *   target_s, target_epochs   until the accuracy of the figure's `target`, by the epoch time of the figure's world
 *   series.read_gbps the most that the drives delivered in an interval of the series, GB a second
 *   fio.read_mbps, fio.read_us   of fio's reads (fio_cells.h): MB a second; the mean from submission to completion
 *   own.NAME         a system's own figure, of the last epoch; first.NAME: of the first */
#ifndef GNN_FIGURE_METRIC_H
#define GNN_FIGURE_METRIC_H

#include "harness/record/record.h"

/* Of a figure, not of a run: gnn_metric_of knows no value of them. */
#define GNN_METRIC_TARGET_S "target_s"
#define GNN_METRIC_TARGET_EPOCHS "target_epochs"

bool gnn_metric_known(const char *name);

/* Whether the metric is about how a run ended, and so has a value where there is no time. */
bool gnn_metric_of_end(const char *name);

/* The value of a run that is recorded; NAN: the run does not tell. The name is known. */
double gnn_metric_of(const struct gnn_run_record *run, const char *name);

#endif
