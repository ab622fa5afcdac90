/* SPDX-License-Identifier: MIT */
/* Ratios as data: a CSV file with one row for each printed number and method. A method is a world with its costs and
 * scale, for example. results/data/ratios.csv is such a file. */
#ifndef GNN_FIGURE_RATIO_FILE_H
#define GNN_FIGURE_RATIO_FILE_H

#include "harness/base/csv.h"
#include "harness/figure/ratio.h"

/* Columns of the file. The first three identify the printed number. WHERE is "" if the predicate has one printed
 * number. COMMIT and DATE are those of the newest run of the figure. */
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

/* Reads the file. Returns errors of gnn_csv_open(), or GNN_EFORMAT if the heading or a number is wrong. */
GNN_MUST_CHECK enum gnn_status gnn_ratio_file_open(const char *path, struct gnn_csv *out, struct gnn_err *err);

/* Puts the ratios of a figure from number `first` on into the file, which is created if it is missing. A row with the
 * same number and method is replaced, all others are kept. If method is "", it is named after world, costs, scale and
 * the keys of --fix that override values of the figure. An example is "simulated released 1/100". The name of the
 * variant that is judged follows, if there are variants. Returns errors of gnn_ratio_file_open() and
 * gnn_text_file_replace(). */
GNN_MUST_CHECK enum gnn_status gnn_ratio_file_update(const char *path, const char *method,
                                                     const struct gnn_paper_figure *figure,
                                                     const struct gnn_figure_ratios *ratios, uint32_t first,
                                                     struct gnn_err *err);

#endif
