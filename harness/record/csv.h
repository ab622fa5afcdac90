/* SPDX-License-Identifier: MIT */
/* Runs as comma-separated values, for spreadsheets and scripts. */
#ifndef GNN_RECORD_CSV_H
#define GNN_RECORD_CSV_H

#include "harness/record/record.h"

#include <stdio.h>

/* Writes a header and one row per run, as RFC 4180. A row has the run's number, the columns of `runs`, the counters
 * summed over the epochs, and the counters before the first epoch (before_...), named as in results/schema.sql. Unknown
 * values are empty, and so are the times of an invalid run. GNN_ENOMEM.
 *
 * Derived columns follow: hit_ratio, bound_bytes, bound_ratio, floor_ns, floor_ratio, io_wait_pct, cpu_pct,
 * test_accuracy, test_mrr, epochs, part (gnn_run_part; empty: whole epochs), first_epoch_ns. Then come the times of the
 * epochs that count (gnn_run_counts_epoch): epoch_min_ns, epoch_p50_ns, epoch_p90_ns, epoch_max_ns. epoch_settled is 0
 * or 1 for extrapolated epochs. The last columns are distributions of reads, requests and mini-batches in the last
 * epoch, if the system records them (its figures *_p50_ns and the like). */
GNN_MUST_CHECK enum gnn_status gnn_runs_csv(const struct gnn_run_record *runs, uint32_t count, FILE *out,
                                            struct gnn_err *err);

#endif
