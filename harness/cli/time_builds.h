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

/* Metrics of a run, in nanoseconds; NAN if it does not have one. They are the wall times of a later epoch and of the
 * first epoch, and the time in which the system opens. If a GPU computes, they include the times of its kernels and of
 * its copies, by its own events. The later epoch and the GPU's times are medians over the epochs without the first one;
 * a single epoch counts as a later one. An opening below 20 ms counts as 20 ms. Epochs of one run are not independent,
 * so a run is one observation. */
enum { GNN_TIME_METRICS = 5 };
extern const char *const gnn_time_metrics[GNN_TIME_METRICS];
void gnn_time_metrics_of(const json_t *run, double metrics[GNN_AB_METRICS_MAX]);

/* Runs every configuration of both builds once without a measurement, then measures pairs of runs. Adds a verdict for
 * each metric of each configuration to out. Returns GNN_EFORMAT if the builds read the job file differently, or if a
 * run did not end with "ok", because there is no time to compare. */
GNN_MUST_CHECK enum gnn_status gnn_time_builds(const struct gnn_time_request *request, struct gnn_changes *out,
                                               struct gnn_err *err);

#endif
