/* SPDX-License-Identifier: MIT */
#include "harness/dataset/edge_arrays.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { PAIRS = GNN_NPY_BATCH / 2 };

struct gnn_edge_arrays {
    enum gnn_edge_form form;
    bool interleaved;          /* one reader, of pairs */
    struct gnn_npy *reader[2]; /* CSC and CSR: offsets, IDs */
    uint64_t total, taken;
    uint64_t at, filled;
    int64_t batch[2 * PAIRS], second[PAIRS]; /* interleaved: pairs in batch; CSC and CSR: IDs in batch */
    uint64_t list, list_end;                 /* CSC and CSR: node of the current list, offset of its end */
};

/* ---- opening ---- */

static enum gnn_status check_integers(const struct gnn_npy *npy, struct gnn_err *err)
{
    const struct gnn_npy_header *const h = &npy->header;
    if (h->kind == 'i' || h->kind == 'u')
        return GNN_OK;
    return gnn_fail(err, GNN_EFORMAT,
                    "%s: node IDs of dtype '%c%" PRIu32 "', expected integers: save them as int64 where they are made",
                    npy->input->path, h->kind, h->item_bytes);
}

static enum gnn_status open_table(struct gnn_edge_arrays *a, const struct gnn_edge_files *files, struct gnn_err *err)
{
    GNN_TRY(gnn_npy_open_as(files->path[0], &files->raw[0], &a->reader[0], err));
    GNN_TRY(check_integers(a->reader[0], err));
    const struct gnn_npy_header *const h = &a->reader[0]->header;
    const bool rows = h->dim_count == 2 && h->shape[0] == 2, pairs = h->dim_count == 2 && h->shape[1] == 2;
    if (!rows && !pairs)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: an array of %" PRIu32 " dimensions with %" PRIu64 " numbers, expected the shape [2, E] or "
                        "[E, 2]%s",
                        files->path[0], h->dim_count, h->items,
                        h->dim_count != 2  ? ""
                        : h->shape[0] == 3 ? ": save a[:2], without weights or types"
                        : h->shape[1] == 3 ? ": save a[:, :2], without weights or types"
                                           : "");
    a->total = h->items / 2;
    a->interleaved = rows ? h->fortran : !h->fortran;
    gnn_npy_read_as_stored(a->reader[0]);
    if (a->interleaved)
        return GNN_OK;
    GNN_TRY(gnn_npy_open_as(files->path[0], &files->raw[0], &a->reader[1], err));
    gnn_npy_read_as_stored(a->reader[1]);
    return gnn_npy_skip(a->reader[1], a->total, err);
}

static enum gnn_status open_both(struct gnn_edge_arrays *a, const struct gnn_edge_files *files, struct gnn_err *err)
{
    for (int i = 0; i < 2; i++) {
        GNN_TRY(gnn_npy_open_as(files->path[i], &files->raw[i], &a->reader[i], err));
        GNN_TRY(check_integers(a->reader[i], err));
        const struct gnn_npy_header *const h = &a->reader[i]->header;
        if (h->dim_count == 0 || (h->dim_count == 2 && h->shape[0] != 1 && h->shape[1] != 1))
            return gnn_fail(err, GNN_EFORMAT, "%s: expected an array of one dimension", files->path[i]);
    }
    return GNN_OK;
}

static enum gnn_status open_columns(struct gnn_edge_arrays *a, const struct gnn_edge_files *files, struct gnn_err *err)
{
    GNN_TRY(open_both(a, files, err));
    const uint64_t sources = a->reader[0]->header.items, targets = a->reader[1]->header.items;
    if (sources != targets)
        return gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " targets, expected one for each of the %" PRIu64 " sources",
                        files->path[1], targets, sources);
    a->total = sources;
    return GNN_OK;
}

static enum gnn_status open_lists(struct gnn_edge_arrays *a, const struct gnn_edge_files *files, struct gnn_err *err)
{
    int64_t first = -1;
    GNN_TRY(open_both(a, files, err));
    if (a->reader[0]->header.items < 2)
        return gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " offsets, expected one more than there are nodes",
                        files->path[0], a->reader[0]->header.items);
    GNN_TRY(gnn_npy_read_i64(a->reader[0], &first, 1, err));
    if (first != 0)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: starts at %" PRId64
                        ", expected 0: save a - a[0], and the indices less 1 if these start at 1, too",
                        files->path[0], first);
    a->total = a->reader[1]->header.items;
    a->list = UINT64_MAX; /* before node 0 */
    return GNN_OK;
}

enum gnn_status gnn_edge_arrays_open(const struct gnn_edge_files *files, struct gnn_edge_arrays **out,
                                     struct gnn_err *err)
{
    struct gnn_edge_arrays *a;
    assert(files->form != GNN_EDGES_NONE);
    GNN_NEW(a, 1, err, "reader of %s", files->path[0]);
    a->form = files->form;
    enum gnn_status status;
    if (files->form == GNN_EDGES_TABLE)
        status = open_table(a, files, err);
    else if (files->form == GNN_EDGES_COLUMNS)
        status = open_columns(a, files, err);
    else
        status = open_lists(a, files, err);
    return GNN_OPENED(status, a, out, gnn_edge_arrays_close);
}

