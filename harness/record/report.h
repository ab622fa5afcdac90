/* SPDX-License-Identifier: MIT */
/* Tables of runs for people: terminal or Markdown. */
#ifndef GNN_RECORD_REPORT_H
#define GNN_RECORD_REPORT_H

#include "harness/oocgnn.h"
#include "harness/record/record.h"

#include <stdio.h>

enum gnn_report_style { GNN_REPORT_TEXT, GNN_REPORT_MARKDOWN };

/* One line per run: epoch time (median of its epochs, the first one included), stage split, I/O wait, CPU,
 * bytes and I/Os read, peak memory, accuracy. A run that is oom, oot, invalid … shows that word where its
 * times would be. Below the table stand the runs' worlds, scales, caps and the reasons of those that are not
 * ok. */
void gnn_report_runs(const struct gnn_run_record *runs, uint32_t count, enum gnn_report_style style, FILE *out);

/* The table of stages alone, with a heading; nothing where no run has a stage to show. */
void gnn_report_stages(const struct gnn_run_record *runs, uint32_t count, enum gnn_report_style style, FILE *out);

/* What `oocgnn run` prints: a block with the run's result, its epoch times, what it read and its memory, the table of
 * stages, and the conditions. A run without a result shows its status and the reasons instead of times. */
void gnn_report_run(const struct gnn_run_record *run, FILE *out);

#endif
