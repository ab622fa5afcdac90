/* SPDX-License-Identifier: MIT */
/* Comma-separated values with a heading. A field may be in quotes. A line break ends a row, also in quotes. */
#ifndef GNN_BASE_CSV_H
#define GNN_BASE_CSV_H

#include "harness/oocgnn.h"

#include <stdio.h>

struct gnn_csv {
    char *text;             /* owned */
    char **fields;          /* (rows + 1, columns), the heading first; owned, pointers into text */
    uint32_t columns, rows; /* rows without the heading */
};

/* Reads the file. Returns GNN_ENOENT, GNN_EIO, or GNN_EFORMAT, which names file, line and fault. Every row has as many
 * fields as the heading. gnn_csv_close() frees out. */
GNN_MUST_CHECK enum gnn_status gnn_csv_open(const char *path, struct gnn_csv *out, struct gnn_err *err);
void gnn_csv_close(struct gnn_csv *csv); /* accepts a zeroed one */

/* Does the same with a text, of which out becomes the owner, also after an error. `path` is for messages. */
GNN_MUST_CHECK enum gnn_status gnn_csv_parse(const char *path, char *text, struct gnn_csv *out, struct gnn_err *err);

/* Returns the column with that name, or csv->columns if there is none. */
uint32_t gnn_csv_column(const struct gnn_csv *csv, const char *name);

/* Returns the field of a row; the row is in line row + 2 of the file. */
const char *gnn_csv_field(const struct gnn_csv *csv, uint32_t row, uint32_t column);

/* Writes a field, in quotes if it has a comma, a quote or a line break, and `end` after it. */
void gnn_csv_put(const char *text, char end, FILE *out);

#endif
