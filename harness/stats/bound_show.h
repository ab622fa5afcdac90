/* SPDX-License-Identifier: MIT */
/* Prints the bound for people and for programs. */
#ifndef GNN_STATS_BOUND_SHOW_H
#define GNN_STATS_BOUND_SHOW_H

#include "harness/stats/bound.h"

#include <stdio.h>

/* The subject of the output. */
struct gnn_bound_heading {
    const struct gnn_dataset *dataset;
    const struct gnn_row_trace_config *config;
    const struct gnn_profile *profile; /* NULL: no device, so no times */
};

/* The bound at some memory sizes. */
struct gnn_bound {
    const struct gnn_row_trace *trace;
    const uint64_t *memory_bytes; /* (count); UINT64_MAX: all rows fit */
    const uint64_t *rows;         /* (count x epochs), gnn_row_trace_least's */
    uint32_t count;
    uint32_t left_out; /* sizes of memory below the largest mini-batch, which are not among them */
};

/* Prints the bound as Markdown. */
void gnn_bound_text(const struct gnn_bound_heading *heading, const struct gnn_bound *bound, FILE *out);

/* Prints the bound as one JSON object on a line. Unknown values are null. Returns GNN_ENOMEM if memory runs out. */
GNN_MUST_CHECK enum gnn_status gnn_bound_json(const struct gnn_bound_heading *heading, const struct gnn_bound *bound,
                                              FILE *out, struct gnn_err *err);

#endif
