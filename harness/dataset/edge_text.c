/* SPDX-License-Identifier: MIT */
#include "harness/dataset/edge_text.h"

#include "harness/base/plain_text.h"
#include "harness/dataset/edge_remedy.h"
#include "harness/dataset/input_kind.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PIPE_BYTES = GNN_OUTPUT_PATH + 128 };

static bool ends_with(const char *text, const char *end)
{
    const size_t text_len = strlen(text), end_len = strlen(end);
    return text_len >= end_len && strcmp(text + text_len - end_len, end) == 0;
}

enum gnn_status gnn_edge_text_open(const char *path, struct gnn_edge_text **out, struct gnn_err *err)
{
    struct gnn_edge_text *t;
    GNN_NEW(t, 1, err, "reader of %s", path);
    t->columns[1] = 1;
    t->facts = (struct gnn_edge_facts){.nodes = GNN_UNSTATED, .edges = GNN_UNSTATED, .left = GNN_UNSTATED};
    t->facts.matrix = ends_with(path, ".mtx") || ends_with(path, ".mtx.gz");
    const enum gnn_status status = gnn_input_open(path, &t->input, err);
    return GNN_OPENED(status, t, out, gnn_edge_text_close);
}

void gnn_edge_text_close(struct gnn_edge_text *text)
{
    if (text == NULL)
        return;
    gnn_input_close(text->input);
    free(text);
}

/* ---- messages ---- */

static enum gnn_status fail_line(const struct gnn_edge_text *t, const char *why, const char *remedy,
                                 struct gnn_err *err)
{
    return gnn_fail(err, GNN_EFORMAT, "%s:%" PRIu64 ": %s: '%.60s'%s", t->input->path, t->input->line, why, t->line,
                    remedy);
}

/* A line with another number of columns than the first pair. */
static enum gnn_status fail_columns(const struct gnn_edge_text *t, uint32_t extra, struct gnn_err *err)
{
    char pipe[PIPE_BYTES], lists[PIPE_BYTES], remedy[4 * PIPE_BYTES], first[2 * PIPE_BYTES + 80] = "", command[64];
    if (gnn_edge_is_metis(t->input->path)) {
        (void)snprintf(remedy, sizeof remedy, "; for METIS's lists of neighbours, use --from %s",
                       gnn_input_pipe(t->input->path, gnn_edge_metis, pipe, sizeof pipe));
        return fail_line(t, "not the columns of the first edge", remedy, err);
    }
    (void)snprintf(command, sizeof command, "tail -n +%" PRIu64, t->first_line + 1);
    if (t->lines == 2 && t->heading_line == 0 && t->extra <= 1)
        (void)snprintf(first, sizeof first, " If that line states counts, use --from %s. For METIS, use --from %s.",
                       gnn_input_pipe(t->input->path, command, pipe, sizeof pipe),
                       gnn_input_pipe(t->input->path, gnn_edge_metis, lists, sizeof lists));
    (void)snprintf(
        remedy, sizeof remedy,
        "; %" PRIu32 " columns, and line %" PRIu64 " has %" PRIu32 ".%s For lists of neighbours, use --from %s",
        extra + 2, t->first_line, t->extra + 2, first,
        gnn_input_pipe(t->input->path, "awk '{for (i = 2; i <= NF; i++) print $1, $i}'", lists, sizeof lists));
    return fail_line(t, "not the columns of the first edge", remedy, err);
}

static enum gnn_status fail_pair(const struct gnn_edge_text *t, const char *why, struct gnn_err *err)
{
    char remedy[GNN_EDGE_REMEDY_BYTES];
    gnn_edge_remedy(t, t->line, t->input->line, strstr(why, "above") != NULL, remedy);
    return fail_line(t, why, remedy, err);
}

/* ---- Matrix Market ---- */

