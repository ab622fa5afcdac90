/* SPDX-License-Identifier: MIT */
/* The trace of a superbatch: what is written while it is sampled and inspected, and read back to inspect and execute.
 *
 * Source   Ginex (PVLDB 15(11), 2022), superbatch sampling, Inspect and Execute; the released code's runtime trace
 * File     one scratch file of harness/storage/stream.h; per sampler a stream of node lists and a stream of blocks, and
 *          one stream of change sets. Each batch is three records that begin on pages:
 *              ids      u32 node[n_L], seeds first
 *              blocks   struct block_header, then per block u32 row_start[dst + 1], u32 col[edges]
 *              changes  u32 in_node[c], in_row[c], out_node[c]
 *          where they begin stays in memory (struct ginex_record)
 * Differs  one file in place of three per batch, 32-bit words, batches numbered by dispatch */
#include "systems/ginex/superbatch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_MAGIC = 0x67627331 };

struct block_header {
    uint32_t magic, layer_count, seed_count, node_count;
    uint64_t epoch, batch;
    struct {
        uint32_t dst_count, src_count, edge_count;
    } block[GNN_LAYERS_MAX];
};
_Static_assert(sizeof(struct block_header) == 32 + 12 * GNN_LAYERS_MAX, "no padding: every byte written is defined");
_Static_assert(sizeof(struct block_header) == GINEX_BLOCKS_BYTES_MIN, "a record of blocks begins with it");
_Static_assert(sizeof(struct block_header) % sizeof(uint32_t) == 0, "the words behind it are aligned");

/* ---- open, close ---- */

enum gnn_status ginex_superbatch_open(struct ginex *s, uint32_t number, struct ginex_superbatch **out,
                                      struct gnn_err *err)
{
    const uint32_t workers = s->config->samplers;
    const struct gnn_stream_file_config trace = {.dir = s->trace_dir,
                                                 .direct = s->config->trace_io == GINEX_IO_DIRECT,
                                                 .block_bytes = (uint32_t)s->config->trace_block};
    assert(number < s->sizes.superbatches);
    GNN_NEW(*out, 1, err, "a ginex superbatch");
    struct ginex_superbatch *const sb = *out;
    sb->first = number * s->sizes.superbatch;
    sb->count = gnn_min_u32(s->sizes.batches - sb->first, s->sizes.superbatch);
    assert(sb->count > 0);
    GNN_NEW(sb->ids, workers, err, "streams of %" PRIu32 " ginex samplers", workers);
    GNN_NEW(sb->blocks, workers, err, "streams of %" PRIu32 " ginex samplers", workers);
    GNN_NEW(sb->records, sb->count, err, "a ginex superbatch of %" PRIu32 " mini-batches", sb->count);
    GNN_TRY(gnn_stream_file_open(s->env->world, &trace, &sb->trace, err));
    for (uint32_t w = 0; w < workers; w++) {
        GNN_TRY(gnn_stream_open(sb->trace, &sb->ids[w], err));
        GNN_TRY(gnn_stream_open(sb->trace, &sb->blocks[w], err));
    }
    return GNN_OK;
}

void ginex_superbatch_close(struct ginex *s, struct ginex_superbatch *sb)
{
    if (sb == NULL)
        return;
    if (sb->trace != NULL) {
        struct gnn_stream_file_counters counters;
        gnn_stream_file_counters(sb->trace, &counters);
        s->figures.trace_written_bytes += counters.written_bytes;
        s->figures.trace_writes += counters.writes;
    }
    for (uint32_t w = 0; w < s->config->samplers; w++) {
        if (sb->ids != NULL)
            gnn_stream_close(sb->ids[w]);
        if (sb->blocks != NULL)
            gnn_stream_close(sb->blocks[w]);
    }
    gnn_stream_close(sb->changes);
    gnn_stream_file_close(sb->trace);
    gnn_mem_free(s->env->world, sb->initial);
    free(sb->records);
    free(sb->blocks);
    free(sb->ids);
    free(sb);
}

/* ---- writing ---- */

