/* SPDX-License-Identifier: MIT */
/* One run's figures as tables, pictures and JSON show them. Pure functions over a record. */
#ifndef GNN_RECORD_SUMMARY_H
#define GNN_RECORD_SUMMARY_H

#include "harness/record/record.h"

/* Status invalid, or judged not valid: no time of this run may be shown. */
bool gnn_run_withholds_times(const struct gnn_run_record *run);

/* A cap was asked for that nothing outside the program enforces: the page cache has the whole machine, so a system that
 * lives from it had no cap at all. Such a run is marked wherever it is shown, and no picture sets it beside another. */
bool gnn_run_cap_not_enforced(const struct gnn_run_record *run);

/* The epochs' stages summed by name, in pipeline order, into sums[0 .. GNN_RECORD_STAGES_MAX); returns how
 * many. A sum over something unknown is unknown. workers is the largest. */
uint32_t gnn_run_stage_sums(const struct gnn_run_record *run, struct gnn_record_stage *sums);

/* Lists a stage's time: work, then the waits for I/O, queue, lock, compute and resource; some may be unknown. */
enum { GNN_STAGE_PARTS = 6 };
void gnn_stage_parts(const struct gnn_record_stage *stage, uint64_t parts_ns[GNN_STAGE_PARTS]);

/* A figure of an epoch's figures; GNN_UNKNOWN if it has none of that name. */
uint64_t gnn_recorded_figure(const struct gnn_record_epoch *epoch, const char *name);

/* The epoch's wall time, extrapolated where only a part of it ran (--batches). */
uint64_t gnn_epoch_whole_ns(const struct gnn_record_epoch *epoch);

/* Median of the epochs' wall times (gnn_epoch_whole_ns); GNN_UNKNOWN without one, or when times are withheld. */
uint64_t gnn_run_epoch_ns(const struct gnn_run_record *run);

/* Share of the workers' time spent waiting for I/O, over all stages, in per cent; NAN when unknown. The
 * primary I/O-wait figure. */
double gnn_run_io_wait_pct(const struct gnn_run_record *run);

/* Sums the device's busy time over the epochs, and their wall time. False: the host computed, or times are withheld. */
bool gnn_run_gpu_busy(const struct gnn_run_record *run, uint64_t *busy_ns, uint64_t *wall_ns);

/* What crossed the bus to and from the device, over the epochs; GNN_UNKNOWN each where an epoch does not tell. */
struct gnn_gpu_copies {
    uint64_t copy_ns, uploaded_bytes, downloaded_bytes;
};
struct gnn_gpu_copies gnn_run_gpu_copies(const struct gnn_run_record *run);

/* Bytes either way in a second of the device's time for them; NAN when unknown, or where nothing crossed. */
double gnn_gpu_copy_rate(const struct gnn_gpu_copies *copies);

/* Mean over the series, weighted by interval; NAN without one. */
double gnn_run_cpu_pct(const struct gnn_run_record *run);

/* The last known MRR of the test edges; NAN if none. */
double gnn_run_test_mrr(const struct gnn_run_record *run);

/* The last known test accuracy; NAN if none. */
double gnn_run_test_accuracy(const struct gnn_run_record *run);

/* The least feature bytes that any exact system brings in for the run's mini-batches in its memory, as environment
 * 'bound.bytes' tells; GNN_UNKNOWN if nobody has counted them. */
uint64_t gnn_run_bound_bytes(const struct gnn_run_record *run);

/* The feature rows that storage delivered in all epochs, and those that were brought in before the first one, in bytes
 * over that bound: 1 is as little as can be. NAN: no bound, or the system does not count rows. */
double gnn_run_bound_ratio(const struct gnn_run_record *run);

/* The floors of all epochs together (docs/floor.md); GNN_UNKNOWN where an epoch has none, or times are withheld. */
uint64_t gnn_run_floor_ns(const struct gnn_run_record *run);

/* The wall time of all epochs, as far as they ran, over that: 1 is as fast as can be with what the system reads. NAN
 * where it is unknown, or 0. */
double gnn_run_floor_ratio(const struct gnn_run_record *run);

enum { GNN_CAPTION_BYTES = 512 };
/* What a number of this run depends on: dataset, scale, model, world, cap, cold or warm, compute, throttle. */
void gnn_run_caption(const struct gnn_run_record *run, char *text, size_t text_bytes);

double gnn_median(double *values, uint32_t count); /* sorts values; NAN when count is 0 */

/* The least of the values that at least so many per cent of them do not exceed (nearest rank, as fio has it); values
 * ascend. NAN when count is 0. */
double gnn_percentile(const double *values, uint32_t count, double percent);

#endif
