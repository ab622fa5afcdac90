/* Batched packing, and what both ways of packing share: see pack.h.
 *
 * Source   DiskGNN (SIGMOD 2025) section 5.2. In the released code a packed chunk is ordered by the partitions that
 *          were read, and its table is made again; here it is by node ID, which no partition changes
 * Memory   half of pack_memory for a partition (or two windows of a disk cache), its entries (4 bytes a row that is
 *          written from it), pack_workers staging buffers, a page a target */
#include "systems/diskgnn/pack.h"
#include "harness/storage/exact.h"
#include "harness/system/epoch.h"

#include <inttypes.h>

enum { STAGING_BYTES = 1 << 20, READ_BYTES = 1 << 20 };
static const uint64_t memory_most = UINT64_C(1) << 30, memory_least = UINT64_C(4) << 20;

static const char *const file_names[DISKGNN_FILES] = {"chunks", "disk", "cached"};

/* ---- sizes ---- */

static uint64_t memory_of(const struct diskgnn_job *job)
{
    struct gnn_mem_usage usage;
    if (job->config->pack_memory > 0)
        return job->config->pack_memory;
    if (job->env->cap_bytes == 0)
        return memory_most;
    gnn_mem_usage(job->env->world, &usage);
    const uint64_t held = usage.current_bytes + job->env->process_bytes, cap = job->env->cap_bytes;
    return gnn_max_u64(gnn_min_u64(cap > held ? (cap - held) / 2 : 0, memory_most), memory_least);
}

/* Cuts the features into partitions that begin on pages and between rows. */
static void choose_partitions(struct diskgnn_packer *p)
{
    const struct gnn_dataset *const d = p->job->env->dataset;
    uint64_t parts = p->job->config->partitions;
    if (parts == 0)
        parts = gnn_min_u64(gnn_div_up(gnn_mul_bytes(2, d->feature_bytes), p->memory_bytes), DISKGNN_PARTITIONS_MAX);
    if (p->job->config->packing == DISKGNN_PACKING_INDIVIDUAL)
        parts = 1;
    const uint64_t common = gnn_min_u64(d->row_bytes & (0U - d->row_bytes), GNN_PAGE_BYTES);
    const uint64_t rows = gnn_round_up(gnn_div_up(d->node_count, gnn_max_u64(parts, 1)), GNN_PAGE_BYTES / common);
    p->part_rows = (uint32_t)gnn_min_u64(rows, UINT32_MAX);
    p->partitions = (uint32_t)gnn_div_up(d->node_count, p->part_rows);
}

/* Rows of a window: two of them, before and after ordering, take half the memory. */
static void choose_windows(struct diskgnn_packer *p)
{
    const struct diskgnn_layout *const l = p->layout;
    const uint64_t pages = gnn_max_u64(p->memory_bytes / 4 / l->rows.page_bytes, 1);
    const uint64_t rows = gnn_min_u64(pages * l->rows.per_page, l->disk_rows_most);
    p->window_rows = (uint32_t)rows;
    if (rows == 0)
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
    p->staging_bytes = gnn_round_up(
        gnn_max_u64(STAGING_BYTES, 2 * (uint64_t)rows->page_bytes) + UINT64_C(2) * GNN_PAGE_BYTES, GNN_PAGE_BYTES);
    GNN_MEM_NEW(world, p->staging, p->job->config->pack_workers * p->staging_bytes, "diskgnn rows to write", flags,
                err);
    fill_targets(p);
    return GNN_OK;
}

/* ---- one partition ---- */

