/* SPDX-License-Identifier: MIT */
/* What a sweep reports of its repetitions when it ends. */
#ifndef GNN_CLI_SWEEP_SPREAD_H
#define GNN_CLI_SWEEP_SPREAD_H

#include "harness/run/sweep/job_file.h"

/* Prints a note on stderr for each configuration whose recorded repetitions spread by more than GNN_NOTE_SPREAD_PCT.
 * Configurations with fewer than two runs of this build have none. `only`: number of one configuration, or 0 for
 * all. */
void gnn_sweep_tell_spreads(const struct gnn_job *job, uint32_t only);

#endif
