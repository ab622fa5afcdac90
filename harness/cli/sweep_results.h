/* SPDX-License-Identifier: MIT */
/* What a sweep prints when it ends: its runs as a table, a row for each configuration. */
#ifndef GNN_CLI_SWEEP_RESULTS_H
#define GNN_CLI_SWEEP_RESULTS_H

#include "harness/run/sweep/job_file.h"

#include <stdio.h>

/* Prints the table of gnn_report_repeats for the recorded results of the job's configurations, one table for each
 * database. Of each configuration, the newest 64 results count, earlier sweeps included. `only`: number of one
 * configuration, or 0 for all. any_build: results of other builds count, too. Databases that cannot be read are left
 * out. */
void gnn_sweep_show_results(const struct gnn_job *job, uint32_t only, bool any_build, FILE *out);

#endif
