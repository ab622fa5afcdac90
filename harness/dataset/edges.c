/* SPDX-License-Identifier: MIT */
#include "harness/dataset/edges.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gnn_edges {
    struct gnn_edge_arrays *arrays;
    struct gnn_input *text; /* SNAP; else NULL */
    char line[GNN_INPUT_LINE_MAX];
};

/* ---- SNAP ---- */

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

/* A decimal node ID; NULL when there is none, *large when it does not fit. */
static const char *take_id(const char *at, gnn_node *out, bool *large)
{
    const char *start = at;
    uint64_t value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        value = value * 10 + (uint64_t)(*at - '0');
        if (value >= GNN_NODE_NONE) {
            *large = true;
            return NULL;
        }
    }
    *out = (gnn_node)value;
    return at > start ? at : NULL;
}

enum gnn_snap_line gnn_snap_parse_line(const char *line, gnn_node *source, gnn_node *target, const char **why)
{
    bool large = false;
    const char *at = skip_blanks(line);
    if (*at == '\0' || *at == '#' || *at == '%')
        return GNN_SNAP_SKIP;
    const char *first = take_id(at, source, &large);
    const char *second =
        first != NULL && skip_blanks(first) > first ? take_id(skip_blanks(first), target, &large) : NULL;
    if (second != NULL && *skip_blanks(second) == '\0')
        return GNN_SNAP_PAIR;
    if (large)
        *why = "a node ID above 4294967294";
    else if (second != NULL)
        *why = "something after the two node IDs";
    else
        *why = "not two node IDs";
    return GNN_SNAP_BAD;
}

static enum gnn_status next_snap(struct gnn_edges *e, gnn_node *source, gnn_node *target, bool *more,
                                 struct gnn_err *err)
{
    for (;;) {
        const char *why = "";
        GNN_TRY(gnn_input_line(e->text, e->line, more, err));
        if (!*more)
            return GNN_OK;
        switch (gnn_snap_parse_line(e->line, source, target, &why)) {
        case GNN_SNAP_PAIR:
            return GNN_OK;
        case GNN_SNAP_SKIP:
            break;
        case GNN_SNAP_BAD:
            return gnn_fail(err, GNN_EFORMAT, "%s:%" PRIu64 ": %s: '%.60s'", e->text->path, e->text->line, why,
                            e->line);
        }
    }
}

/* ---- either ---- */

enum gnn_status gnn_edges_open_arrays(const struct gnn_edge_files *files, struct gnn_edges **out, struct gnn_err *err)
{
    struct gnn_edges *e;
    GNN_NEW(e, 1, err, "reader of %s", files->path[0]);
    const enum gnn_status status = gnn_edge_arrays_open(files, &e->arrays, err);
    return GNN_OPENED(status, e, out, gnn_edges_close);
}

enum gnn_status gnn_edges_open(const char *path, bool npy, struct gnn_edges **out, struct gnn_err *err)
{
    if (npy) {
        struct gnn_edge_files files = {.form = GNN_EDGES_TABLE};
        (void)snprintf(files.path[0], sizeof files.path[0], "%s", path);
        return gnn_edges_open_arrays(&files, out, err);
    }
    struct gnn_edges *e;
    GNN_NEW(e, 1, err, "reader of %s", path);
    const enum gnn_status status = gnn_input_open(path, &e->text, err);
    return GNN_OPENED(status, e, out, gnn_edges_close);
}

void gnn_edges_close(struct gnn_edges *edges)
{
    if (edges == NULL)
        return;
    gnn_edge_arrays_close(edges->arrays);
    gnn_input_close(edges->text);
    free(edges);
}

enum gnn_status gnn_edges_next(struct gnn_edges *edges, gnn_node *source, gnn_node *target, bool *more,
                               struct gnn_err *err)
{
    return edges->text != NULL ? next_snap(edges, source, target, more, err)
                               : gnn_edge_arrays_next(edges->arrays, source, target, more, err);
}

void gnn_edges_place(const struct gnn_edges *edges, char *text, size_t text_bytes)
{
    if (edges->text != NULL)
        (void)snprintf(text, text_bytes, "%s:%" PRIu64, edges->text->path, edges->text->line);
    else
        (void)snprintf(text, text_bytes, "%s: edge %" PRIu64, gnn_edge_arrays_path(edges->arrays),
                       gnn_edge_arrays_taken(edges->arrays) - 1);
}

const char *gnn_edges_unit(const struct gnn_edges *edges)
{
    return edges->text != NULL ? "B" : "edges";
}

uint64_t gnn_edges_total(const struct gnn_edges *edges)
{
    return edges->text != NULL ? edges->text->size_bytes : gnn_edge_arrays_total(edges->arrays);
}

uint64_t gnn_edges_done(const struct gnn_edges *edges)
{
    return edges->text != NULL ? gnn_input_position(edges->text) : gnn_edge_arrays_taken(edges->arrays);
}
