/* SPDX-License-Identifier: MIT */
/* Prints a figure for people: its table, the CSV file with its values, its picture, and the verdicts of its
 * predicates. */
#ifndef GNN_FIGURE_SHOW_H
#define GNN_FIGURE_SHOW_H

#include "harness/figure/figure.h"
#include "harness/figure/ratio.h"

#include <stdio.h>

/* Prints a table for each metric, with a row for each series and combination of facets, and a column for each value of
 * x. With `layout = across` there is one table with a column for each metric. Published values are in brackets. */
void gnn_figure_table(const struct gnn_paper_figure *figure, FILE *out);

/* Prints why configurations ran out of memory: one line for each distinct reason, with the configurations that have it.
 * Reasons that differ only in their numbers are one. Prints nothing if no configuration ran out of memory. */
void gnn_figure_reasons(const struct gnn_paper_figure *figure, FILE *out);

/* Writes DIR/ID.csv with one row per configuration, in the order of the table. A row has each metric with its minimum
 * and maximum, the published value, its source, and the published value as drawn. Returns GNN_EPERM, GNN_ENOSPC or
 * GNN_EIO if the file cannot be written. */
GNN_MUST_CHECK enum gnn_status gnn_figure_csv(const struct gnn_paper_figure *figure, const char *dir,
                                              struct gnn_err *err);

/* Draws DIR/ID.{dat,gp,png,svg,pdf}. Does nothing for a table. Returns GNN_ENOTSUP without gnuplot, GNN_EUSAGE for too
 * many panels, or errors of writing files. */
GNN_MUST_CHECK enum gnn_status gnn_figure_draw(const struct gnn_paper_figure *figure, const char *dir,
                                               struct gnn_err *err);

/* Writes the conditions of the values to text: world, profile with its assumed parameters, scale, compute, costs, cold
 * or warm, repetitions, build. text is "" if no run is recorded. */
void gnn_figure_caption(const struct gnn_paper_figure *figure, char *text, size_t text_bytes);

/* Numbers of predicates by verdict, and the ratios: one for each printed number. */
struct gnn_figure_verdicts {
    uint32_t held, failed, unmeasured;
    struct gnn_figure_ratios ratios;
};
void gnn_figure_verdicts_close(struct gnn_figure_verdicts *verdicts); /* accepts a zeroed one */

/* Judges every predicate, prints each with its values, and keeps what was found in the predicates. Adds the verdicts to
 * *sum. Returns GNN_ENOMEM if memory runs out. */
GNN_MUST_CHECK enum gnn_status gnn_figure_judge(struct gnn_paper_figure *figure,
                                                const struct gnn_tolerances *tolerances, FILE *out,
                                                struct gnn_figure_verdicts *sum, struct gnn_err *err);

/* Returns "holds", "does not hold" or "not measurable". */
const char *gnn_verdict_name(enum gnn_verdict_of_predicate verdict);

/* Writes DIR/NAME.verdicts.md, where NAME is the ID, for pages: a list of what gnn_figure_judge() found last, with the
 * sentence of each predicate that has one. Returns errors of gnn_text_file_replace(). */
GNN_MUST_CHECK enum gnn_status gnn_figure_verdicts(const struct gnn_paper_figure *figure, const char *dir,
                                                   struct gnn_err *err);

#endif
