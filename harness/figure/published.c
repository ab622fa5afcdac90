/* SPDX-License-Identifier: MIT */
#include "harness/figure/published.h"

#include "harness/base/keyed_csv.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The columns, in the order of the file's first line. */
static const struct {
    const char *name;
    size_t offset, bytes;
} columns[] = {
#define COLUMN(field)                                                                                                  \
    {                                                                                                                  \
#field, offsetof(struct gnn_published_row, field), sizeof(((struct gnn_published_row *)0)->field)              \
    }
    COLUMN(figure_id), COLUMN(system), COLUMN(variant), COLUMN(dataset),  COLUMN(model),    COLUMN(parameter),
    COLUMN(metric),    COLUMN(value),  COLUMN(unit),    COLUMN(baseline), COLUMN(relation), COLUMN(source),
#undef COLUMN
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* Copies the fields of a row. */
static enum gnn_status take_row(const char *path, const struct gnn_csv *csv, uint32_t number,
                                struct gnn_published_row *out, struct gnn_err *err)
{
    for (uint32_t i = 0; i < COLUMNS; i++)
        if ((size_t)snprintf((char *)out + columns[i].offset, columns[i].bytes, "%s", gnn_csv_field(csv, number, i)) >=
            columns[i].bytes)
            return gnn_fail(err, GNN_EFORMAT, "%s:%u: %s has more than %zu bytes", path, number + 2, columns[i].name,
                            columns[i].bytes - 1);
    return GNN_OK;
}

static enum gnn_status take_rows(const char *path, const struct gnn_csv *csv, struct gnn_published *out,
                                 struct gnn_err *err)
{
    GNN_NEW(out->rows, csv->rows + UINT32_C(1), err, "rows of %s", path);
    for (; out->count < csv->rows; out->count++)
        GNN_TRY(take_row(path, csv, out->count, &out->rows[out->count], err));
    return GNN_OK;
}

enum gnn_status gnn_published_open(const char *path, struct gnn_published *out, struct gnn_err *err)
{
    const char *names[COLUMNS];
    const struct gnn_csv_form form = {.what = "a file of published values", .names = names, .columns = COLUMNS};
    struct gnn_csv csv;
    *out = (struct gnn_published){.count = 0};
    for (uint32_t i = 0; i < COLUMNS; i++)
        names[i] = columns[i].name;
    GNN_TRY(gnn_keyed_csv_open(path, &form, &csv, err));
    const enum gnn_status status = take_rows(path, &csv, out, err);
    gnn_csv_close(&csv);
    if (status != GNN_OK)
        gnn_published_close(out);
    return status;
}

void gnn_published_close(struct gnn_published *published)
{
    free(published->rows);
    *published = (struct gnn_published){.count = 0};
}

double gnn_published_value(const struct gnn_published_row *row)
{
    char *end = NULL;
    const double value = strtod(row->value, &end);
    return end != row->value && *end == '\0' ? value : (double)NAN;
}

bool gnn_published_same_name(const char *published, const char *ours)
{
    const size_t shown = strlen(published), length = strlen(ours);
    const char *const sym = length > 4 && strcmp(ours + length - 4, "-sym") == 0 ? "-sym" : "";
    const size_t kept = length - strlen(sym);
    if (shown == 0)
        return true;
    if (shown == kept && strncasecmp(published, ours, kept) == 0)
        return true;
    return shown > length && isalpha((unsigned char)published[shown - length - 1]) &&
           strcasecmp(published + shown - length, ours) == 0; /* GraphSAGE: sage */
}

bool gnn_published_parameter(const struct gnn_published_row *row, const char *key, char *value, size_t value_bytes)
{
    char list[sizeof row->parameter], *rest = list;
    const size_t key_bytes = strlen(key);
    memcpy(list, row->parameter, sizeof list);
    for (char *part = strsep(&rest, ";"); part != NULL; part = strsep(&rest, ";")) {
        if (strncmp(part, key, key_bytes) != 0 || part[key_bytes] != '=')
            continue;
        const char *const text = part + key_bytes + 1;
        const size_t length = strlen(text);
        const bool has_unit =
            (length > 1 && strchr("%x", text[length - 1]) != NULL) || (length > 2 && text[length - 1] == 'B');
        const int kept = (int)length - (has_unit ? 1 : 0);
        return (size_t)snprintf(value, value_bytes, "%.*s", kept, text) < value_bytes;
    }
    return false;
}
