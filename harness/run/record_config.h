/* SPDX-License-Identifier: MIT */
/* The configuration of a recorded run: the reverse of gnn_record_list_config. */
#ifndef GNN_RUN_RECORD_CONFIG_H
#define GNN_RUN_RECORD_CONFIG_H

#include "harness/record/record.h"
#include "harness/run/config.h"

/* Sets every option and parameter as the record has it, also those that a preset or a rule had set. The preset is
 * not applied again. Options for output (database, traces, JSON) keep their defaults. So do options that the record
 * lacks, whose names are listed in `missing` with commas between them. GNN_EUSAGE: the record has an option or a value
 * that this build rejects. The message names the build of the run. */
GNN_MUST_CHECK enum gnn_status gnn_record_config(const struct gnn_run_record *run, struct gnn_run_config *config,
                                                 char *missing, size_t missing_bytes, struct gnn_err *err);

#endif
