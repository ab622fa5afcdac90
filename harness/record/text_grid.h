/* SPDX-License-Identifier: MIT */
/* A table of short texts for a terminal, Markdown or CSV. */
#ifndef GNN_RECORD_TEXT_GRID_H
#define GNN_RECORD_TEXT_GRID_H

#include "harness/record/report.h"
#include "harness/record/summary.h"

enum { GNN_TEXT_GRID_COLUMNS = 48, GNN_TEXT_GRID_BYTES = GNN_SYSTEM_TEXT_BYTES };

struct gnn_text_grid {
    char (*cells)[GNN_TEXT_GRID_BYTES]; /* row 0 is the heading */
    uint32_t rows, columns, rows_used;
    bool right[GNN_TEXT_GRID_COLUMNS]; /* numbers are aligned to the right */
};

/* Makes a table with room for `rows` rows below the heading. The list of headings ends with NULL. Columns whose heading
 * begins with ">" are aligned to the right. Returns false if memory is short. */
GNN_MUST_CHECK bool gnn_text_grid_open(struct gnn_text_grid *grid, uint32_t rows, const char *const *headings);
void gnn_text_grid_close(struct gnn_text_grid *grid);

/* Adds an empty row, which becomes the last one. */
void gnn_text_grid_row(struct gnn_text_grid *grid);
/* Writes a text into a column of the last row. It is cut at GNN_TEXT_GRID_BYTES. Bytes that are not plain become
 * question marks. */
void gnn_text_grid_set(struct gnn_text_grid *grid, uint32_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void gnn_text_grid_print(const struct gnn_text_grid *grid, enum gnn_report_style style, FILE *out);

/* Prints the title and the table, unless it has no rows, and closes it. */
void gnn_text_grid_finish(struct gnn_text_grid *grid, const char *title, enum gnn_report_style style, FILE *out);

#endif
