/* SPDX-License-Identifier: MIT */
/* Groups runs that repeat each other: those with the same whole configuration are one series. */
#ifndef GNN_RECORD_SERIES_H
#define GNN_RECORD_SERIES_H

#include "harness/record/record.h"

enum { GNN_SERIES_LABEL_BYTES = 256 };

/* Keys that records have in addition to options: build, dataset, machine and tag of a run. Ends with NULL. */
extern const char *const gnn_run_facts[];

/* Lists what a time of the run depends on: columns, options, parameters, dataset and build. Without seed, system and
 * options for output. GNN_ENOMEM: whatever was listed is the caller's to clear. */
GNN_MUST_CHECK enum gnn_status gnn_run_conditions(const struct gnn_run_record *run, struct gnn_kv_list *out,
                                                  struct gnn_err *err);

/* Runs grouped by series; series are numbered in the order of their first runs. */
struct gnn_run_series {
    uint32_t count;
    uint32_t *of;                           /* (runs): the series of each run */
    char (*labels)[GNN_SERIES_LABEL_BYTES]; /* (count) */
    struct gnn_kv_list *conditions;         /* (count): what the times of each series depend on, by its first run */
    struct gnn_kv_list varied;              /* keys of which two series have different values */
};

/* Groups `count` runs; *out is to be closed. Two runs are in one series if system, variant, dataset (by digest), all
 * options, all parameters, the observed start and the build agree. Options for output do not count, and neither does
 * the option `over`, such as "seed"; "": every option counts. A value that is missing because a run ended early agrees
 * with anything. GNN_ENOMEM.
 *
 * A label is the system and only those options in which the series differ: "NAME hidden=16". A value that most series
 * have, such as one that a single system ignores, is in a label only if two series of its system differ in it. So are
 * values that a caption has (gnn_run_caption). */
GNN_MUST_CHECK enum gnn_status gnn_run_series_open(const struct gnn_run_record *runs, uint32_t count, const char *over,
                                                   struct gnn_run_series *out, struct gnn_err *err);
void gnn_run_series_close(struct gnn_run_series *series); /* accepts a zeroed struct */

/* Returns whether series differ in this key of their conditions. A digest, or what enforces the memory limit, does not
 * count if the option that changes it differs, too. */
bool gnn_run_series_varies(const struct gnn_run_series *series, const char *key);

/* Keeps the runs that agree with the newest run of their system in everything except seed and `option` ("hidden",
 * "SYSTEM.slots"). Frees the others and lowers *count. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_run_series_only(struct gnn_run_record *runs, uint32_t *count, const char *option,
                                                   struct gnn_err *err);

#endif
