#include "harness/storage/reader.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    READER_CHUNK = 64,        /* loads per call of the ring */
    READER_STALLS_MAX = 1000, /* fruitless repeats of one read before it counts as failed */
};
static const uint64_t stall_sleep_ns = UINT64_C(100000);

struct reader_file {
    struct gnn_file *file;
    uint64_t size_bytes;
    uint32_t mem_align_bytes;
    uint32_t offset_align_bytes;
};

/* One load in flight; the ring's tag is its index. */
struct reader_slot {
    uint64_t tag;
    unsigned char *dst;    /* the caller's */
    unsigned char *window; /* where the read lands: dst, or this slot's bounce memory */
    uint64_t window_offset_bytes;
    uint32_t window_bytes;
    uint32_t skip_bytes; /* of the window, before the load's first byte */
    uint32_t len_bytes;
    uint32_t done_bytes; /* of the window, whole alignment units */
    uint32_t file;
    uint32_t stalls;
};

struct gnn_reader {
    struct gnn_world *world;
    struct gnn_ring *ring;
    uint32_t depth;
    uint32_t file_count;
    struct reader_file files[GNN_READER_FILES_MAX];
    unsigned char *bounce; /* depth * bounce_stride_bytes, or NULL */
    uint64_t bounce_stride_bytes;
    uint32_t bounce_bytes_max;
    struct reader_slot *slots; /* (depth) */
    uint32_t *free_slots;      /* stack of indices */
    uint32_t free_count;
    uint32_t *again; /* slots whose read goes to the ring once more */
    uint32_t again_count;
    uint32_t in_ring;
    struct gnn_reader_counters counters;
};

/* ---- rows on sectors ---- */

static uint32_t greatest_common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

struct gnn_row_layout gnn_row_layout(uint32_t row_bytes, uint32_t align_bytes)
{
    assert(row_bytes > 0 && row_bytes <= GNN_READER_LOAD_BYTES_MAX);
    assert(align_bytes > 0 && (align_bytes & (align_bytes - 1)) == 0);
    struct gnn_row_layout layout = {.row_bytes = row_bytes, .align_bytes = align_bytes};
    layout.rows_per_load = align_bytes % row_bytes == 0 ? align_bytes / row_bytes : 1;
    layout.load_bytes = layout.rows_per_load * row_bytes;
    if (layout.load_bytes % align_bytes == 0) {
        layout.window_bytes_max = layout.load_bytes;
        /* A last group that is not full is shorter than its window. */
        layout.bounce_bytes_max = layout.rows_per_load > 1 ? layout.load_bytes : 0;
    } else {
        /* Rows start at the multiples of gcd(R, q) within a sector; the last of them makes the widest window.
         */
        const uint32_t skip_max = align_bytes - greatest_common_divisor(row_bytes, align_bytes);
        layout.window_bytes_max = (uint32_t)gnn_round_up((uint64_t)skip_max + row_bytes, align_bytes);
        layout.bounce_bytes_max = row_bytes;
    }
    return layout;
}

struct gnn_row_range gnn_row_range(const struct gnn_row_layout *layout, uint64_t row, uint64_t file_bytes)
{
    const uint64_t offset_bytes = row / layout->rows_per_load * layout->load_bytes;
    assert(offset_bytes < file_bytes);
    const uint64_t left_bytes = file_bytes - offset_bytes;
    return (struct gnn_row_range){.offset_bytes = offset_bytes,
                                  .len_bytes =
                                      left_bytes < layout->load_bytes ? (uint32_t)left_bytes : layout->load_bytes};
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
    return gnn_add_bytes(bounce, (uint64_t)config->depth * (sizeof(struct reader_slot) + 2 * sizeof(uint32_t)));
}

