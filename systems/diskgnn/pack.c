/* SPDX-License-Identifier: MIT */
/* What both ways of packing share: sizes, targets, files. See pack.h.
 *
 * Source   DiskGNN (SIGMOD 2025) section 5.2. In the released code a packed chunk is ordered by the partitions that
 *          were read, and its table is made again; here it is by node ID, which no partition changes
 * Memory   pack_memory for two partitions with their entries (or half of it for two windows of a disk cache),
 *          pack_workers staging buffers, a page a target */
#include "systems/diskgnn/pack.h"
#include "harness/storage/exact.h"
#include "harness/system/epoch.h"

#include <inttypes.h>

/* A row that is written has an entry of 4 bytes; a partition may have half as many more than its share. */
enum { ENTRY_BYTES = 6 };
static const uint64_t memory_usual = UINT64_C(1) << 30;

static const char *const file_names[DISKGNN_FILES] = {"chunks", "disk", "cached"};

/* ---- sizes ---- */

/* Of one worker's rows on their way. */
static uint64_t staging_bytes_of(const struct diskgnn_prepare_config *config, const struct diskgnn_rows *rows)
{
    const bool batched = config->packing == DISKGNN_PACKING_BATCHED;
    const uint64_t pieces = batched ? DISKGNN_WRITE_BYTES : (uint64_t)config->pack_workers * DISKGNN_WRITE_BYTES;
    return gnn_round_up(gnn_max_u64(pieces, 2 * (uint64_t)rows->page_bytes), GNN_PAGE_BYTES) +
           UINT64_C(2) * GNN_PAGE_BYTES;
}

/* Rows that are written in all. */
static uint64_t written_rows(const struct diskgnn_layout *l)
{
    uint64_t rows = l->packed_rows + l->gpu_rows + l->cpu_rows;
    for (uint32_t k = 0; k < l->segments; k++)
        rows += l->segment_of[k].rows;
    return rows;
}

/* Cuts the features, from the first row that is not kept, into partitions that begin on pages and between rows: one is
 * read while another is packed. */
static void choose_partitions(struct diskgnn_packer *p)
{
    const struct gnn_dataset *const d = p->job->env->dataset;
    p->first_row = p->kept.ordering ? 0 : p->kept.next_node;
    uint64_t parts = p->job->config->partitions;
    if (parts == 0) {
        const uint64_t entries = gnn_mul_bytes(written_rows(p->layout), ENTRY_BYTES);
        const uint64_t both = gnn_mul_bytes(2, gnn_add_bytes(d->feature_bytes, entries));
        parts = gnn_min_u64(gnn_div_up(both, p->memory_bytes), DISKGNN_PARTITIONS_MAX);
    }
    if (p->job->config->packing == DISKGNN_PACKING_INDIVIDUAL)
        parts = 1;
    const uint64_t common = gnn_min_u64(d->row_bytes & (0U - d->row_bytes), GNN_PAGE_BYTES);
    const uint64_t rows = gnn_round_up(gnn_div_up(d->node_count, gnn_max_u64(parts, 1)), GNN_PAGE_BYTES / common);
    p->part_rows = (uint32_t)gnn_min_u64(rows, UINT32_MAX);
    p->partitions = gnn_max_u32((uint32_t)gnn_div_up(d->node_count - p->first_row, p->part_rows), 1);
}

/* Rows of a window: two of them, before and after ordering, take half the memory. */
static void choose_windows(struct diskgnn_packer *p)
{
    const struct diskgnn_layout *const l = p->layout;
    const uint64_t pages = gnn_max_u64(p->memory_bytes / 4 / l->rows.page_bytes, 1);
    const uint64_t rows = gnn_min_u64(pages * l->rows.per_page, l->disk_rows_most);
    p->window_rows = p->kept.any ? p->kept.window_rows : (uint32_t)rows;
    if (p->window_rows == 0)
        return;
    for (uint32_t k = 0; k < l->segments; k++)
        p->window_count += (uint32_t)gnn_div_up(l->segment_of[k].rows, p->window_rows);
}

/* ---- targets ---- */

static void fill_windows(struct diskgnn_packer *p)
{
    const struct diskgnn_layout *const l = p->layout;
    uint32_t w = 0;
    for (uint32_t k = 0; k < l->segments; k++)
        for (uint32_t first = 0; first < l->segment_of[k].rows; first += p->window_rows, w++) {
            const uint32_t rows = gnn_min_u32(p->window_rows, l->segment_of[k].rows - first);
            p->windows[w] = (struct diskgnn_window){.segment = k, .first = first, .rows = rows};
            p->targets[DISKGNN_TARGET_CHUNKS + l->batches + w] = (struct diskgnn_target){
                .file = p->files[DISKGNN_DISK],
                .offset_bytes = l->segment_of[k].offset_bytes + diskgnn_row_offset(&l->rows, first),
                .rows = rows,
                .paged = true};
        }
    assert(w == p->window_count);
}

