/* SPDX-License-Identifier: MIT */
#include "harness/storage/stream.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

struct gnn_stream_file {
    struct gnn_world *world;
    struct gnn_stream_file_config config;
    struct gnn_file *file;
    atomic_uint_fast64_t end_bytes; /* of the blocks taken */
    atomic_uint_fast64_t written_bytes, writes;
};

struct gnn_stream {
    struct gnn_world *world;
    struct gnn_stream_file *owner; /* NULL: an attached file */
    struct gnn_file *file;
    uint64_t bytes;         /* appended, paddings included; of an attached file: its size */
    uint64_t *block_offset; /* (block_capacity) in the file; as many as the stream's bytes need */
    uint64_t block_count, block_capacity;
    unsigned char *buffer; /* (block_bytes), the block in the making; NULL when sealed */
    uint64_t flushed_bytes;
};

/* ---- the file ---- */

static enum gnn_status check_block(const struct gnn_stream_file *owner, struct gnn_err *err)
{
    struct gnn_file_info info;
    gnn_file_info(owner->world, owner->file, &info);
    const uint32_t block_bytes = owner->config.block_bytes;
    if (block_bytes > 0 && block_bytes % GNN_PAGE_BYTES == 0 && block_bytes % info.offset_align_bytes == 0 &&
        GNN_PAGE_BYTES % info.offset_align_bytes == 0)
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE,
                    "stream blocks of %" PRIu32 " bytes: a multiple of %d and of the file system's %" PRIu32
                    " is needed",
                    block_bytes, GNN_PAGE_BYTES, info.offset_align_bytes);
}

enum gnn_status gnn_stream_file_open(struct gnn_world *world, const struct gnn_stream_file_config *config,
                                     struct gnn_stream_file **out, struct gnn_err *err)
{
    *out = NULL;
    struct gnn_stream_file *owner;
    GNN_NEW(owner, 1, err, "stream file");
    owner->world = world;
    owner->config = *config;
    const unsigned flags = GNN_OPEN_WRITE | GNN_OPEN_SCRATCH | (config->direct ? (unsigned)GNN_OPEN_DIRECT : 0);
    enum gnn_status status = gnn_file_open(world, config->dir, flags, &owner->file, err);
    GNN_NEXT(status, check_block(owner, err));
    return GNN_OPENED(status, owner, out, gnn_stream_file_close);
}

void gnn_stream_file_close(struct gnn_stream_file *owner)
{
    if (owner == NULL)
        return;
    gnn_file_close(owner->world, owner->file);
    free(owner);
}

struct gnn_file *gnn_stream_file_handle(const struct gnn_stream_file *owner)
{
    return owner->file;
}

void gnn_stream_file_counters(const struct gnn_stream_file *owner, struct gnn_stream_file_counters *out)
{
    *out = (struct gnn_stream_file_counters){.written_bytes = atomic_load(&owner->written_bytes),
                                             .writes = atomic_load(&owner->writes),
                                             .file_bytes = atomic_load(&owner->end_bytes)};
}

/* ---- streams ---- */

enum gnn_status gnn_stream_open(struct gnn_stream_file *owner, struct gnn_stream **out, struct gnn_err *err)
{
    *out = NULL;
    struct gnn_stream *stream;
    GNN_NEW(stream, 1, err, "stream handle");
    stream->world = owner->world;
    stream->owner = owner;
    stream->file = owner->file;
    void *buffer = NULL;
    const enum gnn_status status = gnn_mem_alloc(owner->world, "stream buffer", owner->config.block_bytes,
                                                 owner->config.mem_flags | GNN_MEM_LARGE, &buffer, err);
    stream->buffer = buffer;
    return GNN_OPENED(status, stream, out, gnn_stream_close);
}

