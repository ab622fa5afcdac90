/* SPDX-License-Identifier: MIT */
/* Tables of runs for terminal or Markdown. */
#ifndef GNN_RECORD_REPORT_H
#define GNN_RECORD_REPORT_H

#include "harness/oocgnn.h"
#include "harness/record/record.h"

#include <stdio.h>

enum gnn_report_style { GNN_REPORT_TEXT, GNN_REPORT_MARKDOWN, GNN_REPORT_CSV };

/* Writes one row per configuration, over its repetitions: gnn_run_series_open defines which runs repeat each other, and
 * has `over`. A row has the options in which the rows differ, the number of runs, median and range of the epoch time
 * (gnn_run_epoch_ns), and the ratio to the fastest comparable row. Comparable rows differ by system, by parameters of
 * systems and by repetition only: all options, memory limit, dataset and build are the same. Also, both or neither
 * gather features. Other columns are medians, each left out if no run has a value. A row without a time has the status
 * of its last run.
 *
 * Below the table are the conditions that all rows share, the reasons of runs without a time, and notes. CSV has the
 * table only, with numbers in full and units in the names. Columns for dataset, scale, dim, world, memory limit and
 * batch are always there. */
void gnn_report_repeats(const struct gnn_run_record *runs, uint32_t count, const char *over,
                        enum gnn_report_style style, FILE *out);

/* Writes one line per run: time of the first epoch, median of the later ones that count (gnn_run_counts_epoch), I/O
 * wait, CPU, peak memory, accuracy. A run without valid times shows its status instead. A second table has the reads
 * and writes before the first epoch, and their sums over the epochs. Below the tables are worlds, scales and memory
 * limits of the runs, and the reasons of those that are not ok. */
void gnn_report_runs(const struct gnn_run_record *runs, uint32_t count, enum gnn_report_style style, FILE *out);

/* Writes only the table of stages, with a heading, or nothing if no run has stages. */
void gnn_report_stages(const struct gnn_run_record *runs, uint32_t count, enum gnn_report_style style, FILE *out);

/* Writes the output of `oocgnn run`: the result, epoch times, reads and memory, the table of stages, and the
 * conditions. A run without a result shows its status and the reasons instead of times. */
void gnn_report_run(const struct gnn_run_record *run, FILE *out);

#endif
