/* SPDX-License-Identifier: MIT */
/* Files of ratios and findings (result_file.h) as tables of Markdown. */
#ifndef GNN_CLI_PAGE_RATIOS_H
#define GNN_CLI_PAGE_RATIOS_H

#include "harness/base/words.h"
#include "harness/figure/result_file.h"

/* Returns whether a row of either file is of a paper's figure, or of the figure with that ID. paper "": of any. */
bool gnn_ratio_is_of(const struct gnn_csv *csv, uint32_t row, const char *paper);

/* Lists the chosen methods, "A|B", which is split, or if `chosen` is NULL all methods of the paper's rows. Returns
 * GNN_EUSAGE if the paper has no rows or none by a chosen method. */
GNN_MUST_CHECK enum gnn_status gnn_ratio_methods(const struct gnn_csv *csv, const char *paper, char *chosen,
                                                 struct gnn_words *out, struct gnn_err *err);

/* Writes one row for each printed number of a paper ("": of all), with a column for each method. methods: "A|B", which
 * is split; NULL: all that the paper has. A number is described by the sentence of its predicate in the figure's file,
 * or else by the predicate's name. Returns GNN_EUSAGE if the paper has no ratios or not by a method. */
GNN_MUST_CHECK enum gnn_status gnn_ratio_table(const struct gnn_csv *csv, const char *paper, char *methods, FILE *out,
                                               struct gnn_err *err);

/* Writes one row for each finding of a paper that has no printed number, with a column for the verdicts of each method.
 * Takes the same arguments and returns the same errors. */
GNN_MUST_CHECK enum gnn_status gnn_finding_table(const struct gnn_csv *csv, const char *paper, char *methods, FILE *out,
                                                 struct gnn_err *err);

/* Writes one row of figures of merit (ratio.h) for each method. Returns the same errors, or GNN_ENOENT without
 * tolerances.ini. */
GNN_MUST_CHECK enum gnn_status gnn_merit_table(const struct gnn_csv *csv, const char *paper, char *methods, FILE *out,
                                               struct gnn_err *err);

#endif
