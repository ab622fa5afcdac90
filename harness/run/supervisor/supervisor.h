/* SPDX-License-Identifier: MIT */
/* The supervisor: makes the cgroup, evicts the dataset, starts the worker inside, samples probes from outside,
 * records what happened, whatever happened. No run leaves a cgroup, a temporary file or a
 * process behind. */
#ifndef GNN_RUN_SUPERVISOR_H
#define GNN_RUN_SUPERVISOR_H

#include "harness/record/record.h"
#include "harness/run/config.h"

/* Runs one configuration to its recorded end. GNN_OK means that `out` tells the story (its status may be oom, oot,
 * failed, invalid, interrupted); an error means that no run took place (wrong usage, unfit machine, no database) or
 * that it could not be stored whole: out->wall_ns is known then, and `out` tells the story all the same. A database
 * that fails in the middle does not end the run. `out` is initialised here and freed by the caller in both cases.
 * Blocks SIGINT, SIGTERM and SIGHUP while it runs: the first one asks the worker to stop, the second kills it.
 * Ignores SIGPIPE meanwhile. */
GNN_MUST_CHECK enum gnn_status gnn_run_supervised(const struct gnn_run_config *config, struct gnn_run_record *out,
                                                  struct gnn_err *err);

#endif
