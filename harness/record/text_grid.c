/* SPDX-License-Identifier: MIT */
#include "harness/record/text_grid.h"

#include "harness/base/plain_text.h"
#include "harness/record/csv.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool gnn_text_grid_open(struct gnn_text_grid *grid, uint32_t rows, const char *const *headings)
{
    *grid = (struct gnn_text_grid){.rows = rows + 1};
    while (headings[grid->columns] != NULL)
        grid->columns++;
    assert(grid->columns > 0);
    assert(grid->columns <= GNN_TEXT_GRID_COLUMNS);
    grid->cells = calloc((size_t)grid->rows * grid->columns, GNN_TEXT_GRID_BYTES);
    if (grid->cells == NULL)
        return false;
    grid->rows_used = 1;
    for (uint32_t c = 0; c < grid->columns; c++) {
        grid->right[c] = headings[c][0] == '>';
        gnn_text_grid_set(grid, c, "%s", headings[c] + (grid->right[c] ? 1 : 0));
    }
    return true;
}

void gnn_text_grid_close(struct gnn_text_grid *grid)
{
    free(grid->cells);
    *grid = (struct gnn_text_grid){.cells = NULL};
}

void gnn_text_grid_row(struct gnn_text_grid *grid)
{
    grid->rows_used++;
    assert(grid->rows_used <= grid->rows);
}

static char *cell_of(const struct gnn_text_grid *grid, uint32_t row, uint32_t column)
{
    assert(column < grid->columns);
    assert(row < grid->rows_used);
    return grid->cells[(size_t)row * grid->columns + column];
}

void gnn_text_grid_set(struct gnn_text_grid *grid, uint32_t column, const char *format, ...)
{
    va_list args;
    char *const cell = cell_of(grid, grid->rows_used - 1, column);
    va_start(args, format);
    (void)vsnprintf(cell, GNN_TEXT_GRID_BYTES, format, args);
    va_end(args);
    gnn_text_make_plain(cell);
}

static int cell_width(const struct gnn_text_grid *grid, uint32_t column)
{
    size_t width = 3; /* Markdown's rule needs three characters */
    for (uint32_t r = 0; r < grid->rows_used; r++) {
        const size_t length = strlen(cell_of(grid, r, column));
        width = length > width ? length : width;
    }
    return (int)width;
}

static void print_rule(const struct gnn_text_grid *grid, bool markdown, FILE *out)
{
    for (uint32_t c = 0; c < grid->columns; c++) {
        const int width = cell_width(grid, c);
        (void)fputs(markdown ? (c == 0 ? "| " : " | ") : (c == 0 ? "" : "  "), out);
        for (int i = 0; i < width; i++)
            (void)fputc(markdown && grid->right[c] && i == width - 1 ? ':' : '-', out);
    }
    (void)fputs(markdown ? " |\n" : "\n", out);
}

static void print_row(const struct gnn_text_grid *grid, uint32_t row, bool markdown, FILE *out)
{
    char line[GNN_TEXT_GRID_COLUMNS * (GNN_TEXT_GRID_BYTES + 4)];
    size_t used = 0;
    for (uint32_t c = 0; c < grid->columns; c++) {
        const int width = cell_width(grid, c);
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%*s",
                                 markdown ? (c == 0 ? "| " : " | ") : (c == 0 ? "" : "  "),
                                 grid->right[c] ? width : -width, cell_of(grid, row, c));
    }
    while (!markdown && used > 0 && line[used - 1] == ' ')
        line[--used] = '\0';
    (void)fprintf(out, "%s%s\n", line, markdown ? " |" : "");
}

static void print_csv_row(const struct gnn_text_grid *grid, uint32_t row, FILE *out)
{
    for (uint32_t c = 0; c < grid->columns; c++) {
        (void)fputs(c == 0 ? "" : ",", out);
        gnn_csv_text(cell_of(grid, row, c), out);
    }
    (void)fputs("\r\n", out);
}

void gnn_text_grid_print(const struct gnn_text_grid *grid, enum gnn_report_style style, FILE *out)
{
    const bool markdown = style == GNN_REPORT_MARKDOWN;
    for (uint32_t r = 0; r < grid->rows_used; r++) {
        if (style == GNN_REPORT_CSV) {
            print_csv_row(grid, r, out);
            continue;
        }
        print_row(grid, r, markdown, out);
        if (r == 0)
            print_rule(grid, markdown, out);
    }
}

void gnn_text_grid_finish(struct gnn_text_grid *grid, const char *title, enum gnn_report_style style, FILE *out)
{
    if (grid->rows_used > 1) {
        (void)fprintf(out, "\n%s\n\n", title);
        gnn_text_grid_print(grid, style, out);
    }
    gnn_text_grid_close(grid);
}
