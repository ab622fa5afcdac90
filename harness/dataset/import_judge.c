/* SPDX-License-Identifier: MIT */
/* Compares what an edge list states about itself with what was read, and warns where an option is likely missing. */
#include "harness/base/log.h"
#include "harness/dataset/import_parts.h"
#include "harness/dataset/input_kind.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    COUNTED_LINES_MIN = 10, /* of a list whose first line may be counts: shorter ones match by chance */
    PIPE_BYTES = GNN_OUTPUT_PATH + 128,
};

static const double occurring_expected = 0.9; /* share of the nodes; fewer are worth a warning */
static const double occurring_least = 0.1;    /* fewer make a useless dataset */
static const double repeats_expected = 0.25;  /* share of the stored edges that repeat another one */

/* ---- counts ---- */

/* The first line "N M" of an edge list is no edge: M is the number of the other lines, or of undirected edges in them,
 * and N is at least as large as any other ID. */
static bool begins_with_counts(const struct gnn_edge_report *r)
{
    const uint64_t others = r->lines - 1;
    if (!r->text || r->facts.matrix || r->lines < COUNTED_LINES_MIN || r->heading_line > 0)
        return false;
    for (int i = 0; i < 2; i++) {
        const uint64_t nodes = r->first[i], edges = r->first[1 - i];
        const bool counts = edges == others || (others % 2 == 0 && edges == others / 2);
        if ((counts && nodes >= r->rest_largest) ||
            (nodes > r->rest_largest && edges > r->rest_largest && edges > nodes && nodes <= r->rest_largest + 1))
            return true;
    }
    return false;
}

/* The header counts the edges of a whole file, each once, or in both directions. */
static void judge_lines(const struct gnn_edge_report *r)
{
    const uint64_t stated = r->facts.edges;
    if (r->text && r->unended && stated != r->lines)
        gnn_log_warn("%s: its last line has no line end: the file may be cut off; compare its size with the "
                     "publisher's",
                     r->path);
    if (!r->text || r->facts.matrix || stated == GNN_UNSTATED || stated == r->lines)
        return;
    if (r->lines > stated)
        gnn_log_warn("%s: %" PRIu64 " edges are stated, and it has %" PRIu64 "%s", r->path, stated, r->lines,
                     r->lines == 2 * stated ? ": it stores each edge in both directions, or twice" : "");
    else
        gnn_log_warn("%s: %" PRIu64 " edges are stated, and it has %" PRIu64
                     ": it may be incomplete; compare its size with the publisher's%s",
                     r->path, stated, r->lines,
                     stated == 2 * r->lines ? " (the header may also count both directions)" : "");
}

static void judge_columns(const struct gnn_importer *importer)
{
    const struct gnn_edge_report *const r = &importer->report;
    if (!r->text || r->facts.matrix)
        return;
    if (r->extra > 0 && !importer->options->ignore_columns)
        gnn_log_warn("%s has %" PRIu32
                     " columns: only the node IDs are used, not further columns such as weights or times; "
                     "--ignore-columns confirms it",
                     r->path, r->extra + 2);
    if (r->heading_line > 0)
        gnn_log_warn("%s:%" PRIu64 " has the names of the columns and is not read as an edge", r->path,
                     r->heading_line);
}

enum gnn_status gnn_import_judge_counts(struct gnn_importer *importer, struct gnn_err *err)
{
    const struct gnn_edge_report *const r = &importer->report;
    char pipe[PIPE_BYTES], command[64];
    if (begins_with_counts(r)) {
        (void)snprintf(command, sizeof command, "tail -n +%" PRIu64, r->first_line + 1);
        return gnn_fail(err, GNN_EFORMAT,
                        "%s:%" PRIu64 ": '%" PRIu64 " %" PRIu64 "' looks like the counts of nodes and edges (%" PRIu64
                        " lines follow, with IDs up to %" PRIu64
                        "). --from %s begins behind it. If it is an edge, move it to another line",
                        r->path, r->first_line, r->first[0], r->first[1], r->lines - 1, r->rest_largest,
                        gnn_input_pipe(r->path, command, pipe, sizeof pipe));
    }
    judge_lines(r);
    judge_columns(importer);
    return GNN_OK;
}

/* ---- nodes ---- */

/* Returns whether a file or an option states the number of nodes. Otherwise, the largest ID defines it. */
static bool nodes_are_stated(const struct gnn_importer *importer)
{
    const struct gnn_edge_report *const r = &importer->report;
    return importer->nodes_known || importer->options->relabel || !r->text || r->facts.matrix;
}

