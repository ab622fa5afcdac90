/* SPDX-License-Identifier: MIT */
/* Which rows every target takes from every partition: see pack.h. Nothing but tables and lists is read, so a packing
 * that was killed needs no more than these to begin anew.
 *
 * Memory   4 bytes a cached row and a row of the largest disk cache, 16 a row of a window, a block each partition */
#include "systems/diskgnn/pack.h"

enum { SPOOL_BLOCK_BYTES = 64 << 10 /* at most */ };

struct listing {
    struct diskgnn_packer *p;
    struct diskgnn_records lists, tables;
    gnn_node *ids;             /* (most of a target or a mini-batch) */
    gnn_node *cached, *disk;   /* node of a row of the caches, and of the segment's disk cache */
    uint64_t *pairs, *scratch; /* (window_rows) */
    uint32_t *order;           /* (window_rows) */
    uint32_t window;           /* the next to be listed */
};

/* Whether rows rise, and the last is below `end`. */
static bool rows_rise(const uint32_t *row, uint32_t count, uint64_t end)
{
    bool rise = count == 0 || row[count - 1] < end;
    for (uint32_t j = 1; j < count; j++)
        rise &= row[j - 1] < row[j];
    return rise;
}

/* Appends the entries of a target: one for each partition that its IDs come to. Batched packing wants them to rise:
 * GNN_EFORMAT, since two workers would append to the target. */
static enum gnn_status emit(struct diskgnn_packer *p, uint32_t target, const gnn_node *ids, uint32_t count,
                            struct gnn_err *err)
{
    if (p->job->config->packing == DISKGNN_PACKING_BATCHED && !rows_rise(ids, count, UINT64_MAX))
        return diskgnn_not_ours(p->job, "tables", err);
    const uint32_t kept = diskgnn_kept_rows(p, target, ids, count);
    p->targets[target].done = kept;
    p->kept_row_count += kept;
    if (kept > 0)
        GNN_TRY(diskgnn_kept_page(p, target, ids, err));
    for (uint32_t done = kept; done < count;) {
        const uint32_t part = p->partitions == 1 ? 0 : (ids[done] - p->first_row) / p->part_rows;
        uint32_t end = p->partitions == 1 ? count : done;
        while (end < count && (ids[end] - p->first_row) / p->part_rows == part)
            end++;
        const uint32_t head[2] = {target, end - done};
        assert(end > done);
        assert(part < p->partitions);
        GNN_TRY(gnn_stream_append(p->streams[part], head, sizeof head, err));
        GNN_TRY(gnn_stream_append(p->streams[part], ids + done, (end - done) * sizeof *ids, err));
        done = end;
    }
    gnn_charge(p->job->env->world, GNN_WORK_TABLE_ENTRY, count);
    return GNN_OK;
}

/* ---- disk caches ---- */

/* Lists a window's rows by rising ID, and where each belongs. */
static enum gnn_status emit_window(struct listing *l, uint32_t w, struct gnn_err *err)
{
    struct diskgnn_packer *const p = l->p;
    struct diskgnn_window *const window = &p->windows[w];
    const uint32_t target = DISKGNN_TARGET_CHUNKS + p->layout->batches + w;
    for (uint32_t x = 0; x < window->rows; x++)
        l->pairs[x] = (uint64_t)l->disk[window->first + x] << 32 | x;
    if (p->job->config->packing == DISKGNN_PACKING_BATCHED)
        diskgnn_sort_pairs(p->job->env->world, l->pairs, l->scratch, window->rows);
    for (uint32_t j = 0; j < window->rows; j++) {
        l->ids[j] = (gnn_node)(l->pairs[j] >> 32);
        l->order[j] = (uint32_t)l->pairs[j];
    }
    GNN_TRY(gnn_stream_begin(p->orders, &window->order_offset_bytes, err));
    if (p->job->config->packing == DISKGNN_PACKING_BATCHED)
        GNN_TRY(gnn_stream_append(p->orders, l->order, window->rows * sizeof *l->order, err));
    return emit(p, target, l->ids, window->rows, err);
}

static enum gnn_status emit_windows(struct listing *l, uint32_t segment, struct gnn_err *err)
{
    while (l->window < l->p->window_count && l->p->windows[l->window].segment == segment)
        GNN_TRY(emit_window(l, l->window++, err));
    return GNN_OK;
}

/* ---- mini-batches ---- */

/* Whether positions and rows of a table that was read lie in what they are about. */
static bool table_is_whole(const struct listing *l, uint32_t i, const struct diskgnn_table *table)
{
    const struct diskgnn_layout *const layout = l->p->layout;
    const struct diskgnn_place *const place = &layout->of[i];
    const uint32_t nodes = diskgnn_sample_nodes(&l->p->sampled->of[i]);
    bool inside = true;
    for (uint32_t j = 0; j < place->gpu + place->cpu; j++)
        inside &= table->cached_at[j] < nodes;
    for (uint32_t j = 0; j < place->packed + place->shared; j++)
        inside &= table->partial_at[j] < nodes;
    return inside && rows_rise(table->cached_row, place->gpu, layout->gpu_rows) &&
           rows_rise(table->cached_row + place->gpu, place->cpu, (uint64_t)layout->gpu_rows + layout->cpu_rows) &&
           rows_rise(table->disk_row, place->shared, layout->segment_of[i / layout->segment].rows);
}