/* Direct I/O alignments are powers of two, so the largest serves all files. */
static uint32_t largest_align(const struct gnn_reader *reader)
{
    uint32_t largest = 1;
    for (uint32_t i = 0; i < reader->file_count; i++) {
        if (reader->files[i].offset_align_bytes > largest)
            largest = reader->files[i].offset_align_bytes;
        if (reader->files[i].mem_align_bytes > largest)
            largest = reader->files[i].mem_align_bytes;
    }
    return largest;
}

static enum gnn_status reader_fill(struct gnn_reader *reader, const struct gnn_reader_config *config,
                                   struct gnn_err *err)
{
    for (uint32_t i = 0; i < config->file_count; i++) {
        struct gnn_file_info info;
        gnn_file_info(reader->world, config->files[i], &info);
        reader->files[i] = (struct reader_file){.file = config->files[i],
                                                .size_bytes = info.size_bytes,
                                                .mem_align_bytes = info.mem_align_bytes,
                                                .offset_align_bytes = info.offset_align_bytes};
    }
    reader->slots = calloc(config->depth, sizeof *reader->slots);
    reader->free_slots = calloc(config->depth, sizeof *reader->free_slots);
    reader->again = calloc(config->depth, sizeof *reader->again);
    if (reader->slots == NULL || reader->free_slots == NULL || reader->again == NULL)
        return gnn_fail(err, GNN_ENOMEM, "reader of depth %u", config->depth);
    for (uint32_t i = 0; i < config->depth; i++)
        reader->free_slots[i] = config->depth - 1 - i;
    reader->free_count = config->depth;
    reader->bounce_stride_bytes = bounce_stride(config->bounce_bytes_max, largest_align(reader));
    const uint64_t bounce_bytes = gnn_mul_bytes(reader->bounce_stride_bytes, config->depth);
    if (bounce_bytes > 0) {
        void *bounce;
        /* Plain memory: neighbour lists pass through it too, and their bytes are real in every world. */
        GNN_TRY(gnn_mem_alloc(reader->world, "read bounce slots", bounce_bytes, GNN_MEM_PINNED, &bounce, err));
        reader->bounce = bounce;
    }
    const struct gnn_ring_config ring = {.engine = config->engine,
                                         .depth = config->depth,
                                         .pool_threads = config->pool_threads,
                                         .sqpoll = config->sqpoll,
                                         .iopoll = config->iopoll,
                                         .register_files = config->files,
                                         .register_file_count = config->file_count,
                                         .register_buffer = config->register_buffer,
                                         .register_buffer_bytes = config->register_buffer_bytes};
    return gnn_ring_open(reader->world, &ring, &reader->ring, err);
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
    struct gnn_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL)
        return gnn_fail(err, GNN_ENOMEM, "reader handle");
    reader->world = world;
    reader->depth = config->depth;
    reader->file_count = config->file_count;
    reader->bounce_bytes_max = config->bounce_bytes_max;
    const enum gnn_status status = reader_fill(reader, config, err);
    if (status == GNN_OK)
        *out = reader;
    else
        gnn_reader_close(reader);
    return status;
}

void gnn_reader_close(struct gnn_reader *reader)
{
    if (reader == NULL)
        return;
    gnn_ring_close(reader->world, reader->ring); /* waits for what is in flight: the buffers go after it */
    gnn_mem_free(reader->world, reader->bounce);
    free(reader->again);
    free(reader->free_slots);
    free(reader->slots);
    free(reader);
}

/* ---- submission ---- */

static bool inside(const struct reader_file *file, const struct gnn_load *load)
{
    return load->offset_bytes <= file->size_bytes && load->len_bytes <= file->size_bytes - load->offset_bytes;
}

