/* SPDX-License-Identifier: MIT */
/* The generated datasets that run configurations of a sweep need. The user provides imports and datasets that are named
 * by a directory. */
#ifndef GNN_RUN_SWEEP_DATASET_H
#define GNN_RUN_SWEEP_DATASET_H

#include "harness/run/config.h"

#include <stdatomic.h>

/* Computes in *bytes the disk space that is still needed for the registry dataset of the run. 0: it exists with the
 * run's widths, or the run needs none on disk. Errors of the registry and of a meta file. */
GNN_MUST_CHECK enum gnn_status gnn_sweep_dataset_missing(const struct gnn_run_config *config, uint64_t *bytes,
                                                         struct gnn_err *err);

/* Checks that the dataset of the run exists, or, with `prepare`, can be generated. GNN_ENOENT: it does
 * not, and the message has the command that makes it. Errors of the registry and of a meta file. */
GNN_MUST_CHECK enum gnn_status gnn_sweep_dataset_check(const struct gnn_run_config *config, bool prepare,
                                                       struct gnn_err *err);

/* Generates the dataset or adds the missing width, with progress on a terminal. Does nothing if it exists. stop: as in
 * gnn_prepare_job. Errors as gnn_prepare_generate; the
 * message ends with the command that prepares it. */
GNN_MUST_CHECK enum gnn_status gnn_sweep_dataset_prepare(const struct gnn_run_config *config, const atomic_bool *stop,
                                                         struct gnn_err *err);

#endif
