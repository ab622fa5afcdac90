/* SPDX-License-Identifier: MIT */
/* Numbers derived from one run, for tables, pictures and JSON. Pure functions of a record. */
#ifndef GNN_RECORD_SUMMARY_H
#define GNN_RECORD_SUMMARY_H

#include "harness/record/record.h"

/* Returns whether no time of this run may be shown: its status is invalid, or it was judged not valid. */
bool gnn_run_withholds_times(const struct gnn_run_record *run);

/* Returns whether a memory limit was requested but only the program's own allocations observe it. The page cache then
 * has the whole machine, so a system that relies on it had no limit. Such a run is marked wherever it is shown, and no
 * picture compares it with another. */
bool gnn_run_cap_not_enforced(const struct gnn_run_record *run);

/* Returns the memory limit that the run's page cache had from its container or control group, or GNN_UNKNOWN. A limit
 * that a control group enforces for the run itself is smaller, and then decides. Runs that differ in this limit are
 * never compared. */
uint64_t gnn_run_inherited_bytes(const struct gnn_run_record *run);

/* Returns " (limit not enforced)" or " (limit inherited)" for the name of a system in a table, or "". */
const char *gnn_run_limit_mark(const struct gnn_run_record *run);

/* Returns when another measured run used this one's dataset ("start", "end", "start and end"), or NULL if none was
 * seen. */
const char *gnn_run_shared_dataset(const struct gnn_run_record *run);

enum { GNN_PART_BYTES = 80 };
/* Writes which part of its epochs the run's numbers are of, and returns text; "" for whole epochs. With --max-batches
 * it is "first 3 of 31 mini-batches", with --batches "extrapolated from 40 mini-batches". */
const char *gnn_run_part(const struct gnn_run_record *run, char text[GNN_PART_BYTES]);

enum { GNN_SYSTEM_TEXT_BYTES = 2 * GNN_NAME_MAX + GNN_PART_BYTES + 32 };
/* Writes the system with what a reader of its row needs first, and returns text: its variant, a limit that was not
 * enforced, the part of an epoch. */
const char *gnn_run_system_text(const struct gnn_run_record *run, char text[GNN_SYSTEM_TEXT_BYTES]);

/* Sums the epochs' stages by name, in pipeline order, into sums[0 .. GNN_RECORD_STAGES_MAX), and returns their number.
 * A sum with an unknown term is unknown; workers is the largest. */
uint32_t gnn_run_stage_sums(const struct gnn_run_record *run, struct gnn_record_stage *sums);

/* Lists a stage's times: work, then the waits for I/O, queue, lock, compute and resource. Each may be unknown. */
enum { GNN_STAGE_PARTS = 6 };
void gnn_stage_parts(const struct gnn_record_stage *stage, uint64_t parts_ns[GNN_STAGE_PARTS]);

/* Returns a figure of an epoch, or GNN_UNKNOWN if there is none of this name. */
uint64_t gnn_recorded_figure(const struct gnn_record_epoch *epoch, const char *name);

/* Returns whether the time of an epoch, of which a part ran (--batches), is not settled
 * (harness/run/worker/extrapolate.h). Such a time is shown with a mark, and no figure or picture has it. */
bool gnn_epoch_is_unsettled(const struct gnn_record_epoch *epoch);

/* Returns whether an epoch of the run is not settled. */
bool gnn_run_is_unsettled(const struct gnn_run_record *run);

/* The word in place of an unsettled time. */
#define GNN_NOT_SETTLED "not settled"

/* Returns the epoch's wall time, extrapolated if only a part of it ran (--batches). GNN_UNKNOWN: there is none, or it
 * is not settled. */
uint64_t gnn_epoch_whole_ns(const struct gnn_record_epoch *epoch);

/* ---- the epochs that count: tables, figures, pictures, pages and the gate have "an epoch" from here ---- */

/* Returns whether epoch number `epoch` counts: it is complete, and it is not the first of several. */
bool gnn_run_counts_epoch(const struct gnn_run_record *run, uint32_t epoch);

/* Returns the last epoch that counts, or the last one if none counts. NULL: there is no epoch. */
const struct gnn_record_epoch *gnn_run_last_epoch(const struct gnn_run_record *run);

/* Returns a quantity of an epoch, which may have a name; NAN: unknown. */
typedef double gnn_epoch_fn(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch, const char *name);
/* Returns the median of a quantity over the epochs that count and have it, or NAN if there is none. */
double gnn_run_epoch_median(const struct gnn_run_record *run, gnn_epoch_fn *fn, const char *name);

