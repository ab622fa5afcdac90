/* SPDX-License-Identifier: MIT */
#include "harness/dataset/edges.h"
#include "harness/dataset/import_parts.h"
#include "harness/dataset/sorter.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_EDGES = 65536, NODES_AN_EDGE = 16 /* more than two for each edge are alone already */ };

/* ---- numbering the nodes that occur ---- */

/* A bit per possible ID and, once complete, the rank of each word's first bit. */
struct id_set {
    uint64_t words;
    uint64_t *bits;
    uint32_t *rank; /* (words) */
    uint32_t count;
};

static void id_set_close(struct id_set *set)
{
    free(set->bits);
    free(set->rank);
    *set = (struct id_set){0};
}

static uint64_t id_set_bytes(uint64_t words)
{
    return words * (sizeof(uint64_t) + sizeof(uint32_t));
}

static enum gnn_status id_set_add(struct id_set *set, gnn_node id, uint64_t limit_bytes, struct gnn_err *err)
{
    const uint64_t word = id / 64;
    if (word >= set->words) {
        uint64_t words = set->words > 0 ? set->words : 1024;
        while (words <= word)
            words += words / 2;
        if (id_set_bytes(words) > limit_bytes)
            words = word + 1;
        if (id_set_bytes(words) > limit_bytes)
            return gnn_fail(err, GNN_ECAP,
                            "numbering IDs up to %" PRIu32 " anew takes %" PRIu64 " B of memory, %" PRIu64
                            " are allowed: raise --memory",
                            id, id_set_bytes(words) + GNN_IMPORT_RESERVE + GNN_SORTER_MEMORY_MIN,
                            limit_bytes + GNN_IMPORT_RESERVE + GNN_SORTER_MEMORY_MIN);
        uint64_t *bits = realloc(set->bits, words * sizeof *bits);
        if (bits == NULL)
            return gnn_fail(err, GNN_ENOMEM, "set of %" PRIu64 " IDs", words * 64);
        memset(bits + set->words, 0, (words - set->words) * sizeof *bits);
        set->bits = bits;
        set->words = words;
    }
    set->bits[word] |= UINT64_C(1) << (id % 64);
    return GNN_OK;
}

static enum gnn_status id_set_number(struct id_set *set, struct gnn_err *err)
{
    set->rank = malloc((set->words + 1) * sizeof *set->rank);
    if (set->rank == NULL)
        return gnn_fail(err, GNN_ENOMEM, "to number %" PRIu64 " IDs", set->words * 64);
    set->count = 0;
    for (uint64_t word = 0; word < set->words; word++) {
        set->rank[word] = set->count;
        set->count += (uint32_t)__builtin_popcountll(set->bits[word]);
    }
    return GNN_OK;
}

static gnn_node id_set_rank(const struct id_set *set, gnn_node id)
{
    assert(id / 64 < set->words);
    assert(set->rank != NULL);
    const uint64_t below = set->bits[id / 64] & ((UINT64_C(1) << (id % 64)) - 1);
    return set->rank[id / 64] + (uint32_t)__builtin_popcountll(below);
}

/* ---- reading ---- */

static enum gnn_status open_edges(const struct gnn_importer *importer, struct gnn_edges **out, struct gnn_err *err)
{
    const char *from = importer->source->from;
    char path[GNN_OUTPUT_PATH];
    if (importer->source->format == GNN_IMPORT_OGB) {
        if (!gnn_input_find(from, "edge_index.npy", path))
            return gnn_fail(err, GNN_ENOENT, "%s has no edge_index.npy (nor edge_index.npy.gz)", from);
        return gnn_edges_open(path, true, out, err);
    }
    return gnn_edges_open(gnn_input_find(from, "edges.txt", path) ? path : from, false, out, err);
}

/* Called for each edge of the input, in its order. */
typedef enum gnn_status edge_fn(void *ctx, gnn_node source, gnn_node target, const struct gnn_edges *edges,
                                struct gnn_err *err);