static enum gnn_status load_rows(struct diskgnn_packer *p, struct gnn_reader *reader, struct gnn_load *loads,
                                 uint32_t part, struct gnn_err *err)
{
    struct gnn_world *const world = p->job->env->world;
    const struct gnn_dataset *const d = p->job->env->dataset;
    const uint64_t start_ns = gnn_now_ns(world), row_bytes = d->row_bytes;
    p->first_row = part * p->part_rows;
    const uint64_t begin = p->first_row * row_bytes, rows = gnn_min_u32(p->part_rows, d->node_count - p->first_row);
    const uint64_t bytes = rows * row_bytes, whole = gnn_round_down(bytes, GNN_PAGE_BYTES);
    uint64_t count = 0;
    for (uint64_t at = 0; at < whole; at += READ_BYTES)
        loads[count++] = (struct gnn_load){.len_bytes = (uint32_t)gnn_min_u64(whole - at, READ_BYTES),
                                           .offset_bytes = begin + at,
                                           .dst = p->rows + at};
    GNN_TRY(gnn_reader_load_all(reader, loads, count, NULL, NULL, err));
    if (bytes > whole) /* the features' last page is not whole */
        GNN_TRY(
            gnn_read_window(world, p->features, begin + whole, p->rows + whole, GNN_PAGE_BYTES, bytes - whole, err));
    p->read_ns += gnn_now_ns(world) - start_ns;
    return GNN_OK;
}

static enum gnn_status load_entries(struct diskgnn_packer *p, struct gnn_reader *reader, uint32_t part,
                                    struct gnn_err *err)
{
    const struct gnn_span span = {.stream = p->streams[part], .len_bytes = gnn_stream_bytes(p->streams[part])};
    GNN_TRY(gnn_buffer_reserve(p->job->env->world, &p->ids, gnn_span_room(span.len_bytes), err));
    p->id_words = span.len_bytes / sizeof(uint32_t);
    return gnn_stream_load(reader, &span, &p->ids.data, 1, err);
}

/* gnn_part_fn: appends every parts-th entry of the partition. */
static enum gnn_status append_entries(void *ctx, uint32_t part, uint32_t parts, struct gnn_err *err)
{
    struct diskgnn_packer *const p = ctx;
    const uint32_t *const words = p->ids.data;
    const uint64_t row_bytes = p->layout->rows.row_bytes;
    uint32_t entry = 0;
    for (uint64_t at = 0; at < p->id_words; at += 2 + (uint64_t)words[at + 1], entry++) {
        if (entry % parts != part)
            continue;
        struct diskgnn_append append;
        GNN_TRY(gnn_check_stop(p->job->env, err));
        diskgnn_append_begin(&append, p, words[at], part);
        for (uint32_t j = 0; j < words[at + 1]; j++)
            GNN_TRY(diskgnn_append_row(&append, p->rows + (words[at + 2 + j] - p->first_row) * row_bytes, err));
        GNN_TRY(diskgnn_append_end(&append, err));
    }
    return GNN_OK;
}

struct batched {
    struct diskgnn_packer *p;
    struct gnn_reader *features, *entries;
    struct gnn_load *loads;
};

static enum gnn_status partition_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    const struct batched *const b = ctx;
    struct diskgnn_packer *const p = b->p;
    for (uint32_t part = 0; part < p->partitions; part++) {
        GNN_TRY(gnn_check_stop(p->job->env, err));
        if (gnn_stream_bytes(p->streams[part]) == 0)
            continue;
        GNN_TRY(load_entries(p, b->entries, part, err));
        GNN_TRY(load_rows(p, b->features, b->loads, part, err));
        gnn_team_post(p->team, append_entries, p);
        GNN_TRY(gnn_team_wait(p->team));
        worker->items++;
        diskgnn_progress(p->job, "partitions packed", part + 1, p->partitions);
    }
    gnn_team_done(p->team);
    return GNN_OK;
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct batched *const b = ctx;
    GNN_TRY(gnn_pipeline_stage(pipeline, "partition", 1, partition_stage, b, err));
    return gnn_team_stage(b->p->team, pipeline, "pack", err);
}

