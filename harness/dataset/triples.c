/* SPDX-License-Identifier: MIT */
#include "harness/dataset/triples.h"

#include "harness/base/log.h"
#include "harness/base/plain_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIELDS = 3, BATCH = GNN_NPY_BATCH / FIELDS * FIELDS };

struct gnn_triples {
    struct gnn_npy *array, *tails; /* tails: NULL, or the targets, which the array does not have */
    const struct gnn_knowledge *graph;
    uint64_t first;        /* of the graph's edges */
    uint64_t total, taken; /* edges of the array or the graph */
    uint64_t at, filled;   /* numbers of the batch */
    int64_t batch[BATCH];
    int64_t pairs[BATCH], ends[BATCH]; /* of array and tails, before they are joined */
    struct gnn_input *text;
    bool begun; /* its first line was seen */
    char line[GNN_INPUT_LINE_MAX];
};

static const char *const field_names[FIELDS] = {"source", "relation", "target"};

const char *const gnn_columns_words[] = {"hrt", "htr", "ht", "rht", NULL};

/* Column of source, relation and target, for each order; -1: none. */
static const int column_of[][FIELDS] = {[GNN_COLUMNS_HRT] = {0, 1, 2},
                                        [GNN_COLUMNS_HTR] = {0, 2, 1},
                                        [GNN_COLUMNS_HT] = {0, -1, 1},
                                        [GNN_COLUMNS_RHT] = {1, 0, 2}};

const char *gnn_columns_others(enum gnn_columns columns)
{
    return columns == GNN_COLUMNS_HRT ? "htr or rht" : columns == GNN_COLUMNS_HTR ? "hrt or rht" : "hrt or htr";
}

/* ---- text ---- */

/* Splits the line at tabs, or at blanks where a line of two columns has no tab. Returns GNN_TRIPLE_FIELDS or
 * GNN_TRIPLE_BAD. */
static enum gnn_triple_kind split(const char *line, int columns, const char *column[FIELDS], uint32_t length[FIELDS],
                                  const char **why)
{
    const char *const separators = columns == 2 && strchr(line, '\t') == NULL ? " " : "\t";
    const bool blanks = separators[0] == ' ';
    const char *at = blanks ? line + strspn(line, " ") : line;
    for (int c = 0; c < columns; c++) {
        column[c] = at;
        length[c] = (uint32_t)strcspn(at, separators);
        at += length[c];
        const char *const next = blanks ? at + strspn(at, " ") : at + (*at == '\t');
        const bool end = blanks ? *next == '\0' : *at == '\0';
        if (length[c] == 0)
            *why = "an empty field";
        else if (end && c + 1 < columns)
            *why = columns == FIELDS ? "fewer than three fields with tabs between them" : "fewer than two fields";
        else if (!end && c + 1 == columns)
            *why = columns == FIELDS ? "more than three fields" : "more than two fields";
        else if (at = next, true)
            continue;
        return GNN_TRIPLE_BAD;
    }
    return GNN_TRIPLE_FIELDS;
}

enum gnn_triple_kind gnn_triple_parse_line(const char *line, enum gnn_columns columns, struct gnn_triple_line *out,
                                           const char **why)
{
    const char *column[FIELDS];
    uint32_t length[FIELDS];
    const bool two = columns == GNN_COLUMNS_HT;
    if (line[strspn(line, " \t")] == '\0' || (two && (line[0] == '#' || line[0] == '%')))
        return GNN_TRIPLE_SKIP;
    const enum gnn_triple_kind kind = split(line, two ? 2 : FIELDS, column, length, why);
    for (int f = 0; f < FIELDS && kind == GNN_TRIPLE_FIELDS; f++) {
        const int c = column_of[columns][f];
        out->field[f] = c >= 0 ? column[c] : NULL;
        out->length[f] = c >= 0 ? length[c] : 0;
    }
    return kind;
}

/* Returns 0 for a name of the source's column, 1 of the relation's, 2 of the target's, else -1. */
static int role_of(const char *word, uint32_t length)
{
    static const char *const names[FIELDS][20] = {
        {"head", "h", "subject", "subj", "s", "source", "src", "from", "head_id", "source_id", "subject_id", "e1",
         "entity1", "entity_1", "entity_id_1", "head_entity", "node1", "start"},
        {"relation", "rel", "r", "predicate", "pred", "p", "edge", "edge_type", "type", "relation_id", "predicate_id"},
        {"tail", "t", "object", "obj", "o", "target", "dst", "to", "tail_id", "target_id", "object_id", "e2", "entity2",
         "entity_2", "entity_id_2", "tail_entity", "node2", "end"}};
    for (int f = 0; f < FIELDS; f++)
        for (int i = 0; names[f][i] != NULL; i++)
            if (strlen(names[f][i]) == length && strncasecmp(names[f][i], word, length) == 0)
                return f;
    return -1;
}

