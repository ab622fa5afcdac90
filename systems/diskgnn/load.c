/* SPDX-License-Identifier: MIT */
/* What a mini-batch needs from the disk: its address table, the rows that no cache in memory holds, its graph sample
 * (DiskGNN, sections 5.3 and 6). Every byte that comes back is checked before it is used as an index. */
#include "systems/diskgnn/diskgnn.h"

#include "harness/storage/exact.h"

#include <assert.h>
#include <inttypes.h>

static enum gnn_status damaged(const struct diskgnn *s, struct gnn_file *file, uint32_t batch, const char *what,
                               struct gnn_err *err)
{
    return gnn_fail(err, GNN_EFORMAT, "%s: mini-batch %" PRIu32 ": %s; remove the file, or set diskgnn.reuse=false",
                    gnn_file_path(s->env->world, file), batch, what);
}

/* ---- address tables ---- */

enum gnn_status diskgnn_load_table(struct diskgnn *s, uint32_t batch, struct diskgnn_table_slot *table,
                                   struct gnn_err *err)
{
    const struct diskgnn_place *const place = &s->layout.of[batch];
    const uint64_t need_bytes = diskgnn_table_words(place) * sizeof(uint32_t);
    const uint64_t bytes = gnn_round_up(need_bytes, s->layout.rows.align_bytes);
    assert(batch < s->layout.batches);
    assert(bytes <= s->most.table_bytes);
    table->batch = batch;
    GNN_TRY(gnn_read_window(s->env->world, s->tables, place->table_offset_bytes, table->words, bytes, need_bytes, err));
    s->counters.table_reads++;
    s->counters.table_bytes += bytes;
    return GNN_OK;
}

/* ---- packed chunks ---- */

/* Reads `bytes` of a chunk in requests that are in flight together; the first need_bytes must be there. */
static enum gnn_status read_in_requests(struct diskgnn *s, uint64_t offset_bytes, unsigned char *dst, uint64_t bytes,
                                        uint64_t need_bytes, struct gnn_err *err)
{
    const uint64_t request = s->config->chunk_request;
    uint64_t at = 0, tag;
    uint32_t got;
    while (at < bytes || gnn_ring_reads_in_flight(&s->chunk_reads) > 0) {
        if (at < bytes && gnn_ring_reads_in_flight(&s->chunk_reads) < s->config->chunk_depth) {
            const uint64_t len_bytes = gnn_min_u64(bytes - at, request);
            assert(at < need_bytes); /* the padding is shorter than a request */
            struct gnn_read read = {.file = s->layout.chunks,
                                    .offset_bytes = offset_bytes + at,
                                    .dst = dst + at,
                                    .len_bytes = (uint32_t)len_bytes,
                                    .need_bytes = (uint32_t)gnn_min_u64(len_bytes, need_bytes - at)};
            GNN_TRY(gnn_ring_reads_submit(&s->chunk_reads, &read, 1, err));
            s->counters.chunk_reads++;
            at += len_bytes;
        } else {
            GNN_TRY(gnn_ring_reads_wait(&s->chunk_reads, 1, 1, &tag, &got, err));
        }
    }
    return GNN_OK;
}

static enum gnn_status read_chunk(struct diskgnn *s, const struct diskgnn_place *place, unsigned char *rows,
                                  struct gnn_err *err)
{
    const uint64_t need_bytes = place->packed * (uint64_t)s->layout.rows.row_bytes;
    const uint64_t bytes = diskgnn_dense_bytes(&s->layout.rows, place->packed);
    if (bytes == 0)
        return GNN_OK;
    assert(bytes <= s->most.partial_bytes);
    s->counters.chunk_bytes += bytes;
    if (s->config->chunk_request > 0) {
        const enum gnn_status status = read_in_requests(s, place->chunk_offset_bytes, rows, bytes, need_bytes, err);
        if (status != GNN_OK)
            gnn_ring_reads_drain(&s->chunk_reads);
        return status;
    }
    s->counters.chunk_reads++;
    return gnn_read_window(s->env->world, s->layout.chunks, place->chunk_offset_bytes, rows, bytes, need_bytes, err);
}

/* ---- the released loader ---- */

/* gnn_part_fn: clones a part of the chunk to new memory, and copies its rows one by one. */
static enum gnn_status copy_part(void *ctx, uint32_t part, uint32_t parts, struct gnn_err *err)
{
    const struct diskgnn_copying *const c = ctx;
    struct gnn_world *const world = c->s->env->world;
    const uint64_t row_bytes = c->s->layout.rows.row_bytes;
    const unsigned char *const chunk = c->s->chunk_memory;
    unsigned char *const clone = c->s->chunk_memory + c->s->chunk_step_bytes;
    uint64_t first, end;
    (void)err;
    gnn_team_share(c->count, part, parts, &first, &end);
    gnn_charge(world, GNN_WORK_FRESH_PAGE, (end - first) * row_bytes / GNN_PAGE_BYTES);
    gnn_mem_copy(world, clone + first * row_bytes, chunk + first * row_bytes, (end - first) * row_bytes);
    gnn_charge(world, GNN_WORK_TABLE_ENTRY, end - first);
    for (uint64_t i = first; i < end; i++)
        gnn_mem_copy(world, c->rows + i * row_bytes, clone + i * row_bytes, row_bytes);
    return GNN_OK;
}

