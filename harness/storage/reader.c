/* SPDX-License-Identifier: MIT */
#include "harness/storage/reader.h"

#include "harness/storage/ring_reads.h"

#include <assert.h>
#include <inttypes.h>

enum { READER_CHUNK = 64 }; /* loads per call of the ring */

struct reader_file {
    struct gnn_file *file;
    struct gnn_file_info info;
};

/* One load in flight: where its window lands and what of it goes to dst. Same index as the read's slot. */
struct reader_slot {
    uint64_t tag;          /* the caller's */
    unsigned char *dst;    /* the caller's */
    unsigned char *window; /* dst, or this slot's bounce memory */
    uint32_t skip_bytes;   /* of the window, before the load's first byte */
    uint32_t len_bytes;
};

struct gnn_reader {
    struct gnn_world *world;
    struct gnn_ring_reads reads;
    uint32_t file_count;
    struct reader_file files[GNN_READER_FILES_MAX];
    unsigned char *bounce; /* depth * bounce_stride_bytes, or NULL */
    uint64_t bounce_stride_bytes;
    uint32_t bounce_bytes_max;
    struct reader_slot *slots; /* (depth) */
    uint64_t loads, bounced_loads;
};

/* ---- rows on sectors ---- */

struct gnn_row_layout gnn_row_layout(uint32_t row_bytes, uint32_t align_bytes)
{
    assert(row_bytes > 0);
    assert(row_bytes <= GNN_READER_LOAD_BYTES_MAX);
    assert(align_bytes > 0);
    assert((align_bytes & (align_bytes - 1)) == 0);
    struct gnn_row_layout layout = {.row_bytes = row_bytes, .align_bytes = align_bytes};
    layout.rows_per_load = align_bytes % row_bytes == 0 ? align_bytes / row_bytes : 1;
    layout.load_bytes = layout.rows_per_load * row_bytes;
    if (layout.load_bytes % align_bytes == 0) {
        layout.window_bytes_max = layout.load_bytes;
        /* A last group that is not full is shorter than its window. */
        layout.bounce_bytes_max = layout.rows_per_load > 1 ? layout.load_bytes : 0;
    } else {
        /* Rows start at the multiples of gcd(R, q), R's lowest bit, in a sector; the last makes the widest window. */
        const uint32_t skip_max = align_bytes - gnn_min_u32(row_bytes & (0U - row_bytes), align_bytes);
        layout.window_bytes_max = (uint32_t)gnn_round_up((uint64_t)skip_max + row_bytes, align_bytes);
        layout.bounce_bytes_max = row_bytes;
    }
    return layout;
}

struct gnn_row_range gnn_row_range(const struct gnn_row_layout *layout, uint64_t row, uint64_t file_bytes)
{
    const uint64_t offset_bytes = row / layout->rows_per_load * layout->load_bytes;
    assert(offset_bytes < file_bytes);
    const uint64_t len_bytes = gnn_min_u64(file_bytes - offset_bytes, layout->load_bytes);
    return (struct gnn_row_range){.offset_bytes = offset_bytes, .len_bytes = (uint32_t)len_bytes};
}

/* ---- open, close ---- */

static uint64_t bounce_stride(uint32_t bounce_bytes_max, uint32_t align_bytes)
{
    if (bounce_bytes_max == 0 || align_bytes == 1)
        return 0;
    return gnn_round_up((uint64_t)bounce_bytes_max + align_bytes - 1, align_bytes);
}

uint64_t gnn_reader_memory_bytes(const struct gnn_reader_config *config, uint32_t align_bytes)
{
    const uint64_t bounce = gnn_mul_bytes(config->depth, bounce_stride(config->bounce_bytes_max, align_bytes));
    const uint64_t slots = config->depth * (uint64_t)sizeof(struct reader_slot);
    return gnn_add_bytes(bounce, slots + gnn_ring_reads_bytes(config->depth, gnn_min_u32(config->depth, READER_CHUNK)));
}

/* Direct I/O alignments are powers of two, so the largest serves all files. */
static uint32_t largest_align(const struct gnn_reader *reader)
{
    uint32_t largest = 1;
    for (uint32_t i = 0; i < reader->file_count; i++)
        largest = gnn_max_u32(largest, gnn_file_align(&reader->files[i].info));
    return largest;
}

