/* SPDX-License-Identifier: MIT */
/* A figure for people: its table, the CSV behind it, its picture, and what its predicates say. */
#ifndef GNN_FIGURE_SHOW_H
#define GNN_FIGURE_SHOW_H

#include "harness/figure/figure.h"

#include <stdio.h>

/* Prints a table for each metric: a line a series and combination of facets, a column a value of x; published values in
 * brackets. */
void gnn_figure_table(const struct gnn_paper_figure *figure, FILE *out);

/* Writes DIR/ID.csv: a row a cell, each metric with its least and most value, what was published, and where. */
GNN_MUST_CHECK enum gnn_status gnn_figure_csv(const struct gnn_paper_figure *figure, const char *dir,
                                              struct gnn_err *err);

/* Draws DIR/ID.{dat,gp,png,svg,pdf}; nothing for a table. GNN_ENOTSUP without gnuplot. */
GNN_MUST_CHECK enum gnn_status gnn_figure_draw(const struct gnn_paper_figure *figure, const char *dir,
                                               struct gnn_err *err);

/* World, profile and what of it is assumed, scale, compute, cold or warm, repetitions, build: what the values depend on
 * besides the axes. "" when nothing is recorded. */
void gnn_figure_caption(const struct gnn_paper_figure *figure, char *text, size_t text_bytes);

/* A published ratio that is known here. */
struct gnn_figure_ratio {
    char figure[GNN_NAME_MAX], predicate[GNN_NAME_MAX];
    char where[256]; /* "dataset=twitter"; "" where nothing is free */
    char reason[GNN_FIGURE_LINE];
    double ours, published;
    bool holds;
};

/* What a figure's predicates come to. */
struct gnn_figure_verdicts {
    uint32_t held, failed, unmeasured;
    uint32_t ratio_count, room;
    struct gnn_figure_ratio *ratios; /* (ratio_count) owned */
};
void gnn_figure_verdicts_close(struct gnn_figure_verdicts *verdicts); /* accepts a zeroed one */

/* Judges every predicate and prints each with its values; adds to *sum. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_figure_judge(struct gnn_paper_figure *figure,
                                                const struct gnn_tolerances *tolerances, FILE *out,
                                                struct gnn_figure_verdicts *sum, struct gnn_err *err);

#endif
