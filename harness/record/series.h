/* SPDX-License-Identifier: MIT */
/* Which runs repeat each other: those whose whole configuration agrees. Everything else is a series of its own. */
#ifndef GNN_RECORD_SERIES_H
#define GNN_RECORD_SERIES_H

#include "harness/record/record.h"

enum { GNN_SERIES_LABEL_BYTES = 256 };

/* Runs by series, numbered in the order of their first runs. */
struct gnn_run_series {
    uint32_t count;
    uint32_t *of;                           /* (runs): the series of each run */
    char (*labels)[GNN_SERIES_LABEL_BYTES]; /* (count) */
};

/* Two runs are of one series when system, variant, dataset (by digest), every option, every parameter of the system,
 * the observed start and the build agree; seeds and where a run is told do not count, and what a run that ended early
 * did not get to know agrees with anything. A label is the system, with the options in which the series differ and
 * those alone: "NAME hidden=16". What a caption tells (gnn_run_caption) is in a label only where two series of one
 * system differ in it. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_run_series_open(const struct gnn_run_record *runs, uint32_t count,
                                                   struct gnn_run_series *out, struct gnn_err *err);
void gnn_run_series_close(struct gnn_run_series *series); /* accepts a zeroed one */

/* Keeps of the runs those that agree with the newest run of their system in everything but `option` ("hidden",
 * "SYSTEM.slots"); frees the others and lowers *count. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_run_series_only(struct gnn_run_record *runs, uint32_t *count, const char *option,
                                                   struct gnn_err *err);

#endif
