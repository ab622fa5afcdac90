/* SPDX-License-Identifier: MIT */
/* Batched packing: the features are read once, partition by partition, sequentially, for all targets (DiskGNN, SIGMOD
 * 2025, section 5.2).
 *
 *     partition (1)   read the entries and rows of partition k; wait for k - 1; hand out k
 *     pack (W)        pieces of entries: gather rows, write
 *
 * Memory   two partitions and their entries */
#include "harness/pipeline/team.h"
#include "harness/storage/exact.h"
#include "harness/system/epoch.h"
#include "systems/diskgnn/pack.h"

enum { READ_BYTES = 1 << 20, SLOTS = 2 };

/* A partition in memory. */
struct slot {
    unsigned char *rows; /* (part_rows) feature memory */
    struct gnn_buffer entries;
    uint64_t words; /* of the entries: target, count, IDs; and again */
    uint32_t first_row, end_row;
};

struct batched {
    struct diskgnn_packer *p;
    struct gnn_reader *features, *spool;
    struct gnn_load *loads;
    struct gnn_team *team;
    struct slot slots[SLOTS];
    const struct slot *packing; /* what the team packs; NULL: nothing */

    struct gnn_mutex *mutex; /* of what is handed out, targets[].done and written_bytes */
    uint64_t next_word;      /* the entry to be handed out */
    uint32_t taken;          /* rows of it that were */
};

/* ---- reading ---- */

static enum gnn_status load_entries(struct batched *b, struct slot *slot, uint32_t part, struct gnn_err *err)
{
    const struct gnn_stream *const stream = b->p->streams[part];
    const struct gnn_span span = {.stream = stream, .len_bytes = gnn_stream_bytes(stream)};
    GNN_TRY(gnn_buffer_reserve(b->p->job->env->world, &slot->entries, gnn_span_room(span.len_bytes), err));
    slot->words = span.len_bytes / sizeof(uint32_t);
    return gnn_stream_load(b->spool, &span, &slot->entries.data, 1, err);
}

static enum gnn_status load_rows(struct batched *b, struct slot *slot, uint32_t part, struct gnn_err *err)
{
    struct diskgnn_packer *const p = b->p;
    struct gnn_world *const world = p->job->env->world;
    const struct gnn_dataset *const d = p->job->env->dataset;
    const uint64_t start_ns = gnn_now_ns(world), row_bytes = d->row_bytes;
    slot->first_row = p->first_row + part * p->part_rows;
    slot->end_row = slot->first_row + gnn_min_u32(p->part_rows, d->node_count - slot->first_row);
    const uint64_t begin = slot->first_row * row_bytes, bytes = slot->end_row * row_bytes - begin;
    const uint64_t whole = gnn_round_down(bytes, GNN_PAGE_BYTES);
    uint64_t count = 0;
    for (uint64_t at = 0; at < whole; at += READ_BYTES)
        b->loads[count++] = (struct gnn_load){.len_bytes = (uint32_t)gnn_min_u64(whole - at, READ_BYTES),
                                              .offset_bytes = begin + at,
                                              .dst = slot->rows + at};
    GNN_TRY(gnn_reader_load_all(b->features, b->loads, count, NULL, NULL, err));
    if (bytes > whole) /* the features' last page is not whole */
        GNN_TRY(
            gnn_read_window(world, p->features, begin + whole, slot->rows + whole, GNN_PAGE_BYTES, bytes - whole, err));
    p->read_ns += gnn_now_ns(world) - start_ns;
    p->read_bytes += bytes;
    return GNN_OK;
}

/* ---- packing ---- */

/* Takes the next piece of the partition; false: none is left. Pieces of a target begin in the order of its rows, as
 * diskgnn_append_begin wants it. */
static bool take_piece(struct batched *b, uint32_t worker, struct diskgnn_append *append, const gnn_node **ids)
{
    struct gnn_world *const world = b->p->job->env->world;
    gnn_mutex_lock(world, b->mutex);
    const bool more = b->next_word < b->packing->words;
    if (more) {
        const uint32_t *const entry = (const uint32_t *)b->packing->entries.data + b->next_word;
        const uint32_t target = entry[0], rows = entry[1];
        const uint32_t count = diskgnn_piece_rows(b->p, target, rows - b->taken);
        diskgnn_append_begin(append, b->p, target, count, worker);
        *ids = entry + 2 + b->taken;
        b->taken += count;
        b->p->written_bytes += count * (uint64_t)b->p->layout->rows.row_bytes;
        if (b->taken == rows) {
            b->next_word += 2 + (uint64_t)rows;
            b->taken = 0;
        }
    }
    gnn_mutex_unlock(world, b->mutex);
    return more;
}

