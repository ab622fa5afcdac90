/* SPDX-License-Identifier: MIT */
/* Queries for earlier runs: which of the wanted runs exist already, and how long such runs took. */
#ifndef GNN_RECORD_EARLIER_H
#define GNN_RECORD_EARLIER_H

#include "harness/record/record.h"

/* A run that is to be made. */
struct gnn_wanted_run {
    const char *key, *value; /* pair of the environment that identifies the run */
    const char *revision;    /* revision of the build that made it; NULL: any */
    const char *digest;      /* of its dataset; NULL: any */
    const char *calibration; /* profile of the measured machine, as the record has it; NULL: any */
    const char *system, *dataset, *world;
    uint64_t scale_divisor, epochs;
};

/* Finds the runs of this identity, build, dataset and calibration with status ok, oom, gpu_oom or `oot`. Writes the
 * newest `max` of them to ids[0..*count), oldest first. With max 0, ids may be NULL, and *count is the number of such
 * runs. */
GNN_MUST_CHECK enum gnn_status gnn_db_find_done(struct gnn_db *db, const struct gnn_wanted_run *wanted, uint32_t max,
                                                int64_t *ids, uint32_t *count, struct gnn_err *err);

/* Estimated cost of a run. The time is the median over earlier runs of the same identity. If there are none, it is the
 * median over ok runs of the same system, dataset, scale and world, scaled to the number of epochs. */
struct gnn_run_cost {
    uint64_t host_ns;    /* wall time on this machine, from the start to the record; GNN_UNKNOWN: no such run */
    uint64_t disk_bytes; /* bytes of files prepared for the system, largest of similar runs; 0: none or unknown */
    uint32_t runs;       /* number of runs behind host_ns */
    bool same;           /* they have the same identity */
};
GNN_MUST_CHECK enum gnn_status gnn_db_cost(struct gnn_db *db, const struct gnn_wanted_run *wanted,
                                           struct gnn_run_cost *out, struct gnn_err *err);

#endif
