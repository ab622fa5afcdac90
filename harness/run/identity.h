/* SPDX-License-Identifier: MIT */
/* Identity of a run: a hash of its configuration. Two runs of one build with equal identities repeat each other if they
 * had the same dataset and calibration (harness/run/sweep/lookup.h). */
#ifndef GNN_RUN_IDENTITY_H
#define GNN_RUN_IDENTITY_H

#include "harness/run/config.h"
#include "harness/storage/meta.h"

enum gnn_identity {
    GNN_IDENTITY_RUN,      /* all options and all parameters of the system, set or default, and the contents of the
                            * profiles and the costs */
    GNN_IDENTITY_WORKLOAD, /* without system, its parameters and compute: equal for runs that are compared */
};

/* Key of the environment that holds a run's identity. */
#define GNN_IDENTITY_KEY "run.identity"

/* Writes the identity as 32 hex digits. Options for output do not count (--db, --json, --details, --quiet, --bound and
 * traces). Neither does the build, which is recorded separately. The memory limit that this process inherits counts for
 * measured runs without a limit of their own. The configuration must be resolved (gnn_machine_resolve). Errors: an
 * unknown system, parameter or profile. */
GNN_MUST_CHECK enum gnn_status gnn_run_identity(const struct gnn_run_config *config, enum gnn_identity what,
                                                char text[GNN_CHECKSUM_TEXT], struct gnn_err *err);

/* Returns whether an option of gnn_run_options is a part of the identity: false for options for output. */
bool gnn_run_option_counts(const char *name);

#endif
