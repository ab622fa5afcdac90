/* SPDX-License-Identifier: MIT */
#include "harness/base/rng.h"
#include "harness/dataset/import_edges.h"
#include "harness/dataset/import_ids.h"
#include "harness/dataset/import_lists.h"
#include "harness/dataset/sorter.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { NODES_AN_EDGE = 16 /* more than two for each edge are alone already */ };

/* ---- reading ---- */

struct reader {
    const struct gnn_import_options *options;
    struct gnn_sorter *sorter;
    struct gnn_list_writer lists; /* if options->keep_order, instead of the sorter */
    struct gnn_ids *ids;          /* if options->relabel */
    bool wide;                    /* they may be above 2^32 - 2 */
    uint64_t largest_occurred;    /* ID before numbering */
    uint64_t node_limit;          /* IDs below it */
    gnn_node largest;
    struct gnn_edge_report *report;
};

static enum gnn_status collect_ids(void *ctx, uint64_t source, uint64_t target, const struct gnn_edge_reader *edges,
                                   struct gnn_err *err)
{
    (void)edges;
    struct reader *r = ctx;
    r->largest_occurred = gnn_max_u64(r->largest_occurred, gnn_max_u64(source, target));
    if (!r->wide && r->largest_occurred >= GNN_NODE_NONE)
        return GNN_OK; /* another pass collects all of them */
    GNN_TRY(gnn_ids_add(r->ids, source, err));
    return gnn_ids_add(r->ids, target, err);
}

/* Keeps what the order, the ends and the directions of the edges reveal about the file. */
static void tally(struct gnn_edge_report *report, uint64_t source, uint64_t target)
{
    if (report->edges == 0) {
        report->first[0] = source;
        report->first[1] = target;
    } else {
        report->rest_largest = gnn_max_u64(report->rest_largest, gnn_max_u64(source, target));
    }
    report->edges++;
    if (source < target)
        report->directions += gnn_splitmix64_at(source, target);
    else if (target < source)
        report->directions -= gnn_splitmix64_at(target, source);
}

static enum gnn_status fail_outside(const struct reader *r, uint64_t source, uint64_t target,
                                    const struct gnn_edge_reader *edges, struct gnn_err *err)
{
    char place[GNN_OUTPUT_PATH + 32], counts[GNN_OUTPUT_PATH + 256];
    gnn_import_edge_place(edges, place, sizeof place);
    gnn_import_counts_remedy(edges, r->report->edges == 1, counts, sizeof counts);
    if (source >= GNN_NODE_NONE || target >= GNN_NODE_NONE)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s joins %" PRIu64 " and %" PRIu64
                        ": a node ID above 4294967294; add --relabel to number the nodes that occur",
                        place, source, target);
    const bool next = gnn_max_u64(source, target) == r->node_limit;
    return gnn_fail(err, GNN_EFORMAT, "%s joins %" PRIu64 " and %" PRIu64 ", the nodes end at %" PRIu64 "%s%s", place,
                    source, target, r->node_limit - 1, counts,
                    next && counts[0] == '\0' ? "; if the IDs start at 1, subtract 1 from each" : "");
}

static enum gnn_status collect_edge(void *ctx, uint64_t source, uint64_t target, const struct gnn_edge_reader *edges,
                                    struct gnn_err *err)
{
    struct reader *r = ctx;
    tally(r->report, source, target);
    if (r->options->relabel) {
        source = gnn_ids_rank(r->ids, source);
        target = gnn_ids_rank(r->ids, target);
    }
    if (source >= r->node_limit || target >= r->node_limit)
        return fail_outside(r, source, target, edges, err);
    r->largest = gnn_max_u32(r->largest, (gnn_node)gnn_max_u64(source, target));
    if (source == target && r->options->drop_self_loops)
        return GNN_OK;
    const uint64_t from = r->options->transpose ? target : source, to = r->options->transpose ? source : target;
    GNN_TRY(gnn_sorter_add(r->sorter, to << 32 | from, err));
    if (r->options->add_reverse && source != target)
        GNN_TRY(gnn_sorter_add(r->sorter, from << 32 | to, err));
    return GNN_OK;
}

/* ---- edges that are written in the order of the input ---- */

static enum gnn_status append_edge(void *ctx, uint64_t source, uint64_t target, const struct gnn_edge_reader *edges,
                                   struct gnn_err *err)
{
    struct reader *r = ctx;
    char place[GNN_OUTPUT_PATH + 32];
    tally(r->report, source, target);
    if (source >= r->node_limit || target >= r->node_limit)
        return fail_outside(r, source, target, edges, err);
    if (target + 1 < r->lists.next) {
        gnn_import_edge_place(edges, place, sizeof place);
        return gnn_fail(err, GNN_EFORMAT,
                        "%s goes to node %" PRIu64 ", after an edge to node %" PRIu64
                        ": with --keep-order, edges are grouped by target, in ascending order; leave it out to sort "
                        "them",
                        place, target, r->lists.next - 1);
    }
    if (source == target && r->options->drop_self_loops)
        return GNN_OK;
    return gnn_list_writer_add(&r->lists, (gnn_node)source, (gnn_node)target, err);
}

