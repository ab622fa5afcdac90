/* SPDX-License-Identifier: MIT */
#include "harness/stats/io_lines.h"

#include "harness/base/plain_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 1024, SHOWN_BYTES = 48 };

struct gnn_io_lines {
    FILE *in;
    const char *path;
    uint64_t number; /* of the line read last, from 1 */
    char text[LINE_BYTES];
};

static enum gnn_status malformed(struct gnn_io_lines *l, const char *expected, struct gnn_err *err)
{
    char shown[SHOWN_BYTES];
    l->text[strcspn(l->text, "\r\n")] = '\0';
    return gnn_fail(err, GNN_EFORMAT, "%s:%" PRIu64 ": \"%s\": expected %s", l->path, l->number,
                    gnn_text_plain(l->text, shown, sizeof shown), expected);
}

/* Reads a whole line into text; false at the end of the file. */
static bool read_text(struct gnn_io_lines *l)
{
    l->number++;
    return fgets(l->text, sizeof l->text, l->in) != NULL;
}

enum gnn_status gnn_io_lines_open(const char *path, struct gnn_io_lines **out, struct gnn_err *err)
{
    struct gnn_io_lines *l;
    *out = NULL;
    GNN_NEW(l, 1, err, "%s: a reader of its lines", path);
    l->path = path;
    l->in = fopen(path, "re");
    enum gnn_status status = GNN_OK;
    if (l->in == NULL)
        status = gnn_fail(err, errno == ENOENT ? GNN_ENOENT : gnn_errno_status(errno, GNN_EPERM),
                          "%s: %s; name a trace that `oocgnn run --trace-io FILE` wrote", path, strerror(errno));
    else if (!read_text(l) || strcmp(l->text, GNN_IO_TRACE_MAGIC "\n") != 0)
        status = malformed(l, "\"" GNN_IO_TRACE_MAGIC "\", as `oocgnn run --trace-io FILE` writes it", err);
    return GNN_OPENED(status, l, out, gnn_io_lines_close);
}

void gnn_io_lines_close(struct gnn_io_lines *l)
{
    if (l == NULL)
        return;
    if (l->in != NULL)
        (void)fclose(l->in);
    free(l);
}

/* Returns the kind of an action; GNN_IO_LINE_OTHER for one that moves no data. *known: fio has it. */
static enum gnn_io_line_kind kind_of(const char *action, bool *known)
{
    static const struct {
        const char *action;
        enum gnn_io_line_kind kind;
    } kinds[] = {{"read", GNN_IO_LINE_READ},  {"write", GNN_IO_LINE_WRITE},   {"add", GNN_IO_LINE_FILE},
                 {"open", GNN_IO_LINE_FILE},  {"close", GNN_IO_LINE_FILE},    {"sync", GNN_IO_LINE_OTHER},
                 {"trim", GNN_IO_LINE_OTHER}, {"datasync", GNN_IO_LINE_OTHER}};
    *known = true;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].action, action) == 0)
            return kinds[i].kind;
    *known = false;
    return GNN_IO_LINE_OTHER;
}

enum gnn_status gnn_io_lines_next(struct gnn_io_lines *l, struct gnn_io_line *out, bool *more, struct gnn_err *err)
{
    _Static_assert(GNN_IO_TRACE_NAME_MAX == 256, "the format below reads 255 bytes of a name");
    uint64_t time_ns;
    bool known;
    *out = (struct gnn_io_line){.depth = GNN_UNKNOWN, .epoch = GNN_UNKNOWN};
    errno = 0;
    *more = read_text(l);
    if (!*more)
        return ferror(l->in) == 0 ? GNN_OK : gnn_fail(err, GNN_EIO, "%s: %s", l->path, strerror(errno));
    if (strchr(l->text, '\n') == NULL)
        return malformed(l, "a line of less than 1024 bytes with its end; a trace that was cut is rejected", err);
    const int fields = sscanf(
        l->text, "%" SCNu64 " %255s %15s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &out->time_us,
        out->file, out->action, &out->offset_bytes, &out->len_bytes, &time_ns, &out->depth, &out->epoch);
    if (fields < 3)
        return malformed(l, "TIME FILE ACTION", err);
    out->kind = kind_of(out->action, &known);
    const bool request = out->kind == GNN_IO_LINE_READ || out->kind == GNN_IO_LINE_WRITE;
    if (!known)
        return malformed(l, "an action of fio: add, open, close, read, write, sync, datasync, trim", err);
    if (request && (fields < 5 || out->len_bytes > UINT32_MAX || out->offset_bytes > INT64_MAX))
        return malformed(l, "an offset and a length below 4 GiB behind read and write", err);
    return GNN_OK;
}