static enum gnn_status take_size(struct gnn_edge_text *t, struct gnn_err *err)
{
    uint64_t rows, columns, entries;
    char pipe[PIPE_BYTES], command[96];
    if (!gnn_edge_size_line(t->line, &rows, &columns, &entries))
        return fail_line(t, "expected Matrix Market's line of rows, columns and entries", "", err);
    (void)snprintf(command, sizeof command, "awk '!/^%%/ && n++ {print $1 - 1, $2 + %" PRIu64 " - 1}'", rows);
    if (rows != columns)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s:%" PRIu64 ": %" PRIu64 " rows and %" PRIu64
                        " columns: these are different nodes. Number the columns after the rows: --from %s",
                        t->input->path, t->input->line, rows, columns,
                        gnn_input_pipe(t->input->path, command, pipe, sizeof pipe));
    if (rows == 0 || rows >= GNN_NODE_NONE)
        return gnn_fail(err, GNN_EFORMAT, "%s:%" PRIu64 ": %" PRIu64 " rows, expected 1 to %" PRIu32, t->input->path,
                        t->input->line, rows, GNN_NODE_NONE - 1);
    t->facts.nodes = rows;
    t->facts.edges = entries;
    t->size_known = true;
    return GNN_OK;
}

/* Counts from 0, and prepares the other direction of a symmetric entry. */
static enum gnn_status take_entry(struct gnn_edge_text *t, struct gnn_err *err)
{
    struct gnn_edge_line *const pair = &t->pair;
    const uint64_t nodes = t->facts.nodes;
    if (pair->source == 0 || pair->target == 0 || pair->source > nodes || pair->target > nodes)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s:%" PRIu64 ": entry %" PRIu64 " %" PRIu64 ", expected rows and columns from 1 to %" PRIu64,
                        t->input->path, t->input->line, pair->source, pair->target, nodes);
    if (t->lines > t->facts.edges)
        return gnn_fail(err, GNN_EFORMAT, "%s:%" PRIu64 ": more than the %" PRIu64 " entries of its size line",
                        t->input->path, t->input->line, t->facts.edges);
    pair->source--;
    pair->target--;
    t->reverse = t->facts.symmetric && pair->source != pair->target;
    return GNN_OK;
}

/* ---- lines ---- */

/* The second column of IDs of a bipartite graph counts other nodes, from 1 as well. */
static enum gnn_status check_bipartite(const struct gnn_edge_text *t, struct gnn_err *err)
{
    char pipe[PIPE_BYTES], command[96];
    if (!t->facts.bipartite)
        return GNN_OK;
    if (t->facts.left == GNN_UNSTATED)
        (void)snprintf(command, sizeof command, "awk '!/^%%/ {print $1 - 1, $2 + LEFT - 1}'");
    else
        (void)snprintf(command, sizeof command, "awk '!/^%%/ {print $1 - 1, $2 + %" PRIu64 " - 1}'", t->facts.left);
    return gnn_fail(err, GNN_EFORMAT,
                    "%s: its header states a bipartite graph (bip): both columns count from 1, for different nodes. "
                    "Number the second column after the first: --from %s%s",
                    t->input->path, gnn_input_pipe(t->input->path, command, pipe, sizeof pipe),
                    t->facts.left != GNN_UNSTATED ? "" : ", with the number of nodes of the first column for LEFT");
}

static enum gnn_status check_extra(struct gnn_edge_text *t, struct gnn_err *err)
{
    const struct gnn_edge_line *const pair = &t->pair;
    t->lines++;
    if (t->lines == 1) {
        t->extra = pair->extra;
        t->first_line = t->input->line;
    }
    t->facts.undirected = t->facts.undirected ||
                          (pair->words != NULL && strncasecmp(pair->words, "undirected", strlen("undirected")) == 0);
    if (t->ignore_columns || t->facts.matrix)
        return GNN_OK;
    if (pair->extra != t->extra)
        return fail_columns(t, pair->extra, err);
    if (pair->words != NULL)
        return fail_line(t, "a further column is no number",
                         "; --ignore-columns reads only the two columns of node IDs", err);
    return GNN_OK;
}

static enum gnn_status take_banner(struct gnn_edge_text *t, struct gnn_err *err)
{
    const char *why;
    if (!gnn_edge_banner(t->line, &t->facts, &why) && why != NULL)
        return fail_line(t, why, "", err);
    return GNN_OK;
}

