/* SPDX-License-Identifier: MIT */
/* Imports a knowledge graph: the edges of three splits as they are (triples-train and so on), the in-neighbour lists
 * that its training edges make, and the names that its numbers stand for. It has no features, labels or training
 * nodes: what is learned are vectors of the nodes.
 *
 * Memory  of options->memory_bytes: three eighths for names, half for sorting lists, an eighth to count nodes */
#include "harness/base/log.h"
#include "harness/dataset/import_parts.h"
#include "harness/dataset/near_files.h"
#include "harness/dataset/sorter.h"
#include "harness/dataset/triples.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { TICK_EDGES = 65536, OUT_BUFFER = 65536, CHUNK_NODES = 65536, RELATIONS_MAX = 1 << 24, NAMES_EIGHTHS = 3 };

struct triple_importer {
    struct gnn_importer *importer;
    struct gnn_names_memory names;
    struct gnn_names *nodes, *relations; /* NULL: IDs are numbers */
    struct gnn_triple_ids ids;
    struct gnn_sorter *sorter; /* of the training edges, as target << 32 | source */
    uint64_t largest;          /* node ID seen so far, plus one */
    uint64_t largest_end[2];   /* the same of sources, and of targets */
    bool npy;
};

/* ---- the input's files ---- */

static const char *const split_words[] = {"train", "valid", "test"};

enum form { FORM_TEXT, FORM_ARRAY, FORM_PAIR };

/* A split's file, or its pair of arrays. */
struct split_file {
    enum form form;
    char path[GNN_OUTPUT_PATH], tails[GNN_OUTPUT_PATH];
};

static bool find_named(const char *from, const char *word, struct split_file *out)
{
    static const struct {
        const char *ending;
        enum form form;
    } endings[] = {{".txt", FORM_TEXT}, {".tsv", FORM_TEXT}, {"_hrt.npy", FORM_ARRAY}, {"_hr.npy", FORM_PAIR}};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char name[32], tails[32];
        (void)snprintf(name, sizeof name, "%s%s", word, endings[i].ending);
        (void)snprintf(tails, sizeof tails, "%s_t.npy", word);
        out->form = endings[i].form;
        if (gnn_input_find(from, name, out->path) &&
            (out->form != FORM_PAIR || gnn_input_find(from, tails, out->tails)))
            return true;
    }
    return false;
}

/* Finds the file of a split under its usual names; false: there is none. */
static bool find_split(const char *from, int split, struct split_file *out)
{
    static const char *const words[][5] = {
        {"train", "training", NULL}, {"valid", "val", "dev", "validation", NULL}, {"test", "testing", NULL}};
    for (const char *const *word = words[split]; *word != NULL; word++)
        if (find_named(from, *word, out))
            return true;
    return false;
}

/* The usual names are looked for. What else is there may be the split under another name. */
static void warn_of_absent(const char *from, int split)
{
    static const char *const words[][3] = {{"train", NULL}, {"val", "dev", NULL}, {"test", NULL}};
    char near[GNN_NEAR_BYTES];
    (void)gnn_near_files(from, words[split], near);
    gnn_log_warn("%s has no file of %s edges (%s.txt, .tsv, _hrt.npy, or _hr.npy with _t.npy)%s%s", from,
                 split == 1 ? "validation" : "test", split_words[split], near[0] != '\0' ? "; not read: " : "", near);
}

bool gnn_import_has_triples(const char *dir)
{
    struct split_file file;
    return find_split(dir, 0, &file);
}

static enum gnn_status open_ids(struct triple_importer *t, struct gnn_err *err)
{
    const struct gnn_import_options *const o = t->importer->options;
    struct split_file file;
    if (t->importer->generated != NULL)
        return GNN_OK;
    if (!find_split(t->importer->source->from, 0, &file))
        return gnn_fail(err, GNN_ENOENT, "%s has no train.txt, train.tsv (maybe .gz) or train_hrt.npy",
                        t->importer->source->from);
    t->npy = file.form != FORM_TEXT;
    t->ids.columns = o->columns;
    if (t->npy && o->columns == GNN_COLUMNS_HT)
        return gnn_fail(err, GNN_EUSAGE, "--columns ht is for text: %s has three columns", file.path);
    t->ids.node_limit = o->nodes != 0 ? o->nodes : GNN_NODE_NONE - 1;
    t->ids.relation_limit = RELATIONS_MAX;
    if (t->npy || o->nodes != 0)
        return GNN_OK;
    t->names.limit_bytes = gnn_import_budget(t->importer) / 8 * NAMES_EIGHTHS;
    GNN_TRY(gnn_names_open(&t->names, &t->nodes, err));
    GNN_TRY(gnn_names_open(&t->names, &t->relations, err));
    t->ids.nodes = t->nodes;
    t->ids.relations = t->relations;
    return GNN_OK;
}

/* ---- edges ---- */

