/* SPDX-License-Identifier: MIT */
/* Places of a figure in order, and tables across: `layout = across`. A row is named by the keys of `rows` (all keys, if
 * there are none), and has a column for each metric. A key that is not in `rows` multiplies the columns: with `rows =
 * memory`, each series has its own column of each metric. */
#ifndef GNN_FIGURE_ACROSS_H
#define GNN_FIGURE_ACROSS_H

#include "harness/figure/figure.h"

#include <stdio.h>

/* Returns the key of that name: GNN_KEY_SERIES for "series", or the number of an axis. GNN_KEYS_MAX: neither. */
int32_t gnn_figure_key(const struct gnn_paper_figure *figure, const char *name);

/* Reads `rows` and `order`, whose axes the figure has. Returns GNN_EUSAGE for other keys. */
GNN_MUST_CHECK enum gnn_status gnn_figure_read_rows(struct gnn_paper_figure *figure, struct gnn_err *err);

/* Checks the keys of `rows` and `over` against the configurations. Returns GNN_EUSAGE for a key that none of them has,
 * and if `over` is an axis. */
GNN_MUST_CHECK enum gnn_status gnn_figure_check_keys(const struct gnn_paper_figure *figure, struct gnn_err *err);

/* A series at one value of each axis. */
struct gnn_figure_place {
    uint32_t series;
    uint32_t at[GNN_AXES_MAX];
};

/* Returns whether the figure or the paper has anything there. */
bool gnn_figure_has_place(const struct gnn_paper_figure *figure, uint32_t series, const uint32_t *at);

/* Lists the places that have anything, by `order`, then as in the file. The caller frees *out. Returns GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_figure_places(const struct gnn_paper_figure *figure, struct gnn_figure_place **out,
                                                 uint32_t *count, struct gnn_err *err);

/* Prints the value of a metric there as a column of a table: " 9.1 (8.8 to 9.3) [9.4] |". */
void gnn_figure_put_value(const struct gnn_paper_figure *figure, uint32_t metric, uint32_t series, const uint32_t *at,
                          FILE *out);

/* Prints the table. Returns GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_figure_across(const struct gnn_paper_figure *figure, FILE *out, struct gnn_err *err);

#endif