/* Takes a line that is no pair as the heading of the columns, if none was taken and no pair was read. */
static bool take_heading(struct gnn_edge_text *t, const char *why)
{
    if (t->lines > 0 || t->heading_line > 0 || t->facts.matrix || !gnn_edge_heading(t->line, t->columns))
        return false;
    uint32_t named[2], count;
    t->heading_named = gnn_edge_names(t->line, named, &count);
    t->heading_line = t->input->line;
    t->heading_why = why;
    (void)snprintf(t->heading, sizeof t->heading, "%.60s", t->line);
    return true;
}

/* A heading without an edge below it was a line of another format. */
static enum gnn_status fail_heading(const struct gnn_edge_text *t, struct gnn_err *err)
{
    char remedy[GNN_EDGE_REMEDY_BYTES];
    gnn_edge_remedy(t, t->heading, t->heading_line, false, remedy);
    return gnn_fail(err, GNN_EFORMAT, "%s:%" PRIu64 ": %s: '%s'%s", t->input->path, t->heading_line, t->heading_why,
                    t->heading, remedy);
}

static enum gnn_status check_end(const struct gnn_edge_text *t, struct gnn_err *err)
{
    if (t->heading_line > 0 && t->lines == 0)
        return fail_heading(t, err);
    if (t->size_known && t->lines != t->facts.edges)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: ends after %" PRIu64 " of the %" PRIu64
                        " entries that its size line states: the file is incomplete; fetch it again",
                        t->input->path, t->lines, t->facts.edges);
    return GNN_OK;
}

/* A comment with a name for each column chooses those of the node IDs. */
static void take_names(struct gnn_edge_text *t)
{
    uint32_t columns[2], count;
    const char *const line = t->line + strspn(t->line, " \t#%");
    if (line != t->line && gnn_edge_names(line, columns, &count)) {
        memcpy(t->comment_columns, columns, sizeof columns);
        t->comment_count = count;
        return;
    }
    if (t->comment_count == 0 || line != t->line || line[0] == '\0')
        return;
    if (gnn_edge_fields(line) == t->comment_count)
        memcpy(t->columns, t->comment_columns, sizeof t->columns);
    t->comment_count = 0;
}

/* Uses a line of data. *found: it is a pair. */
static enum gnn_status take_line(struct gnn_edge_text *t, bool *found, struct gnn_err *err)
{
    const char *why = "";
    *found = false;
    if (t->lines == 0 && t->heading_line == 0 && !t->facts.matrix)
        take_names(t);
    switch (gnn_edge_parse(t->line, t->columns, &t->pair, &why)) {
    case GNN_EDGE_SKIP:
        if (t->lines == 0 && !t->facts.matrix)
            gnn_edge_comment(t->line, &t->facts);
        return GNN_OK;
    case GNN_EDGE_BAD:
        if (take_heading(t, why))
            return GNN_OK;
        return t->heading_line > 0 && t->lines == 0 ? fail_heading(t, err) : fail_pair(t, why, err);
    default:
        break;
    }
    if (t->facts.matrix && !t->size_known)
        return take_size(t, err);
    if (t->lines == 0)
        GNN_TRY(check_bipartite(t, err));
    GNN_TRY(check_extra(t, err));
    *found = true;
    return t->facts.matrix ? take_entry(t, err) : GNN_OK;
}

enum gnn_status gnn_edge_text_next(struct gnn_edge_text *t, uint64_t *source, uint64_t *target, bool *more,
                                   struct gnn_err *err)
{
    *more = true;
    if (t->reverse) {
        t->reverse = false;
        *source = t->pair.target;
        *target = t->pair.source;
        return GNN_OK;
    }
    for (bool found = false; !found;) {
        t->unended = t->input->unended;
        GNN_TRY(gnn_input_line(t->input, t->line, more, err));
        if (!*more)
            return check_end(t, err);
        if (t->input->line == 1)
            GNN_TRY(take_banner(t, err));
        GNN_TRY(take_line(t, &found, err));
    }
    *source = t->pair.source;
    *target = t->pair.target;
    return GNN_OK;
}
