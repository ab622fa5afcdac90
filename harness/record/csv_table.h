/* SPDX-License-Identifier: MIT */
/* CSV files as tables of Markdown. */
#ifndef GNN_RECORD_CSV_TABLE_H
#define GNN_RECORD_CSV_TABLE_H

#include "harness/base/csv.h"
#include "harness/base/kv.h"
#include "harness/base/words.h"

/* Writes a text for a field of a table. A number with a fraction is rounded to four digits. */
void gnn_table_text(const char *text, FILE *out);

/* Writes the first two lines of a table. */
void gnn_table_heading(const struct gnn_words *names, FILE *out);

/* Writes the rows that have one of the values (A|B) of every key of `where`. columns: "A,B", which is split; NULL: all
 * that have values. Columns NAME_least, NAME_most, NAME_published, NAME_drawn and `status` are shown as part of column
 * NAME: "12.3 (11 to 14) [1200 / 100]" or "OOM". Returns GNN_EUSAGE, which names path, if a column or a matching row is
 * missing. */
GNN_MUST_CHECK enum gnn_status gnn_csv_table(const struct gnn_csv *csv, const char *path, char *columns,
                                             const struct gnn_kv_list *where, FILE *out, struct gnn_err *err);

#endif