static void fill_targets(struct diskgnn_packer *p)
{
    const struct diskgnn_layout *const l = p->layout;
    p->targets[DISKGNN_TARGET_GPU] = (struct diskgnn_target){.file = p->files[DISKGNN_CACHED], .rows = l->gpu_rows};
    p->targets[DISKGNN_TARGET_CPU] = (struct diskgnn_target){
        .file = p->files[DISKGNN_CACHED], .offset_bytes = l->cpu_offset_bytes, .rows = l->cpu_rows};
    for (uint32_t i = 0; i < l->batches; i++)
        p->targets[DISKGNN_TARGET_CHUNKS + i] = (struct diskgnn_target){
            .file = p->files[DISKGNN_CHUNKS], .offset_bytes = l->of[i].chunk_offset_bytes, .rows = l->of[i].packed};
    fill_windows(p);
}

static enum gnn_status open_memory(struct diskgnn_packer *p, struct gnn_err *err)
{
    struct gnn_world *const world = p->job->env->world;
    const struct diskgnn_rows *const rows = &p->layout->rows;
    const unsigned flags = GNN_MEM_FEATURES;
    GNN_NEW(p->windows, gnn_max_u32(p->window_count, 1), err, "diskgnn: windows of disk caches");
    GNN_MEM_NEW(world, p->targets, p->target_count, "diskgnn targets", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, p->tails, (uint64_t)p->target_count * rows->align_bytes, "diskgnn pages in the making", flags,
                err);
    GNN_MEM_NEW(world, p->zeros, GNN_PAGE_BYTES, "diskgnn padding", flags, err);
    GNN_MEM_NEW(world, p->staging, p->workers * p->staging_bytes, "diskgnn rows to write", flags, err);
    fill_targets(p);
    return GNN_OK;
}

/* ---- all ---- */

static uint64_t file_bytes(const struct diskgnn_packer *p, uint32_t i)
{
    const struct diskgnn_layout *const l = p->layout;
    const uint64_t bytes[DISKGNN_FILES] = {l->chunks_bytes, l->disk_bytes, l->cached_bytes};
    return bytes[i];
}

static void close_files(struct diskgnn_packer *p)
{
    for (uint32_t i = 0; i < DISKGNN_FILES; i++) {
        gnn_file_close(p->job->env->world, p->files[i]);
        p->files[i] = NULL;
    }
}

/* Opens the files of an earlier packing. Where one is missing or of another length, nothing is kept. */
static enum gnn_status open_kept(struct diskgnn_packer *p, unsigned direct, struct gnn_err *err)
{
    for (uint32_t i = 0; i < DISKGNN_FILES && p->kept.any; i++) {
        struct gnn_file_info info;
        GNN_TRY(diskgnn_part_reopen(p->job, file_names[i], direct, &p->files[i], err));
        gnn_file_info(p->job->env->world, p->files[i], &info);
        if (info.size_bytes != file_bytes(p, i))
            p->kept = (struct diskgnn_kept){.any = false};
    }
    return GNN_OK;
}

static enum gnn_status open_files(struct diskgnn_packer *p, struct gnn_err *err)
{
    const unsigned direct = diskgnn_direct_flag(p->job->config->io);
    if (p->job->config->packing == DISKGNN_PACKING_BATCHED)
        GNN_TRY(diskgnn_kept_read(p, err));
    GNN_TRY(open_kept(p, direct, err));
    p->saved = p->kept.any;
    if (p->kept.any)
        return GNN_OK;
    close_files(p);
    diskgnn_kept_remove(p->job); /* before what it speaks of changes */
    for (uint32_t i = 0; i < DISKGNN_FILES; i++)
        GNN_TRY(diskgnn_part_open(p->job, file_names[i], direct, &p->files[i], err));
    return GNN_OK;
}

/* Writes the last page of each file first: writes inside a file's size go on side by side, where many file systems let
 * those that extend it go one after another. */