/* Fills the slot: the window, and where it lands. */
static enum gnn_status place_load(struct gnn_reader *reader, const struct gnn_load *load, uint32_t index,
                                  struct gnn_err *err)
{
    assert(load->file < reader->file_count);
    assert(load->len_bytes > 0 && load->len_bytes <= GNN_READER_LOAD_BYTES_MAX);
    struct reader_file *file = &reader->files[load->file];
    if (!inside(file, load)) { /* it may have grown since */
        struct gnn_file_info info;
        gnn_file_info(reader->world, file->file, &info);
        file->size_bytes = info.size_bytes;
    }
    if (!inside(file, load))
        return gnn_fail(err, GNN_ESHORT, "%s: %u bytes at offset %llu pass the end of the file at %llu",
                        gnn_file_path(reader->world, file->file), load->len_bytes,
                        (unsigned long long)load->offset_bytes, (unsigned long long)file->size_bytes);
    const uint64_t align = file->offset_align_bytes;
    const uint64_t window_start = gnn_round_down(load->offset_bytes, align);
    const uint64_t window_end = gnn_round_up(load->offset_bytes + load->len_bytes, align);
    struct reader_slot *slot = &reader->slots[index];
    *slot = (struct reader_slot){.tag = load->tag,
                                 .dst = load->dst,
                                 .window = load->dst,
                                 .window_offset_bytes = window_start,
                                 .window_bytes = (uint32_t)(window_end - window_start),
                                 .skip_bytes = (uint32_t)(load->offset_bytes - window_start),
                                 .len_bytes = load->len_bytes,
                                 .file = load->file};
    if (slot->window_bytes == load->len_bytes && (uintptr_t)load->dst % file->mem_align_bytes == 0)
        return GNN_OK;
    if (load->len_bytes > reader->bounce_bytes_max)
        return gnn_fail(err, GNN_EUSAGE,
                        "%s: %u bytes at offset %llu do not lie on the direct I/O alignment of %llu, and the reader's "
                        "bounce slots hold %u",
                        gnn_file_path(reader->world, file->file), load->len_bytes,
                        (unsigned long long)load->offset_bytes, (unsigned long long)align, reader->bounce_bytes_max);
    slot->window = reader->bounce + index * reader->bounce_stride_bytes;
    assert(slot->window_bytes <= reader->bounce_stride_bytes);
    return GNN_OK;
}

/* What is still to be read of a slot. */
static struct gnn_read read_of(const struct gnn_reader *reader, uint32_t index)
{
    const struct reader_slot *slot = &reader->slots[index];
    assert(slot->done_bytes < slot->window_bytes);
    return (struct gnn_read){.file = reader->files[slot->file].file,
                             .offset_bytes = slot->window_offset_bytes + slot->done_bytes,
                             .dst = slot->window + slot->done_bytes,
                             .len_bytes = slot->window_bytes - slot->done_bytes,
                             .tag = index};
}

/* Places and submits up to READER_CHUNK loads. */
static enum gnn_status submit_chunk(struct gnn_reader *reader, const struct gnn_load *loads, uint32_t count,
                                    uint32_t *accepted, struct gnn_err *err)
{
    struct gnn_read reads[READER_CHUNK];
    assert(count <= READER_CHUNK && count <= reader->free_count);
    *accepted = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t index = reader->free_slots[reader->free_count - 1 - i];
        GNN_TRY(place_load(reader, &loads[i], index, err));
        reads[i] = read_of(reader, index);
    }
    const enum gnn_status status = gnn_ring_submit(reader->world, reader->ring, reads, count, accepted, err);
    reader->free_count -= *accepted;
    reader->in_ring += *accepted;
    for (uint32_t i = 0; i < *accepted; i++) {
        const struct reader_slot *slot = &reader->slots[reads[i].tag];
        reader->counters.loads++;
        reader->counters.requested_ios++;
        reader->counters.requested_bytes += slot->window_bytes;
        reader->counters.bounced_loads += slot->window != slot->dst;
    }
    return status;
}

