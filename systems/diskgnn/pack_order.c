/* SPDX-License-Identifier: MIT */
/* The order of disk caches: batched packing appends their rows by rising ID, window by window; here each window is
 * read, its rows are moved to where MinHash wants them, and it is written back.
 *
 * Memory   half of pack_memory: two windows, before and after; 4 bytes a row of one */
#include "harness/storage/exact.h"
#include "harness/system/epoch.h"
#include "systems/diskgnn/pack.h"

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
    p->read_bytes += bytes;
    p->written_bytes += bytes;
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
    GNN_TRY(diskgnn_kept_begin_order(p, err));
    for (uint32_t w = p->kept.ordered; w < p->window_count; w++) {
        GNN_TRY(order_window(o, w, err));
        diskgnn_progress(p->job, "windows of disk caches ordered", w + 1, p->window_count);
        const struct diskgnn_kept now = {
            .any = true, .ordering = true, .ordered = w + 1, .window_rows = p->window_rows};
        GNN_TRY(diskgnn_kept_save(p, &now, 2 * bytes, err));
    }
    return GNN_OK;
}

enum gnn_status diskgnn_pack_order(struct diskgnn_packer *p, struct gnn_err *err)
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