static enum gnn_status reader_fill(struct gnn_reader *reader, const struct gnn_reader_config *config,
                                   struct gnn_err *err)
{
    for (uint32_t i = 0; i < config->file_count; i++) {
        reader->files[i].file = config->files[i];
        gnn_file_info(reader->world, config->files[i], &reader->files[i].info);
    }
    GNN_NEW(reader->slots, config->depth, err, "reader of depth %" PRIu32, config->depth);
    reader->bounce_stride_bytes = bounce_stride(config->bounce_bytes_max, largest_align(reader));
    const uint64_t bounce_bytes = gnn_mul_bytes(reader->bounce_stride_bytes, config->depth);
    if (bounce_bytes > 0) /* plain: neighbour lists pass through it too, and their bytes are real in every world */
        GNN_MEM_NEW(reader->world, reader->bounce, bounce_bytes, "read bounce slots", GNN_MEM_PINNED, err);
    const struct gnn_ring_reads_config reads = {.batch_max = gnn_min_u32(config->depth, READER_CHUNK),
                                                .short_reads = GNN_SHORT_RESUMES,
                                                .ring = {.engine = config->engine,
                                                         .depth = config->depth,
                                                         .pool_threads = config->pool_threads,
                                                         .sqpoll = config->sqpoll,
                                                         .iopoll = config->iopoll,
                                                         .register_files = config->files,
                                                         .register_file_count = config->file_count,
                                                         .register_buffer = config->register_buffer,
                                                         .register_buffer_bytes = config->register_buffer_bytes}};
    return gnn_ring_reads_open(reader->world, &reads, &reader->reads, err);
}

enum gnn_status gnn_reader_open(struct gnn_world *world, const struct gnn_reader_config *config,
                                struct gnn_reader **out, struct gnn_err *err)
{
    *out = NULL;
    if (config->file_count == 0 || config->file_count > GNN_READER_FILES_MAX)
        return gnn_fail(err, GNN_EUSAGE, "a reader of %u files: 1 to %d are possible", config->file_count,
                        GNN_READER_FILES_MAX);
    if (config->depth == 0)
        return gnn_fail(err, GNN_EUSAGE, "a reader of depth 0: at least one read must be in flight");
    struct gnn_reader *reader;
    GNN_NEW(reader, 1, err, "reader of depth %" PRIu32, config->depth);
    reader->world = world;
    reader->file_count = config->file_count;
    reader->bounce_bytes_max = config->bounce_bytes_max;
    const enum gnn_status status = reader_fill(reader, config, err);
    return GNN_OPENED(status, reader, out, gnn_reader_close);
}

void gnn_reader_close(struct gnn_reader *reader)
{
    if (reader == NULL)
        return;
    gnn_ring_reads_close(&reader->reads); /* waits for what is in flight: the buffers go after it */
    gnn_mem_free(reader->world, reader->bounce);
    free(reader->slots);
    free(reader);
}

/* ---- submission ---- */

static bool inside(const struct reader_file *file, const struct gnn_load *load)
{
    const uint64_t size_bytes = file->info.size_bytes;
    return load->offset_bytes <= size_bytes && load->len_bytes <= size_bytes - load->offset_bytes;
}

/* Refuses a load that does not lie in its file, which may have grown since the last look. */
static enum gnn_status check_inside(const struct gnn_reader *reader, struct reader_file *file,
                                    const struct gnn_load *load, struct gnn_err *err)
{
    if (inside(file, load))
        return GNN_OK;
    gnn_file_info(reader->world, file->file, &file->info);
    if (inside(file, load))
        return GNN_OK;
    return gnn_fail(err, GNN_ESHORT, "%s: %" PRIu32 " bytes at offset %" PRIu64 " pass the end of the file at %" PRIu64,
                    gnn_file_path(reader->world, file->file), load->len_bytes, load->offset_bytes,
                    file->info.size_bytes);
}

/* Fills slot `index` with the load, and *read with its window and the place it lands in. */
static enum gnn_status place_load(struct gnn_reader *reader, const struct gnn_load *load, uint32_t index,
                                  struct gnn_read *read, struct gnn_err *err)
{
    assert(load->file < reader->file_count);
    assert(load->len_bytes > 0);
    assert(load->len_bytes <= GNN_READER_LOAD_BYTES_MAX);
    struct reader_file *const file = &reader->files[load->file];
    GNN_TRY(check_inside(reader, file, load, err));
    const uint64_t align = file->info.offset_align_bytes;
    const uint64_t start = gnn_round_down(load->offset_bytes, align);
    const uint32_t window_bytes = (uint32_t)(gnn_round_up(load->offset_bytes + load->len_bytes, align) - start);
    const uint32_t skip_bytes = (uint32_t)(load->offset_bytes - start);
    struct reader_slot *const slot = &reader->slots[index];
    *slot = (struct reader_slot){.tag = load->tag,
                                 .dst = load->dst,
                                 .window = load->dst,
                                 .skip_bytes = skip_bytes,
                                 .len_bytes = load->len_bytes};
    if (window_bytes != load->len_bytes || (uintptr_t)load->dst % file->info.mem_align_bytes != 0) {
        if (load->len_bytes > reader->bounce_bytes_max)
            return gnn_fail(err, GNN_EUSAGE,
                            "%s: %" PRIu32 " bytes at offset %" PRIu64
                            " do not lie on the direct I/O alignment of %" PRIu64
                            ", and the reader's bounce slots hold %" PRIu32,
                            gnn_file_path(reader->world, file->file), load->len_bytes, load->offset_bytes, align,
                            reader->bounce_bytes_max);
        assert(window_bytes <= reader->bounce_stride_bytes);
        slot->window = reader->bounce + index * reader->bounce_stride_bytes;
        reader->bounced_loads++;
    }
    *read =
        (struct gnn_read){.file = file->file,
                          .offset_bytes = start,
                          .dst = slot->window,
                          .len_bytes = window_bytes,
                          .need_bytes = skip_bytes + load->len_bytes, /* padding past the file's end may be missing */
                          .tag = index};
    return GNN_OK;
}

