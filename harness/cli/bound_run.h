/* SPDX-License-Identifier: MIT */
/* The bound (harness/stats/bound.h) of the mini-batches that a configuration, or a recorded run, draws. */
#ifndef GNN_CLI_BOUND_RUN_H
#define GNN_CLI_BOUND_RUN_H

#include "harness/record/record.h"
#include "harness/run/config.h"
#include "harness/stats/bound.h"

#include <stdatomic.h>

/* How much may be done for it. */
struct gnn_bound_room {
    uint64_t accesses_max;   /* row accesses, 8.2 bytes each */
    const atomic_bool *stop; /* NULL: never */
};

/* `oocgnn run --bound` takes this much. */
extern const struct gnn_bound_room gnn_bound_room_usual;

/* Samples what the configuration draws: of the prepared dataset, or of the computed graph where there is none.
 * *config_out is what was sampled. Close in this order: trace, lists, world. */
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

/* Opens the profile from where profiles are found. */
GNN_MUST_CHECK enum gnn_status gnn_bound_profile(const char *name, struct gnn_profile **out, struct gnn_err *err);

enum { GNN_BOUND_WHY_BYTES = 200 };

/* Counts the bound of a recorded run into its environment and into the database it is in: of its finished epochs, with
 * its cap, its swap and its GPU's memory as cache. Where there is none (other mini-batches, samples alone, links,
 * several workers) nothing is written, and why says so; else why is "". */
GNN_MUST_CHECK enum gnn_status gnn_bound_of_run(struct gnn_run_record *run, const char *db,
                                                const struct gnn_bound_room *room, char why[GNN_BOUND_WHY_BYTES],
                                                struct gnn_err *err);

#endif