/* The functions below use gnn_epoch_whole_ns. They return GNN_UNKNOWN if times are withheld or not settled. */

/* Returns the time of the first epoch. GNN_UNKNOWN: no epoch ended. */
uint64_t gnn_run_first_epoch_ns(const struct gnn_run_record *run);
/* Returns the median time of the epochs that count. GNN_UNKNOWN: none counts. */
uint64_t gnn_run_epoch_ns(const struct gnn_run_record *run);
/* Does the same for a run of several epochs. GNN_UNKNOWN: there are fewer than two. */
uint64_t gnn_run_later_epoch_ns(const struct gnn_run_record *run);

/* Returns the share of the workers' time spent waiting for I/O, over all stages, in per cent; NAN: unknown. This is the
 * main figure of I/O wait. */
double gnn_run_io_wait_pct(const struct gnn_run_record *run);

/* Sums the device's busy time over the epochs, and their wall time. Returns false if the host computed or times are
 * withheld. */
bool gnn_run_gpu_busy(const struct gnn_run_record *run, uint64_t *busy_ns, uint64_t *wall_ns);

/* Copies between host and device, summed over the epochs. Each is GNN_UNKNOWN if an epoch lacks it. */
struct gnn_gpu_copies {
    uint64_t copy_ns, uploaded_bytes, downloaded_bytes;
};
struct gnn_gpu_copies gnn_run_gpu_copies(const struct gnn_run_record *run);

/* Returns the bytes copied, in both directions, per second of the device's copy time. NAN: unknown, or nothing was
 * copied. */
double gnn_gpu_copy_rate(const struct gnn_gpu_copies *copies);

/* Returns the mean CPU use over the series, in per cent, weighted by interval. NAN: no series. */
double gnn_run_cpu_pct(const struct gnn_run_record *run);

/* Returns the last known MRR of the test edges; NAN: none. */
double gnn_run_test_mrr(const struct gnn_run_record *run);

/* Returns the last known test accuracy; NAN: none. */
double gnn_run_test_accuracy(const struct gnn_run_record *run);

/* Return the last known area under the ROC curve and macro-averaged F1 of the test nodes; NAN: none. */
double gnn_run_test_roc_auc(const struct gnn_run_record *run);
double gnn_run_test_macro_f1(const struct gnn_run_record *run);

/* Returns the last known share of the test edges' queries whose own end ranks first; NAN: none. */
double gnn_run_test_own_first(const struct gnn_run_record *run);

/* Returns whether the run's features are half-precision numbers (--feature-type f16). */
bool gnn_run_has_halves(const struct gnn_run_record *run);
/* Returns the bytes of a feature row on disk. GNN_UNKNOWN: the width is unknown. */
uint64_t gnn_run_row_bytes(const struct gnn_run_record *run);

/* Returns the minimum reads: the fewest feature bytes that any exact system reads for the run's mini-batches with its
 * memory. The value is `bound.bytes` of the environment. GNN_UNKNOWN: not computed. */
uint64_t gnn_run_bound_bytes(const struct gnn_run_record *run);

/* Returns the feature rows that storage delivered, in bytes, divided by the minimum reads: 1 is the best possible. Rows
 * that filled a cache before an epoch count, too. NAN: no minimum reads, or the system does not count rows. */
double gnn_run_bound_ratio(const struct gnn_run_record *run);

/* Returns the minimum time of all epochs together (docs/floor.md). GNN_UNKNOWN: an epoch has none, or times are
 * withheld. */
uint64_t gnn_run_floor_ns(const struct gnn_run_record *run);

/* Returns the wall time of all epochs divided by their minimum time: 1 is the best possible with the system's reads.
 * With --batches both are those of the part that ran. NAN: the minimum time is unknown or 0. */
double gnn_run_floor_ratio(const struct gnn_run_record *run);

enum { GNN_CAPTION_BYTES = 512 };
/* Writes the conditions of the run's numbers: dataset, scale, model, world, memory limit, cold or warm, compute,
 * throttle. text_bytes >= GNN_CAPTION_BYTES. */
void gnn_run_caption(const struct gnn_run_record *run, char *text, size_t text_bytes);

double gnn_median(double *values, uint32_t count); /* sorts values; NAN when count is 0 */

/* Returns the smallest value that at least `percent` per cent of the values do not exceed (nearest rank, as in fio).
 * Values ascend. NAN: count is 0. */
double gnn_percentile(const double *values, uint32_t count, double percent);

#endif
