/* SPDX-License-Identifier: MIT */
#include "harness/dataset/edges.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gnn_edges {
    struct gnn_npy *rows[2]; /* npy: one reader in each row */
    uint64_t total, taken;
    uint64_t at, filled;
    int64_t batch[2][GNN_NPY_BATCH];
    struct gnn_input *text; /* SNAP */
    char line[GNN_INPUT_LINE_MAX];
};

/* ---- NumPy ---- */

static enum gnn_status open_rows(struct gnn_edges *e, const char *path, struct gnn_err *err)
{
    GNN_TRY(gnn_npy_open(path, &e->rows[0], err));
    GNN_TRY(gnn_npy_open(path, &e->rows[1], err));
    const struct gnn_npy_header *header = &e->rows[0]->header;
    if (header->dim_count != 2 || header->shape[0] != 2)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: shape of %" PRIu32 " dimensions, first %" PRIu64
                        ": expected [2, E] (numpy.ascontiguousarray(a.T) turns pairs around)",
                        path, header->dim_count, header->shape[0]);
    if (header->kind != 'i' && header->kind != 'u')
        return gnn_fail(err, GNN_EFORMAT, "%s: node IDs of dtype '%c%" PRIu32 "', expected integers", path,
                        header->kind, header->item_bytes);
    e->total = header->shape[1];
    return gnn_npy_skip(e->rows[1], e->total, err);
}

static enum gnn_status next_npy(struct gnn_edges *e, gnn_node *source, gnn_node *target, bool *more,
                                struct gnn_err *err)
{
    if (e->at == e->filled) {
        assert(e->taken <= e->total);
        e->at = 0;
        e->filled = gnn_min_u64(e->total - e->taken, GNN_NPY_BATCH);
        *more = e->filled > 0;
        if (!*more)
            return gnn_npy_expect_end(e->rows[1], err);
        GNN_TRY(gnn_npy_read_i64(e->rows[0], e->batch[0], e->filled, err));
        GNN_TRY(gnn_npy_read_i64(e->rows[1], e->batch[1], e->filled, err));
    }
    assert(e->at < e->filled);
    const int64_t a = e->batch[0][e->at], b = e->batch[1][e->at];
    if (a < 0 || b < 0 || a >= GNN_NODE_NONE || b >= GNN_NODE_NONE)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: edge %" PRIu64 " joins %" PRId64 " and %" PRId64 ", expected node IDs from 0 to %" PRIu32,
                        e->rows[0]->input->path, e->taken, a, b, GNN_NODE_NONE - 1);
    *source = (gnn_node)a;
    *target = (gnn_node)b;
    *more = true;
    e->at++;
    e->taken++;
    return GNN_OK;
}

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

enum gnn_status gnn_edges_open(const char *path, bool npy, struct gnn_edges **out, struct gnn_err *err)
{
    struct gnn_edges *e;
    GNN_NEW(e, 1, err, "reader of %s", path);
    const enum gnn_status status = npy ? open_rows(e, path, err) : gnn_input_open(path, &e->text, err);
    return GNN_OPENED(status, e, out, gnn_edges_close);
}

void gnn_edges_close(struct gnn_edges *edges)
{
    if (edges == NULL)
        return;
    gnn_npy_close(edges->rows[0]);
    gnn_npy_close(edges->rows[1]);
    gnn_input_close(edges->text);
    free(edges);
}

enum gnn_status gnn_edges_next(struct gnn_edges *edges, gnn_node *source, gnn_node *target, bool *more,
                               struct gnn_err *err)
{
    return edges->text != NULL ? next_snap(edges, source, target, more, err)
                               : next_npy(edges, source, target, more, err);
}

void gnn_edges_place(const struct gnn_edges *edges, char *text, size_t text_bytes)
{
    if (edges->text != NULL)
        (void)snprintf(text, text_bytes, "%s:%" PRIu64, edges->text->path, edges->text->line);
    else
        (void)snprintf(text, text_bytes, "%s: edge %" PRIu64, edges->rows[0]->input->path, edges->taken - 1);
}

const char *gnn_edges_unit(const struct gnn_edges *edges)
{
    return edges->text != NULL ? "B" : "edges";
}

uint64_t gnn_edges_total(const struct gnn_edges *edges)
{
    return edges->text != NULL ? edges->text->size_bytes : edges->total;
}

uint64_t gnn_edges_done(const struct gnn_edges *edges)
{
    return edges->text != NULL ? gnn_input_position(edges->text) : edges->taken;
}