bool gnn_triple_heading(const char *line, int *columns)
{
    const char *column[FIELDS], *why;
    uint32_t length[FIELDS];
    int at[FIELDS] = {-1, -1, -1};
    if (split(line, FIELDS, column, length, &why) != GNN_TRIPLE_FIELDS)
        return false;
    for (int c = 0; c < FIELDS; c++) {
        const int role = role_of(column[c], length[c]);
        if (role >= 0)
            at[role] = c;
    }
    *columns = -1;
    for (int order = 0; order <= GNN_COLUMNS_RHT; order++)
        if (memcmp(at, column_of[order], sizeof at) == 0)
            *columns = order;
    return at[0] >= 0 && at[1] >= 0 && at[2] >= 0;
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

/* One field as a number: of a name, or as it is written. */
static enum gnn_status take_field(const struct gnn_triples *t, const struct gnn_triple_line *fields, int f,
                                  const struct gnn_triple_ids *ids, uint32_t *out, struct gnn_err *err)
{
    struct gnn_names *const names = f == 1 ? ids->relations : ids->nodes;
    const uint32_t limit = f == 1 ? ids->relation_limit : ids->node_limit;
    *out = 0;
    if (fields->field[f] == NULL)
        return names != NULL ? gnn_names_add(names, "edge", 4, out, err) : GNN_OK;
    if (names != NULL)
        return gnn_names_add(names, fields->field[f], fields->length[f], out, err);
    if (gnn_triple_number(fields->field[f], fields->length[f], limit, out))
        return GNN_OK;
    uint32_t node;
    const bool other_order = f == 1 && gnn_triple_number(fields->field[f], fields->length[f], ids->node_limit, &node);
    return gnn_fail(err, GNN_EFORMAT, "%s:%" PRIu64 ": %s '%.*s': expected a number from 0 to %" PRIu32 "%s%s",
                    t->text->path, t->text->line, field_names[f], (int)gnn_min_u32(fields->length[f], 40),
                    fields->field[f], limit - 1,
                    other_order ? "; if the columns are in another order, add --columns "
                                : "; without --nodes N the fields are names",
                    other_order ? gnn_columns_others(ids->columns) : "");
}

/* OpenKE's files start with the number of their edges, and have blanks between the columns. */
static enum gnn_status fail_count(const struct gnn_triples *t, struct gnn_err *err)
{
    char word[GNN_OUTPUT_PATH];
    return gnn_fail(
        err, GNN_EFORMAT,
        "%s:1: '%.20s' is one number, such as the count of the edges: `tail -n +2 %s | tr ' ' '\\t'` writes "
        "the edges with tabs. OpenKE's files have --columns htr",
        t->text->path, t->line, gnn_shell_word(t->text->path, word, sizeof word));
}

static enum gnn_status fail_text(const struct gnn_triples *t, const char *why, struct gnn_err *err)
{
    static const struct {
        const char *found, *way;
    } ways[] = {{"more than three", "`cut -f1-3` keeps the first three"},
                {"more than two", "`cut -f1,2` keeps the first two"},
                {",", "`tr ',' '\\t'` writes tabs"},
                {" ", "`tr ' ' '\\t'` writes tabs"}};
    if (!t->begun && strspn(t->line, "0123456789") == strlen(t->line))
        return fail_count(t, err);
    const char *way = "a line is source, relation and target with tabs between";
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strstr(i < 2 ? why : t->line, ways[i].found) != NULL && (i < 2 || strstr(why, "fewer") != NULL)) {
            way = ways[i].way;
            break;
        }
    return gnn_fail(err, GNN_EFORMAT, "%s:%" PRIu64 ": %s: '%.60s'; %s", t->text->path, t->text->line, why, t->line,
                    way);
}

/* A first line with the names of the columns is no edge. */
static enum gnn_status take_heading(struct gnn_triples *t, enum gnn_columns columns, bool *skip, struct gnn_err *err)
{
    int order = -1;
    *skip = !t->begun && columns != GNN_COLUMNS_HT && gnn_triple_heading(t->line, &order);
    t->begun = true;
    if (!*skip)
        return GNN_OK;
    if (order < 0)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s:%" PRIu64
                        ": columns '%.60s': expected one of the orders of --columns: head, relation, tail; head, "
                        "tail, relation; or relation, head, tail",
                        t->text->path, t->text->line, t->line);
    if (order != (int)columns)
        return gnn_fail(err, GNN_EFORMAT, "%s:%" PRIu64 ": columns '%.60s': add --columns %s", t->text->path,
                        t->text->line, t->line, gnn_columns_words[order]);
    gnn_log_warn("%s:%" PRIu64 " has the names of the columns and is not read as an edge", t->text->path,
                 t->text->line);
    return GNN_OK;
}

static enum gnn_status next_text(struct gnn_triples *t, const struct gnn_triple_ids *ids, uint32_t out[FIELDS],
                                 bool *more, struct gnn_err *err)
{
    for (;;) {
        const char *why = "";
        struct gnn_triple_line fields;
        bool skip;
        GNN_TRY(gnn_input_line(t->text, t->line, more, err));
        if (!*more)
            return GNN_OK;
        const enum gnn_triple_kind kind = gnn_triple_parse_line(t->line, ids->columns, &fields, &why);
        if (kind == GNN_TRIPLE_BAD)
            return fail_text(t, why, err);
        if (kind == GNN_TRIPLE_SKIP)
            continue;
        GNN_TRY(take_heading(t, ids->columns, &skip, err));
        if (skip)
            continue;
        for (int f = 0; f < FIELDS; f++)
            GNN_TRY(take_field(t, &fields, f, ids, &out[f], err));
        return GNN_OK;
    }
}