void gnn_edge_arrays_close(struct gnn_edge_arrays *arrays)
{
    if (arrays == NULL)
        return;
    gnn_npy_close(arrays->reader[0]);
    gnn_npy_close(arrays->reader[1]);
    free(arrays);
}

/* ---- reading ---- */

static bool is_lists(const struct gnn_edge_arrays *a)
{
    return a->form == GNN_EDGES_CSC || a->form == GNN_EDGES_CSR;
}

static enum gnn_status fill(struct gnn_edge_arrays *a, struct gnn_err *err)
{
    a->at = 0;
    a->filled = gnn_min_u64(a->total - a->taken, PAIRS);
    if (a->interleaved)
        return gnn_npy_read_i64(a->reader[0], a->batch, 2 * a->filled, err);
    GNN_TRY(gnn_npy_read_i64(a->reader[is_lists(a) ? 1 : 0], a->batch, a->filled, err));
    return is_lists(a) ? GNN_OK : gnn_npy_read_i64(a->reader[1], a->second, a->filled, err);
}

/* Moves on to the list that has the next ID. */
static enum gnn_status find_list(struct gnn_edge_arrays *a, struct gnn_err *err)
{
    struct gnn_npy *const offsets = a->reader[0];
    while (a->list == UINT64_MAX || a->list_end == a->taken) {
        int64_t end = 0;
        if (offsets->read_items == offsets->header.items)
            return gnn_fail(err, GNN_EFORMAT, "%s: ends at %" PRIu64 ", expected the %" PRIu64 " IDs of %s",
                            offsets->input->path, a->taken, a->total, a->reader[1]->input->path);
        GNN_TRY(gnn_npy_read_i64(offsets, &end, 1, err));
        a->list++;
        if (end < 0 || (uint64_t)end < a->taken || (uint64_t)end > a->total)
            return gnn_fail(err, GNN_EFORMAT,
                            "%s: list %" PRIu64 " ends at %" PRId64 ", expected %" PRIu64 " to %" PRIu64,
                            offsets->input->path, a->list, end, a->taken, a->total);
        a->list_end = (uint64_t)end;
    }
    return GNN_OK;
}

static enum gnn_status end_of(struct gnn_edge_arrays *a, struct gnn_err *err)
{
    if (is_lists(a)) {
        struct gnn_npy *const offsets = a->reader[0];
        while (offsets->read_items < offsets->header.items) {
            int64_t end = 0;
            GNN_TRY(gnn_npy_read_i64(offsets, &end, 1, err));
            if (end < 0 || (uint64_t)end != a->total)
                return gnn_fail(err, GNN_EFORMAT, "%s: offset %" PRIu64 " is %" PRId64 ", expected the %" PRIu64 " IDs",
                                offsets->input->path, offsets->read_items - 1, end, a->total);
        }
        GNN_TRY(gnn_npy_expect_end(offsets, err));
    }
    struct gnn_npy *const last = a->reader[1] != NULL ? a->reader[1] : a->reader[0];
    return gnn_npy_expect_end(last, err);
}

enum gnn_status gnn_edge_arrays_next(struct gnn_edge_arrays *a, gnn_node *source, gnn_node *target, bool *more,
                                     struct gnn_err *err)
{
    assert(a->taken <= a->total);
    *more = a->taken < a->total;
    if (!*more)
        return end_of(a, err);
    if (a->at == a->filled)
        GNN_TRY(fill(a, err));
    if (is_lists(a))
        GNN_TRY(find_list(a, err));
    assert(a->at < a->filled);
    int64_t from = a->batch[a->interleaved ? 2 * a->at : a->at], to;
    if (is_lists(a))
        to = (int64_t)a->list;
    else
        to = a->interleaved ? a->batch[2 * a->at + 1] : a->second[a->at];
    if (from < 0 || to < 0 || from >= GNN_NODE_NONE || to >= GNN_NODE_NONE)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: edge %" PRIu64 " joins %" PRId64 " and %" PRId64 ", expected node IDs from 0 to %" PRIu32,
                        gnn_edge_arrays_path(a), a->taken, from, to, GNN_NODE_NONE - 1);
    *source = (gnn_node)(a->form == GNN_EDGES_CSR ? to : from);
    *target = (gnn_node)(a->form == GNN_EDGES_CSR ? from : to);
    a->at++;
    a->taken++;
    return GNN_OK;
}

const char *gnn_edge_arrays_path(const struct gnn_edge_arrays *arrays)
{
    return arrays->reader[is_lists(arrays) ? 1 : 0]->input->path;
}

uint64_t gnn_edge_arrays_total(const struct gnn_edge_arrays *arrays)
{
    return arrays->total;
}

uint64_t gnn_edge_arrays_taken(const struct gnn_edge_arrays *arrays)
{
    return arrays->taken;
}

uint64_t gnn_edge_arrays_nodes(const struct gnn_edge_arrays *arrays)
{
    return is_lists(arrays) ? arrays->reader[0]->header.items - 1 : 0;
}
