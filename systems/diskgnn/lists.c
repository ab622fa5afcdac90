/* SPDX-License-Identifier: MIT */
#include "harness/graph/invariants.h"
#include "harness/system/epoch.h"
#include "systems/diskgnn/internal.h"

enum { RECORDS_AHEAD = 8 }; /* of some ten kilobytes each on a scaled graph: few in flight leave a drive idle */

static bool next_record(void *ctx, struct gnn_span *out)
{
    struct diskgnn_records *const r = ctx;
    if (r->next == r->end)
        return false;
    const uint32_t i = r->next++;
    *out = (struct gnn_span){.stream = r->stream, .tag = i};
    if (r->samples != NULL) {
        out->offset_bytes = r->samples[i].offset_bytes;
        out->len_bytes = gnn_round_up(diskgnn_sample_nodes(&r->samples[i]) * sizeof(gnn_node), GNN_PAGE_BYTES);
    } else {
        out->offset_bytes = r->places[i].table_offset_bytes;
        out->len_bytes = gnn_round_up(diskgnn_table_words(&r->places[i]) * sizeof(uint32_t), r->align_bytes);
    }
    return true;
}

static enum gnn_status records_open(struct diskgnn_records *r, struct gnn_file *file, uint64_t bytes, uint64_t most,
                                    struct gnn_err *err)
{
    const struct gnn_span_reader_config config = {
        .engine = r->env->io_engine, .file = file, .depth = RECORDS_AHEAD, .span_bytes_max = most};
    GNN_TRY(gnn_stream_attach(r->env->world, file, bytes, &r->stream, err));
    return gnn_span_reader_open(r->env->world, &config, &r->reader, err);
}

enum gnn_status diskgnn_lists_open(const struct gnn_env *env, const struct diskgnn_sampled *sampled,
                                   struct diskgnn_records *out, struct gnn_err *err)
{
    *out = (struct diskgnn_records){
        .env = env, .samples = sampled->of, .path = gnn_file_path(env->world, sampled->samples)};
    const uint64_t most = gnn_round_up(sampled->nodes_most * (uint64_t)sizeof(gnn_node), GNN_PAGE_BYTES);
    return records_open(out, sampled->samples, sampled->samples_bytes, most, err);
}

enum gnn_status diskgnn_tables_open(const struct gnn_env *env, struct gnn_file *file, uint64_t bytes,
                                    const struct diskgnn_place *places, uint32_t align_bytes, uint64_t most,
                                    struct diskgnn_records *out, struct gnn_err *err)
{
    *out = (struct diskgnn_records){.env = env, .places = places, .align_bytes = align_bytes};
    return records_open(out, file, bytes, most, err);
}

void diskgnn_records_close(struct diskgnn_records *records)
{
    gnn_span_reader_close(records->reader);
    gnn_stream_close(records->stream);
    *records = (struct diskgnn_records){.env = NULL};
}

void diskgnn_records_start(struct diskgnn_records *records, uint32_t first, uint32_t end)
{
    assert(first <= end);
    records->next = first;
    records->end = end;
    gnn_span_reader_start(records->reader, next_record, records);
}

enum gnn_status diskgnn_records_next(struct diskgnn_records *records, const uint32_t **words, struct gnn_err *err)
{
    struct gnn_span span;
    void *data;
    GNN_TRY(gnn_check_stop(records->env, err));
    GNN_TRY(gnn_span_reader_next(records->reader, &span, &data, err));
    *words = data;
    if (data == NULL || records->samples == NULL)
        return GNN_OK;
    return gnn_check_ids(data, sizeof(gnn_node), diskgnn_sample_nodes(&records->samples[span.tag]), 0,
                         records->env->dataset->node_count, records->path, err);
}