static struct block_header header_of(const struct gnn_batch_view *view)
{
    struct block_header h = {.magic = BLOCKS_MAGIC,
                             .layer_count = view->layer_count,
                             .seed_count = view->seed_count,
                             .node_count = view->node_count,
                             .epoch = view->epoch,
                             .batch = view->batch};
    for (uint32_t l = 0; l < view->layer_count; l++) {
        h.block[l].dst_count = view->blocks[l].dst_count;
        h.block[l].src_count = view->blocks[l].src_count;
        h.block[l].edge_count = view->blocks[l].edge_count;
    }
    return h;
}

enum gnn_status ginex_store_batch(struct ginex_superbatch *sb, uint32_t worker, const struct gnn_batch_view *view,
                                  struct gnn_err *err)
{
    assert(view->batch >= sb->first);
    assert(view->batch - sb->first < sb->count);
    assert(view->layer_count <= GNN_LAYERS_MAX);
    struct ginex_record *record = &sb->records[view->batch - sb->first];
    struct gnn_stream *const blocks = sb->blocks[worker];
    const struct block_header header = header_of(view);
    assert(record->nodes == 0); /* each batch is sampled once */
    record->worker = worker;
    record->nodes = view->node_count;
    GNN_TRY(gnn_stream_begin(sb->ids[worker], &record->ids_offset, err));
    GNN_TRY(gnn_stream_append(sb->ids[worker], view->nodes, view->node_count * sizeof *view->nodes, err));
    GNN_TRY(gnn_stream_begin(blocks, &record->blocks_offset, err));
    GNN_TRY(gnn_stream_append(blocks, &header, sizeof header, err));
    for (uint32_t l = 0; l < view->layer_count; l++) {
        const struct gnn_block *b = &view->blocks[l];
        GNN_TRY(gnn_stream_append(blocks, b->row_start, (b->dst_count + UINT64_C(1)) * sizeof *b->row_start, err));
        GNN_TRY(gnn_stream_append(blocks, b->col, b->edge_count * sizeof *b->col, err));
    }
    record->blocks_bytes = gnn_stream_bytes(blocks) - record->blocks_offset;
    return GNN_OK;
}

enum gnn_status ginex_seal_worker(struct ginex_superbatch *sb, uint32_t worker, struct gnn_err *err)
{
    GNN_TRY(gnn_stream_seal(sb->ids[worker], err));
    return gnn_stream_seal(sb->blocks[worker], err);
}

void ginex_superbatch_sum(struct ginex_superbatch *sb)
{
    assert(sb->accesses == 0);
    for (uint32_t i = 0; i < sb->count; i++) {
        assert(sb->records[i].nodes > 0);
        sb->accesses += sb->records[i].nodes;
        sb->nodes_max = gnn_max_u32(sb->nodes_max, sb->records[i].nodes);
    }
}

enum gnn_status ginex_store_changes(struct ginex_superbatch *sb, uint32_t index, const struct ginex_changes *changes,
                                    struct gnn_err *err)
{
    assert(index < sb->count);
    struct ginex_record *record = &sb->records[index];
    assert(changes->count <= changes->misses);
    assert(changes->misses <= record->nodes);
    record->changes = changes->count;
    record->misses = changes->misses;
    const uint64_t bytes = changes->count * sizeof(uint32_t);
    GNN_TRY(gnn_stream_begin(sb->changes, &record->changes_offset, err));
    GNN_TRY(gnn_stream_append(sb->changes, changes->in_node, bytes, err));
    GNN_TRY(gnn_stream_append(sb->changes, changes->in_row, bytes, err));
    return gnn_stream_append(sb->changes, changes->out_node, bytes, err);
}

/* ---- a batch read back ---- */

static uint64_t changes_bytes(const struct ginex_record *record)
{
    return UINT64_C(3) * sizeof(uint32_t) * record->changes;
}

uint64_t ginex_batch_bytes(const struct ginex_superbatch *sb)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < sb->count; i++) {
        const struct ginex_record *r = &sb->records[i];
        most = gnn_max_u64(most, gnn_span_room(r->nodes * sizeof(gnn_node)) + gnn_span_room(r->blocks_bytes) +
                                     gnn_span_room(changes_bytes(r)));
    }
    return most;
}

