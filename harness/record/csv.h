/* SPDX-License-Identifier: MIT */
/* Runs as comma-separated values, for spreadsheets and scripts. */
#ifndef GNN_RECORD_CSV_H
#define GNN_RECORD_CSV_H

#include "harness/record/record.h"

#include <stdio.h>

/* A row a run: its number, the columns of `runs` and of the whole run's counters by their names in results/schema.sql,
 * and what is derived: epochs, the distribution of their wall times (epoch_min_ns, epoch_p50_ns, epoch_p90_ns,
 * epoch_max_ns), those of reads, requests and mini-batches where the system records them (its figures *_p50_ns and the
 * like, of the last epoch), io_wait_pct, cpu_pct, hit_ratio, bound_bytes, bound_ratio, floor_ns, floor_ratio,
 * test_accuracy, test_mrr. Unknown is empty, and so are the times of a run that is not valid. RFC 4180. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_runs_csv(const struct gnn_run_record *runs, uint32_t count, FILE *out,
                                            struct gnn_err *err);

#endif
