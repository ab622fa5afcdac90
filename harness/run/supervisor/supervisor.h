/* SPDX-License-Identifier: MIT */
/* The supervisor: makes the control group, evicts the dataset, starts the worker inside, probes it from outside, and
 * records the outcome, whatever it is. No run leaves a control group, a temporary file or a process behind. */
#ifndef GNN_RUN_SUPERVISOR_H
#define GNN_RUN_SUPERVISOR_H

#include "harness/record/record.h"
#include "harness/run/config.h"

/* Runs one configuration and records it. `out` is initialised here and freed by the caller, also after an error.
 * GNN_OK: `out` has the outcome; its status may be oom, `oot`, failed, invalid or interrupted.
 *
 * An error means that no run took place: wrong usage, unfit machine, no database. Or the run could not be stored
 * completely; then out->wall_ns is known and `out` has the outcome, too. A database that fails during the run does not
 * end it.
 *
 * While it runs it takes SIGINT, SIGTERM and SIGHUP: the first one requests the worker to stop, the second kills it.
 * SIGTSTP and SIGCONT pause and resume the worker. SIGPIPE is ignored. */
GNN_MUST_CHECK enum gnn_status gnn_run_supervised(const struct gnn_run_config *config, struct gnn_run_record *out,
                                                  struct gnn_err *err);

#endif