enum gnn_status gnn_reader_submit(struct gnn_reader *reader, const struct gnn_load *loads, uint32_t count,
                                  uint32_t *accepted, struct gnn_err *err)
{
    *accepted = 0;
    while (*accepted < count && reader->free_count > 0) {
        uint32_t chunk = count - *accepted;
        if (chunk > reader->free_count)
            chunk = reader->free_count;
        if (chunk > READER_CHUNK)
            chunk = READER_CHUNK;
        uint32_t taken;
        const enum gnn_status status = submit_chunk(reader, loads + *accepted, chunk, &taken, err);
        *accepted += taken;
        GNN_TRY(status);
        if (taken < chunk)
            break;
    }
    return GNN_OK;
}

/* ---- completion ---- */

static enum gnn_status read_failed(const struct gnn_reader *reader, const struct reader_slot *slot,
                                   enum gnn_status status, const char *why, struct gnn_err *err)
{
    return gnn_fail(err, status, "%s: read of %u bytes at offset %llu: %s",
                    gnn_file_path(reader->world, reader->files[slot->file].file), slot->window_bytes - slot->done_bytes,
                    (unsigned long long)(slot->window_offset_bytes + slot->done_bytes), why);
}

/* The read goes to the ring once more; fails when that has been fruitless too often. */
static enum gnn_status repeat_read(struct gnn_reader *reader, uint32_t index, const char *why, struct gnn_err *err)
{
    struct reader_slot *slot = &reader->slots[index];
    if (slot->stalls > READER_STALLS_MAX)
        return read_failed(reader, slot, GNN_EIO, why, err);
    if (slot->stalls > 0 && slot->stalls % 16 == 0)
        gnn_sleep_until(reader->world, gnn_now_ns(reader->world) + stall_sleep_ns, GNN_WAIT_IO);
    reader->again[reader->again_count++] = index;
    return GNN_OK;
}

/* Compares one completion with what was asked. *complete: the load's bytes are in dst and its slot is free.
 */
static enum gnn_status settle(struct gnn_reader *reader, const struct gnn_completion *completion, bool *complete,
                              struct gnn_err *err)
{
    *complete = false;
    assert(completion->tag < reader->depth);
    const uint32_t index = (uint32_t)completion->tag;
    struct reader_slot *slot = &reader->slots[index];
    const int32_t result = completion->result;
    if (result == -EAGAIN || result == -EINTR) {
        slot->stalls++;
        return repeat_read(reader, index, strerror(-result), err);
    }
    if (result < 0)
        return read_failed(reader, slot, GNN_EIO, strerror(-result), err);
    assert((uint32_t)result <= slot->window_bytes - slot->done_bytes);
    const uint32_t arrived = slot->done_bytes + (uint32_t)result;
    if (arrived >= slot->skip_bytes + slot->len_bytes) { /* padding past the file's end may stay unread */
        if (slot->window != slot->dst)
            gnn_mem_copy(reader->world, slot->dst, slot->window + slot->skip_bytes, slot->len_bytes);
        reader->free_slots[reader->free_count++] = index;
        *complete = true;
        return GNN_OK;
    }
    if (result == 0)
        return read_failed(reader, slot, GNN_ESHORT, "the file ends before it did when it was opened", err);
    const struct reader_file *file = &reader->files[slot->file];
    const uint32_t step =
        file->offset_align_bytes > file->mem_align_bytes ? file->offset_align_bytes : file->mem_align_bytes;
    const uint32_t kept = (uint32_t)gnn_round_down(arrived, step);
    slot->stalls = kept > slot->done_bytes ? 0 : slot->stalls + 1;
    slot->done_bytes = kept;
    return repeat_read(reader, index, "it stays short", err);
}

static enum gnn_status submit_again(struct gnn_reader *reader, struct gnn_err *err)
{
    while (reader->again_count > 0) {
        struct gnn_read reads[READER_CHUNK];
        const uint32_t count = reader->again_count < READER_CHUNK ? reader->again_count : READER_CHUNK;
        for (uint32_t i = 0; i < count; i++)
            reads[i] = read_of(reader, reader->again[reader->again_count - 1 - i]);
        uint32_t accepted = 0;
        const enum gnn_status status = gnn_ring_submit(reader->world, reader->ring, reads, count, &accepted, err);
        reader->again_count -= accepted;
        reader->in_ring += accepted;
        reader->counters.repeated_ios += accepted;
        GNN_TRY(status);
        if (accepted < count)
            return GNN_OK; /* the next harvest tries again */
    }
    return GNN_OK;
}

