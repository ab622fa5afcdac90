/* SPDX-License-Identifier: MIT */
/* What every system must pass, by trials on a small prepared dataset (docs/your-system.md). The checks compare with the
 * reference of trial.h, and with the system itself where only it can be compared. */
#ifndef GNN_RUN_CHECK_CHECK_H
#define GNN_RUN_CHECK_CHECK_H

#include "harness/run/check/verdict.h"

/* Runs all checks and counts those that failed. Files that the system adds to the dataset's directory are removed.
 * Errors are those of the machine, not of the system. */
GNN_MUST_CHECK enum gnn_status gnn_check_system(const struct gnn_check_setup *setup, uint32_t *failed,
                                                struct gnn_err *err);

#endif