static enum gnn_status for_each_edge(const struct gnn_importer *importer, const char *phase, edge_fn *visit, void *ctx,
                                     struct gnn_err *err)
{
    struct gnn_edges *edges;
    GNN_TRY(open_edges(importer, &edges, err));
    struct gnn_ticker ticker;
    gnn_ticker_start(&ticker, importer->job, phase, gnn_edges_unit(edges), gnn_edges_total(edges));
    enum gnn_status status = GNN_OK;
    bool more = true;
    for (uint64_t count = 1; status == GNN_OK && more; count++) {
        gnn_node source = 0, target = 0;
        status = gnn_edges_next(edges, &source, &target, &more, err);
        if (status == GNN_OK && more)
            status = visit(ctx, source, target, edges, err);
        if (status == GNN_OK && count % TICK_EDGES == 0)
            status = gnn_ticker_set(&ticker, gnn_edges_done(edges), err);
    }
    if (status == GNN_OK) {
        status = gnn_ticker_set(&ticker, gnn_edges_done(edges), err);
        gnn_ticker_end(&ticker);
    }
    gnn_edges_close(edges);
    return status;
}

struct reader {
    const struct gnn_import_options *options;
    struct gnn_sorter *sorter;
    struct id_set ids; /* in use when options->relabel */
    uint64_t id_limit_bytes;
    uint64_t node_limit; /* IDs below it */
    gnn_node largest;
    uint64_t edges; /* of the input */
};

static enum gnn_status collect_ids(void *ctx, gnn_node source, gnn_node target, const struct gnn_edges *edges,
                                   struct gnn_err *err)
{
    (void)edges;
    struct reader *r = ctx;
    GNN_TRY(id_set_add(&r->ids, source, r->id_limit_bytes, err));
    return id_set_add(&r->ids, target, r->id_limit_bytes, err);
}

static enum gnn_status collect_edge(void *ctx, gnn_node source, gnn_node target, const struct gnn_edges *edges,
                                    struct gnn_err *err)
{
    struct reader *r = ctx;
    if (r->options->relabel) {
        source = id_set_rank(&r->ids, source);
        target = id_set_rank(&r->ids, target);
    }
    if (source >= r->node_limit || target >= r->node_limit) {
        char place[GNN_OUTPUT_PATH + 32];
        gnn_edges_place(edges, place, sizeof place);
        return gnn_fail(err, GNN_EFORMAT, "%s joins %" PRIu32 " and %" PRIu32 ", the nodes end at %" PRIu64, place,
                        source, target, r->node_limit - 1);
    }
    r->edges++;
    r->largest = gnn_max_u32(r->largest, gnn_max_u32(source, target));
    if (source == target && r->options->drop_self_loops)
        return GNN_OK;
    const gnn_node from = r->options->transpose ? target : source, to = r->options->transpose ? source : target;
    GNN_TRY(gnn_sorter_add(r->sorter, (uint64_t)to << 32 | from, err));
    if (r->options->add_reverse && source != target)
        GNN_TRY(gnn_sorter_add(r->sorter, (uint64_t)from << 32 | to, err));
    return GNN_OK;
}

/* ---- writing ---- */

/* Keys ascend by target, so the offsets come out in order and need no table. */
static enum gnn_status write_lists(struct gnn_sorter *sorter, const struct gnn_importer *importer,
                                   struct gnn_out_file *indptr, struct gnn_out_file *indices, uint64_t *edges,
                                   struct gnn_err *err)
{
    struct gnn_ticker ticker;
    gnn_ticker_start(&ticker, importer->job, "lists", "edges", gnn_sorter_added(sorter));
    const uint32_t id_bytes = gnn_id_width_bytes(importer->options->id_width);
    uint64_t next = 0; /* the node whose offset is written next */
    *edges = 0;
    for (;;) {
        const uint64_t *keys;
        uint64_t count = 0;
        GNN_TRY(gnn_sorter_next(sorter, &keys, &count, err));
        if (count == 0)
            break;
        for (uint64_t i = 0; i < count; i++) {
            for (const uint64_t target = keys[i] >> 32; next <= target; next++)
                GNN_TRY(gnn_out_write(indptr, edges, sizeof *edges, err));
            const gnn_node source = (gnn_node)keys[i];
            assert(source < importer->meta.node_count);
            GNN_TRY(gnn_out_ids(indices, &source, 1, id_bytes, err));
            (*edges)++;
        }
        GNN_TRY(gnn_ticker_set(&ticker, *edges, err));
    }
    for (; next <= importer->meta.node_count; next++)
        GNN_TRY(gnn_out_write(indptr, edges, sizeof *edges, err));
    gnn_ticker_end(&ticker);
    return GNN_OK;
}