enum gnn_status gnn_stream_attach(struct gnn_world *world, struct gnn_file *file, uint64_t bytes,
                                  struct gnn_stream **out, struct gnn_err *err)
{
    *out = NULL;
    struct gnn_stream *stream;
    GNN_NEW(stream, 1, err, "stream handle");
    *stream = (struct gnn_stream){.world = world, .file = file, .bytes = bytes, .flushed_bytes = bytes};
    *out = stream;
    return GNN_OK;
}

void gnn_stream_close(struct gnn_stream *stream)
{
    if (stream == NULL)
        return;
    gnn_mem_free(stream->world, stream->buffer);
    free(stream->block_offset);
    free(stream);
}

uint64_t gnn_stream_bytes(const struct gnn_stream *stream)
{
    return stream->bytes;
}

/* Gives the stream's next block its place in the file. */
static enum gnn_status take_block(struct gnn_stream *stream, struct gnn_err *err)
{
    if (stream->block_count == stream->block_capacity) {
        const uint64_t capacity = stream->block_capacity == 0 ? 16 : 2 * stream->block_capacity;
        uint64_t *const grown = realloc(stream->block_offset, capacity * sizeof *grown);
        if (grown == NULL)
            return gnn_fail(err, GNN_ENOMEM, "stream of %" PRIu64 " blocks", capacity);
        stream->block_offset = grown;
        stream->block_capacity = capacity;
    }
    stream->block_offset[stream->block_count++] =
        atomic_fetch_add(&stream->owner->end_bytes, stream->owner->config.block_bytes);
    return GNN_OK;
}

/* Writes the last block as far as it is filled, in whole pages. Bytes written before go out again. */
static enum gnn_status write_block(struct gnn_stream *stream, struct gnn_err *err)
{
    struct gnn_stream_file *const owner = stream->owner;
    const uint64_t block_bytes = owner->config.block_bytes;
    assert(stream->block_count > 0);
    const uint64_t last = stream->block_count - 1, filled = stream->bytes - last * block_bytes;
    const uint64_t len_bytes = gnn_round_up(filled, GNN_PAGE_BYTES);
    assert(filled > 0);
    assert(len_bytes <= block_bytes);
    GNN_TRY(gnn_write_all(stream->world, stream->file, stream->block_offset[last], stream->buffer, len_bytes, err));
    atomic_fetch_add(&owner->written_bytes, len_bytes);
    atomic_fetch_add(&owner->writes, 1);
    stream->flushed_bytes = stream->bytes;
    return GNN_OK;
}

/* Adds `bytes` that fit into the block in the making; data NULL: padding. */
static enum gnn_status add(struct gnn_stream *stream, const void *data, uint64_t bytes, struct gnn_err *err)
{
    const uint64_t block_bytes = stream->owner->config.block_bytes, filled = stream->bytes % block_bytes;
    assert(bytes > 0);
    assert(bytes <= block_bytes - filled);
    assert(filled == 0 || stream->block_count == stream->bytes / block_bytes + 1);
    if (filled == 0)
        GNN_TRY(take_block(stream, err));
    if (data != NULL)
        gnn_mem_copy(stream->world, stream->buffer + filled, data, bytes);
    stream->bytes += bytes;
    return filled + bytes == block_bytes ? write_block(stream, err) : GNN_OK;
}

enum gnn_status gnn_stream_begin(struct gnn_stream *stream, uint64_t *offset_bytes, struct gnn_err *err)
{
    const uint64_t begin = gnn_round_up(stream->bytes, GNN_PAGE_BYTES);
    if (begin > stream->bytes)
        GNN_TRY(add(stream, NULL, begin - stream->bytes, err));
    *offset_bytes = begin;
    return GNN_OK;
}

enum gnn_status gnn_stream_append(struct gnn_stream *stream, const void *data, uint64_t bytes, struct gnn_err *err)
{
    assert(stream->buffer != NULL);
    const uint64_t block_bytes = stream->owner->config.block_bytes;
    for (uint64_t done = 0; done < bytes;) {
        const uint64_t room = block_bytes - stream->bytes % block_bytes;
        const uint64_t part = gnn_min_u64(bytes - done, room);
        GNN_TRY(add(stream, (const unsigned char *)data + done, part, err));
        done += part;
    }
    return GNN_OK;
}

