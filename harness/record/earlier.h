/* SPDX-License-Identifier: MIT */
/* What a database knows of runs that were made before: which are there already, and what such runs took. */
#ifndef GNN_RECORD_EARLIER_H
#define GNN_RECORD_EARLIER_H

#include "harness/record/record.h"

/* A run that is to be made. */
struct gnn_wanted_run {
    const char *key, *value; /* of the environment: what identifies it */
    const char *revision;    /* of the build that made it; NULL: any */
    const char *system, *dataset, *world;
    uint64_t scale_divisor, epochs;
};

/* Finds the runs of that identity and build that ended as ok, oom, gpu_oom or oot, the oldest first; of more than max
 * the newest. Of them ids[0..*count) are filled; ids may be NULL with max 0, then *count tells how many there are. */
GNN_MUST_CHECK enum gnn_status gnn_db_find_done(struct gnn_db *db, const struct gnn_wanted_run *wanted, uint32_t max,
                                                int64_t *ids, uint32_t *count, struct gnn_err *err);

/* From the median of earlier runs: of the same identity, else of the same system on the same dataset at the same scale
 * in the same world, stretched to its epochs. */
struct gnn_run_cost {
    uint64_t host_ns;    /* of this machine's time, from the start to the record; GNN_UNKNOWN: no such run */
    uint64_t disk_bytes; /* in files prepared for the system; 0: none, or unknown */
    uint32_t runs;       /* that it was taken from */
    bool same;           /* they are of the same identity */
};
GNN_MUST_CHECK enum gnn_status gnn_db_cost(struct gnn_db *db, const struct gnn_wanted_run *wanted,
                                           struct gnn_run_cost *out, struct gnn_err *err);

#endif