static enum gnn_status add_to_lists(const struct triple_importer *t, const struct gnn_triple *edge, struct gnn_err *err)
{
    const struct gnn_import_options *const o = t->importer->options;
    if (edge->source == edge->target && o->drop_self_loops)
        return GNN_OK;
    const gnn_node from = o->transpose ? edge->target : edge->source, to = o->transpose ? edge->source : edge->target;
    GNN_TRY(gnn_sorter_add(t->sorter, (uint64_t)to << 32 | from, err));
    if (o->add_reverse && from != to)
        GNN_TRY(gnn_sorter_add(t->sorter, (uint64_t)from << 32 | to, err));
    return GNN_OK;
}

static enum gnn_status copy_edges(struct triple_importer *t, int split, struct gnn_triples *in,
                                  struct gnn_out_file *out, struct gnn_err *err)
{
    struct gnn_ticker ticker;
    uint32_t *const count = &t->importer->meta.triple_count[split];
    gnn_ticker_start(&ticker, t->importer->job, split_words[split], gnn_triples_unit(in), gnn_triples_total(in));
    for (;;) {
        struct gnn_triple edge;
        bool more = false;
        GNN_TRY(gnn_triples_next(in, &t->ids, &edge, &more, err));
        if (!more)
            break;
        if (*count == UINT32_MAX)
            return gnn_fail(err, GNN_EFORMAT, "%s: more than %" PRIu32 " edges", split_words[split], *count);
        (*count)++;
        t->largest = gnn_max_u64(t->largest, (uint64_t)gnn_max_u32(edge.source, edge.target) + 1);
        t->largest_end[0] = gnn_max_u64(t->largest_end[0], (uint64_t)edge.source + 1);
        t->largest_end[1] = gnn_max_u64(t->largest_end[1], (uint64_t)edge.target + 1);
        GNN_TRY(gnn_out_write(out, &edge, sizeof edge, err));
        if (split == 0)
            GNN_TRY(add_to_lists(t, &edge, err));
        if (*count % TICK_EDGES == 0)
            GNN_TRY(gnn_ticker_set(&ticker, gnn_triples_done(in), err));
    }
    GNN_TRY(gnn_ticker_set(&ticker, gnn_triples_done(in), err));
    gnn_ticker_end(&ticker);
    return GNN_OK;
}

/* A split that the input does not have is empty; there are always training edges. */
static enum gnn_status import_split(struct triple_importer *t, int split, struct gnn_err *err)
{
    struct split_file file = {.form = FORM_TEXT};
    struct gnn_triples *in = NULL;
    struct gnn_out_file *out = NULL;
    const struct gnn_knowledge *const graph = t->importer->generated;
    const bool found = graph != NULL || find_split(t->importer->source->from, split, &file);
    if (graph == NULL && found && (file.form != FORM_TEXT) != t->npy)
        return gnn_fail(err, GNN_EUSAGE, "%s: the splits must all be text, or all be arrays", file.path);
    if (!found)
        warn_of_absent(t->importer->source->from, split);
    enum gnn_status status = GNN_OK;
    if (graph != NULL)
        status = gnn_triples_generated(graph, t->importer->generated_first[split],
                                       t->importer->generated_first[split + 1] - t->importer->generated_first[split],
                                       &in, err);
    else if (found)
        status = gnn_triples_open(file.path, t->npy, file.form == FORM_PAIR ? file.tails : NULL, &in, err);
    GNN_NEXT(status,
             gnn_out_open(&t->importer->output, gnn_meta_triples_name(split), OUT_BUFFER, GNN_OUT_DATASET, &out, err));
    if (found)
        GNN_NEXT(status, copy_edges(t, split, in, out, err));
    gnn_triples_close(in);
    status = gnn_out_end(out, status, &t->importer->meta, err);
    if (status == GNN_OK && split == 0 && t->importer->meta.triple_count[0] == 0)
        return gnn_fail(err, GNN_EFORMAT, "%s holds no edge", file.path);
    return status;
}

/* Counts the names of relations that nodes have, too. *words: one of them is no number. */
static uint32_t shared_names(const struct triple_importer *t, bool *words)
{
    uint64_t bytes = 0;
    uint32_t shared = 0;
    const char *const text = gnn_names_text(t->relations, &bytes);
    *words = false;
    for (uint64_t at = 0; at < bytes;) {
        const char *const end = memchr(text + at, '\n', bytes - at);
        assert(end != NULL);
        const uint32_t length = (uint32_t)(end - (text + at));
        const bool found = gnn_names_has(t->nodes, text + at, length);
        shared += found;
        *words = *words || (found && strspn(text + at, "0123456789") < length);
        at += length + 1;
    }
    return shared;
}

/* Relations that are nodes mean that the columns are in another order. Numbers of few relations are those of nodes,
 * too. */