enum gnn_status gnn_stream_flush(struct gnn_stream *stream, struct gnn_err *err)
{
    return stream->flushed_bytes < stream->bytes ? write_block(stream, err) : GNN_OK;
}

enum gnn_status gnn_stream_seal(struct gnn_stream *stream, struct gnn_err *err)
{
    GNN_TRY(gnn_stream_flush(stream, err));
    gnn_mem_free(stream->world, stream->buffer);
    stream->buffer = NULL;
    return GNN_OK;
}

/* ---- pieces: parts of a span that are contiguous in the file ---- */

struct piece {
    uint64_t file_offset_bytes;
    uint32_t len_bytes; /* as read: whole pages of a stream file */
    uint32_t end_bytes; /* beyond these, less than a sector at the end of an attached file */
};

/* Bytes from `at` on that one read may ask for: a block's worth where the next block follows in the file, as it does in
 * a stream that is written alone, else those to the end of the block. */
static uint64_t run_bytes(const struct gnn_stream *stream, uint64_t at)
{
    const uint64_t block_bytes = stream->owner->config.block_bytes, block = at / block_bytes;
    assert(block < stream->block_count);
    const bool follows =
        block + 1 < stream->block_count && stream->block_offset[block + 1] == stream->block_offset[block] + block_bytes;
    return follows ? block_bytes : block_bytes - at % block_bytes;
}

/* The piece of `span` that starts `done` bytes into it. */
static struct piece piece_at(const struct gnn_span *span, uint64_t done, uint32_t align_bytes)
{
    const struct gnn_stream *const stream = span->stream;
    const uint64_t at = span->offset_bytes + done;
    uint64_t left = span->len_bytes - done;
    assert(done < span->len_bytes);
    assert(at + left <= stream->flushed_bytes);
    if (stream->owner != NULL) {
        const uint64_t block_bytes = stream->owner->config.block_bytes;
        left = gnn_min_u64(left, run_bytes(stream, at));
        return (struct piece){.file_offset_bytes = stream->block_offset[at / block_bytes] + at % block_bytes,
                              .len_bytes = (uint32_t)gnn_round_up(left, GNN_PAGE_BYTES)};
    }
    left = gnn_min_u64(left, GNN_READER_LOAD_BYTES_MAX);
    const uint64_t whole = gnn_round_down(left, align_bytes);
    return (struct piece){
        .file_offset_bytes = at, .len_bytes = (uint32_t)whole, .end_bytes = whole == 0 ? (uint32_t)left : 0};
}

/* Hands the piece to the reader, or reads the odd bytes at a file's end at once. *taken: bytes of the span that are now
 * under way or there; 0 when the reader is full. *in_flight counts the loads. */
static enum gnn_status submit_piece(struct gnn_reader *reader, struct gnn_world *world, uint32_t align_bytes,
                                    const struct gnn_span *span, uint64_t done, void *dst, uint64_t tag,
                                    uint64_t *taken, uint32_t *in_flight, struct gnn_err *err)
{
    const struct piece piece = piece_at(span, done, align_bytes);
    *taken = 0;
    if (piece.end_bytes > 0) {
        GNN_TRY(gnn_read_window(world, span->stream->file, piece.file_offset_bytes, (unsigned char *)dst + done,
                                align_bytes, piece.end_bytes, err));
        *taken = piece.end_bytes;
        return GNN_OK;
    }
    const struct gnn_load load = {.file = 0,
                                  .len_bytes = piece.len_bytes,
                                  .offset_bytes = piece.file_offset_bytes,
                                  .dst = (unsigned char *)dst + done,
                                  .tag = tag};
    uint32_t accepted;
    GNN_TRY(gnn_reader_submit(reader, &load, 1, &accepted, err));
    if (accepted == 0)
        return GNN_OK;
    *taken = gnn_min_u64(span->len_bytes - done, piece.len_bytes);
    ++*in_flight;
    return GNN_OK;
}