/* Places and submits up to READER_CHUNK loads. */
static enum gnn_status submit_chunk(struct gnn_reader *reader, const struct gnn_load *loads, uint32_t count,
                                    struct gnn_err *err)
{
    struct gnn_read reads[READER_CHUNK];
    assert(count <= READER_CHUNK);
    for (uint32_t i = 0; i < count; i++)
        GNN_TRY(place_load(reader, &loads[i], gnn_ring_reads_next_slot(&reader->reads, i), &reads[i], err));
    reader->loads += count;
    return gnn_ring_reads_submit(&reader->reads, reads, count, err);
}

enum gnn_status gnn_reader_submit(struct gnn_reader *reader, const struct gnn_load *loads, uint32_t count,
                                  uint32_t *accepted, struct gnn_err *err)
{
    *accepted = 0;
    while (*accepted < count && reader->reads.free_count > 0) {
        const uint32_t room = gnn_min_u32(reader->reads.free_count, READER_CHUNK);
        const uint32_t chunk = gnn_min_u32(count - *accepted, room);
        GNN_TRY(submit_chunk(reader, loads + *accepted, chunk, err));
        *accepted += chunk;
    }
    return GNN_OK;
}

/* ---- completion ---- */

/* Turns slots that are free again into the tags of their loads, whose bytes move from bounce memory to their place. */
static void finish_loads(struct gnn_reader *reader, uint64_t *tags, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert(tags[i] < reader->reads.config.ring.depth);
        const struct reader_slot *const slot = &reader->slots[tags[i]];
        if (slot->window != slot->dst)
            gnn_mem_copy(reader->world, slot->dst, slot->window + slot->skip_bytes, slot->len_bytes);
        tags[i] = slot->tag;
    }
}

enum gnn_status gnn_reader_harvest(struct gnn_reader *reader, uint32_t min, uint32_t max, uint64_t *tags, uint32_t *got,
                                   struct gnn_err *err)
{
    const enum gnn_status status = gnn_ring_reads_wait(&reader->reads, min, max, tags, got, err);
    finish_loads(reader, tags, *got);
    return status;
}

uint32_t gnn_reader_in_flight(const struct gnn_reader *reader)
{
    return gnn_ring_reads_in_flight(&reader->reads);
}

void gnn_reader_drain(struct gnn_reader *reader)
{
    gnn_ring_reads_drain(&reader->reads);
}

static enum gnn_status load_all(struct gnn_reader *reader, const struct gnn_load *loads, uint64_t count,
                                gnn_reader_done_fn *done, void *ctx, struct gnn_err *err)
{
    /* Taken in eighths of the depth, so that the device has its next reads before the last of a burst is used. */
    const uint32_t step = gnn_min_u32(reader->reads.config.ring.depth / 8 + 1, READER_CHUNK);
    uint64_t submitted = 0;
    uint64_t completed = 0;
    while (completed < count) {
        const uint32_t left = (uint32_t)gnn_min_u64(count - submitted, UINT32_MAX);
        uint32_t accepted;
        GNN_TRY(gnn_reader_submit(reader, loads + submitted, left, &accepted, err));
        submitted += accepted;
        uint64_t tags[READER_CHUNK];
        uint32_t got;
        GNN_TRY(gnn_reader_harvest(reader, 1, step, tags, &got, err));
        for (uint32_t i = 0; done != NULL && i < got; i++)
            GNN_TRY(done(ctx, tags[i], err));
        completed += got;
    }
    return GNN_OK;
}

enum gnn_status gnn_reader_load_all(struct gnn_reader *reader, const struct gnn_load *loads, uint64_t count,
                                    gnn_reader_done_fn *done, void *ctx, struct gnn_err *err)
{
    assert(gnn_reader_in_flight(reader) == 0);
    const enum gnn_status status = load_all(reader, loads, count, done, ctx, err);
    if (status != GNN_OK)
        gnn_reader_drain(reader);
    return status;
}

void gnn_reader_counters(const struct gnn_reader *reader, struct gnn_reader_counters *out)
{
    const struct gnn_ring_counters *const ring = &reader->reads.counters;
    *out = (struct gnn_reader_counters){.loads = reader->loads,
                                        .requested_bytes = ring->requested_bytes,
                                        .requested_ios = ring->requested_ios,
                                        .bounced_loads = reader->bounced_loads,
                                        .repeated_ios = ring->repeated_ios};
}

void gnn_reader_clear_counters(struct gnn_reader *reader)
{
    assert(gnn_reader_in_flight(reader) == 0);
    reader->reads.counters = (struct gnn_ring_counters){.completed = 0};
    reader->loads = reader->bounced_loads = 0;
}