/* Compares the header's number of nodes. Returns whether it explains the nodes without edges. */
static bool judge_stated_nodes(const struct gnn_importer *importer, uint64_t occurring)
{
    const struct gnn_edge_report *const r = &importer->report;
    const uint64_t stated = r->facts.nodes, nodes = importer->meta.node_count;
    if (!r->text || r->facts.matrix || stated == GNN_UNSTATED)
        return false;
    if (stated == nodes)
        return true;
    if (stated == occurring)
        return false;
    if (stated > nodes)
        gnn_log_warn("%s: its header states %" PRIu64 " nodes, and %" PRIu64 " occur: --nodes %" PRIu64
                     " adds those without edges, unless the file is incomplete",
                     r->path, stated, occurring, stated);
    else
        gnn_log_warn("%s: its header states %" PRIu64 " nodes, and %" PRIu64 " occur", r->path, stated, occurring);
    return false;
}

/* The same for arrays, which no option numbers. */
static void judge_array_gaps(const struct gnn_importer *importer, uint64_t occurring)
{
    const struct gnn_edge_report *const r = &importer->report;
    const uint64_t nodes = importer->meta.node_count;
    if (r->first_isolated && r->isolated == 1)
        gnn_log_warn("%s: node 0 occurs in no edge, so the IDs seem to start at 1: save the edges less 1",
                     importer->source->from);
    else if ((double)occurring < occurring_expected * (double)nodes)
        gnn_log_warn("%s: %" PRIu64 " of %" PRIu64
                     " node IDs occur in no edge: numpy.unique(a, return_inverse=True)[1].reshape(a.shape) numbers "
                     "those that occur",
                     importer->source->from, r->isolated, nodes);
}

/* Warns of IDs that start at 1 or have gaps. */
static enum gnn_status judge_gaps(const struct gnn_importer *importer, uint64_t occurring, struct gnn_err *err)
{
    const struct gnn_edge_report *const r = &importer->report;
    const uint64_t nodes = importer->meta.node_count;
    if (!r->text && !importer->nodes_known)
        judge_array_gaps(importer, occurring);
    if (nodes_are_stated(importer) || r->isolated == 0)
        return GNN_OK;
    if ((double)occurring < occurring_least * (double)nodes)
        return gnn_fail(err, GNN_EUSAGE,
                        "%s: %" PRIu64 " of %" PRIu64
                        " node IDs occur in no edge: add --relabel to number those that occur, or --nodes %" PRIu64
                        " to confirm the number of nodes",
                        importer->source->from, r->isolated, nodes, nodes);
    if (r->first_isolated && (r->isolated == 1 || r->facts.konect || r->facts.nodes == nodes - 1))
        gnn_log_warn("%s: node 0 occurs in no edge, so the IDs seem to start at 1: --relabel numbers the nodes from 0",
                     r->path);
    if ((double)occurring < occurring_expected * (double)nodes)
        gnn_log_warn("%s: %" PRIu64 " of %" PRIu64
                     " node IDs occur in no edge: --relabel numbers those that occur; --nodes %" PRIu64
                     " confirms the number of nodes",
                     r->path, r->isolated, nodes, nodes);
    return GNN_OK;
}

/* ---- directions ---- */

static void judge_directions(const struct gnn_importer *importer)
{
    const struct gnn_import_options *const o = importer->options;
    const struct gnn_edge_report *const r = &importer->report;
    const char *const from = importer->source->from;
    const double repeated = (double)r->repeats / (double)gnn_max_u64(importer->meta.edge_count, 1);
    if (r->text && r->facts.undirected && r->directions != 0 && !o->add_reverse)
        gnn_log_warn("%s: its header states an undirected graph, and each edge is stored in one direction: "
                     "--add-reverse also stores the other",
                     from);
    if (r->text && importer->source->format == GNN_IMPORT_OGB && r->directions != 0 && !o->add_reverse)
        gnn_log_info("%s stores each edge in one direction. OGB's loader adds the reverse edges of ogbn-products and "
                     "ogbn-proteins: --add-reverse stores them, too",
                     r->path);
    if (o->drop_duplicates || repeated < repeats_expected || (!r->text && !o->add_reverse))
        return;
    if (o->add_reverse && r->directions == 0)
        gnn_log_warn("%s stores every edge in both directions, and --add-reverse stores each again: leave it out, or "
                     "add --drop-duplicates",
                     from);
    else
        gnn_log_warn("%s: %" PRIu64 " of %" PRIu64 " stored edges repeat another one: --drop-duplicates keeps one of "
                     "each",
                     from, r->repeats, importer->meta.edge_count);
}

enum gnn_status gnn_import_judge_lists(struct gnn_importer *importer, struct gnn_err *err)
{
    const uint64_t occurring = importer->meta.node_count - importer->report.isolated;
    if (!judge_stated_nodes(importer, occurring))
        GNN_TRY(judge_gaps(importer, occurring, err));
    judge_directions(importer);
    return GNN_OK;
}
