/* SPDX-License-Identifier: MIT */
/* Measures the time of two builds: runs of a job's configurations, interleaved as harness/compare/ab.h requires. */
#ifndef GNN_CLI_TIME_BUILDS_H
#define GNN_CLI_TIME_BUILDS_H

#include "harness/compare/changes.h"

struct gnn_time_request {
    const char *base, *head; /* programs */
    const char *job_file, *data;
    const char *dir;     /* directory for their databases */
    const char *samples; /* path of a CSV file with every pair, or "" */
    const struct gnn_ab_plan *plan;
};

/* Metrics of a run, in nanoseconds: the epoch's wall time and, if a GPU computes, the times of its kernels and of its
 * copies by its own events. Each is the median over the epochs, without the first one if there are more. Epochs of one
 * run are not independent, so a run is one observation. */
enum { GNN_TIME_METRICS = 3 };
extern const char *const gnn_time_metrics[GNN_TIME_METRICS];
void gnn_time_metrics_of(const json_t *run, double metrics[GNN_AB_METRICS_MAX]);

/* Measures pairs of runs and adds a verdict for each metric of each configuration to out. Returns GNN_EFORMAT if the
 * builds read the job file differently or a run did not end with "ok", because there is no time to compare. */
GNN_MUST_CHECK enum gnn_status gnn_time_builds(const struct gnn_time_request *request, struct gnn_changes *out,
                                               struct gnn_err *err);

#endif
