/* SPDX-License-Identifier: MIT */
/* Measured time of two builds: runs of a job's cells, interleaved as harness/compare/ab.h asks. */
#ifndef GNN_CLI_TIME_BUILDS_H
#define GNN_CLI_TIME_BUILDS_H

#include "harness/compare/changes.h"

struct gnn_time_request {
    const char *base, *head; /* programs */
    const char *job_file, *data;
    const char *dir;     /* for their databases */
    const char *samples; /* CSV of every pair, or "" */
    const struct gnn_ab_plan *plan;
};

/* Metrics of a run: the epoch's wall time and, where a GPU computes, the time its kernels and its copies took by its
 * own events. Of each the median over the epochs, without the first where there are more: epochs of one run are not
 * independent, so a run is one observation. */
enum { GNN_TIME_METRICS = 3 };
extern const char *const gnn_time_metrics[GNN_TIME_METRICS];
void gnn_time_metrics_of(const json_t *run, double metrics[GNN_AB_METRICS_MAX]);

/* Adds a verdict for each metric of each cell. GNN_EFORMAT when the builds read the job file differently or a run did
 * not end well: there is no time to compare then. */
GNN_MUST_CHECK enum gnn_status gnn_time_builds(const struct gnn_time_request *request, struct gnn_changes *out,
                                               struct gnn_err *err);

#endif