static enum gnn_status append_piece(const struct batched *b, struct diskgnn_append *append, const gnn_node *ids,
                                    struct gnn_err *err)
{
    const struct slot *const slot = b->packing;
    const uint64_t row_bytes = b->p->layout->rows.row_bytes;
    GNN_TRY(gnn_check_stop(b->p->job->env, err));
    for (const gnn_node *id = ids; append->row < append->end; id++)
        GNN_TRY(diskgnn_append_row(append, slot->rows + (*id - slot->first_row) * row_bytes, err));
    return diskgnn_append_end(append, err);
}

/* Leaves nothing to the others: the partition has failed. */
static void drop_pieces(struct batched *b)
{
    struct gnn_world *const world = b->p->job->env->world;
    gnn_mutex_lock(world, b->mutex);
    b->next_word = b->packing->words;
    gnn_mutex_unlock(world, b->mutex);
}

/* gnn_part_fn */
static enum gnn_status append_pieces(void *ctx, uint32_t worker, uint32_t workers, struct gnn_err *err)
{
    struct batched *const b = ctx;
    struct diskgnn_append append = {.p = b->p};
    const gnn_node *ids = NULL;
    enum gnn_status status = GNN_OK;
    (void)workers;
    while (status == GNN_OK && take_piece(b, worker, &append, &ids))
        status = append_piece(b, &append, ids, err);
    if (status != GNN_OK)
        drop_pieces(b);
    return status;
}

/* Waits for the partition that the team packs, if there is one, and keeps how far it is. */
static enum gnn_status finish_partition(struct batched *b, struct gnn_worker *worker, struct gnn_err *err)
{
    struct diskgnn_packer *const p = b->p;
    const struct slot *const done = b->packing;
    if (done == NULL)
        return GNN_OK;
    GNN_TRY(gnn_team_wait(b->team));
    b->packing = NULL;
    worker->items++;
    diskgnn_progress(p->job, "nodes packed", done->end_row, p->job->env->dataset->node_count);
    const struct diskgnn_kept now = {.any = true, .next_node = done->end_row, .window_rows = p->window_rows};
    const uint64_t bytes = (done->end_row - done->first_row + done->words) * p->layout->rows.row_bytes;
    return p->kept.ordering ? GNN_OK : diskgnn_kept_save(p, &now, bytes, err); /* else what is kept says more */
}

static enum gnn_status partition_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct batched *const b = ctx;
    struct diskgnn_packer *const p = b->p;
    for (uint32_t part = 0, loaded = 0; part < p->partitions; part++) {
        if (gnn_stream_bytes(p->streams[part]) == 0)
            continue;
        struct slot *const slot = &b->slots[loaded++ % SLOTS];
        GNN_TRY(gnn_check_stop(p->job->env, err));
        GNN_TRY(load_entries(b, slot, part, err));
        GNN_TRY(load_rows(b, slot, part, err));
        GNN_TRY(finish_partition(b, worker, err));
        b->packing = slot;
        b->next_word = 0;
        gnn_team_post(b->team, append_pieces, b);
    }
    GNN_TRY(finish_partition(b, worker, err));
    gnn_team_done(b->team);
    return GNN_OK;
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct batched *const b = ctx;
    GNN_TRY(gnn_pipeline_stage(pipeline, "partition", 1, partition_stage, b, err));
    return gnn_team_stage(b->team, pipeline, "pack", err);
}

/* ---- open, close ---- */

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
    for (uint32_t i = 0; i < gnn_min_u32(p->partitions, SLOTS); i++) {
        b->slots[i].entries.name = "diskgnn entries of a partition";
        GNN_MEM_NEW(world, b->slots[i].rows, bytes, "diskgnn partition", GNN_MEM_FEATURES, err);
    }
    GNN_NEW(b->loads, bytes / READ_BYTES + 1, err, "diskgnn: reads of a partition");
    GNN_TRY(gnn_reader_open(world, &features, &b->features, err));
    GNN_TRY(gnn_reader_open(world, &entries, &b->spool, err));
    GNN_TRY(gnn_mutex_open(world, &b->mutex, err));
    return gnn_team_open(world, p->workers, &b->team, err);
}

static void close_batched(struct batched *b)
{
    struct gnn_world *const world = b->p->job->env->world;
    gnn_team_close(b->team);
    gnn_mutex_close(world, b->mutex);
    gnn_reader_close(b->spool);
    gnn_reader_close(b->features);
    free(b->loads);
    for (uint32_t i = 0; i < SLOTS; i++) {
        gnn_buffer_close(world, &b->slots[i].entries);
        gnn_mem_free(world, b->slots[i].rows);
    }
}

enum gnn_status diskgnn_pack_batched(struct diskgnn_packer *p, struct gnn_err *err)
{
    struct batched b = {.p = p};
    struct gnn_epoch_result times = {0}; /* the stages' times are not an epoch's */
    enum gnn_status status = open_batched(&b, err);
    GNN_NEXT(status, gnn_epoch_run(p->job->env, add_stages, &b, &times, err));
    close_batched(&b);
    return status;
}
