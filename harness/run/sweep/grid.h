/* SPDX-License-Identifier: MIT */
/* What stands behind a key of a job file, as the values it runs through.
 *
 *   a | b            both, of any option
 *   a, b, c          likewise, but of options whose own values hold no commas (fan-outs, plans of faults and file names
 *                    do)
 *   1..8             whole numbers and sizes: every one; 10..50+20: in steps; 8G..128G*2: by a factor. The last one is
 *                    the largest that is not beyond the end */
#ifndef GNN_RUN_SWEEP_GRID_H
#define GNN_RUN_SWEEP_GRID_H

#include "harness/base/option.h"

enum { GNN_GRID_VALUES_MAX = 64 };

struct gnn_grid_values {
    uint32_t count;
    char of[GNN_GRID_VALUES_MAX][GNN_TEXT_MAX];
};

/* The option of a run, or the parameter of a system ("system.name"), of that name; NULL: there is none. */
const struct gnn_option *gnn_grid_option(const char *name);

/* Whether one of them is the text. */
bool gnn_grid_has(const struct gnn_grid_values *values, const char *text);

/* option NULL: only bars part values. GNN_EUSAGE: too many or too long values, a range that is none. */
GNN_MUST_CHECK enum gnn_status gnn_grid_values(const struct gnn_option *option, const char *text,
                                               struct gnn_grid_values *out, struct gnn_err *err);

#endif