static enum gnn_status append_edges(struct gnn_importer *importer, struct reader *r, struct gnn_edge_reader *edges,
                                    struct gnn_err *err)
{
    if (!importer->nodes_known)
        return gnn_fail(err, GNN_EUSAGE,
                        "--keep-order: neither features nor labels of %s state the number of nodes; leave it out",
                        importer->source->from);
    edges->visit = append_edge;
    enum gnn_status status = gnn_list_writer_open(importer, &r->lists, err);
    GNN_NEXT(status, gnn_import_each_edge(edges, "edges", false, err));
    if (status == GNN_OK && r->lists.edges == 0)
        status = gnn_fail(err, GNN_EFORMAT, "%s holds no edge", importer->source->from);
    GNN_NEXT(status, gnn_import_judge_counts(importer, err));
    GNN_TRY(gnn_list_writer_end(&r->lists, status, err));
    gnn_meta_add_param(&importer->meta, GNN_META_LIST_ORDER, GNN_META_LIST_ORDER_INPUT);
    return gnn_import_judge_lists(importer, err);
}

/* ---- edges that are sorted ---- */

/* Takes the number of nodes that a matrix states, or the largest ID + 1, unless most nodes would be alone: then the IDs
 * are names, or one of them is a slip of the pen. */
static enum gnn_status count_nodes(struct gnn_importer *importer, const struct reader *r, struct gnn_err *err)
{
    const struct gnn_edge_report *const report = r->report;
    if (importer->nodes_known)
        return GNN_OK;
    importer->meta.node_count = r->largest + 1;
    if (report->facts.matrix && !r->options->relabel)
        importer->meta.node_count = (uint32_t)report->facts.nodes;
    const uint64_t plausible = gnn_max_u64(gnn_mul_bytes(report->edges, NODES_AN_EDGE), 1 << 20);
    if (r->largest >= plausible && importer->source->format == GNN_IMPORT_OGB)
        return gnn_fail(err, GNN_EUSAGE,
                        "%s: the largest node ID is %" PRIu32 ", with %" PRIu64
                        " edges: numpy.unique(a, return_inverse=True)[1].reshape(a.shape) numbers the nodes that occur",
                        importer->source->from, r->largest, report->edges);
    if (r->largest >= plausible && !report->facts.matrix)
        return gnn_fail(
            err, GNN_EUSAGE,
            "%s: the largest node ID is %" PRIu32 ", with %" PRIu64
            " edges: add --relabel to number only the nodes that occur, or --nodes N to confirm the number of nodes",
            importer->source->from, r->largest, report->edges);
    return GNN_OK;
}

/* Collects the IDs that occur. Those above 2^32 take another pass. */
static enum gnn_status number_ids(struct gnn_importer *importer, struct reader *r, struct gnn_edge_reader *edges,
                                  struct gnn_err *err)
{
    const uint64_t limit_bytes = gnn_import_budget(importer) - GNN_SORTER_MEMORY_MIN;
    edges->visit = collect_ids;
    GNN_TRY(gnn_ids_open(&importer->output, false, limit_bytes, &r->ids, err));
    GNN_TRY(gnn_import_each_edge(edges, "ids", true, err));
    if (r->largest_occurred >= GNN_NODE_NONE) {
        gnn_ids_close(r->ids);
        r->ids = NULL;
        r->wide = true;
        GNN_TRY(gnn_ids_open(&importer->output, true, limit_bytes, &r->ids, err));
        GNN_TRY(gnn_import_each_edge(edges, "ids", true, err));
    }
    GNN_TRY(gnn_ids_number(r->ids, err));
    r->node_limit = gnn_ids_count(r->ids);
    return GNN_OK;
}

static enum gnn_status sort_edges(struct gnn_importer *importer, struct reader *r, struct gnn_edge_reader *edges,
                                  struct gnn_err *err)
{
    const uint64_t ids_bytes = r->ids != NULL ? gnn_ids_bytes(r->ids) : 0, budget = gnn_import_budget(importer);
    const uint64_t others = gnn_max_u64(ids_bytes, budget / GNN_ISOLATED_SHARE); /* one after the other */
    assert(others <= budget - GNN_SORTER_MEMORY_MIN);
    GNN_TRY(gnn_sorter_open(&importer->output, budget - others, importer->options->drop_duplicates, &r->sorter, err));
    edges->visit = collect_edge;
    GNN_TRY(gnn_import_each_edge(edges, "edges", false, err));
    gnn_ids_close(r->ids);
    r->ids = NULL;
    if (gnn_sorter_added(r->sorter) == 0)
        return gnn_fail(err, GNN_EFORMAT, "%s holds no edge", importer->source->from);
    GNN_TRY(gnn_import_judge_counts(importer, err));
    GNN_TRY(count_nodes(importer, r, err));
    GNN_TRY(gnn_sorter_finish(r->sorter, err));
    GNN_TRY(gnn_import_lists(importer, r->sorter, err));
    return gnn_import_judge_lists(importer, err);
}

enum gnn_status gnn_import_topology(struct gnn_importer *importer, struct gnn_err *err)
{
    struct reader r = {.options = importer->options, .node_limit = GNN_NODE_NONE, .report = &importer->report};
    struct gnn_edge_reader edges = {.importer = importer, .ctx = &r};
    if (importer->nodes_known)
        r.node_limit = importer->meta.node_count;
    enum gnn_status status = importer->options->relabel ? number_ids(importer, &r, &edges, err) : GNN_OK;
    if (status == GNN_OK)
        status = importer->options->keep_order ? append_edges(importer, &r, &edges, err)
                                               : sort_edges(importer, &r, &edges, err);
    gnn_sorter_close(r.sorter);
    gnn_ids_close(r.ids);
    return status;
}
