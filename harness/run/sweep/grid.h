/* SPDX-License-Identifier: MIT */
/* The values of a key in a job file:
 *
 *   `a | b`    Both, for any option.
 *   `a, b, c`  All, for options whose own values have no commas. Fan-outs, fault plans and file names do have commas.
 *   `1..8`     Every whole number or size in the range. `10..50+20` has a step, `8G..128G*2` a factor. The last value
 *              is the largest that does not exceed the end. */
#ifndef GNN_RUN_SWEEP_GRID_H
#define GNN_RUN_SWEEP_GRID_H

#include "harness/base/option.h"

enum { GNN_GRID_VALUES_MAX = 64 };
#define GNN_GRID_LEAST "least " /* begins a range that is searched (search.h), and is one value */

struct gnn_grid_values {
    uint32_t count;
    char of[GNN_GRID_VALUES_MAX][GNN_TEXT_MAX];
};

/* Returns the option of a run, or the parameter of a system ("system.name"), or NULL if there is none of this name. */
const struct gnn_option *gnn_grid_option(const char *name);

/* Returns whether one of the values equals the text. */
bool gnn_grid_has(const struct gnn_grid_values *values, const char *text);

/* Splits the text into values. option NULL: only bars separate values. GNN_EUSAGE: too many or too long values, or an
 * invalid range. */
GNN_MUST_CHECK enum gnn_status gnn_grid_values(const struct gnn_option *option, const char *text,
                                               struct gnn_grid_values *out, struct gnn_err *err);

#endif
