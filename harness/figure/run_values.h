/* SPDX-License-Identifier: MIT */
/* Values of a recorded run's options, as a picture shows them. */
#ifndef GNN_FIGURE_RUN_VALUES_H
#define GNN_FIGURE_RUN_VALUES_H

#include "harness/base/option.h"
#include "harness/figure/predicate.h"
#include "harness/record/record.h"

/* An axis over an option, with the ranks of its values. */
struct gnn_run_key {
    struct gnn_axis axis;
    const struct gnn_option *option; /* NULL: one of gnn_run_facts */
    double ranks[GNN_AXIS_VALUES_MAX];
};

/* Writes the value of a run's option to text: "80M", "yes", "none" for no memory limit. *rank orders numbers and
 * choices; it is 0 for names. Returns false if the run has no such option, because it is another system's. */
bool gnn_run_value(const struct gnn_run_record *run, const struct gnn_run_key *key, char text[GNN_AXIS_VALUE_BYTES],
                   double *rank);

/* Returns whether the option's values are names, which have no order. */
bool gnn_run_key_has_names(const struct gnn_run_key *key);

/* Adds a value to the axis, ordered by rank, unless it is there. Returns GNN_EUSAGE for too many values. */
GNN_MUST_CHECK enum gnn_status gnn_run_key_add(struct gnn_run_key *key, const char *value, double rank,
                                               struct gnn_err *err);

#endif
