/* SPDX-License-Identifier: MIT */
#include "harness/dataset/triples.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 3, BATCH = GNN_NPY_BATCH / FIELDS * FIELDS };

struct gnn_triples {
    struct gnn_npy *array;
    const struct gnn_knowledge *graph;
    uint64_t first;        /* of the graph's edges */
    uint64_t total, taken; /* edges of the array or the graph */
    uint64_t at, filled;   /* numbers of the batch */
    int64_t batch[BATCH];
    struct gnn_input *text;
    char line[GNN_INPUT_LINE_MAX];
};

static const char *const field_names[FIELDS] = {"source", "relation", "target"};

/* ---- text ---- */

enum gnn_triple_kind gnn_triple_parse_line(const char *line, struct gnn_triple_line *out, const char **why)
{
    const char *at = line;
    if (line[strspn(line, " \t")] == '\0')
        return GNN_TRIPLE_SKIP;
    for (int f = 0; f < FIELDS; f++) {
        const size_t length = strcspn(at, "\t");
        if (length == 0) {
            *why = "an empty field";
            return GNN_TRIPLE_BAD;
        }
        out->field[f] = at;
        out->length[f] = (uint32_t)length;
        at += length;
        if ((*at == '\0') != (f + 1 == FIELDS)) {
            *why = f + 1 == FIELDS ? "more than three fields" : "fewer than three fields with tabs between them";
            return GNN_TRIPLE_BAD;
        }
        at += *at == '\t';
    }
    return GNN_TRIPLE_FIELDS;
}

bool gnn_triple_number(const char *text, uint32_t length, uint32_t limit, uint32_t *out)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
        if (value >= limit)
            return false;
    }
    *out = (uint32_t)value;
    return length > 0;
}

/* One field as a number: of a name, or as it stands. */
static enum gnn_status take_field(const struct gnn_triples *t, const struct gnn_triple_line *fields, int f,
                                  const struct gnn_triple_ids *ids, uint32_t *out, struct gnn_err *err)
{
    struct gnn_names *const names = f == 1 ? ids->relations : ids->nodes;
    const uint32_t limit = f == 1 ? ids->relation_limit : ids->node_limit;
    if (names != NULL)
        return gnn_names_add(names, fields->field[f], fields->length[f], out, err);
    if (gnn_triple_number(fields->field[f], fields->length[f], limit, out))
        return GNN_OK;
    return gnn_fail(err, GNN_EFORMAT,
                    "%s:%" PRIu64 ": %s '%.*s': expected a number from 0 to %" PRIu32
                    "; without --nodes N the fields are names",
                    t->text->path, t->text->line, field_names[f], (int)gnn_min_u32(fields->length[f], 40),
                    fields->field[f], limit - 1);
}

static enum gnn_status next_text(struct gnn_triples *t, const struct gnn_triple_ids *ids, uint32_t out[FIELDS],
                                 bool *more, struct gnn_err *err)
{
    for (;;) {
        const char *why = "";
        struct gnn_triple_line fields;
        GNN_TRY(gnn_input_line(t->text, t->line, more, err));
        if (!*more)
            return GNN_OK;
        const enum gnn_triple_kind kind = gnn_triple_parse_line(t->line, &fields, &why);
        if (kind == GNN_TRIPLE_BAD)
            return gnn_fail(err, GNN_EFORMAT,
                            "%s:%" PRIu64 ": %s: '%.60s'; a line is source, relation and target with tabs between",
                            t->text->path, t->text->line, why, t->line);
        if (kind == GNN_TRIPLE_SKIP)
            continue;
        for (int f = 0; f < FIELDS; f++)
            GNN_TRY(take_field(t, &fields, f, ids, &out[f], err));
        return GNN_OK;
    }
}

/* ---- NumPy ---- */

