/* SPDX-License-Identifier: MIT */
/* Families of metrics of an epoch: a prefix and a name behind it, as in "counter.refaults". Internal to metric.c. */
#ifndef GNN_FIGURE_METRIC_FAMILY_H
#define GNN_FIGURE_METRIC_FAMILY_H

#include "harness/record/record.h"

#include <math.h>

/* Writes the value of an epoch. Returns false if `rest`, the name behind the prefix, is none. epoch NULL: only the name
 * is checked. */
typedef bool gnn_family_fn(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch, const char *rest,
                           double *value);

struct gnn_metric_family {
    const char *prefix;
    bool of_last; /* without an epoch: of the last one that counts; else the median of those that count */
    gnn_family_fn *value;
};

/* Returns the family of a metric, *rest: the name behind the prefix. NULL: it belongs to none. */
const struct gnn_metric_family *gnn_metric_family(const char *name, const char **rest);

/* Returns the factor from a part of an epoch to the whole: its mini-batches over those that ran. */
double gnn_whole_over_part(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch);

/* Returns the value, or NAN for GNN_UNKNOWN. */
static inline double gnn_known(uint64_t value)
{
    return value == GNN_UNKNOWN ? (double)NAN : (double)value;
}

#endif
