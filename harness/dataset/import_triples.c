/* SPDX-License-Identifier: MIT */
/* Imports a knowledge graph: the edges of three splits as they are (triples-train and so on), the in-neighbour lists
 * that its training edges make, and the names that its numbers stand for. It has no features, labels or training
 * nodes: what is learned are vectors of the nodes.
 *
 * Memory  a quarter of options->memory_bytes for names, half for sorting lists */
#include "harness/dataset/import_parts.h"
#include "harness/dataset/sorter.h"
#include "harness/dataset/triples.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { TICK_EDGES = 65536, OUT_BUFFER = 65536, CHUNK_NODES = 65536, RELATIONS_MAX = 1 << 24 };

struct triple_importer {
    struct gnn_importer *importer;
    struct gnn_names *nodes, *relations; /* NULL: IDs are numbers */
    struct gnn_triple_ids ids;
    struct gnn_sorter *sorter; /* of the training edges, as target << 32 | source */
    uint64_t largest;          /* node ID seen so far, plus one */
    bool npy;
};

/* ---- the input's files ---- */

static const char *const split_words[] = {"train", "valid", "test"};

/* Writes the path of a split's file; false when there is none. */
static bool find_split(const char *from, int split, char path[GNN_OUTPUT_PATH], bool *npy)
{
    static const char *const endings[] = {".txt", ".tsv", "_hrt.npy"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%s%s", split_words[split], endings[i]);
        *npy = i == 2;
        if (gnn_input_find(from, name, path))
            return true;
    }
    return false;
}

bool gnn_import_has_triples(const char *dir)
{
    char path[GNN_OUTPUT_PATH];
    bool npy;
    return find_split(dir, 0, path, &npy);
}

static enum gnn_status open_ids(struct triple_importer *t, struct gnn_err *err)
{
    const struct gnn_import_options *const o = t->importer->options;
    const uint64_t memory = gnn_import_budget(t->importer) / 8;
    char path[GNN_OUTPUT_PATH];
    if (t->importer->generated != NULL)
        return GNN_OK;
    if (!find_split(t->importer->source->from, 0, path, &t->npy))
        return gnn_fail(err, GNN_ENOENT, "%s has no train.txt, train.tsv (maybe .gz) or train_hrt.npy",
                        t->importer->source->from);
    t->ids.node_limit = o->nodes != 0 ? o->nodes : GNN_NODE_NONE - 1;
    t->ids.relation_limit = RELATIONS_MAX;
    if (t->npy || o->nodes != 0)
        return GNN_OK;
    GNN_TRY(gnn_names_open(memory, &t->nodes, err));
    GNN_TRY(gnn_names_open(memory, &t->relations, err));
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
    char path[GNN_OUTPUT_PATH];
    bool npy = false;
    struct gnn_triples *in = NULL;
    struct gnn_out_file *out = NULL;
    const struct gnn_knowledge *const graph = t->importer->generated;
    const bool found = graph != NULL || find_split(t->importer->source->from, split, path, &npy);
    if (found && npy != t->npy)
        return gnn_fail(err, GNN_EUSAGE, "%s: the splits must all be text, or all be arrays", path);
    enum gnn_status status = GNN_OK;
    if (graph != NULL)
        status = gnn_triples_generated(graph, t->importer->generated_first[split],
                                       t->importer->generated_first[split + 1] - t->importer->generated_first[split],
                                       &in, err);
    else if (found)
        status = gnn_triples_open(path, npy, &in, err);
    GNN_NEXT(status,
             gnn_out_open(&t->importer->output, gnn_meta_triples_name(split), OUT_BUFFER, GNN_OUT_DATASET, &out, err));
    if (found)
        GNN_NEXT(status, copy_edges(t, split, in, out, err));
    gnn_triples_close(in);
    status = gnn_out_end(out, status, &t->importer->meta, err);
    if (status == GNN_OK && split == 0 && t->importer->meta.triple_count[0] == 0)
        return gnn_fail(err, GNN_EFORMAT, "%s holds no edge", path);
    return status;
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
