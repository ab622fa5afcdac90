/* SPDX-License-Identifier: MIT */
/* What makes a run what it is, as one number: two runs with equal identities, made by one build, repeat each other. */
#ifndef GNN_RUN_IDENTITY_H
#define GNN_RUN_IDENTITY_H

#include "harness/run/config.h"
#include "harness/storage/meta.h"

enum gnn_identity {
    GNN_IDENTITY_RUN,      /* every option and every parameter of the system, set or default, and the profiles' bytes */
    GNN_IDENTITY_WORKLOAD, /* without the system, its parameters and what computes: equal for runs that are compared */
};

/* The key of the environment under which a record keeps its run's identity. */
#define GNN_IDENTITY_KEY "run.identity"

/* Writes 32 hex digits. Where a run is told (--db, --json, --quiet, --trace-loss) does not count, nor does the build,
 * which the record has beside it. The configuration's words are resolved (gnn_machine_resolve). Errors: an unknown
 * system, parameter or profile. */
GNN_MUST_CHECK enum gnn_status gnn_run_identity(const struct gnn_run_config *config, enum gnn_identity what,
                                                char text[GNN_CHECKSUM_TEXT], struct gnn_err *err);

#endif