static uint32_t align_of(struct gnn_world *world, const struct gnn_file *file)
{
    struct gnn_file_info info;
    gnn_file_info(world, file, &info);
    return gnn_file_align(&info);
}

static enum gnn_status load_spans(struct gnn_reader *reader, const struct gnn_span *spans, void *const *dst,
                                  uint32_t count, struct gnn_err *err)
{
    uint32_t in_flight = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct gnn_world *const world = spans[i].stream->world;
        const uint32_t align_bytes = spans[i].len_bytes == 0 ? 1 : align_of(world, spans[i].stream->file);
        for (uint64_t done = 0, taken; done < spans[i].len_bytes; done += taken) {
            GNN_TRY(submit_piece(reader, world, align_bytes, &spans[i], done, dst[i], i, &taken, &in_flight, err));
            uint64_t tags[1];
            uint32_t got = 0;
            if (taken == 0)
                GNN_TRY(gnn_reader_harvest(reader, 1, 1, tags, &got, err));
            in_flight -= got;
        }
    }
    while (in_flight > 0) {
        uint64_t tags[16];
        uint32_t got;
        GNN_TRY(gnn_reader_harvest(reader, 1, gnn_min_u32(in_flight, 16), tags, &got, err));
        assert(got <= in_flight);
        in_flight -= got;
    }
    return GNN_OK;
}

enum gnn_status gnn_stream_load(struct gnn_reader *reader, const struct gnn_span *spans, void *const *dst,
                                uint32_t count, struct gnn_err *err)
{
    assert(gnn_reader_in_flight(reader) == 0);
    const enum gnn_status status = load_spans(reader, spans, dst, count, err);
    if (status != GNN_OK)
        gnn_reader_drain(reader);
    return status;
}

/* ---- one span after the other, reading ahead ---- */

enum { PIECES_IN_FLIGHT_MAX = 256 };

struct span_slot {
    struct gnn_span span;
    uint64_t submitted_bytes;
    uint32_t pending; /* loads in flight */
};

struct gnn_span_reader {
    struct gnn_world *world;
    struct gnn_span_reader_config config;
    struct gnn_reader *reader;
    uint32_t align_bytes;
    unsigned char *memory; /* (depth, room) */
    struct span_slot *slots;
    gnn_span_fn *next;
    void *ctx;
    bool exhausted, lent;      /* no more spans; the oldest is the caller's */
    uint64_t started, retired; /* spans so far: slot = number mod depth */
};

uint64_t gnn_span_reader_bytes(const struct gnn_span_reader_config *config)
{
    return gnn_mul_bytes(config->depth, gnn_span_room(config->span_bytes_max));
}

static enum gnn_status span_reader_fill(struct gnn_span_reader *r, struct gnn_err *err)
{
    GNN_MEM_NEW(r->world, r->memory, gnn_span_reader_bytes(&r->config), "read-ahead",
                r->config.mem_flags | GNN_MEM_LARGE, err);
    GNN_NEW(r->slots, r->config.depth, err, "read-ahead of %" PRIu32 " spans", r->config.depth);
    const uint64_t pieces = gnn_min_u64(r->config.depth * UINT64_C(2), PIECES_IN_FLIGHT_MAX);
    const struct gnn_reader_config config = {
        .engine = r->config.engine, .depth = (uint32_t)pieces, .files = &r->config.file, .file_count = 1};
    return gnn_reader_open(r->world, &config, &r->reader, err);
}

enum gnn_status gnn_span_reader_open(struct gnn_world *world, const struct gnn_span_reader_config *config,
                                     struct gnn_span_reader **out, struct gnn_err *err)
{
    assert(config->depth > 0);
    assert(config->span_bytes_max > 0);
    *out = NULL;
    struct gnn_span_reader *r;
    GNN_NEW(r, 1, err, "span reader");
    r->world = world;
    r->config = *config;
    r->exhausted = true;
    r->align_bytes = align_of(world, config->file);
    const enum gnn_status status = span_reader_fill(r, err);
    return GNN_OPENED(status, r, out, gnn_span_reader_close);
}

