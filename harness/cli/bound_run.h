/* SPDX-License-Identifier: MIT */
/* The bound (harness/stats/bound.h) of the mini-batches of a configuration or a recorded run. */
#ifndef GNN_CLI_BOUND_RUN_H
#define GNN_CLI_BOUND_RUN_H

#include "harness/record/record.h"
#include "harness/run/config.h"
#include "harness/stats/bound.h"

#include <stdatomic.h>

/* Limits of the computation. */
struct gnn_bound_room {
    uint64_t accesses_max;   /* row accesses, 8.2 bytes each */
    const atomic_bool *stop; /* NULL: never stops */
};

/* The limits of `oocgnn run --bound`. */
extern const struct gnn_bound_room gnn_bound_room_usual;

/* Samples the mini-batches of the configuration: from the prepared dataset, or from the computed graph if there is
 * none. out->config is what was sampled. Returns GNN_ENOENT if config names a path without a dataset, or errors of
 * gnn_row_trace_open(). On an error, out is closed. */
struct gnn_bound_source {
    struct gnn_world *world;
    struct gnn_lists *lists;
    struct gnn_row_trace *trace;
    struct gnn_row_trace_config config;
};
GNN_MUST_CHECK enum gnn_status gnn_bound_source_open(const struct gnn_run_config *config,
                                                     const struct gnn_bound_room *room, struct gnn_bound_source *out,
                                                     struct gnn_err *err);
void gnn_bound_source_close(struct gnn_bound_source *source); /* accepts a zeroed one */

/* Opens the profile of that name in the profile directories with the changes of --profile-set. Returns errors of
 * gnn_profile_open_changed(). */
GNN_MUST_CHECK enum gnn_status gnn_bound_profile(const char *name, const char *changes, struct gnn_profile **out,
                                                 struct gnn_err *err);

enum { GNN_BOUND_WHY_BYTES = 200 };

/* Computes the bound of a recorded run, and writes it into the run's environment and into its database db. The bound
 * covers its finished epochs. The cache is the run's memory limit, its swap and its GPU's memory. A run below its
 * bound becomes invalid (harness/run/validity.h), there too. If the run has no bound, nothing is written, and `why` is
 * the reason; else it is "". Reasons are other mini-batches, sampling only, links, several workers, a limit that leaves
 * the page cache out, or one below the largest mini-batch. */
GNN_MUST_CHECK enum gnn_status gnn_bound_of_run(struct gnn_run_record *run, const char *db,
                                                const struct gnn_bound_room *room, char why[GNN_BOUND_WHY_BYTES],
                                                struct gnn_err *err);

#endif
