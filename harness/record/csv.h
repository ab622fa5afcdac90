/* SPDX-License-Identifier: MIT */
/* Runs as comma-separated values, for spreadsheets and scripts. */
#ifndef GNN_RECORD_CSV_H
#define GNN_RECORD_CSV_H

#include "harness/record/record.h"

#include <stdio.h>

enum gnn_csv_rows {
    GNN_CSV_RUNS,    /* a row for each run */
    GNN_CSV_OPTIONS, /* the same, with columns for the options that vary, the machine and the build */
    GNN_CSV_EPOCHS,  /* a row for each epoch */
};

/* Writes a header and the rows of the runs, as RFC 4180. GNN_ENOMEM. Unknown values are empty. Times are empty, too, if
 * the run is not ok: a timeout or an interruption has times of a part only.
 *
 * A row of a run has its number, the columns of `runs`, the counters summed over the epochs, and the counters before
 * the first epoch (before_...), named as in results/schema.sql. Derived columns follow: hit_ratio, bound_bytes,
 * bound_ratio, floor_ns, floor_ratio, io_wait_pct, cpu_pct, test_accuracy, test_mrr, test_own_first (share of queries),
 * test_roc_auc, test_macro_f1, epochs, part (gnn_run_part; empty: whole epochs), first_epoch_ns. Then come the times of
 * the epochs that count (gnn_run_counts_epoch): epoch_min_ns, epoch_p50_ns, epoch_p90_ns, epoch_max_ns. epoch_settled
 * is 0 or 1 for extrapolated epochs. The last columns are distributions of reads, requests and mini-batches in the last
 * epoch, if the system records them (its figures *_p50_ns and the like).
 *
 * GNN_CSV_OPTIONS appends `started` (UTC), keys of the environment such as host.name and build.revision, and every
 * option of which two of the runs have different values, named as in table `config`. Options that have a column of the
 * same name already are not repeated.
 *
 * A row of an epoch has run_id, system, status, epoch, counted (1: gnn_run_counts_epoch), and the columns of `epochs`
 * and `counters`. */
GNN_MUST_CHECK enum gnn_status gnn_runs_csv(enum gnn_csv_rows rows, const struct gnn_run_record *runs, uint32_t count,
                                            FILE *out, struct gnn_err *err);

/* Writes one field. It is quoted if it has a comma, a quote or a line end. A text that a spreadsheet would read as a
 * formula is quoted after an apostrophe. */
void gnn_csv_text(const char *text, FILE *out);

#endif
