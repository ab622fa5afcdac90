/* SPDX-License-Identifier: MIT */
#include "harness/dataset/import_lists.h"

#include "harness/dataset/isolated.h"
#include "harness/dataset/sorter.h"

#include <inttypes.h>

enum gnn_status gnn_list_writer_open(struct gnn_importer *importer, struct gnn_list_writer *out, struct gnn_err *err)
{
    const uint32_t id_bytes = gnn_id_width_bytes(importer->options->id_width);
    *out = (struct gnn_list_writer){.importer = importer, .previous = UINT64_MAX, .id_bytes = id_bytes};
    importer->meta.id_widths = id_bytes;
    GNN_TRY(gnn_isolated_open(importer->meta.node_count, gnn_import_budget(importer) / GNN_ISOLATED_SHARE,
                              &out->isolated, err));
    GNN_TRY(gnn_out_open(&importer->output, "indptr", 65536, GNN_OUT_DATASET, &out->indptr, err));
    return gnn_out_open(&importer->output, gnn_meta_indices_name(id_bytes), 262144, GNN_OUT_DATASET, &out->indices,
                        err);
}

enum gnn_status gnn_list_writer_add(struct gnn_list_writer *w, gnn_node source, gnn_node target, struct gnn_err *err)
{
    const uint64_t key = (uint64_t)target << 32 | source;
    assert(source < w->importer->meta.node_count);
    assert(target < w->importer->meta.node_count);
    assert(target + UINT64_C(1) >= w->next);
    for (; w->next <= target; w->next++)
        GNN_TRY(gnn_out_write(w->indptr, &w->edges, sizeof w->edges, err));
    w->importer->report.repeats += key == w->previous;
    w->previous = key;
    gnn_isolated_mark(w->isolated, source, target);
    w->edges++;
    return gnn_out_ids(w->indices, &source, 1, w->id_bytes, err);
}

enum gnn_status gnn_list_writer_end(struct gnn_list_writer *w, enum gnn_status status, struct gnn_err *err)
{
    struct gnn_importer *const importer = w->importer;
    for (; w->next <= importer->meta.node_count && status == GNN_OK; w->next++)
        status = gnn_out_write(w->indptr, &w->edges, sizeof w->edges, err);
    importer->meta.edge_count = w->edges;
    status = gnn_out_end(w->indptr, status, &importer->meta, err);
    status = gnn_out_end(w->indices, status, &importer->meta, err);
    GNN_NEXT(status, gnn_isolated_count(w->isolated, &importer->output, w->id_bytes, &importer->report.isolated,
                                        &importer->report.first_isolated, err));
    gnn_isolated_close(w->isolated);
    if (status == GNN_OK && importer->generated == NULL)
        gnn_meta_add_param(&importer->meta, GNN_META_ISOLATED, "%" PRIu64, importer->report.isolated);
    return status;
}

static enum gnn_status add_sorted(struct gnn_list_writer *w, struct gnn_sorter *sorter, struct gnn_err *err)
{
    struct gnn_ticker ticker;
    gnn_ticker_start(&ticker, w->importer->job, "lists", "edges", gnn_sorter_added(sorter));
    for (;;) {
        const uint64_t *keys;
        uint64_t count = 0;
        GNN_TRY(gnn_sorter_next(sorter, &keys, &count, err));
        if (count == 0)
            break;
        for (uint64_t i = 0; i < count; i++)
            GNN_TRY(gnn_list_writer_add(w, (gnn_node)keys[i], (gnn_node)(keys[i] >> 32), err));
        GNN_TRY(gnn_ticker_set(&ticker, w->edges, err));
    }
    gnn_ticker_end(&ticker);
    return GNN_OK;
}

enum gnn_status gnn_import_lists(struct gnn_importer *importer, struct gnn_sorter *sorter, struct gnn_err *err)
{
    struct gnn_list_writer writer;
    enum gnn_status status = gnn_list_writer_open(importer, &writer, err);
    GNN_NEXT(status, add_sorted(&writer, sorter, err));
    return gnn_list_writer_end(&writer, status, err);
}
