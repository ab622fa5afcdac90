/* SPDX-License-Identifier: MIT */
#include "harness/record/csv_table.h"

#include "harness/base/near_miss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 1024 };

void gnn_table_text(const char *text, FILE *out)
{
    char *end = NULL;
    const double number = strtod(text, &end);
    if (end != text && *end == '\0' && strpbrk(text, ".e") != NULL && isfinite(number))
        (void)fprintf(out, fabs(number) >= 1e4 ? "%.0f" : "%.4g", number);
    else
        for (; *text != '\0'; text++)
            (void)fprintf(out, *text == '|' ? "\\%c" : "%c", *text);
}

void gnn_table_heading(const struct gnn_words *names, FILE *out)
{
    for (uint32_t i = 0; i < names->count; i++)
        (void)fprintf(out, "| %s ", names->of[i]);
    (void)fputs("|\n", out);
    for (uint32_t i = 0; i < names->count; i++)
        (void)fputs("|---", out);
    (void)fputs("|\n", out);
}

/* Returns the field of NAME_SUFFIX in a row; "" without such a column. */
static const char *field_of(const struct gnn_csv *csv, uint32_t row, const char *name, const char *suffix)
{
    char text[TEXT_BYTES];
    (void)snprintf(text, sizeof text, "%s%s", name, suffix);
    const uint32_t column = gnn_csv_column(csv, text);
    return column < csv->columns ? gnn_csv_field(csv, row, column) : "";
}

/* The columns that are shown if the mark chooses none: not those that belong to another, and none that is empty. */
static bool is_shown(const struct gnn_csv *csv, const char *name)
{
    static const char *const ends[] = {"_least", "_most", "_published", "_source", "_drawn"};
    bool empty = true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strlen(name) > strlen(ends[i]) && strcmp(name + strlen(name) - strlen(ends[i]), ends[i]) == 0)
            return false;
    for (uint32_t r = 0; r < csv->rows; r++)
        empty = empty && field_of(csv, r, name, "")[0] == '\0' && field_of(csv, r, name, "_published")[0] == '\0';
    return !empty && strcmp(name, "status") != 0 && strcmp(name, "runs") != 0;
}

/* The printed value in brackets, with what it is divided by, as in the table of a figure. */
static void put_published(const struct gnn_csv *csv, uint32_t row, const char *name, FILE *out)
{
    const char *const printed = field_of(csv, row, name, "_published");
    const double divisor = strtod(printed, NULL) / strtod(field_of(csv, row, name, "_drawn"), NULL);
    if (isfinite(divisor) && divisor > 1.5)
        (void)fprintf(out, "[%s / %.0f] ", printed, divisor);
    else if (printed[0] != '\0')
        (void)fprintf(out, "[%s] ", printed);
}

static void put_value(const struct gnn_csv *csv, uint32_t row, const char *name, FILE *out)
{
    const char *const value = field_of(csv, row, name, ""), *const least = field_of(csv, row, name, "_least");
    const char *const most = field_of(csv, row, name, "_most");
    char text[TEXT_BYTES];
    (void)fputs("| ", out);
    (void)snprintf(text, sizeof text, "%s_least", name);
    if (value[0] == '\0' && gnn_csv_column(csv, text) < csv->columns)
        gnn_table_text(field_of(csv, row, "status", ""), out); /* why there is no number */
    gnn_table_text(value, out);
    if (strcmp(least, most) != 0) {
        (void)fputs(" (", out);
        gnn_table_text(least, out);
        (void)fputs(" to ", out);
        gnn_table_text(most, out);
        (void)fputc(')', out);
    }
    (void)fputc(' ', out);
    put_published(csv, row, name, out);
}

static bool is_chosen(const struct gnn_csv *csv, uint32_t row, const struct gnn_kv_list *where)
{
    for (uint32_t i = 0; i < where->count; i++) {
        char values[TEXT_BYTES];
        struct gnn_words list = {.count = 0};
        (void)snprintf(values, sizeof values, "%s", where->items[i].value);
        gnn_words_split(&list, values, "|");
        if (!gnn_words_has(&list, field_of(csv, row, where->items[i].key, "")))
            return false;
    }
    return true;
}

static enum gnn_status check_column(const struct gnn_csv *csv, const char *path, const char *name, struct gnn_err *err)
{
    struct gnn_near_miss near;
    gnn_near_miss_start(&near, name);
    for (uint32_t i = 0; i < csv->columns; i++)
        gnn_near_miss_offer(&near, csv->fields[i]);
    return gnn_csv_column(csv, name) < csv->columns
               ? GNN_OK
               : gnn_fail(err, GNN_EUSAGE, "%s has no column \"%s\"%s", path, name, gnn_near_miss_text(&near));
}

enum gnn_status gnn_csv_table(const struct gnn_csv *csv, const char *path, char *chosen,
                              const struct gnn_kv_list *where, FILE *out, struct gnn_err *err)
{
    struct gnn_words columns = {.count = 0};
    uint32_t rows = 0;
    if (chosen != NULL)
        gnn_words_split(&columns, chosen, ",");
    for (uint32_t i = 0; i < csv->columns && chosen == NULL; i++)
        if (is_shown(csv, csv->fields[i]))
            gnn_words_add(&columns, csv->fields[i]);
    for (uint32_t i = 0; i < columns.count; i++)
        GNN_TRY(check_column(csv, path, columns.of[i], err));
    for (uint32_t i = 0; i < where->count; i++)
        GNN_TRY(check_column(csv, path, where->items[i].key, err));
    gnn_table_heading(&columns, out);
    for (uint32_t r = 0; r < csv->rows; r++) {
        if (!is_chosen(csv, r, where))
            continue;
        rows++;
        for (uint32_t i = 0; i < columns.count; i++)
            put_value(csv, r, columns.of[i], out);
        (void)fputs("|\n", out);
    }
    return rows > 0 ? GNN_OK : gnn_fail(err, GNN_EUSAGE, "%s: no row has all values of `where`", path);
}
