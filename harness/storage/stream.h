/* SPDX-License-Identifier: MIT */
/* Streams: data that a system writes to disk during a run and reads back (Ginex's runtime trace, AGNES's spools). The
 * streaming reads that belong to them are here, too.
 *
 * A stream file is one scratch file cut into blocks. A stream is a sequence of bytes that is only appended to. It fills
 * one block of aligned memory, takes the next free block of the file and writes it as a whole. Many streams, each with
 * its own thread, can thus share one file and one descriptor. Every write is block_bytes long. The length of a stream
 * need not be known in advance.
 *
 *    offset in the stream     0 .. B        B .. 2B       2B .. 3B
 *    place in the file        block[0]      block[1]      block[2]      multiples of B, in any order
 *
 * The file has no header and no directory on disk. It has no name and does not outlive its handle (GNN_OPEN_SCRATCH),
 * so a crash leaves nothing behind. The writer must remember where records begin. A record that begins at
 * gnn_stream_begin() can be read straight to its destination. This holds for direct I/O, too.
 *
 * Streams are read in two ways. gnn_stream_load reads several spans at once into the caller's memory. A gnn_span_reader
 * delivers one span after the other from its own memory and reads ahead. Both also read ordinary files
 * (gnn_stream_attach). */
#ifndef GNN_STORAGE_STREAM_H
#define GNN_STORAGE_STREAM_H

#include "harness/storage/reader.h"

/* ---- writing ---- */

struct gnn_stream_file;
struct gnn_stream;

struct gnn_stream_file_config {
    const char *dir;      /* directory of the scratch file */
    bool direct;          /* GNN_ENOTSUP if the file system has no direct I/O */
    uint32_t block_bytes; /* size of one write: a multiple of 4096 and of the direct I/O alignment */
    unsigned mem_flags;   /* for the streams' buffers: GNN_MEM_FEATURES for feature rows */
};

/* Opens a stream file; *out is the caller's to close, NULL on an error. GNN_EUSAGE: the block size is not a multiple of
 * 4096 and of the alignment. Otherwise errors of gnn_file_open. */
GNN_MUST_CHECK enum gnn_status gnn_stream_file_open(struct gnn_world *world,
                                                    const struct gnn_stream_file_config *config,
                                                    struct gnn_stream_file **out, struct gnn_err *err);
/* Closes and deletes the file; all its streams must be closed. Accepts NULL. */
void gnn_stream_file_close(struct gnn_stream_file *owner);
struct gnn_file *gnn_stream_file_handle(const struct gnn_stream_file *owner); /* for readers */

struct gnn_stream_file_counters {
    uint64_t written_bytes, writes; /* all streams so far, with padding and repeated last blocks */
    uint64_t file_bytes;            /* blocks in use */
};
void gnn_stream_file_counters(const struct gnn_stream_file *owner, struct gnn_stream_file_counters *out);

/* Opens a stream. It belongs to one thread at a time; different streams of a file may be written at once. It holds
 * block_bytes of memory until gnn_stream_seal or close. GNN_ENOMEM, GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status gnn_stream_open(struct gnn_stream_file *owner, struct gnn_stream **out,
                                               struct gnn_err *err);
/* Opens an existing file of `bytes` bytes as a stream, for reading only. The file stays the caller's. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_stream_attach(struct gnn_world *world, struct gnn_file *file, uint64_t bytes,
                                                 struct gnn_stream **out, struct gnn_err *err);
void gnn_stream_close(struct gnn_stream *stream); /* accepts NULL */

/* Pads the stream to the next multiple of 4096 and writes that offset to *offset_bytes. For records that are read
 * separately. */
GNN_MUST_CHECK enum gnn_status gnn_stream_begin(struct gnn_stream *stream, uint64_t *offset_bytes, struct gnn_err *err);
/* Appends bytes, which are copied. GNN_ENOSPC, GNN_EIO as gnn_write_all; GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_stream_append(struct gnn_stream *stream, const void *data, uint64_t bytes,
                                                 struct gnn_err *err);
/* Writes the bytes that are still in memory. Everything appended so far can then be read. More may be appended. */
GNN_MUST_CHECK enum gnn_status gnn_stream_flush(struct gnn_stream *stream, struct gnn_err *err);
/* Flushes and frees the buffer. Nothing may be appended afterwards. */
GNN_MUST_CHECK enum gnn_status gnn_stream_seal(struct gnn_stream *stream, struct gnn_err *err);
uint64_t gnn_stream_bytes(const struct gnn_stream *stream); /* appended so far, with padding */

/* ---- reading ---- */

/* A range of a stream that has been flushed. On a direct file offset_bytes is aligned, like those of
 * gnn_stream_begin. */
struct gnn_span {
    const struct gnn_stream *stream;
    uint64_t offset_bytes, len_bytes;
    uint64_t tag; /* for the caller's use */
};

/* Returns the memory that a span needs at its destination: its length rounded up to pages. */
static inline uint64_t gnn_span_room(uint64_t len_bytes)
{
    return gnn_round_up(len_bytes, GNN_PAGE_BYTES);
}

/* Reads spans[i] to dst[i] (page-aligned, gnn_span_room(len) bytes). Up to the reader's depth is in flight at once. The
 * reader has the streams' file as its file 0 and has nothing in flight. On an error everything is drained. */
GNN_MUST_CHECK enum gnn_status gnn_stream_load(struct gnn_reader *reader, const struct gnn_span *spans,
                                               void *const *dst, uint32_t count, struct gnn_err *err);

/* Fills *out with the next span to read, or returns false if there is none. Never sleeps. */
typedef bool gnn_span_fn(void *ctx, struct gnn_span *out);

struct gnn_span_reader_config {
    enum gnn_ring_engine engine;
    struct gnn_file *file; /* the file of all its streams */
    uint32_t depth;        /* spans in memory: the caller has one, the others are being read */
    uint64_t span_bytes_max;
    unsigned mem_flags; /* GNN_MEM_FEATURES if the bytes are feature rows */
};

struct gnn_span_reader; /* owned by one thread */
/* Opens a span reader; *out is the caller's to close, NULL on an error. It allocates depth *
 * gnn_span_room(span_bytes_max) bytes in one piece. Errors as gnn_reader_open. */
GNN_MUST_CHECK enum gnn_status gnn_span_reader_open(struct gnn_world *world,
                                                    const struct gnn_span_reader_config *config,
                                                    struct gnn_span_reader **out, struct gnn_err *err);
void gnn_span_reader_close(struct gnn_span_reader *reader); /* waits for what is in flight; accepts NULL */
uint64_t gnn_span_reader_bytes(const struct gnn_span_reader_config *config);

/* Starts another sequence of spans. Reads in flight are dropped. */
void gnn_span_reader_start(struct gnn_span_reader *reader, gnn_span_fn *next, void *ctx);
/* Returns the next span in order and its bytes in *data, valid until the next call. *data = NULL after the last span.
 * Sleeps (GNN_WAIT_IO). Errors as gnn_reader_harvest. */
GNN_MUST_CHECK enum gnn_status gnn_span_reader_next(struct gnn_span_reader *reader, struct gnn_span *span, void **data,
                                                    struct gnn_err *err);
/* Writes the reader's counters so far; requested_bytes and requested_ios are of use. */
void gnn_span_reader_counters(const struct gnn_span_reader *reader, struct gnn_reader_counters *out);

#endif
