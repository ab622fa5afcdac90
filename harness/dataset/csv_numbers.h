/* SPDX-License-Identifier: MIT */
/* Reads rows of numbers in text, plain or gzip: OGB's node-feat.csv.gz and the like. Rows may have any length. Internal
 * to harness/dataset/. */
#ifndef GNN_DATASET_CSV_NUMBERS_H
#define GNN_DATASET_CSV_NUMBERS_H

#include "harness/dataset/input.h"

struct gnn_csv_numbers;

/* Returns whether the name of the file ends in .csv or .csv.gz. */
bool gnn_csv_is_name(const char *path);

/* Opens a table. A byte order mark is skipped, and so is a first line of names, with a warning. The first row defines
 * the number of columns. The number of rows is that of num-node-list.csv[.gz] in the same folder, or else the file is
 * read once to count them. Returns GNN_EFORMAT for an empty table or a num-node-list of several graphs, or errors of
 * gnn_input_open(). */
GNN_MUST_CHECK enum gnn_status gnn_csv_numbers_open(const char *path, struct gnn_csv_numbers **out, uint64_t *rows,
                                                    uint64_t *columns, struct gnn_err *err);
void gnn_csv_numbers_close(struct gnn_csv_numbers *numbers); /* accepts NULL */

/* Reads up to `count` numbers, row after row; *got is less only at the end. The word nan is a number, too, and
 * numbers may be quoted. Returns GNN_EFORMAT, with the line, for another word, a row of another length than the first,
 * or an empty line before a row of one column. */
GNN_MUST_CHECK enum gnn_status gnn_csv_numbers_read(struct gnn_csv_numbers *numbers, double *out, uint64_t count,
                                                    uint64_t *got, struct gnn_err *err);

/* Reads the only number of a file such as num-node-list.csv.gz. Returns GNN_EFORMAT for several numbers or another
 * word. */
GNN_MUST_CHECK enum gnn_status gnn_csv_count(const char *path, uint64_t *out, struct gnn_err *err);

#endif