void gnn_span_reader_close(struct gnn_span_reader *r)
{
    if (r == NULL)
        return;
    gnn_reader_close(r->reader);
    gnn_mem_free(r->world, r->memory);
    free(r->slots);
    free(r);
}

void gnn_span_reader_start(struct gnn_span_reader *r, gnn_span_fn *next, void *ctx)
{
    gnn_reader_drain(r->reader);
    r->next = next;
    r->ctx = ctx;
    r->exhausted = r->lent = false;
    r->started = r->retired = 0;
}

void gnn_span_reader_counters(const struct gnn_span_reader *r, struct gnn_reader_counters *out)
{
    gnn_reader_counters(r->reader, out);
}

static struct span_slot *slot_of(const struct gnn_span_reader *r, uint64_t number)
{
    return &r->slots[number % r->config.depth];
}

static unsigned char *memory_of(const struct gnn_span_reader *r, uint64_t number)
{
    return r->memory + number % r->config.depth * gnn_span_room(r->config.span_bytes_max);
}

/* Submits more of the newest span; false: the reader is full. */
static enum gnn_status push_newest(struct gnn_span_reader *r, bool *more, struct gnn_err *err)
{
    struct span_slot *const slot = slot_of(r, r->started - 1);
    uint64_t taken;
    GNN_TRY(submit_piece(r->reader, r->world, r->align_bytes, &slot->span, slot->submitted_bytes,
                         memory_of(r, r->started - 1), r->started - 1, &taken, &slot->pending, err));
    slot->submitted_bytes += taken;
    *more = taken > 0;
    return GNN_OK;
}

/* Keeps the reader busy as far as slots and depth go. */
static enum gnn_status fill_read_ahead(struct gnn_span_reader *r, struct gnn_err *err)
{
    for (bool more = true; more;) {
        if (r->started > r->retired) {
            const struct span_slot *const newest = slot_of(r, r->started - 1);
            if (newest->submitted_bytes < newest->span.len_bytes) {
                GNN_TRY(push_newest(r, &more, err));
                continue;
            }
        }
        if (r->exhausted || r->started - r->retired == r->config.depth)
            return GNN_OK;
        struct span_slot *const fresh = slot_of(r, r->started);
        *fresh = (struct span_slot){.pending = 0};
        r->exhausted = !r->next(r->ctx, &fresh->span);
        if (!r->exhausted) {
            assert(fresh->span.len_bytes <= r->config.span_bytes_max);
            r->started++;
        }
    }
    return GNN_OK;
}

enum gnn_status gnn_span_reader_next(struct gnn_span_reader *r, struct gnn_span *span, void **data, struct gnn_err *err)
{
    *data = NULL;
    if (r->lent)
        r->retired++;
    r->lent = false;
    GNN_TRY(fill_read_ahead(r, err));
    if (r->retired == r->started)
        return GNN_OK;
    const struct span_slot *const oldest = slot_of(r, r->retired);
    while (oldest->pending > 0 || oldest->submitted_bytes < oldest->span.len_bytes) {
        uint64_t tags[16];
        uint32_t got;
        GNN_TRY(gnn_reader_harvest(r->reader, 1, 16, tags, &got, err));
        for (uint32_t i = 0; i < got; i++) {
            assert(tags[i] >= r->retired);
            assert(tags[i] < r->started);
            assert(slot_of(r, tags[i])->pending > 0);
            slot_of(r, tags[i])->pending--;
        }
        GNN_TRY(fill_read_ahead(r, err));
    }
    *span = oldest->span;
    *data = memory_of(r, r->retired);
    r->lent = true;
    return GNN_OK;
}
