/* SPDX-License-Identifier: MIT */
/* CSV files with given columns, of which some are the key of a row. */
#ifndef GNN_BASE_KEYED_CSV_H
#define GNN_BASE_KEYED_CSV_H

#include "harness/base/csv.h"

struct gnn_csv_form {
    const char *what;         /* "a file of ratios", for messages */
    const char *const *names; /* of the columns, (columns) */
    uint32_t columns;
    const uint32_t *keys; /* columns that identify a row, (key_count) */
    uint32_t key_count;
    uint32_t sort_count; /* rows are sorted by this number of keys */
};

/* Writes the heading. */
void gnn_keyed_csv_heading(const struct gnn_csv_form *form, FILE *out);

/* Reads a file of this form. Returns errors of gnn_csv_open(), or GNN_EFORMAT if the heading is another. */
GNN_MUST_CHECK enum gnn_status gnn_keyed_csv_open(const char *path, const struct gnn_csv_form *form,
                                                  struct gnn_csv *out, struct gnn_err *err);

/* Puts rows into the file, which is created if it is missing. A row replaces the row with the same key. All other rows
 * are kept. Rows are sorted by keys ("fig2" before "fig10"), and otherwise stay in their order. `text` is a heading
 * with rows, and is freed. If it has no rows, the file is not written. The message of an error ends with the remedy.
 * Returns errors of gnn_keyed_csv_open() but GNN_ENOENT, and of gnn_text_file_replace(). */
GNN_MUST_CHECK enum gnn_status gnn_keyed_csv_update(const char *path, const struct gnn_csv_form *form, char *text,
                                                    const char *remedy, struct gnn_err *err);

#endif