static enum gnn_status list_batch(struct listing *l, uint32_t i, const gnn_node *nodes, const uint32_t *words,
                                  struct gnn_err *err)
{
    struct diskgnn_packer *const p = l->p;
    const struct diskgnn_place *const place = &p->layout->of[i];
    const struct diskgnn_table table = diskgnn_table_of(place, words);
    if (!table_is_whole(l, i, &table))
        return diskgnn_not_ours(p->job, "tables", err);
    for (uint32_t j = 0; j < place->gpu + place->cpu; j++)
        l->cached[table.cached_row[j]] = nodes[table.cached_at[j]];
    for (uint32_t j = 0; j < place->shared; j++)
        l->disk[table.disk_row[j]] = nodes[table.partial_at[place->packed + j]];
    for (uint32_t j = 0; j < place->packed; j++)
        l->ids[j] = nodes[table.partial_at[j]];
    gnn_charge(p->job->env->world, GNN_WORK_TABLE_ENTRY, diskgnn_sample_nodes(&p->sampled->of[i]));
    return emit(p, DISKGNN_TARGET_CHUNKS + i, l->ids, place->packed, err);
}

static enum gnn_status list_all(struct listing *l, struct gnn_err *err)
{
    const struct diskgnn_layout *const layout = l->p->layout;
    diskgnn_records_start(&l->lists, 0, layout->batches);
    diskgnn_records_start(&l->tables, 0, layout->batches);
    for (uint32_t i = 0; i < layout->batches; i++) {
        const uint32_t *nodes, *words;
        GNN_TRY(diskgnn_records_next(&l->lists, &nodes, err));
        GNN_TRY(diskgnn_records_next(&l->tables, &words, err));
        GNN_TRY(list_batch(l, i, nodes, words, err));
        if (i + 1 == layout->batches || (i + 1) % layout->segment == 0)
            GNN_TRY(emit_windows(l, i / layout->segment, err));
    }
    GNN_TRY(emit(l->p, DISKGNN_TARGET_GPU, l->cached, layout->gpu_rows, err));
    return emit(l->p, DISKGNN_TARGET_CPU, l->cached + layout->gpu_rows, layout->cpu_rows, err);
}

/* ---- open ---- */

/* Every partition has a block: together a quarter of the memory at most. */
static uint32_t block_bytes_of(const struct diskgnn_packer *p)
{
    const uint64_t share = gnn_min_u64(p->memory_bytes / 4 / (p->partitions + UINT64_C(1)), SPOOL_BLOCK_BYTES);
    return (uint32_t)gnn_max_u64(gnn_round_down(share, GNN_PAGE_BYTES), GNN_PAGE_BYTES);
}

static enum gnn_status open_spool(struct diskgnn_packer *p, struct gnn_err *err)
{
    const struct gnn_stream_file_config config = {.dir = p->job->dir,
                                                  .direct = p->job->config->io == DISKGNN_IO_DIRECT,
                                                  .block_bytes = block_bytes_of(p),
                                                  .mem_flags = GNN_MEM_PLAIN};
    GNN_TRY(gnn_stream_file_open(p->job->env->world, &config, &p->spool, err));
    GNN_NEW(p->streams, p->partitions, err, "diskgnn: streams of %u partitions", p->partitions);
    for (uint32_t i = 0; i < p->partitions; i++)
        GNN_TRY(gnn_stream_open(p->spool, &p->streams[i], err));
    return gnn_stream_open(p->spool, &p->orders, err);
}

static enum gnn_status open_listing(struct listing *l, struct gnn_err *err)
{
    struct diskgnn_packer *const p = l->p;
    const struct diskgnn_layout *const layout = p->layout;
    struct gnn_world *const world = p->job->env->world;
    const uint64_t window = gnn_max_u32(p->window_rows, 1), table_bytes = layout->table_words_most * sizeof(uint32_t);
    const uint64_t cached = (uint64_t)layout->gpu_rows + layout->cpu_rows;
    GNN_TRY(diskgnn_lists_open(p->job->env, p->sampled, &l->lists, err));
    GNN_TRY(diskgnn_tables_open(p->job->env, layout->tables, layout->tables_bytes, layout->of, layout->rows.align_bytes,
                                gnn_round_up(table_bytes, layout->rows.align_bytes), &l->tables, err));
    GNN_MEM_NEW(world, l->ids, gnn_max_u64(p->sampled->nodes_most, window), "diskgnn IDs of a target", GNN_MEM_PLAIN,
                err);
    GNN_MEM_NEW(world, l->cached, gnn_max_u64(cached, 1), "diskgnn cached nodes", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, l->disk, gnn_max_u32(layout->disk_rows_most, 1), "diskgnn nodes of a disk cache", GNN_MEM_PLAIN,
                err);
    GNN_MEM_NEW(world, l->pairs, window, "diskgnn rows of a window", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, l->scratch, window, "diskgnn sorting of a window", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, l->order, window, "diskgnn order of a window", GNN_MEM_PLAIN, err);
    return open_spool(p, err);
}

static void close_listing(struct listing *l)
{
    struct gnn_world *const world = l->p->job->env->world;
    if (l->lists.env != NULL)
        diskgnn_records_close(&l->lists);
    if (l->tables.env != NULL)
        diskgnn_records_close(&l->tables);
    gnn_mem_free(world, l->ids);
    gnn_mem_free(world, l->cached);
    gnn_mem_free(world, l->disk);
    gnn_mem_free(world, l->pairs);
    gnn_mem_free(world, l->scratch);
    gnn_mem_free(world, l->order);
}

enum gnn_status diskgnn_pack_list(struct diskgnn_packer *p, struct gnn_err *err)
{
    struct listing l = {.p = p};
    enum gnn_status status = open_listing(&l, err);
    GNN_NEXT(status, list_all(&l, err));
    for (uint32_t i = 0; i < p->partitions; i++)
        GNN_NEXT(status, gnn_stream_seal(p->streams[i], err));
    GNN_NEXT(status, gnn_stream_seal(p->orders, err));
    close_listing(&l);
    return status;
}
