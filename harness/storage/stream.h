/* SPDX-License-Identifier: MIT */
/* Streams: what a system writes to disk during a run in order to read it back (Ginex' runtime trace, AGNES' spools),
 * and the streaming reads that go with it.
 *
 * A stream file is one scratch file cut into blocks. A stream is a sequence of bytes that is only ever appended to; it
 * fills one block's worth of aligned memory, then takes the next free block of the file and writes it whole. So many
 * streams, each with its own thread, share one file and one descriptor, every write is block_bytes long, and nothing
 * about the length of a stream is known beforehand.
 *
 *     offset in the stream     0 .. B        B .. 2B       2B .. 3B
 *     place in the file        block[0]      block[1]      block[2]      multiples of B, in any order
 *
 * There is no header and no directory on disk: the file has no name and does not outlive its handle (GNN_OPEN_SCRATCH),
 * so a crash leaves nothing behind. Where records begin is the writer's to remember; a record that begins at
 * gnn_stream_begin() can be read straight into place with direct I/O.
 *
 * Two ways back: gnn_stream_load reads several spans at once into the caller's memory; a gnn_span_reader delivers one
 * span after the other from its own, reading ahead. Both work on ordinary files too (gnn_stream_attach). */
#ifndef GNN_STORAGE_STREAM_H
#define GNN_STORAGE_STREAM_H

#include "harness/storage/reader.h"

/* ---- writing ---- */

struct gnn_stream_file;
struct gnn_stream;

struct gnn_stream_file_config {
    const char *dir;      /* where the scratch file is made */
    bool direct;          /* GNN_ENOTSUP where the file system refuses */
    uint32_t block_bytes; /* of one write: a multiple of 4096 and of what direct I/O asks */
    unsigned mem_flags;   /* of the streams' buffers: GNN_MEM_FEATURES for feature rows */
};

/* GNN_EUSAGE for a block size that does not fit; errors of gnn_file_open. */
GNN_MUST_CHECK enum gnn_status gnn_stream_file_open(struct gnn_world *world,
                                                    const struct gnn_stream_file_config *config,
                                                    struct gnn_stream_file **out, struct gnn_err *err);
/* Every stream was closed. The file is gone. Accepts NULL. */
void gnn_stream_file_close(struct gnn_stream_file *owner);
struct gnn_file *gnn_stream_file_handle(const struct gnn_stream_file *owner); /* for readers */

struct gnn_stream_file_counters {
    uint64_t written_bytes, writes; /* by all streams so far, paddings and repeated last blocks included */
    uint64_t file_bytes;            /* blocks taken */
};
void gnn_stream_file_counters(const struct gnn_stream_file *owner, struct gnn_stream_file_counters *out);

/* A stream belongs to one thread at a time; different streams of a file may be written at once. It holds block_bytes of
 * memory until gnn_stream_seal or close. */
GNN_MUST_CHECK enum gnn_status gnn_stream_open(struct gnn_stream_file *owner, struct gnn_stream **out,
                                               struct gnn_err *err);
/* A stream that is an existing file of `bytes` bytes, for reading. The file stays the caller's. */
GNN_MUST_CHECK enum gnn_status gnn_stream_attach(struct gnn_world *world, struct gnn_file *file, uint64_t bytes,
                                                 struct gnn_stream **out, struct gnn_err *err);
void gnn_stream_close(struct gnn_stream *stream); /* accepts NULL */

/* Pads to the next multiple of the alignment and returns that offset: where a record begins that is read on its own. */
GNN_MUST_CHECK enum gnn_status gnn_stream_begin(struct gnn_stream *stream, uint64_t *offset_bytes, struct gnn_err *err);
/* Errors of gnn_write_all: GNN_ENOSPC, GNN_EIO. */
GNN_MUST_CHECK enum gnn_status gnn_stream_append(struct gnn_stream *stream, const void *data, uint64_t bytes,
                                                 struct gnn_err *err);
/* Writes the bytes still in memory; everything appended so far can be read from now on. More may follow. */
GNN_MUST_CHECK enum gnn_status gnn_stream_flush(struct gnn_stream *stream, struct gnn_err *err);
/* Flushes and frees the buffer: nothing may be appended any more. */
GNN_MUST_CHECK enum gnn_status gnn_stream_seal(struct gnn_stream *stream, struct gnn_err *err);
uint64_t gnn_stream_bytes(const struct gnn_stream *stream); /* appended so far, paddings included */

/* ---- reading ---- */

/* A range of a stream that has been flushed. On a direct file offset_bytes is aligned (as gnn_stream_begin's are). */
struct gnn_span {
    const struct gnn_stream *stream;
    uint64_t offset_bytes, len_bytes;
    uint64_t tag; /* the caller's */
};

/* Room a span needs where it is read to: its length rounded up to whole sectors. */
static inline uint64_t gnn_span_room(uint64_t len_bytes)
{
    return gnn_round_up(len_bytes, GNN_PAGE_BYTES);
}

/* Reads spans[i] to dst[i] (page-aligned, gnn_span_room(len) bytes), all of them in flight together as far as the
 * reader's depth goes. The reader has the streams' file as its file 0 and nothing in flight. On failure everything is
 * drained. */
GNN_MUST_CHECK enum gnn_status gnn_stream_load(struct gnn_reader *reader, const struct gnn_span *spans,
                                               void *const *dst, uint32_t count, struct gnn_err *err);

/* Fills the next span to read; false when there is none. Never sleeps. */
typedef bool gnn_span_fn(void *ctx, struct gnn_span *out);

struct gnn_span_reader_config {
    enum gnn_ring_engine engine;
    struct gnn_file *file; /* of all its streams */
    uint32_t depth;        /* spans in memory: one at the caller's, the others being read */
    uint64_t span_bytes_max;
    unsigned mem_flags; /* GNN_MEM_FEATURES: the bytes are feature rows */
};

struct gnn_span_reader; /* owner only */
/* Memory: depth * gnn_span_room(span_bytes_max), in one piece. */
GNN_MUST_CHECK enum gnn_status gnn_span_reader_open(struct gnn_world *world,
                                                    const struct gnn_span_reader_config *config,
                                                    struct gnn_span_reader **out, struct gnn_err *err);
void gnn_span_reader_close(struct gnn_span_reader *reader); /* waits for what is in flight; accepts NULL */
uint64_t gnn_span_reader_bytes(const struct gnn_span_reader_config *config);

/* Another sequence of spans. What was in flight is dropped. */
void gnn_span_reader_start(struct gnn_span_reader *reader, gnn_span_fn *next, void *ctx);
/* The next span in order and its bytes, which stay valid until the next call; *data = NULL after the last. */
GNN_MUST_CHECK enum gnn_status gnn_span_reader_next(struct gnn_span_reader *reader, struct gnn_span *span, void **data,
                                                    struct gnn_err *err);
/* requested_bytes and requested_ios so far. */
void gnn_span_reader_counters(const struct gnn_span_reader *reader, struct gnn_reader_counters *out);

#endif