static enum gnn_status check_header(const struct block_header *h, const struct ginex_record *record, uint64_t batch,
                                    struct gnn_err *err)
{
    if (h->magic == BLOCKS_MAGIC && h->batch == batch && h->node_count == record->nodes && h->layer_count >= 1 &&
        h->layer_count <= GNN_LAYERS_MAX && h->seed_count <= h->node_count)
        return GNN_OK;
    return gnn_fail(err, GNN_EFORMAT,
                    "ginex: trace of mini-batch %" PRIu64 ": damaged header: magic 0x%08" PRIx32 ", batch %" PRIu64
                    ", %" PRIu32 " nodes, %" PRIu32 " seeds, %" PRIu32 " layers, expected magic 0x%08x and %" PRIu32
                    " nodes; check the disk and run again",
                    batch, h->magic, h->batch, h->node_count, h->seed_count, h->layer_count, (unsigned)BLOCKS_MAGIC,
                    record->nodes);
}

enum gnn_status ginex_decode_batch(const struct ginex_record *record, uint64_t batch, const gnn_node *ids,
                                   const unsigned char *blocks, struct gnn_batch_view *view, struct gnn_err *err)
{
    struct block_header h;
    assert(record->blocks_bytes >= sizeof h);
    memcpy(&h, blocks, sizeof h);
    GNN_TRY(check_header(&h, record, batch, err));
    *view = (struct gnn_batch_view){.epoch = h.epoch,
                                    .batch = h.batch,
                                    .layer_count = h.layer_count,
                                    .seed_count = h.seed_count,
                                    .node_count = h.node_count,
                                    .nodes = ids};
    uint64_t at = sizeof h;
    for (uint32_t l = 0; l < h.layer_count; l++) {
        const uint64_t rows = h.block[l].dst_count + UINT64_C(1), edges = h.block[l].edge_count;
        const uint64_t left = record->blocks_bytes - at, needed = (rows + edges) * sizeof(uint32_t);
        if (needed > left)
            return gnn_fail(err, GNN_EFORMAT,
                            "ginex: trace of mini-batch %" PRIu64 ": block %" PRIu32 " takes %" PRIu64
                            " bytes, but the record has %" PRIu64 " left; check the disk and run again",
                            batch, l, needed, left);
        const uint32_t *const words = (const uint32_t *)(const void *)(blocks + at);
        view->blocks[l] = (struct gnn_block){.dst_count = h.block[l].dst_count,
                                             .src_count = h.block[l].src_count,
                                             .edge_count = h.block[l].edge_count,
                                             .row_start = words,
                                             .col = words + rows};
        at += needed;
        assert(at <= record->blocks_bytes);
    }
    return GNN_OK;
}

enum gnn_status ginex_load_batch(const struct ginex_superbatch *sb, uint32_t index, struct gnn_reader *reader,
                                 struct ginex_trace_batch *batch, struct gnn_err *err)
{
    assert(index < sb->count);
    assert((uintptr_t)batch->memory % GNN_PAGE_BYTES == 0);
    const struct ginex_record *r = &sb->records[index];
    const struct gnn_span spans[] = {
        {.stream = sb->ids[r->worker], .offset_bytes = r->ids_offset, .len_bytes = r->nodes * sizeof(gnn_node)},
        {.stream = sb->blocks[r->worker], .offset_bytes = r->blocks_offset, .len_bytes = r->blocks_bytes},
        {.stream = sb->changes, .offset_bytes = r->changes_offset, .len_bytes = changes_bytes(r)},
    };
    unsigned char *const ids = batch->memory, *const blocks = ids + gnn_span_room(spans[0].len_bytes),
                         *const changes = blocks + gnn_span_room(spans[1].len_bytes);
    void *const dst[] = {ids, blocks, changes};
    for (uint32_t i = 0; i < 3; i++)
        assert(spans[i].offset_bytes + spans[i].len_bytes <= gnn_stream_bytes(spans[i].stream));
    GNN_TRY(gnn_stream_load(reader, spans, dst, 3, err));
    const uint32_t *const words = (const uint32_t *)(const void *)changes;
    batch->changes = (struct ginex_changes){.in_node = words,
                                            .in_row = words + r->changes,
                                            .out_node = words + 2 * (uint64_t)r->changes,
                                            .count = r->changes,
                                            .misses = r->misses};
    return ginex_decode_batch(r, sb->first + (uint64_t)index, (const gnn_node *)(const void *)ids, blocks, &batch->view,
                              err);
}

