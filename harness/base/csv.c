/* SPDX-License-Identifier: MIT */
#include "harness/base/csv.h"

#include "harness/base/grow.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const char *path;
    char *at; /* next character of the text */
    uint32_t line, count, room;
};

/* Takes the next field, quotes undone in place. Returns the character after it, or 'x' if its quotes are wrong. */
static char take_field(struct reading *r)
{
    const bool quoted = *r->at == '"';
    char *to = r->at;
    const char *from = r->at + (quoted ? 1 : 0);
    while (*from != '\0' && *from != '\n' &&
           (quoted ? from[0] != '"' || from[1] == '"' : strchr(",\r", *from) == NULL)) {
        from += quoted && from[0] == '"' ? 1 : 0; /* "" is a quote */
        *to++ = *from++;
    }
    if (quoted && *from++ != '"')
        return 'x';
    const char end = *from;
    r->at += from - r->at + (end != '\0' ? 1 : 0);
    if (end == '\r' && *r->at == '\n')
        r->at++;
    *to = '\0';
    return strchr(",\r\n", end) != NULL ? end : 'x';
}

static enum gnn_status take_row(struct reading *r, struct gnn_csv *out, struct gnn_err *err)
{
    uint32_t fields = 0;
    char end;
    r->line++;
    do {
        char **const grown = gnn_grow(out->fields, r->count, &r->room, sizeof *grown);
        if (grown == NULL)
            return gnn_fail(err, GNN_ENOMEM, "fields of %s", r->path);
        out->fields = grown;
        assert(r->count < r->room);
        out->fields[r->count++] = r->at;
        end = take_field(r);
        if (end == 'x')
            return gnn_fail(err, GNN_EFORMAT, "%s:%u: a quote is not closed", r->path, r->line);
        fields++;
    } while (end == ',');
    if (r->line == 1)
        out->columns = fields;
    if (fields != out->columns)
        return gnn_fail(err, GNN_EFORMAT, "%s:%u: %u fields, the heading has %u", r->path, r->line, fields,
                        out->columns);
    out->rows = r->line - 1;
    return GNN_OK;
}

enum gnn_status gnn_csv_parse(const char *path, char *text, struct gnn_csv *out, struct gnn_err *err)
{
    struct reading r = {.path = path, .at = text};
    *out = (struct gnn_csv){.text = text};
    enum gnn_status status = *text != '\0' ? GNN_OK : gnn_fail(err, GNN_EFORMAT, "%s: it is empty", path);
    while (status == GNN_OK && *r.at != '\0')
        status = take_row(&r, out, err);
    if (status != GNN_OK)
        gnn_csv_close(out);
    return status;
}

enum gnn_status gnn_csv_open(const char *path, struct gnn_csv *out, struct gnn_err *err)
{
    size_t room = 0;
    char *text = NULL;
    *out = (struct gnn_csv){.rows = 0};
    FILE *const file = fopen(path, "re");
    if (file == NULL)
        return gnn_fail(err, errno == ENOENT ? GNN_ENOENT : gnn_errno_status(errno, GNN_EIO), "%s: %s", path,
                        strerror(errno));
    const bool has_text = getdelim(&text, &room, '\0', file) > 0;
    const bool failed = ferror(file) != 0;
    (void)fclose(file);
    if (has_text && !failed)
        return gnn_csv_parse(path, text, out, err);
    free(text);
    return gnn_fail(err, failed ? GNN_EIO : GNN_EFORMAT, "%s: %s", path, failed ? strerror(errno) : "it is empty");
}

void gnn_csv_close(struct gnn_csv *csv)
{
    free(csv->fields);
    free(csv->text);
    *csv = (struct gnn_csv){.rows = 0};
}

uint32_t gnn_csv_column(const struct gnn_csv *csv, const char *name)
{
    uint32_t column = 0;
    while (column < csv->columns && strcmp(csv->fields[column], name) != 0)
        column++;
    return column;
}

const char *gnn_csv_field(const struct gnn_csv *csv, uint32_t row, uint32_t column)
{
    assert(row < csv->rows);
    assert(column < csv->columns);
    return csv->fields[(size_t)(row + 1) * csv->columns + column];
}

void gnn_csv_put(const char *text, char end, FILE *out)
{
    const char *const quote = strpbrk(text, ",\"\r\n") != NULL ? "\"" : "";
    (void)fputs(quote, out);
    for (; *text != '\0'; text++)
        (void)fprintf(out, *text == '"' ? "\"%c" : "%c", *text);
    (void)fprintf(out, "%s%c", quote, end);
}
