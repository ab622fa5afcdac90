/* SPDX-License-Identifier: MIT */
/* Looks up earlier runs of a run configuration in its database. A missing database counts as empty. */
#ifndef GNN_RUN_SWEEP_LOOKUP_H
#define GNN_RUN_SWEEP_LOOKUP_H

#include "harness/record/earlier.h"
#include "harness/run/config.h"

/* Finds the finished runs of exactly this configuration, as gnn_db_find_done. If the run reads a prepared dataset that
 * exists, they had the same content. any_build: of any build, and measured ones with any calibration of this machine.
 * Otherwise of this build and of the present calibration, if there is one. */
GNN_MUST_CHECK enum gnn_status gnn_sweep_find(const struct gnn_run_config *config, bool any_build, uint32_t max,
                                              int64_t *ids, uint32_t *count, struct gnn_err *err);

/* Estimates time and disk space of the configuration from earlier runs, as gnn_db_cost. */
GNN_MUST_CHECK enum gnn_status gnn_sweep_cost(const struct gnn_run_config *config, struct gnn_run_cost *out,
                                              struct gnn_err *err);

/* The same for runs that are not those of a system, in the database at `path`. */
GNN_MUST_CHECK enum gnn_status gnn_wanted_find(const char *path, const struct gnn_wanted_run *wanted, uint32_t max,
                                               int64_t *ids, uint32_t *count, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_wanted_cost(const char *path, const struct gnn_wanted_run *wanted,
                                               struct gnn_run_cost *out, struct gnn_err *err);

#endif
