/* SPDX-License-Identifier: MIT */
/* The reproducible results of a build: counts, digests and, if the clock is virtual, times. With the same seed they are
 * the same again. They are kept per run configuration. A set of configurations comes from a database, from a build's
 * own output, or from a baseline file. */
#ifndef GNN_COMPARE_FACTS_H
#define GNN_COMPARE_FACTS_H

#include "harness/base/kv.h"
#include "harness/oocgnn.h"

#include <jansson.h>

enum { GNN_CELL_LABEL_BYTES = 160 };

/* Name of an exact value: version of the batch digests. Digests of two versions are not compared. */
#define GNN_FACT_DIGEST_VERSION "batch_digest version"

/* A function with at least this share of the instructions of its part is a hot loop. */
#define GNN_HOT_SHARE 0.01

struct gnn_cell {
    char job[GNN_NAME_MAX];           /* its place in the job file: the section, and "section 2" in a grid; or "" */
    char label[GNN_CELL_LABEL_BYTES]; /* system, and the options in which the configurations of its set differ */
    uint32_t runs;                    /* number of runs of this configuration */
    struct gnn_kv_list config;        /* every option, defaults included, that may change a run's behaviour */
    struct gnn_kv_list exact;         /* "epoch 0 requested_ios" -> "4711"; of the first run */
    struct gnn_kv_list unsteady;      /* values in which a later run differs: "1 | 2" */
};

/* A set of configurations, which owns its lists. An empty set is zeroed. */
struct gnn_facts {
    char name[256];              /* source of the facts, for people */
    char revision[GNN_NAME_MAX]; /* of the build; "" if unknown */
    struct gnn_cell *cells;
    uint32_t count, room;
    uint32_t other_builds;           /* runs of a database that were ignored because another build made them */
    struct gnn_kv_list instructions; /* harness/compare/callgrind.h; in a baseline file only the hot ones */
    char no_instructions[256];       /* why there are none; "" if they were not requested */
};

/* Adds a run: an object as `oocgnn run --json` prints it. With a virtual clock, the time in which the system opens is
 * exact. So is every whole number and text of the epochs, with their stages, counters and statistics. In the measured
 * world only values that the seed defines are exact. These are mini-batches and their digest, sampled nodes and edges,
 * and needed bytes and rows. job: the place in the job file, or "". A later run of the same configuration and place
 * must agree; values that differ become unsteady. Returns GNN_EFORMAT if run is not such an object. */
GNN_MUST_CHECK enum gnn_status gnn_facts_add(struct gnn_facts *facts, const char *job, const json_t *run,
                                             struct gnn_err *err);

/* Adds the finished runs of a database that were made by its newest build. Returns GNN_ENOENT if there are none. */
GNN_MUST_CHECK enum gnn_status gnn_facts_add_database(struct gnn_facts *facts, const char *path, struct gnn_err *err);

/* Labels all configurations. Call it after the last one was added. */
void gnn_facts_label(struct gnn_facts *facts);

/* What two configurations must have in common. */
enum gnn_match {
    GNN_MATCH_BOTH,   /* place in the job file, and options */
    GNN_MATCH_CONFIG, /* options. One that only one of them has is ignored, because builds may have different options */
    GNN_MATCH_JOB,    /* place in the job file, and the system. Defaults may differ between builds */
    GNN_MATCHES
};

/* Returns the index of the first configuration that is not in `taken` and matches `like`, or facts->count if there is
 * none. taken: one flag per configuration, or NULL. */
uint32_t gnn_facts_find(const struct gnn_facts *facts, const struct gnn_cell *like, enum gnn_match match,
                        const bool *taken);

/* Returns whether the count, one of base's instructions, is the total of its part or that of a hot loop. */
bool gnn_facts_is_hot(const struct gnn_facts *base, const struct gnn_kv *count);

void gnn_facts_clear(struct gnn_facts *facts); /* frees all and leaves an empty set */

#endif
