/* SPDX-License-Identifier: MIT */
#include "harness/system/scan.h"

#include "harness/base/id_width.h"
#include "harness/graph/invariants.h"
#include "harness/storage/stream.h"
#include "harness/system/epoch.h"

#include <inttypes.h>

enum { SPANS = 4 };
static const uint64_t span_bytes_min = UINT64_C(256) << 10;

struct cursor {
    const struct gnn_stream *stream;
    uint64_t at_bytes, end_bytes, step_bytes;
};

static bool next_span(void *ctx, struct gnn_span *out)
{
    struct cursor *const cursor = ctx;
    if (cursor->at_bytes >= cursor->end_bytes)
        return false;
    *out = (struct gnn_span){.stream = cursor->stream,
                             .offset_bytes = cursor->at_bytes,
                             .len_bytes = gnn_min_u64(cursor->end_bytes - cursor->at_bytes, cursor->step_bytes)};
    cursor->at_bytes += out->len_bytes;
    return true;
}

/* Neighbour IDs become gnn_nodes, in place. */
static enum gnn_status take_ids(const struct gnn_dataset *d, void *data, uint64_t first, uint64_t count,
                                struct gnn_err *err)
{
    GNN_TRY(gnn_check_ids(data, d->id_bytes, count, first, d->node_count, d->indices_path, err));
    gnn_ids_narrow(data, d->id_bytes, count, data);
    return GNN_OK;
}

static enum gnn_status visit_all(const struct gnn_env *env, const struct gnn_scan *scan, struct gnn_span_reader *reader,
                                 struct cursor *cursor, gnn_scan_fn *visit, void *ctx, struct gnn_err *err)
{
    gnn_span_reader_start(reader, next_span, cursor);
    for (;;) {
        struct gnn_span span;
        void *data;
        GNN_TRY(gnn_check_stop(env, err));
        GNN_TRY(gnn_span_reader_next(reader, &span, &data, err));
        if (data == NULL)
            return GNN_OK;
        const uint64_t first = span.offset_bytes / scan->unit_bytes, count = span.len_bytes / scan->unit_bytes;
        assert(span.len_bytes % scan->unit_bytes == 0);
        if (scan->ids)
            GNN_TRY(take_ids(env->dataset, data, first, count, err));
        GNN_TRY(visit(ctx, first, data, count, err));
    }
}

/* Pieces begin on sectors and end between units. */
static uint64_t step_bytes(uint64_t unit_bytes)
{
    const uint64_t common = gnn_min_u64(unit_bytes & -unit_bytes, GNN_PAGE_BYTES); /* a power of two */
    return gnn_round_up(span_bytes_min, unit_bytes / common * GNN_PAGE_BYTES);
}

uint64_t gnn_scan_bytes(uint64_t unit_bytes)
{
    const struct gnn_span_reader_config config = {.depth = SPANS, .span_bytes_max = step_bytes(unit_bytes)};
    return gnn_span_reader_bytes(&config);
}

static enum gnn_status scan_opened(const struct gnn_env *env, const struct gnn_scan *scan, struct gnn_file *file,
                                   gnn_scan_fn *visit, void *ctx, struct gnn_err *err)
{
    struct gnn_stream *stream = NULL;
    struct gnn_span_reader *reader = NULL;
    struct cursor cursor = {
        .at_bytes = scan->begin_bytes, .end_bytes = scan->end_bytes, .step_bytes = step_bytes(scan->unit_bytes)};
    const struct gnn_span_reader_config config = {.engine = env->io_engine,
                                                  .file = file,
                                                  .depth = SPANS,
                                                  .span_bytes_max = cursor.step_bytes,
                                                  .mem_flags = scan->mem_flags};
    enum gnn_status status = gnn_stream_attach(env->world, file, scan->end_bytes, &stream, err);
    cursor.stream = stream;
    GNN_NEXT(status, gnn_span_reader_open(env->world, &config, &reader, err));
    GNN_NEXT(status, visit_all(env, scan, reader, &cursor, visit, ctx, err));
    gnn_span_reader_close(reader);
    gnn_stream_close(stream);
    return status;
}

struct gnn_scan gnn_scan_of_edges(const struct gnn_env *env, bool direct)
{
    return (struct gnn_scan){.path = env->dataset->indices_path,
                             .direct = direct,
                             .end_bytes = env->dataset->indices_bytes,
                             .unit_bytes = env->dataset->id_bytes,
                             .ids = true,
                             .mem_flags = GNN_MEM_PLAIN};
}

struct gnn_scan gnn_scan_of_rows(const struct gnn_env *env, bool direct)
{
    return (struct gnn_scan){.path = env->dataset->features_path,
                             .direct = direct,
                             .end_bytes = env->dataset->feature_bytes,
                             .unit_bytes = env->dataset->row_bytes,
                             .mem_flags = GNN_MEM_FEATURES};
}

enum gnn_status gnn_scan_file(const struct gnn_env *env, const struct gnn_scan *scan, gnn_scan_fn *visit, void *ctx,
                              struct gnn_err *err)
{
    struct gnn_file *file = NULL;
    struct gnn_file_info info;
    assert(scan->begin_bytes % GNN_PAGE_BYTES == 0);
    assert(scan->unit_bytes > 0);
    GNN_TRY(gnn_file_open(env->world, scan->path, scan->direct ? GNN_OPEN_DIRECT : GNN_OPEN_READ, &file, err));
    gnn_file_info(env->world, file, &info);
    enum gnn_status status = GNN_OK;
    if (info.size_bytes < scan->end_bytes)
        status = gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " bytes, %" PRIu64 " expected: prepare the dataset again",
                          scan->path, info.size_bytes, scan->end_bytes);
    else if (scan->begin_bytes < scan->end_bytes)
        status = scan_opened(env, scan, file, visit, ctx, err);
    gnn_file_close(env->world, file);
    return status;
}