static void judge_names(const struct triple_importer *t)
{
    bool words;
    const uint32_t relations = t->ids.relation_count, shared = shared_names(t, &words);
    if (shared > relations / 2 && (words || relations > gnn_names_count(t->nodes) / 2))
        gnn_log_warn("%s: %" PRIu32 " of %" PRIu32 " relations are names of nodes, too; if the columns are in another "
                     "order, add --columns %s",
                     t->importer->source->from, shared, relations, gnn_columns_others(t->ids.columns));
}

/* More relations than sources or targets mean that the columns are in another order. */
static void judge_columns(const struct triple_importer *t)
{
    static const char *const ends[] = {"sources", "targets"};
    const uint32_t relations = t->ids.relation_count;
    if (t->importer->generated != NULL || t->ids.columns == GNN_COLUMNS_HT)
        return;
    if (t->relations != NULL) {
        judge_names(t);
        return;
    }
    for (int end = 1; end >= 0; end--)
        if (relations > t->largest_end[end]) {
            gnn_log_warn("%s: relations have numbers up to %" PRIu32 " and %s up to %" PRIu64
                         "; if the columns are in another order, add --columns %s",
                         t->importer->source->from, relations - 1, ends[end], t->largest_end[end] - 1,
                         t->ids.columns == GNN_COLUMNS_HRT ? (end == 1 ? "htr" : "rht")
                                                           : gnn_columns_others(t->ids.columns));
            return;
        }
}

static enum gnn_status import_edges(struct triple_importer *t, struct gnn_err *err)
{
    struct gnn_meta *const meta = &t->importer->meta;
    GNN_TRY(gnn_sorter_open(&t->importer->output, gnn_import_budget(t->importer) / 2, true, &t->sorter, err));
    for (int split = 0; split < 3; split++)
        GNN_TRY(import_split(t, split, err));
    meta->node_count = t->nodes != NULL                   ? gnn_names_count(t->nodes)
                       : t->importer->options->nodes != 0 ? t->importer->options->nodes
                                                          : (uint32_t)t->largest;
    meta->relation_count = t->ids.relation_count;
    judge_columns(t);
    if (t->importer->generated != NULL) {
        meta->node_count = t->importer->generated->node_count;
        meta->relation_count = t->importer->generated->relation_count;
    }
    if (gnn_sorter_added(t->sorter) == 0)
        return gnn_fail(err, GNN_EFORMAT, "%s: every training edge joins a node with itself, and these are left out",
                        t->importer->source->from);
    GNN_TRY(gnn_sorter_finish(t->sorter, err));
    return gnn_import_lists(t->importer, t->sorter, err);
}

/* ---- what every dataset has ---- */

/* No node has a label. */
static enum gnn_status write_labels(struct gnn_importer *importer, struct gnn_err *err)
{
    struct gnn_out_file *out = NULL;
    int32_t *none;
    GNN_NEW(none, CHUNK_NODES, err, "chunk of labels");
    memset(none, 0xff, CHUNK_NODES * sizeof *none);
    enum gnn_status status = gnn_out_open(&importer->output, "labels", OUT_BUFFER, GNN_OUT_DATASET, &out, err);
    for (uint64_t left = importer->meta.node_count; left > 0 && status == GNN_OK;) {
        const uint64_t count = gnn_min_u64(left, CHUNK_NODES);
        status = gnn_out_write(out, none, count * sizeof *none, err);
        left -= count;
    }
    free(none);
    return gnn_out_end(out, status, &importer->meta, err);
}

static enum gnn_status write_names(struct gnn_importer *importer, const struct gnn_names *names, const char *file,
                                   uint64_t *bytes, struct gnn_err *err)
{
    if (names == NULL)
        return GNN_OK;
    const char *const text = gnn_names_text(names, bytes);
    return gnn_out_array(&importer->output, file, text, *bytes, GNN_OUT_DATASET, &importer->meta, err);
}

static enum gnn_status import_all(struct triple_importer *t, struct gnn_err *err)
{
    struct gnn_importer *const importer = t->importer;
    GNN_TRY(open_ids(t, err));
    GNN_TRY(gnn_output_open(importer->job, 0, &importer->output, err));
    GNN_TRY(import_edges(t, err));
    GNN_TRY(write_labels(importer, err));
    for (int split = 0; split < 3; split++)
        GNN_TRY(gnn_out_array(&importer->output, split_words[split], "", 0, GNN_OUT_DATASET, &importer->meta, err));
    GNN_TRY(write_names(importer, t->nodes, GNN_META_NODE_NAMES, &importer->meta.name_bytes[0], err));
    return write_names(importer, t->relations, GNN_META_RELATION_NAMES, &importer->meta.name_bytes[1], err);
}

enum gnn_status gnn_import_triples(struct gnn_importer *importer, struct gnn_err *err)
{
    struct triple_importer t = {.importer = importer};
    const enum gnn_status status = import_all(&t, err);
    gnn_sorter_close(t.sorter);
    gnn_names_close(t.nodes);
    gnn_names_close(t.relations);
    return status;
}