/* ---- NumPy ---- */

/* Opens an array of IDs with this number of columns; 1: [E] or [E, 1]. */
static enum gnn_status open_ids(const char *path, uint64_t columns, const char *meaning, struct gnn_npy **out,
                                struct gnn_err *err)
{
    GNN_TRY(gnn_npy_open(path, out, err));
    const struct gnn_npy_header *const header = &(*out)->header;
    const bool flat = columns == 1 && header->dim_count == 1;
    if (!flat && (header->dim_count != 2 || header->shape[1] != columns))
        return gnn_fail(
            err, GNN_EFORMAT, "%s: shape of %" PRIu32 " dimensions, last %" PRIu64 ": expected [E, %" PRIu64 "], %s%s",
            path, header->dim_count, header->dim_count > 0 ? header->shape[header->dim_count - 1] : 0, columns, meaning,
            header->dim_count == 2 && header->shape[0] == columns ? "; save numpy.ascontiguousarray(a.T)" : "");
    if (header->kind != 'i' && header->kind != 'u')
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: IDs of dtype '%c%" PRIu32 "', expected integers: save them as int64 where they are made",
                        path, header->kind, header->item_bytes);
    return GNN_OK;
}

static enum gnn_status open_arrays(struct gnn_triples *t, const char *path, const char *tails, struct gnn_err *err)
{
    if (tails == NULL) {
        GNN_TRY(open_ids(path, FIELDS, "columns source, relation, target (numpy.stack([h, r, t], axis=1))", &t->array,
                         err));
    } else {
        GNN_TRY(open_ids(path, 2, "columns source, relation", &t->array, err));
        GNN_TRY(open_ids(tails, 1, "the targets", &t->tails, err));
        if (t->tails->header.shape[0] != t->array->header.shape[0])
            return gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " targets, expected one for each of the %" PRIu64 " in %s",
                            tails, t->tails->header.shape[0], t->array->header.shape[0], path);
    }
    t->total = t->array->header.shape[0];
    return GNN_OK;
}

static enum gnn_status fill_batch(struct gnn_triples *t, bool *more, struct gnn_err *err)
{
    const uint64_t edges = gnn_min_u64(t->total - t->taken, BATCH / FIELDS);
    t->at = 0;
    t->filled = edges * FIELDS;
    *more = edges > 0;
    if (!*more) {
        GNN_TRY(gnn_npy_expect_end(t->array, err));
        return t->tails != NULL ? gnn_npy_expect_end(t->tails, err) : GNN_OK;
    }
    if (t->tails == NULL)
        return gnn_npy_read_i64(t->array, t->batch, t->filled, err);
    GNN_TRY(gnn_npy_read_i64(t->array, t->pairs, 2 * edges, err));
    GNN_TRY(gnn_npy_read_i64(t->tails, t->ends, edges, err));
    for (uint64_t e = 0; e < edges; e++) {
        t->batch[FIELDS * e] = t->pairs[2 * e];
        t->batch[FIELDS * e + 1] = t->pairs[2 * e + 1];
        t->batch[FIELDS * e + 2] = t->ends[e];
    }
    return GNN_OK;
}

static enum gnn_status next_array(struct gnn_triples *t, const struct gnn_triple_ids *ids, uint32_t out[FIELDS],
                                  bool *more, struct gnn_err *err)
{
    if (t->at == t->filled)
        GNN_TRY(fill_batch(t, more, err));
    if (t->filled == 0)
        return GNN_OK;
    *more = true;
    for (int f = 0; f < FIELDS; f++) {
        const int column = t->tails != NULL ? f : column_of[ids->columns][f];
        assert(column >= 0);
        const int64_t value = t->batch[t->at + (uint64_t)column];
        const uint32_t limit = f == 1 ? ids->relation_limit : ids->node_limit;
        if (value < 0 || value >= limit)
            return gnn_fail(err, GNN_EFORMAT, "%s: edge %" PRIu64 ": %s %" PRId64 ", expected 0 to %" PRIu32 "%s%s",
                            t->array->input->path, t->taken, field_names[f], value, limit - 1,
                            f == 1 && value >= limit ? "; if the columns are in another order, add --columns " : "",
                            f == 1 && value >= limit ? gnn_columns_others(ids->columns) : "");
        out[f] = (uint32_t)value;
    }
    t->at += FIELDS;
    t->taken++;
    return GNN_OK;
}

/* ---- either ---- */

enum gnn_status gnn_triples_open(const char *path, bool npy, const char *tails, struct gnn_triples **out,
                                 struct gnn_err *err)
{
    struct gnn_triples *t;
    GNN_NEW(t, 1, err, "reader of %s", path);
    const enum gnn_status status = npy ? open_arrays(t, path, tails, err) : gnn_input_open(path, &t->text, err);
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
    gnn_npy_close(triples->tails);
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