static enum gnn_status extend_files(const struct diskgnn_packer *p, struct gnn_err *err)
{
    const uint32_t page = p->layout->rows.align_bytes;
    for (uint32_t i = 0; i < DISKGNN_FILES; i++)
        if (file_bytes(p, i) > 0)
            GNN_TRY(gnn_write_all(p->job->env->world, p->files[i], file_bytes(p, i) - page, p->zeros, page, err));
    return GNN_OK;
}

static void close_packing(struct diskgnn_packer *p)
{
    struct gnn_world *const world = p->job->env->world;
    gnn_stream_close(p->orders);
    for (uint32_t i = 0; p->streams != NULL && i < p->partitions; i++)
        gnn_stream_close(p->streams[i]);
    free(p->streams);
    gnn_stream_file_close(p->spool);
    gnn_mem_free(world, p->staging);
    gnn_mem_free(world, p->zeros);
    gnn_mem_free(world, p->tails);
    gnn_mem_free(world, p->targets);
    free(p->windows);
    gnn_file_close(world, p->features);
}

static enum gnn_status check_done(const struct diskgnn_packer *p, struct gnn_err *err)
{
    for (uint32_t i = 0; i < p->target_count; i++)
        if (p->targets[i].done != p->targets[i].rows)
            return gnn_fail(err, GNN_EBUG,
                            "diskgnn: target %" PRIu32 " of packing received %" PRIu32 " of %" PRIu32 " rows", i,
                            p->targets[i].done, p->targets[i].rows);
    return GNN_OK;
}

static enum gnn_status pack_all(struct diskgnn_packer *p, struct gnn_err *err)
{
    const bool batched = p->job->config->packing == DISKGNN_PACKING_BATCHED;
    choose_partitions(p);
    choose_windows(p);
    p->target_count = DISKGNN_TARGET_CHUNKS + p->layout->batches + p->window_count;
    GNN_TRY(open_memory(p, err));
    GNN_TRY(diskgnn_pack_list(p, err));
    GNN_TRY(diskgnn_kept_check(p, err));
    if (!p->kept.any)
        GNN_TRY(extend_files(p, err));
    GNN_TRY(batched ? diskgnn_pack_batched(p, err) : diskgnn_pack_individual(p, err));
    if (batched)
        GNN_TRY(diskgnn_pack_order(p, err));
    return check_done(p, err);
}

/* Closes the files. They get their names if all went well, the cached rows last: with them all three are there. A
 * packing that was stopped leaves them as they are if it can be taken up; every other failure removes them. */
static enum gnn_status name_files(struct diskgnn_packer *p, enum gnn_status status, struct gnn_err *err)
{
    for (uint32_t i = 0; i < DISKGNN_FILES; i++)
        GNN_NEXT(status, gnn_file_sync(p->job->env->world, p->files[i], err));
    if (p->files[DISKGNN_CHUNKS] == NULL)
        return status; /* nothing was touched */
    if (status == GNN_ECANCELLED && p->saved) {
        close_files(p);
        return status;
    }
    diskgnn_kept_remove(p->job); /* before what it speaks of changes its names, or goes */
    for (uint32_t i = 0; i < DISKGNN_FILES; i++)
        status = diskgnn_part_close(p->job, file_names[i], p->files[i], status, err);
    for (uint32_t i = 0; status != GNN_OK && i < DISKGNN_FILES; i++)
        diskgnn_remove(p->job, file_names[i]);
    return status;
}

enum gnn_status diskgnn_pack(struct diskgnn_job *job, const struct diskgnn_sampled *sampled,
                             struct diskgnn_layout *layout, struct gnn_err *err)
{
    const bool batched = job->config->packing == DISKGNN_PACKING_BATCHED;
    struct diskgnn_packer p = {.job = job,
                               .sampled = sampled,
                               .layout = layout,
                               .memory_bytes = job->config->pack_memory > 0 ? job->config->pack_memory : memory_usual,
                               .workers = batched ? job->config->pack_workers : 1,
                               .staging_bytes = staging_bytes_of(job->config, &layout->rows)};
    const unsigned direct = diskgnn_direct_flag(job->config->io);
    enum gnn_status status = gnn_dataset_file_open(job->env, GNN_DATASET_FEATURES, direct, &p.features, NULL, err);
    GNN_NEXT(status, open_files(&p, err));
    GNN_NEXT(status, pack_all(&p, err));
    close_packing(&p);
    status = name_files(&p, status, err);
    layout->pack_read_ns = p.read_ns;
    layout->pack_read_bytes = p.read_bytes;
    layout->pack_written_bytes = p.written_bytes;
    layout->pack_kept_rows = p.kept_row_count;
    return status;
}
