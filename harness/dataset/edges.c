/* SPDX-License-Identifier: MIT */
#include "harness/dataset/edges.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gnn_edges {
    struct gnn_edge_arrays *arrays;
    struct gnn_edge_text *text; /* either is NULL */
};

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
    const enum gnn_status status = gnn_edge_text_open(path, &e->text, err);
    return GNN_OPENED(status, e, out, gnn_edges_close);
}

void gnn_edges_close(struct gnn_edges *edges)
{
    if (edges == NULL)
        return;
    gnn_edge_arrays_close(edges->arrays);
    gnn_edge_text_close(edges->text);
    free(edges);
}

enum gnn_status gnn_edges_next_wide(struct gnn_edges *edges, uint64_t *source, uint64_t *target, bool *more,
                                    struct gnn_err *err)
{
    gnn_node narrow[2] = {0, 0};
    if (edges->text != NULL)
        return gnn_edge_text_next(edges->text, source, target, more, err);
    GNN_TRY(gnn_edge_arrays_next(edges->arrays, &narrow[0], &narrow[1], more, err));
    *source = narrow[0];
    *target = narrow[1];
    return GNN_OK;
}

enum gnn_status gnn_edges_next(struct gnn_edges *edges, gnn_node *source, gnn_node *target, bool *more,
                               struct gnn_err *err)
{
    uint64_t wide[2] = {0, 0};
    GNN_TRY(gnn_edges_next_wide(edges, &wide[0], &wide[1], more, err));
    if (wide[0] >= GNN_NODE_NONE || wide[1] >= GNN_NODE_NONE)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s:%" PRIu64 ": a node ID above 4294967294: '%.60s'; add --relabel to number the nodes that "
                        "occur",
                        edges->text->input->path, edges->text->input->line, edges->text->line);
    *source = (gnn_node)wide[0];
    *target = (gnn_node)wide[1];
    return GNN_OK;
}

void gnn_edges_ignore_columns(struct gnn_edges *edges)
{
    if (edges->text != NULL)
        edges->text->ignore_columns = true;
}

void gnn_edges_state(struct gnn_edges *edges, uint64_t count)
{
    if (edges->text != NULL)
        edges->text->facts.edges = count;
}

const struct gnn_edge_text *gnn_edges_text(const struct gnn_edges *edges)
{
    return edges->text;
}

void gnn_edges_place(const struct gnn_edges *edges, char *text, size_t text_bytes)
{
    if (edges->text != NULL)
        (void)snprintf(text, text_bytes, "%s:%" PRIu64, edges->text->input->path, edges->text->input->line);
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
    return edges->text != NULL ? edges->text->input->size_bytes : gnn_edge_arrays_total(edges->arrays);
}

uint64_t gnn_edges_done(const struct gnn_edges *edges)
{
    return edges->text != NULL ? gnn_input_position(edges->text->input) : gnn_edge_arrays_taken(edges->arrays);
}