static enum gnn_status open_array(struct gnn_triples *t, const char *path, struct gnn_err *err)
{
    GNN_TRY(gnn_npy_open(path, &t->array, err));
    const struct gnn_npy_header *const header = &t->array->header;
    if (header->dim_count != 2 || header->shape[1] != FIELDS)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: shape of %" PRIu32 " dimensions, last %" PRIu64
                        ": expected [E, 3], columns source, relation, target (numpy.stack([h, r, t], axis=1))",
                        path, header->dim_count, header->dim_count > 0 ? header->shape[header->dim_count - 1] : 0);
    if (header->kind != 'i' && header->kind != 'u')
        return gnn_fail(err, GNN_EFORMAT, "%s: IDs of dtype '%c%" PRIu32 "', expected integers", path, header->kind,
                        header->item_bytes);
    t->total = header->shape[0];
    return GNN_OK;
}

static enum gnn_status next_array(struct gnn_triples *t, const struct gnn_triple_ids *ids, uint32_t out[FIELDS],
                                  bool *more, struct gnn_err *err)
{
    if (t->at == t->filled) {
        t->at = 0;
        t->filled = gnn_min_u64((t->total - t->taken) * FIELDS, BATCH);
        *more = t->filled > 0;
        if (!*more)
            return gnn_npy_expect_end(t->array, err);
        GNN_TRY(gnn_npy_read_i64(t->array, t->batch, t->filled, err));
    }
    *more = true;
    for (int f = 0; f < FIELDS; f++) {
        const int64_t value = t->batch[t->at++];
        const uint32_t limit = f == 1 ? ids->relation_limit : ids->node_limit;
        if (value < 0 || value >= limit)
            return gnn_fail(err, GNN_EFORMAT, "%s: edge %" PRIu64 ": %s %" PRId64 ", expected 0 to %" PRIu32,
                            t->array->input->path, t->taken, field_names[f], value, limit - 1);
        out[f] = (uint32_t)value;
    }
    t->taken++;
    return GNN_OK;
}

/* ---- either ---- */

enum gnn_status gnn_triples_open(const char *path, bool npy, struct gnn_triples **out, struct gnn_err *err)
{
    struct gnn_triples *t;
    GNN_NEW(t, 1, err, "reader of %s", path);
    const enum gnn_status status = npy ? open_array(t, path, err) : gnn_input_open(path, &t->text, err);
    return GNN_OPENED(status, t, out, gnn_triples_close);
}

enum gnn_status gnn_triples_generated(const struct gnn_knowledge *graph, uint64_t first, uint64_t count,
                                      struct gnn_triples **out, struct gnn_err *err)
{
    struct gnn_triples *t;
    GNN_NEW(t, 1, err, "generator of edges");
    *t = (struct gnn_triples){.graph = graph, .first = first, .total = count};
    *out = t;
    return GNN_OK;
}

void gnn_triples_close(struct gnn_triples *triples)
{
    if (triples == NULL)
        return;
    gnn_npy_close(triples->array);
    gnn_input_close(triples->text);
    free(triples);
}

enum gnn_status gnn_triples_next(struct gnn_triples *triples, struct gnn_triple_ids *ids, struct gnn_triple *out,
                                 bool *more, struct gnn_err *err)
{
    uint32_t fields[FIELDS] = {0};
    if (triples->graph != NULL) {
        *more = triples->taken < triples->total;
        if (*more)
            *out = gnn_knowledge_edge(triples->graph, triples->first + triples->taken++);
        return GNN_OK;
    }
    GNN_TRY(triples->text != NULL ? next_text(triples, ids, fields, more, err)
                                  : next_array(triples, ids, fields, more, err));
    if (!*more)
        return GNN_OK;
    ids->relation_count = gnn_max_u32(ids->relation_count, fields[1] + 1);
    *out = (struct gnn_triple){.source = fields[0], .relation = fields[1], .target = fields[2]};
    return GNN_OK;
}

const char *gnn_triples_unit(const struct gnn_triples *triples)
{
    return triples->text != NULL ? "B" : "edges";
}

uint64_t gnn_triples_total(const struct gnn_triples *triples)
{
    return triples->text != NULL ? triples->text->size_bytes : triples->total;
}

uint64_t gnn_triples_done(const struct gnn_triples *triples)
{
    return triples->text != NULL ? gnn_input_position(triples->text) : triples->taken;
}
