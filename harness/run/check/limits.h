/* SPDX-License-Identifier: MIT */
/* The checks of memory and of the simulated world. */
#ifndef GNN_RUN_CHECK_LIMITS_H
#define GNN_RUN_CHECK_LIMITS_H

#include "harness/run/check/session.h"

/* Runs these checks. Errors are those of the machine. */
GNN_MUST_CHECK enum gnn_status gnn_check_limits(struct gnn_check_session *s, struct gnn_err *err);

#endif