enum gnn_status gnn_import_lists(struct gnn_importer *importer, struct gnn_sorter *sorter, struct gnn_err *err)
{
    struct gnn_out_file *indptr = NULL, *indices = NULL;
    const uint32_t id_bytes = gnn_id_width_bytes(importer->options->id_width);
    importer->meta.id_widths = id_bytes;
    enum gnn_status status = gnn_out_open(&importer->output, "indptr", 65536, GNN_OUT_DATASET, &indptr, err);
    GNN_NEXT(status,
             gnn_out_open(&importer->output, gnn_meta_indices_name(id_bytes), 262144, GNN_OUT_DATASET, &indices, err));
    GNN_NEXT(status, write_lists(sorter, importer, indptr, indices, &importer->meta.edge_count, err));
    status = gnn_out_end(indptr, status, &importer->meta, err);
    return gnn_out_end(indices, status, &importer->meta, err);
}

/* Takes the largest ID + 1 as the number of nodes, unless most of them would be alone: then the IDs are names, or
 * one of them is a slip of the pen. */
static enum gnn_status count_nodes(struct gnn_importer *importer, const struct reader *r, struct gnn_err *err)
{
    if (importer->nodes_known)
        return GNN_OK;
    const uint64_t plausible = gnn_max_u64(gnn_mul_bytes(r->edges, NODES_AN_EDGE), 1 << 20);
    if (r->largest >= plausible)
        return gnn_fail(
            err, GNN_EUSAGE,
            "%s: the largest node ID is %" PRIu32 ", with %" PRIu64
            " edges: add --relabel to number only the nodes that occur, or --nodes N to confirm the number of nodes",
            importer->source->from, r->largest, r->edges);
    importer->meta.node_count = r->largest + 1;
    return GNN_OK;
}

static enum gnn_status sort_edges(struct gnn_importer *importer, struct reader *r, struct gnn_err *err)
{
    assert(id_set_bytes(r->ids.words) <= r->id_limit_bytes);
    const uint64_t budget = gnn_import_budget(importer) - id_set_bytes(r->ids.words);
    GNN_TRY(gnn_sorter_open(&importer->output, budget, importer->options->drop_duplicates, &r->sorter, err));
    GNN_TRY(for_each_edge(importer, "edges", collect_edge, r, err));
    id_set_close(&r->ids);
    if (gnn_sorter_added(r->sorter) == 0)
        return gnn_fail(err, GNN_EFORMAT, "%s holds no edge", importer->source->from);
    GNN_TRY(count_nodes(importer, r, err));
    GNN_TRY(gnn_sorter_finish(r->sorter, err));
    return gnn_import_lists(importer, r->sorter, err);
}

enum gnn_status gnn_import_topology(struct gnn_importer *importer, struct gnn_err *err)
{
    struct reader r = {.options = importer->options, .node_limit = GNN_NODE_NONE};
    if (importer->nodes_known)
        r.node_limit = importer->meta.node_count;
    r.id_limit_bytes = gnn_import_budget(importer) - GNN_SORTER_MEMORY_MIN;
    enum gnn_status status = GNN_OK;
    if (importer->options->relabel) {
        status = for_each_edge(importer, "ids", collect_ids, &r, err);
        GNN_NEXT(status, id_set_number(&r.ids, err));
        r.node_limit = status == GNN_OK ? r.ids.count : 0;
    }
    GNN_NEXT(status, sort_edges(importer, &r, err));
    gnn_sorter_close(r.sorter);
    id_set_close(&r.ids);
    return status;
}