/* Reads a chunk as the released code does: into new memory, from there through a clone to the partial input. */
static enum gnn_status copy_chunk(struct diskgnn *s, const struct diskgnn_place *place, unsigned char *rows,
                                  struct gnn_err *err)
{
    struct diskgnn_copying *const c = &s->copying;
    if (place->packed == 0)
        return GNN_OK;
    gnn_charge(s->env->world, GNN_WORK_FRESH_PAGE,
               gnn_div_up(diskgnn_dense_bytes(&s->layout.rows, place->packed), GNN_PAGE_BYTES));
    GNN_TRY(read_chunk(s, place, s->chunk_memory, err));
    *c = (struct diskgnn_copying){.s = s, .rows = rows, .count = place->packed};
    gnn_team_post(s->team, copy_part, c);
    return gnn_team_wait(s->team);
}

static enum gnn_status load_chunk(struct diskgnn *s, const struct diskgnn_place *place, unsigned char *rows,
                                  struct gnn_err *err)
{
    return s->config->loader == DISKGNN_LOADER_COPIES ? copy_chunk(s, place, rows, err)
                                                      : read_chunk(s, place, rows, err);
}

/* ---- all rows from the disk ---- */

static enum gnn_status load_rows(struct diskgnn *s, struct diskgnn_partial *partial, struct gnn_err *err)
{
    const uint32_t batch = partial->table->batch;
    const struct diskgnn_place *const place = &s->layout.of[batch];
    const struct diskgnn_table table = diskgnn_table_of(place, partial->table->words);
    uint32_t pages;
    GNN_TRY(load_chunk(s, place, partial->rows, err)); /* first: its padding reaches into what follows */
    if (place->shared == 0)
        return GNN_OK;
    const struct diskgnn_segment *const segment = &s->layout.segment_of[batch / s->layout.segment];
    const struct diskgnn_page_rows wanted = {.file = s->layout.disk,
                                             .offset_bytes = segment->offset_bytes,
                                             .end = segment->rows,
                                             .from = table.disk_row,
                                             .table = s->tables,
                                             .count = place->shared,
                                             .rows =
                                                 partial->rows + place->packed * (uint64_t)s->layout.rows.row_bytes};
    GNN_TRY(diskgnn_pages_load(s->pages, &wanted, &pages, err));
    s->counters.page_reads += pages;
    s->counters.page_bytes += pages * (uint64_t)s->layout.rows.page_bytes;
    return pages == place->pages ? GNN_OK
                                 : damaged(s, s->tables, batch, "its rows are on other pages than counted", err);
}

enum gnn_status diskgnn_load_partial(struct diskgnn *s, struct diskgnn_partial *partial, struct gnn_err *err)
{
    gnn_env_range(s->env, "read");
    const enum gnn_status status = load_rows(s, partial, err);
    gnn_env_range(s->env, NULL);
    return status;
}

/* ---- graph samples ---- */

/* Whether a block's rows rise from 0 to its edges and its columns are sources. */
static bool block_is_whole(const struct gnn_block *block)
{
    bool whole = block->row_start[0] == 0 && block->row_start[block->dst_count] == block->edge_count;
    for (uint32_t i = 0; i < block->dst_count; i++)
        whole = whole && block->row_start[i] <= block->row_start[i + 1];
    for (uint32_t e = 0; whole && e < block->edge_count; e++)
        whole = block->col[e] < block->src_count;
    return whole;
}

static bool view_is_whole(const struct gnn_batch_view *view, uint32_t node_count)
{
    bool whole = true;
    for (uint32_t b = 0; whole && b < view->layer_count; b++)
        whole = block_is_whole(&view->blocks[b]);
    for (uint32_t i = 0; whole && i < view->node_count; i++)
        whole = view->nodes[i] < node_count;
    return whole;
}

/* Takes the digest of what came from the disk; in the epoch it was drawn for it must be what was drawn. */
static enum gnn_status count_graph(struct diskgnn *s, const struct diskgnn_graph *graph, struct gnn_err *err)
{
    const struct gnn_batch_view *const view = &graph->view;
    struct diskgnn_counters *const c = &s->counters;
    const uint32_t batch = (uint32_t)view->batch;
    const uint64_t digest = gnn_batch_digest(view, NULL);
    if (view->epoch == s->sampled.epoch && digest != s->sampled.of[batch].digest)
        return damaged(s, s->samples, batch, "its blocks differ from the drawn ones", err);
    c->sample.batches++;
    c->sample.sampled_nodes += view->node_count;
    for (uint32_t b = 0; b < view->layer_count; b++)
        c->sample.sampled_edges += view->blocks[b].edge_count;
    gnn_count_digest(&c->sample, batch, digest);
    return GNN_OK;
}

enum gnn_status diskgnn_load_graph(struct diskgnn *s, uint64_t epoch, uint32_t batch, struct diskgnn_graph *graph,
                                   struct gnn_err *err)
{
    const struct diskgnn_sample *const sample = &s->sampled.of[batch];
    const uint64_t need_bytes = diskgnn_sample_bytes(sample);
    const uint64_t bytes = gnn_round_up(need_bytes, GNN_PAGE_BYTES);
    assert(batch < s->sampled.batches);
    assert(bytes <= s->most.record_bytes);
    GNN_TRY(gnn_read_window(s->env->world, s->samples, sample->offset_bytes, graph->words, bytes, need_bytes, err));
    s->counters.sample_reads++;
    s->counters.sample_bytes += bytes;
    diskgnn_sample_view(sample, epoch, batch, graph->words, &graph->view);
    if (!view_is_whole(&graph->view, s->env->dataset->node_count))
        return damaged(s, s->samples, batch, "its blocks are broken", err);
    return count_graph(s, graph, err);
}