static enum gnn_status open_batched(struct batched *b, struct gnn_err *err)
{
    struct diskgnn_packer *const p = b->p;
    struct gnn_world *const world = p->job->env->world;
    struct gnn_file *const spool = gnn_stream_file_handle(p->spool);
    const uint64_t bytes = gnn_round_up((uint64_t)p->part_rows * p->layout->rows.row_bytes, GNN_PAGE_BYTES);
    const struct gnn_reader_config features = {
        .engine = p->job->env->io_engine, .depth = p->job->config->pack_depth, .files = &p->features, .file_count = 1};
    const struct gnn_reader_config entries = {
        .engine = p->job->env->io_engine, .depth = 32, .files = &spool, .file_count = 1};
    GNN_MEM_NEW(world, p->rows, bytes, "diskgnn partition", GNN_MEM_FEATURES, err);
    GNN_NEW(b->loads, bytes / READ_BYTES + 1, err, "diskgnn: reads of a partition");
    GNN_TRY(gnn_reader_open(world, &features, &b->features, err));
    GNN_TRY(gnn_reader_open(world, &entries, &b->entries, err));
    return gnn_team_open(world, p->job->config->pack_workers, &p->team, err);
}

static enum gnn_status pack_batched(struct diskgnn_packer *p, struct gnn_err *err)
{
    struct batched b = {.p = p};
    struct gnn_epoch_result times = {0}; /* the stages' times are not an epoch's */
    enum gnn_status status = open_batched(&b, err);
    GNN_NEXT(status, gnn_epoch_run(p->job->env, add_stages, &b, &times, err));
    gnn_team_close(p->team);
    p->team = NULL;
    gnn_reader_close(b.entries);
    gnn_reader_close(b.features);
    free(b.loads);
    gnn_buffer_close(p->job->env->world, &p->ids);
    gnn_mem_free(p->job->env->world, p->rows);
    p->rows = NULL;
    return status;
}

/* ---- the order of disk caches ---- */

struct ordering {
    struct diskgnn_packer *p;
    struct gnn_reader *orders;
    struct gnn_buffer order;
    unsigned char *before, *after; /* (a window) feature memory */
};

static enum gnn_status order_window(struct ordering *o, uint32_t w, struct gnn_err *err)
{
    struct diskgnn_packer *const p = o->p;
    struct gnn_world *const world = p->job->env->world;
    const struct diskgnn_window *const window = &p->windows[w];
    const struct diskgnn_target *const target = &p->targets[DISKGNN_TARGET_CHUNKS + p->layout->batches + w];
    const struct diskgnn_rows *const rows = &p->layout->rows;
    const uint64_t bytes = diskgnn_rows_pages(rows, window->rows) * rows->page_bytes;
    const struct gnn_span span = {
        .stream = p->orders, .offset_bytes = window->order_offset_bytes, .len_bytes = window->rows * sizeof(uint32_t)};
    GNN_TRY(gnn_check_stop(p->job->env, err));
    GNN_TRY(gnn_buffer_reserve(world, &o->order, gnn_span_room(span.len_bytes), err));
    GNN_TRY(gnn_stream_load(o->orders, &span, &o->order.data, 1, err));
    GNN_TRY(gnn_read_all(world, target->file, target->offset_bytes, o->before, bytes, err));
    const uint32_t *const order = o->order.data;
    for (uint32_t j = 0; j < window->rows; j++)
        gnn_mem_copy(world, o->after + diskgnn_row_offset(rows, order[j]), o->before + diskgnn_row_offset(rows, j),
                     rows->row_bytes);
    /* Padding lies behind the same rows of a page as before: `after` is all zeros there, from window to window, but for
     * the end of a last page that is not full. */
    for (uint64_t at = diskgnn_row_offset(rows, window->rows); at < bytes;) {
        const uint64_t part = gnn_min_u64(bytes - at, GNN_PAGE_BYTES);
        gnn_mem_copy(world, o->after + at, p->zeros, part);
        at += part;
    }
    return gnn_write_all(world, target->file, target->offset_bytes, o->after, bytes, err);
}

