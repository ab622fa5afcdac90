/* SPDX-License-Identifier: MIT */
/* The metrics of a run that a figure can show, by name: its y axis and its predicates use them. A value of an epoch is
 * the median over the epochs that count: complete epochs after the first, or the only epoch (gnn_run_counts_epoch).
 * For a part of an epoch (--batches), times and counts are scaled to the whole. If such a part is not settled,
 * all metrics but `oom` and `oot` are NAN.
 *
 * A metric of an epoch may have its number: `epoch_s@0` is that of epoch 0, `epoch_s@last` that of the last complete
 * epoch. An epoch that ended has its values even if the run ran out of memory or time later.
 *
 * The tables in metric.c and metric_unit.c describe each metric; `oocgnn list metrics` prints them. Predicates also
 * have `published.METRIC`, the published value of a metric of the figure at that place. */
#ifndef GNN_FIGURE_METRIC_H
#define GNN_FIGURE_METRIC_H

#include "harness/record/record.h"

#include <stdio.h>

/* Metrics of a figure, not of a run: gnn_metric_of() returns NAN for them. */
#define GNN_METRIC_TARGET_S "target_s"
#define GNN_METRIC_TARGET_EPOCHS "target_epochs"
#define GNN_METRIC_RUNS "runs"
#define GNN_METRIC_PUBLISHED                                                                                           \
    "published." /* begins the name of a published value; gnn_metric_known() does not have it */

bool gnn_metric_known(const char *name);

/* The epoch that a metric is of: its number from 0, or one of these. */
enum {
    GNN_EPOCHS_COUNTED = -1, /* without @: the median over the epochs that count */
    GNN_EPOCH_LAST = -2,
};

/* Splits "reads@1" into "reads" and 1. Returns false if the name is too long, or neither a number nor "last" follows
 * the @. */
bool gnn_metric_split(const char *name, char base[GNN_NAME_MAX], int32_t *epoch);
/* Returns the name of metric number i of those with a fixed name, or NULL after the last one. */
const char *gnn_metric_name(uint32_t i);

/* Returns the description of a metric with a fixed name, without @ and without its unit. NULL: there is none. */
const char *gnn_metric_words(const char *name);

enum { GNN_METRIC_LABEL = 160 };
/* Writes the metric as the label of an axis: "epoch time (s)". Returns text. The name must be known. */
const char *gnn_metric_label(const char *name, char text[GNN_METRIC_LABEL]);

/* Prints every metric with its description. */
void gnn_metrics_print(FILE *out);

/* The end of a metric's name, and its meaning. */
struct gnn_metric_unit {
    const char *end, *shown; /* "_ns", "s" */
    double drawn;            /* pictures multiply values by it: times are seconds, bytes GiB, shares parts of one */
    bool shrinks;            /* amounts of work */
};
const struct gnn_metric_unit *gnn_metric_unit(const char *name); /* never NULL */

/* Returns whether the metric needs the target of a figure: one of the two above. */
bool gnn_metric_of_target(const char *name);

/* Returns whether the metric is a test accuracy, of the run or after an epoch, or a rank of links. */
bool gnn_metric_of_accuracy(const char *name);

/* Returns whether the metric is a size of the dataset, which the run's configuration decides. */
bool gnn_metric_of_dataset(const char *name);

/* Returns whether the metric is proportional to the size of the graph: the time, bytes and requests of an epoch, or a
 * size of the dataset. At scale 1/K it is a K-th. The unit at the end of the name decides. Shares, ratios, rates and
 * quantiles are the same at every scale. */
bool gnn_metric_shrinks(const char *name);

/* Returns whether the name is that of a published value. */
bool gnn_metric_of_paper(const char *name);

/* Returns whether the metric describes how a run ended. Such a metric has a value even if the run has no time. */
bool gnn_metric_of_end(const char *name);

/* Returns the metric of a recorded run, or NAN if the run does not have it. The name must be known. */
double gnn_metric_of(const struct gnn_run_record *run, const char *name);

/* Returns the same, of epoch `outer` if the metric is of an epoch and names none. */
double gnn_metric_at(const struct gnn_run_record *run, const char *name, int32_t outer);

#endif