/* ---- the node lists of all batches, in order ---- */

struct ginex_ids {
    struct ginex *s;
    const struct ginex_superbatch *sb;
    struct gnn_span_reader *reader;
    gnn_node *held; /* (accesses) or NULL */
    uint64_t held_count;
    bool hold, complete;  /* complete: every batch is in held */
    uint32_t ahead, next; /* batch whose span is asked for; batch delivered next */
    uint64_t next_held;
};

static bool next_ids(void *ctx, struct gnn_span *out)
{
    struct ginex_ids *ids = ctx;
    if (ids->ahead == ids->sb->count)
        return false;
    const struct ginex_record *r = &ids->sb->records[ids->ahead++];
    *out = (struct gnn_span){
        .stream = ids->sb->ids[r->worker], .offset_bytes = r->ids_offset, .len_bytes = r->nodes * sizeof(gnn_node)};
    return true;
}

enum gnn_status ginex_ids_open(struct ginex *s, const struct ginex_superbatch *sb, bool hold, struct ginex_ids **out,
                               struct gnn_err *err)
{
    assert(sb->accesses > 0); /* summed up: every stream is sealed */
    GNN_NEW(*out, 1, err, "node lists of a ginex superbatch");
    struct ginex_ids *const ids = *out;
    *ids = (struct ginex_ids){.s = s, .sb = sb, .hold = hold};
    const struct gnn_span_reader_config config = {.engine = s->env->io_engine,
                                                  .file = gnn_stream_file_handle(sb->trace),
                                                  .depth = s->config->id_readers + 1,
                                                  .span_bytes_max = sb->nodes_max * sizeof(gnn_node)};
    GNN_TRY(gnn_span_reader_open(s->env->world, &config, &ids->reader, err));
    if (hold)
        GNN_MEM_NEW(s->env->world, ids->held, sb->accesses, "ginex ids of a superbatch", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

void ginex_ids_close(struct ginex_ids *ids)
{
    if (ids == NULL)
        return;
    if (ids->reader != NULL) {
        struct gnn_reader_counters counters;
        gnn_span_reader_counters(ids->reader, &counters);
        ids->s->figures.trace_read_bytes += counters.requested_bytes;
        ids->s->figures.trace_read_ios += counters.requested_ios;
    }
    gnn_span_reader_close(ids->reader);
    gnn_mem_free(ids->s->env->world, ids->held);
    free(ids);
}

void ginex_ids_rewind(struct ginex_ids *ids)
{
    ids->ahead = ids->next = 0;
    ids->next_held = 0;
    if (!ids->complete) {
        ids->held_count = 0;
        gnn_span_reader_start(ids->reader, next_ids, ids);
    }
}

void ginex_ids_drop(struct ginex_ids *ids)
{
    gnn_mem_free(ids->s->env->world, ids->held);
    ids->held = NULL;
    ids->hold = ids->complete = false;
}

static enum gnn_status read_ids(struct ginex_ids *ids, const gnn_node **nodes, uint32_t count, struct gnn_err *err)
{
    struct gnn_span span;
    void *data;
    GNN_TRY(gnn_span_reader_next(ids->reader, &span, &data, err));
    assert(data != NULL);
    assert(span.len_bytes == count * sizeof(gnn_node));
    *nodes = data;
    if (!ids->hold)
        return GNN_OK;
    gnn_mem_copy(ids->s->env->world, ids->held + ids->held_count, data, span.len_bytes);
    ids->held_count += count;
    assert(ids->held_count <= ids->sb->accesses);
    ids->complete = ids->next == ids->sb->count;
    return GNN_OK;
}

enum gnn_status ginex_ids_next(struct ginex_ids *ids, const gnn_node **nodes, uint32_t *count, struct gnn_err *err)
{
    *nodes = NULL;
    *count = 0;
    if (ids->next == ids->sb->count)
        return GNN_OK;
    *count = ids->sb->records[ids->next++].nodes;
    if (!ids->complete)
        return read_ids(ids, nodes, *count, err);
    *nodes = ids->held + ids->next_held;
    ids->next_held += *count;
    assert(ids->next_held <= ids->held_count);
    return GNN_OK;
}
