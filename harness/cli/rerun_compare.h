/* SPDX-License-Identifier: MIT */
/* Compares a run with its repetition. */
#ifndef GNN_CLI_RERUN_COMPARE_H
#define GNN_CLI_RERUN_COMPARE_H

#include "harness/record/record.h"

#include <jansson.h>

/* Returns a new array of differences between the results, empty if they are the same, or NULL if memory is short. Each
 * is {"what", "then", "now"}.
 *
 * exact: status, and every value of every epoch and of the time before the first. Otherwise: status, and of every epoch
 * the digest of its mini-batches, their nodes and edges, the loss and the accuracies, and the hash of the trained
 * model. */
json_t *gnn_rerun_results(const struct gnn_run_record *then, const struct gnn_run_record *now, bool exact);

/* Returns a new array of the same form with the differences between builds, machines, datasets and profiles. */
json_t *gnn_rerun_conditions(const struct gnn_run_record *then, const struct gnn_run_record *now);

#endif
