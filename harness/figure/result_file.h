/* SPDX-License-Identifier: MIT */
/* Results of figures as data: two CSV files with rows for each method. A method is a world with its costs and scale,
 * for example. results/data has a file of each kind. */
#ifndef GNN_FIGURE_RESULT_FILE_H
#define GNN_FIGURE_RESULT_FILE_H

#include "harness/base/keyed_csv.h"
#include "harness/figure/ratio.h"

/* Columns of a file of ratios, which has a row for each printed number and method. The first three identify the printed
 * number. WHERE is "" if the predicate has one printed number. COMMIT and DATE are those of the newest run of the
 * figure. */
enum gnn_ratio_column {
    GNN_RATIO_FIGURE,
    GNN_RATIO_PREDICATE,
    GNN_RATIO_WHERE,
    GNN_RATIO_PUBLISHED,
    GNN_RATIO_METHOD,
    GNN_RATIO_OURS,
    GNN_RATIO_HOLDS,    /* yes or no */
    GNN_RATIO_QUOTIENT, /* yes or no */
    GNN_RATIO_REASON,
    GNN_RATIO_SCALE,
    GNN_RATIO_COMMIT,
    GNN_RATIO_DATE,
    GNN_RATIO_COLUMNS,
};

/* Columns of a file of findings, which has a row for each predicate and method. Paper, place and finding are "" for a
 * figure of no paper and a predicate without a sentence. */
enum gnn_finding_column {
    GNN_FINDING_PAPER,
    GNN_FINDING_PLACE,
    GNN_FINDING_FIGURE,
    GNN_FINDING_PREDICATE,
    GNN_FINDING_METHOD,
    GNN_FINDING_PUBLISHED, /* the printed number; "3 numbers" if there are several; "" if there is none */
    GNN_FINDING_OURS,      /* our value for it, or else the values of the first combination that decides */
    GNN_FINDING_VERDICT,   /* holds, does not hold, or not measurable */
    GNN_FINDING_SAYS,      /* the predicate as a sentence */
    GNN_FINDING_REASON,
    GNN_FINDING_SCALE,
    GNN_FINDING_COMMIT,
    GNN_FINDING_DATE,
    GNN_FINDING_COLUMNS,
};

/* Reads a file of ratios. Returns errors of gnn_keyed_csv_open(), or GNN_EFORMAT if a number is wrong. */
GNN_MUST_CHECK enum gnn_status gnn_ratio_file_open(const char *path, struct gnn_csv *out, struct gnn_err *err);

/* Reads a file of findings. Returns errors of gnn_keyed_csv_open(). */
GNN_MUST_CHECK enum gnn_status gnn_finding_file_open(const char *path, struct gnn_csv *out, struct gnn_err *err);

/* Puts the ratios of a figure from number `first` on into a file of ratios. If method is "", it is named after world,
 * costs, scale and the keys of --fix that override values of the figure. An example is "simulated released 1/100". The
 * name of the variant that is judged follows, if there are variants. Returns errors of gnn_keyed_csv_update(). */
GNN_MUST_CHECK enum gnn_status gnn_ratio_file_update(const char *path, const char *method,
                                                     const struct gnn_paper_figure *figure,
                                                     const struct gnn_figure_ratios *ratios, uint32_t first,
                                                     struct gnn_err *err);

/* Puts what gnn_figure_judge() found last into a file of findings. Does the same otherwise. */
GNN_MUST_CHECK enum gnn_status gnn_finding_file_update(const char *path, const char *method,
                                                       const struct gnn_paper_figure *figure, struct gnn_err *err);

#endif