static enum gnn_status order_windows(struct ordering *o, struct gnn_err *err)
{
    struct diskgnn_packer *const p = o->p;
    struct gnn_world *const world = p->job->env->world;
    struct gnn_file *const spool = gnn_stream_file_handle(p->spool);
    const struct gnn_reader_config config = {
        .engine = p->job->env->io_engine, .depth = 32, .files = &spool, .file_count = 1};
    const uint64_t bytes = diskgnn_rows_pages(&p->layout->rows, p->window_rows) * p->layout->rows.page_bytes;
    GNN_MEM_NEW(world, o->before, bytes, "diskgnn window of a disk cache", GNN_MEM_FEATURES, err);
    GNN_MEM_NEW(world, o->after, bytes, "diskgnn window in order", GNN_MEM_FEATURES, err);
    GNN_TRY(gnn_reader_open(world, &config, &o->orders, err));
    for (uint32_t w = 0; w < p->window_count; w++) {
        GNN_TRY(order_window(o, w, err));
        diskgnn_progress(p->job, "windows of disk caches ordered", w + 1, p->window_count);
    }
    return GNN_OK;
}

static enum gnn_status order_disk_caches(struct diskgnn_packer *p, struct gnn_err *err)
{
    struct ordering o = {.p = p, .order = {.name = "diskgnn order of a window"}};
    if (p->window_count == 0)
        return GNN_OK;
    const enum gnn_status status = order_windows(&o, err);
    gnn_reader_close(o.orders);
    gnn_buffer_close(p->job->env->world, &o.order);
    gnn_mem_free(p->job->env->world, o.before);
    gnn_mem_free(p->job->env->world, o.after);
    return status;
}

/* ---- all ---- */

static enum gnn_status open_files(struct diskgnn_packer *p, struct gnn_err *err)
{
    const unsigned direct = diskgnn_direct_flag(p->job->config->io);
    GNN_TRY(gnn_dataset_file_open(p->job->env, GNN_DATASET_FEATURES, direct, &p->features, NULL, err));
    for (uint32_t i = 0; i < DISKGNN_FILES; i++)
        GNN_TRY(diskgnn_part_open(p->job, file_names[i], direct, &p->files[i], err));
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
            return gnn_fail(err, GNN_EBUG, "diskgnn: target %" PRIu32 " of packing got %" PRIu32 " of %" PRIu32 " rows",
                            i, p->targets[i].done, p->targets[i].rows);
    return GNN_OK;
}

static enum gnn_status pack_all(struct diskgnn_packer *p, struct gnn_err *err)
{
    const bool batched = p->job->config->packing == DISKGNN_PACKING_BATCHED;
    GNN_TRY(open_memory(p, err));
    GNN_TRY(diskgnn_pack_list(p, err));
    GNN_TRY(batched ? pack_batched(p, err) : diskgnn_pack_individual(p, err));
    if (batched)
        GNN_TRY(order_disk_caches(p, err));
    return check_done(p, err);
}

enum gnn_status diskgnn_pack(struct diskgnn_job *job, const struct diskgnn_sampled *sampled,
                             struct diskgnn_layout *layout, struct gnn_err *err)
{
    struct diskgnn_packer p = {.job = job,
                               .sampled = sampled,
                               .layout = layout,
                               .memory_bytes = memory_of(job),
                               .ids = {.name = "diskgnn entries of a partition"}};
    choose_partitions(&p);
    choose_windows(&p);
    p.target_count = DISKGNN_TARGET_CHUNKS + layout->batches + p.window_count;
    enum gnn_status status = open_files(&p, err);
    GNN_NEXT(status, pack_all(&p, err));
    close_packing(&p);
    for (uint32_t i = 0; i < DISKGNN_FILES; i++) /* the cached rows last: with them all three are there */
        status = diskgnn_part_close(job, file_names[i], p.files[i], status, err);
    for (uint32_t i = 0; status != GNN_OK && i < DISKGNN_FILES; i++)
        diskgnn_remove(job, file_names[i]);
    layout->pack_read_ns = p.read_ns;
    return status;
}
