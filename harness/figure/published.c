/* SPDX-License-Identifier: MIT */
#include "harness/figure/published.h"

#include "harness/base/grow.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LINE_BYTES = 2048 };

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

struct csv_line {
    const char *path;
    uint32_t number;
    const char *at; /* what is left of it; NULL: the last field was taken */
};

/* Takes the next field, quotes undone. */
static enum gnn_status take_field(struct csv_line *line, char *out, size_t out_bytes, struct gnn_err *err)
{
    size_t used = 0;
    if (line->at == NULL)
        return gnn_fail(err, GNN_EFORMAT, "%s:%u: fewer than %d fields", line->path, line->number, COLUMNS);
    bool quoted = *line->at == '"';
    const char *at = line->at + (quoted ? 1 : 0);
    for (; *at != '\0' && (quoted || *at != ','); at++) {
        if (quoted && at[0] == '"' && at[1] != '"') {
            quoted = false;
            at++;
            break;
        }
        at += quoted && at[0] == '"' ? 1 : 0; /* "" is a quote */
        if (used + 1 >= out_bytes)
            return gnn_fail(err, GNN_EFORMAT, "%s:%u: a field has more than %zu bytes", line->path, line->number,
                            out_bytes - 1);
        out[used++] = *at;
    }
    out[used] = '\0';
    if (quoted || (*at != '\0' && *at != ','))
        return gnn_fail(err, GNN_EFORMAT, "%s:%u: a quote is not closed", line->path, line->number);
    line->at = *at == ',' ? at + 1 : NULL;
    return GNN_OK;
}

static enum gnn_status check_heading(struct csv_line *line, struct gnn_err *err)
{
    char name[64];
    for (int i = 0; i < COLUMNS; i++) {
        GNN_TRY(take_field(line, name, sizeof name, err));
        if (strcmp(name, columns[i].name) != 0)
            return gnn_fail(err, GNN_EFORMAT, "%s:1: column %d is \"%s\", expected \"%s\"", line->path, i + 1, name,
                            columns[i].name);
    }
    return GNN_OK;
}

static enum gnn_status take_row(struct csv_line *line, struct gnn_published *out, struct gnn_err *err)
{
    struct gnn_published_row *const rows = gnn_grow(out->rows, out->count, &out->room, sizeof *rows);
    if (rows == NULL)
        return gnn_fail(err, GNN_ENOMEM, "rows of %s", line->path);
    out->rows = rows;
    assert(out->count < out->room);
    struct gnn_published_row *const row = &rows[out->count];
    for (int i = 0; i < COLUMNS; i++)
        GNN_TRY(take_field(line, (char *)row + columns[i].offset, columns[i].bytes, err));
    if (line->at != NULL)
        return gnn_fail(err, GNN_EFORMAT, "%s:%u: more than %d fields", line->path, line->number, COLUMNS);
    out->count++;
    return GNN_OK;
}

static enum gnn_status read_lines(FILE *file, const char *path, struct gnn_published *out, struct gnn_err *err)
{
    char text[LINE_BYTES];
    struct csv_line line = {.path = path};
    while (fgets(text, sizeof text, file) != NULL) {
        line.number++;
        line.at = text;
        const size_t length = strcspn(text, "\r\n");
        if (text[length] == '\0' && !feof(file))
            return gnn_fail(err, GNN_EFORMAT, "%s:%u: the line is too long", path, line.number);
        text[length] = '\0';
        GNN_TRY(line.number == 1 ? check_heading(&line, err) : take_row(&line, out, err));
    }
    return ferror(file) != 0 ? gnn_fail(err, GNN_EIO, "%s: %s", path, strerror(errno)) : GNN_OK;
}

enum gnn_status gnn_published_open(const char *path, struct gnn_published *out, struct gnn_err *err)
{
    *out = (struct gnn_published){.count = 0};
    FILE *const file = fopen(path, "re");
    if (file == NULL)
        return gnn_fail(err, errno == ENOENT ? GNN_ENOENT : gnn_errno_status(errno, GNN_EIO), "%s: %s", path,
                        strerror(errno));
    const enum gnn_status status = read_lines(file, path, out, err);
    (void)fclose(file);
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
    const size_t key_bytes = strlen(key);
    for (const char *at = row->parameter; at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, ";");
        if (length > key_bytes && strncmp(at, key, key_bytes) == 0 && at[key_bytes] == '=') {
            size_t kept = length - key_bytes - 1;
            const char *const text = at + key_bytes + 1;
            if (kept > 1 && (text[kept - 1] == '%' || text[kept - 1] == 'x'))
                kept--;
            else if (kept > 2 && text[kept - 1] == 'B')
                kept--;
            if (kept >= value_bytes)
                return false;
            memcpy(value, text, kept);
            value[kept] = '\0';
            return true;
        }
        at += length + (at[length] == ';' ? 1 : 0);
    }
    return false;
}
