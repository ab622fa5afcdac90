/* SPDX-License-Identifier: MIT */
/* The checks with faults: reads, allocations and writes that fail, and the stop flag. */
#ifndef GNN_RUN_CHECK_FAULTS_H
#define GNN_RUN_CHECK_FAULTS_H

#include "harness/run/check/session.h"

/* Runs these checks. Errors are those of the machine. */
GNN_MUST_CHECK enum gnn_status gnn_check_faults(struct gnn_check_session *s, struct gnn_err *err);

#endif
