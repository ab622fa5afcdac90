/* SPDX-License-Identifier: MIT */
/* The edges of an import, in their order. A pipe is read once: where the edges are needed twice, it is copied. */
#include "harness/dataset/import_edges.h"

#include "harness/dataset/input_kind.h"
#include "harness/dataset/ogb_csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_NAME "edges-copy"

enum { TICK_EDGES = 65536, COPY_BUFFER = 262144, COPY_PAIRS = 4096 };

/* ---- the input ---- */

enum gnn_status gnn_import_open_edges(const struct gnn_import_source *source, bool ignore_columns,
                                      struct gnn_edges **out, struct gnn_err *err)
{
    char path[GNN_OUTPUT_PATH];
    const char *const list = gnn_input_find(source->from, "edges.txt", path) ? path : source->from;
    GNN_TRY(gnn_edges_open(list, false, out, err));
    if (ignore_columns)
        gnn_edges_ignore_columns(*out);
    return GNN_OK;
}

enum gnn_status gnn_import_open_found(const struct gnn_edge_files *files, bool ignore_columns, struct gnn_edges **out,
                                      struct gnn_err *err)
{
    if (files->form != GNN_EDGES_TEXT)
        return gnn_edges_open_arrays(files, out, err);
    GNN_TRY(gnn_ogb_csv_open(files, out, err));
    if (ignore_columns)
        gnn_edges_ignore_columns(*out);
    return GNN_OK;
}

static enum gnn_status open_input(const struct gnn_importer *importer, struct gnn_edges **out, struct gnn_err *err)
{
    const bool ignore_columns = importer->options->ignore_columns;
    return importer->arrays != NULL ? gnn_import_open_found(&importer->arrays->edges, ignore_columns, out, err)
                                    : gnn_import_open_edges(importer->source, ignore_columns, out, err);
}

/* A pipe that will be read again is copied. */
static bool is_pipe(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISFIFO(info.st_mode);
}

/* Keeps what the text states, which is complete at its end. */
static void keep_report(struct gnn_edge_report *report, const struct gnn_edges *edges)
{
    const struct gnn_edge_text *const text = gnn_edges_text(edges);
    report->text = text != NULL;
    if (text == NULL)
        return;
    (void)snprintf(report->path, sizeof report->path, "%s", text->input->path);
    report->facts = text->facts;
    report->extra = text->extra;
    report->first_line = text->first_line;
    report->heading_line = text->heading_line;
    report->lines = text->lines;
    report->unended = text->unended;
}

/* Reads every edge of the input, and copies it to `copy` unless that is NULL. */
static enum gnn_status read_input(struct gnn_edge_reader *r, struct gnn_edges *edges, struct gnn_out_file *copy,
                                  struct gnn_ticker *ticker, struct gnn_err *err)
{
    for (uint64_t count = 1;; count++) {
        uint64_t ends[2] = {0, 0};
        bool more = false;
        GNN_TRY(gnn_edges_next_wide(edges, &ends[0], &ends[1], &more, err));
        if (!more)
            return GNN_OK;
        r->edges = edges;
        GNN_TRY(r->visit(r->ctx, ends[0], ends[1], r, err));
        if (copy != NULL)
            GNN_TRY(gnn_out_write(copy, ends, sizeof ends, err));
        if (count % TICK_EDGES == 0)
            GNN_TRY(gnn_ticker_set(ticker, gnn_edges_done(edges), err));
    }
}

static enum gnn_status first_pass(struct gnn_edge_reader *r, const char *phase, bool again, struct gnn_err *err)
{
    struct gnn_edges *edges;
    struct gnn_out_file *copy = NULL;
    struct gnn_ticker ticker;
    const struct gnn_importer *const importer = r->importer;
    GNN_TRY(open_input(importer, &edges, err));
    gnn_ticker_start(&ticker, r->importer->job, phase, gnn_edges_unit(edges), gnn_edges_total(edges));
    enum gnn_status status = GNN_OK;
    r->copied = again && is_pipe(r->importer->source->from);
    if (r->copied)
        status = gnn_out_open(&r->importer->output, COPY_NAME, COPY_BUFFER, GNN_OUT_SPILL, &copy, err);
    GNN_NEXT(status, read_input(r, edges, copy, &ticker, err));
    if (r->copied)
        status = gnn_out_end(copy, status, NULL, err);
    if (status == GNN_OK) {
        keep_report(&r->importer->report, edges);
        status = gnn_ticker_set(&ticker, gnn_edges_done(edges), err);
        gnn_ticker_end(&ticker);
    }
    r->edges = NULL;
    gnn_edges_close(edges);
    return status;
}

/* ---- the copy ---- */

static enum gnn_status read_copy(struct gnn_edge_reader *r, FILE *file, struct gnn_err *err)
{
    uint64_t pairs[COPY_PAIRS][2];
    size_t got;
    while ((got = fread(pairs, sizeof *pairs, COPY_PAIRS, file)) > 0) {
        GNN_TRY(gnn_job_stopped(r->importer->job, "edges", err));
        for (size_t i = 0; i < got; i++)
            GNN_TRY(r->visit(r->ctx, pairs[i][0], pairs[i][1], r, err));
    }
    return ferror(file) ? gnn_fail(err, GNN_EIO, "reading back the edges: %s", strerror(errno)) : GNN_OK;
}

static enum gnn_status pass_over_copy(struct gnn_edge_reader *r, bool again, struct gnn_err *err)
{
    char path[GNN_OUTPUT_PATH + 32];
    (void)snprintf(path, sizeof path, "%s/%s", r->importer->output.partial, COPY_NAME);
    FILE *const file = fopen(path, "rbe");
    if (file == NULL)
        return gnn_out_errno(errno, "cannot open", path, err);
    const enum gnn_status status = read_copy(r, file, err);
    (void)fclose(file);
    if (!again)
        (void)unlink(path);
    return status;
}

enum gnn_status gnn_import_each_edge(struct gnn_edge_reader *reader, const char *phase, bool again, struct gnn_err *err)
{
    return reader->copied ? pass_over_copy(reader, again, err) : first_pass(reader, phase, again, err);
}

void gnn_import_edge_place(const struct gnn_edge_reader *reader, char *text, size_t text_bytes)
{
    if (reader->edges != NULL)
        gnn_edges_place(reader->edges, text, text_bytes);
    else
        (void)snprintf(text, text_bytes, "%s: an edge", reader->importer->source->from);
}

void gnn_import_counts_remedy(const struct gnn_edge_reader *reader, bool first, char *text, size_t text_bytes)
{
    char pipe[GNN_OUTPUT_PATH + 128], command[64];
    const struct gnn_edge_text *const list = reader->edges != NULL ? gnn_edges_text(reader->edges) : NULL;
    text[0] = '\0';
    if (!first || list == NULL || list->facts.matrix)
        return;
    (void)snprintf(command, sizeof command, "tail -n +%" PRIu64, list->input->line + 1);
    (void)snprintf(text, text_bytes, "; if the line states counts, --from %s begins behind it",
                   gnn_input_pipe(list->input->path, command, pipe, sizeof pipe));
}
