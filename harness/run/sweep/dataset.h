/* SPDX-License-Identifier: MIT */
/* The generated datasets that cells of a sweep read. Imports and datasets named by a directory are the user's. */
#ifndef GNN_RUN_SWEEP_DATASET_H
#define GNN_RUN_SWEEP_DATASET_H

#include "harness/run/config.h"

#include <stdatomic.h>

/* Tells in *bytes how much disk the registry dataset of the run would still take, 0 when it is there with the widths
 * of the run, or when the run needs none on a disk. Errors of the registry and of a meta file. */
GNN_MUST_CHECK enum gnn_status gnn_sweep_dataset_missing(const struct gnn_run_config *config, uint64_t *bytes,
                                                         struct gnn_err *err);

/* Generates it, or adds the width that it lacks, with progress on a terminal; nothing when it is there. stop: as
 * gnn_prepare_job's. */
GNN_MUST_CHECK enum gnn_status gnn_sweep_dataset_prepare(const struct gnn_run_config *config, const atomic_bool *stop,
                                                         struct gnn_err *err);

#endif