/* Settles a batch of completions; after a failure the rest is settled too, so that every slot is accounted
 * for. */
static enum gnn_status settle_all(struct gnn_reader *reader, const struct gnn_completion *completions, uint32_t count,
                                  uint64_t *tags, uint32_t *got, struct gnn_err *err)
{
    enum gnn_status first = GNN_OK;
    for (uint32_t i = 0; i < count; i++) {
        bool complete;
        const uint32_t index = (uint32_t)completions[i].tag;
        const enum gnn_status status = settle(reader, &completions[i], &complete, err);
        if (status != GNN_OK)
            reader->free_slots[reader->free_count++] = index; /* given up */
        else if (complete)
            tags[(*got)++] = reader->slots[index].tag;
        if (first == GNN_OK)
            first = status;
    }
    return first;
}

enum gnn_status gnn_reader_harvest(struct gnn_reader *reader, uint32_t min, uint32_t max, uint64_t *tags, uint32_t *got,
                                   struct gnn_err *err)
{
    assert(min <= max && min <= gnn_reader_in_flight(reader));
    *got = 0;
    do {
        GNN_TRY(submit_again(reader, err));
        struct gnn_completion completions[READER_CHUNK];
        const uint32_t room = max - *got < READER_CHUNK ? max - *got : READER_CHUNK;
        uint32_t wanted = min > *got ? min - *got : 0;
        if (wanted > room)
            wanted = room;
        if (wanted > reader->in_ring)
            wanted = reader->in_ring;
        uint32_t arrived = 0;
        GNN_TRY(gnn_ring_wait(reader->world, reader->ring, wanted, room, completions, &arrived, err));
        reader->in_ring -= arrived;
        GNN_TRY(settle_all(reader, completions, arrived, tags, got, err));
    } while (*got < min);
    return submit_again(reader, err);
}

uint32_t gnn_reader_in_flight(const struct gnn_reader *reader)
{
    return reader->depth - reader->free_count;
}

void gnn_reader_drain(struct gnn_reader *reader)
{
    while (reader->again_count > 0) /* not in the ring: simply given up */
        reader->free_slots[reader->free_count++] = reader->again[--reader->again_count];
    while (reader->in_ring > 0) {
        struct gnn_completion dropped[READER_CHUNK];
        uint32_t arrived = 0;
        if (gnn_ring_wait(reader->world, reader->ring, 1, READER_CHUNK, dropped, &arrived, NULL) != GNN_OK)
            return; /* a ring that cannot be waited on: closing it is all that is left */
        reader->in_ring -= arrived;
        for (uint32_t i = 0; i < arrived; i++)
            reader->free_slots[reader->free_count++] = (uint32_t)dropped[i].tag;
    }
}

static enum gnn_status load_all(struct gnn_reader *reader, const struct gnn_load *loads, uint64_t count,
                                gnn_reader_done_fn *done, void *ctx, struct gnn_err *err)
{
    /* Taken in eighths of the depth, so that the device has its next reads before the last of a burst is
     * used. */
    const uint32_t step = reader->depth / 8 + 1 < READER_CHUNK ? reader->depth / 8 + 1 : READER_CHUNK;
    uint64_t submitted = 0;
    uint64_t completed = 0;
    while (completed < count) {
        const uint64_t left = count - submitted;
        uint32_t accepted;
        GNN_TRY(gnn_reader_submit(reader, loads + submitted, left < UINT32_MAX ? (uint32_t)left : UINT32_MAX, &accepted,
                                  err));
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
    *out = reader->counters;
}
