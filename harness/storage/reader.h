/* SPDX-License-Identifier: MIT */
/* The batched reader: many loads in flight over one ring (ring_reads.h), each compared with what was asked. GNNDrive's
 * asynchronous extraction (section 4) needs it first; other systems read rows, lists and whole blocks through it.
 *
 * A load is a byte range of a file and a place for it. On a direct file the range is widened to the aligned window
 * [floor(offset / q) q, ceil((offset + len) / q) q); where the window is the range itself and dst is aligned the read
 * lands in dst, otherwise in a bounce slot and the range is copied on. Short reads go on where they stopped, EINTR and
 * EAGAIN are repeated, a read that fails is GNN_EIO with file, offset and reason. A window may pass the end of the
 * file; a load may not.
 *
 * A reader belongs to one thread at a time: it may change hands while nothing is in flight.
 *
 *     for (...) { submit(one or many); harvest(min = 0); use what completed; }
 *     while (in_flight) harvest(min = 1);
 *
 * Harvesting an eighth of the depth at a time keeps a device busier than taking a whole burst before the next submit.
 *
 * After an error: gnn_reader_drain before the destinations are freed or the reader is used again. */
#ifndef GNN_STORAGE_READER_H
#define GNN_STORAGE_READER_H

#include "harness/storage/exact.h"
#include "harness/world/world.h"

/* ---- how rows lie on sectors ---- */

/* R = row_bytes, q = align_bytes. */
struct gnn_row_layout {
    uint32_t row_bytes;
    uint32_t align_bytes;
    uint32_t rows_per_load;    /* G = q / R where R divides q: neighbours come along (joint extraction); else 1 */
    uint32_t load_bytes;       /* G * R: also the bytes of a slot that keeps a load */
    uint32_t window_bytes_max; /* bytes of the widest read: load_bytes, or more where rows straddle sectors */
    uint32_t bounce_bytes_max; /* for gnn_reader_config: 0 when every load is its own window */
};

/* row_bytes > 0; align_bytes a power of two, 1 for buffered files (then nothing is grouped or bounced). */
struct gnn_row_layout gnn_row_layout(uint32_t row_bytes, uint32_t align_bytes);

/* The part of the file that loads `row`'s group: offset and length, cut at the file's end when the last group is not
 * full. row < file_bytes / row_bytes. */
struct gnn_row_range {
    uint64_t offset_bytes;
    uint32_t len_bytes;
};
struct gnn_row_range gnn_row_range(const struct gnn_row_layout *layout, uint64_t row, uint64_t file_bytes);

/* ---- the reader ---- */

enum { GNN_READER_FILES_MAX = 16, GNN_READER_LOAD_BYTES_MAX = 1 << 30 };

struct gnn_reader_config {
    enum gnn_ring_engine engine;
    uint32_t depth;                /* reads in flight at most */
    uint32_t pool_threads;         /* as in gnn_ring_config */
    bool sqpoll, iopoll;           /* as in gnn_ring_config */
    struct gnn_file *const *files; /* (file_count) kept open by the caller; loads name them by index */
    uint32_t file_count;
    uint32_t bounce_bytes_max; /* longest load that is not its own aligned window; costs depth windows of memory */
    void *register_buffer;     /* optional, as in gnn_ring_config: where most destinations lie */
    uint64_t register_buffer_bytes;
};

struct gnn_load {
    uint32_t file; /* index into config.files */
    uint32_t len_bytes;
    uint64_t offset_bytes;
    void *dst; /* (len_bytes); the reader's until the load comes back */
    uint64_t tag;
};

/* Since open. Bytes and I/Os as asked of storage, windows and their padding included; a repeat, also of the rest of a
 * short read, is counted apart. */
struct gnn_reader_counters {
    uint64_t loads;
    uint64_t requested_bytes;
    uint64_t requested_ios;
    uint64_t bounced_loads;
    uint64_t repeated_ios; /* after short reads, EINTR, EAGAIN */
};

struct gnn_reader;

/* Allocates the bounce slots ("read bounce slots", pinned) and the ring. Errors as gnn_ring_open and gnn_mem_alloc. */
GNN_MUST_CHECK enum gnn_status gnn_reader_open(struct gnn_world *world, const struct gnn_reader_config *config,
                                               struct gnn_reader **out, struct gnn_err *err);
/* Waits for what is in flight. Accepts NULL. */
void gnn_reader_close(struct gnn_reader *reader);

/* Memory that a reader of this configuration allocates, for a system's plan; align_bytes as the files report. */
uint64_t gnn_reader_memory_bytes(const struct gnn_reader_config *config, uint32_t align_bytes);

/* Hands over the first *accepted of `count` loads: as many as fit into the depth, maybe 0. GNN_ESHORT when a load
 * passes the end of its file, GNN_EUSAGE when it needs a bounce longer than bounce_bytes_max; it and those after it
 * are not accepted then. */
GNN_MUST_CHECK enum gnn_status gnn_reader_submit(struct gnn_reader *reader, const struct gnn_load *loads,
                                                 uint32_t count, uint32_t *accepted, struct gnn_err *err);

/* Takes up to `max` completed loads, their tags in the order they completed; sleeps (GNN_WAIT_IO) until `min` are
 * there. min <= loads in flight. On an error *got tags are valid too; the load that failed is the message's. */
GNN_MUST_CHECK enum gnn_status gnn_reader_harvest(struct gnn_reader *reader, uint32_t min, uint32_t max, uint64_t *tags,
                                                  uint32_t *got, struct gnn_err *err);

uint32_t gnn_reader_in_flight(const struct gnn_reader *reader);

/* Waits until nothing is in flight; results and failures are dropped. */
void gnn_reader_drain(struct gnn_reader *reader);

/* Loads everything, keeping the depth full; done(ctx, tag) is called once per load as it completes (may be NULL). On
 * any failure everything in flight is drained before it returns. */
typedef enum gnn_status gnn_reader_done_fn(void *ctx, uint64_t tag, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_reader_load_all(struct gnn_reader *reader, const struct gnn_load *loads,
                                                   uint64_t count, gnn_reader_done_fn *done, void *ctx,
                                                   struct gnn_err *err);

void gnn_reader_counters(const struct gnn_reader *reader, struct gnn_reader_counters *out);
void gnn_reader_clear_counters(struct gnn_reader *reader); /* to zero: a new epoch; nothing is in flight */

#endif
