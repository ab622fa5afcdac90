/* SPDX-License-Identifier: MIT */
/* The batched reader: many loads in flight over one ring (ring_reads.h), each checked for completeness. GNNDrive's
 * asynchronous extraction (section 4) needs it most; other systems read rows, lists and whole blocks through it.
 *
 * A load is a byte range of a file and a destination. On a direct file the range is widened to the aligned window
 * [floor(offset / q) q, ceil((offset + len) / q) q). If the window equals the range and dst is aligned, the read goes
 * to dst. Otherwise it goes to a bounce slot, and the range is copied to dst. A window may pass the end of the file; a
 * load may not.
 *
 * Short reads continue where they stopped; EINTR and EAGAIN are repeated. A read that fails is GNN_EIO with file,
 * offset and reason.
 *
 * A reader belongs to one thread at a time. It may change hands while nothing is in flight. Typical use:
 *
 *    `for (...) { submit(one or many); harvest(min = 0); use what completed; }`
 *    `while (in_flight) harvest(min = 1);`
 *
 * Harvest an eighth of the depth at a time. This keeps a device busier than harvesting a whole burst before the next
 * submit.
 *
 * After an error, call gnn_reader_drain before the destinations are freed or the reader is used again. */
#ifndef GNN_STORAGE_READER_H
#define GNN_STORAGE_READER_H

#include "harness/storage/exact.h"
#include "harness/world/world.h"

/* ---- layout of rows on sectors ---- */

/* Layout of rows of R = row_bytes on sectors of q = align_bytes. */
struct gnn_row_layout {
    uint32_t row_bytes;
    uint32_t align_bytes;
    uint32_t rows_per_load;    /* G = q / R if R divides q: a load brings the neighbouring rows (joint extraction); else
                                * 1 */
    uint32_t load_bytes;       /* G * R: also the size of a slot that keeps a load */
    uint32_t window_bytes_max; /* bytes of the widest read: load_bytes, or more if rows straddle sectors */
    uint32_t bounce_bytes_max; /* for gnn_reader_config: 0 if every load is its own window */
};

/* Returns the layout. row_bytes > 0; align_bytes is a power of two, 1 for buffered files: nothing is grouped or bounced
 * then. */
struct gnn_row_layout gnn_row_layout(uint32_t row_bytes, uint32_t align_bytes);

/* Returns the part of the file that loads the group of `row`. It is cut at the end of the file if the last group is not
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
    uint32_t depth;                /* most reads in flight */
    uint32_t pool_threads;         /* as in gnn_ring_config */
    bool sqpoll, iopoll;           /* as in gnn_ring_config */
    struct gnn_file *const *files; /* (file_count) kept open by the caller; loads refer to them by index */
    uint32_t file_count;
    uint32_t bounce_bytes_max; /* longest load that is not its own aligned window; takes `depth` windows of memory */
    void *register_buffer;     /* optional, as in gnn_ring_config: the memory of most destinations */
    uint64_t register_buffer_bytes;
};

struct gnn_load {
    uint32_t file; /* index into config.files */
    uint32_t len_bytes;
    uint64_t offset_bytes;
    void *dst; /* (len_bytes); the reader's until the load completes */
    uint64_t tag;
};

/* Counts since open or the last clear. Bytes and I/Os are those requested from storage, with windows and their padding.
 * Repeats, also for the rest of a short read, are counted separately. */
struct gnn_reader_counters {
    uint64_t loads;
    uint64_t requested_bytes;
    uint64_t requested_ios;
    uint64_t bounced_loads;
    uint64_t repeated_ios; /* after short reads, EINTR, EAGAIN */
};

struct gnn_reader;

/* Opens a reader: allocates the bounce slots ("read bounce slots", pinned) and the ring. *out is the caller's to close;
 * NULL on an error. GNN_EUSAGE: depth 0, or not 1 to GNN_READER_FILES_MAX files. Other errors as gnn_ring_open and
 * gnn_mem_alloc. */
GNN_MUST_CHECK enum gnn_status gnn_reader_open(struct gnn_world *world, const struct gnn_reader_config *config,
                                               struct gnn_reader **out, struct gnn_err *err);
/* Waits for the loads in flight and closes the reader. Accepts NULL. */
void gnn_reader_close(struct gnn_reader *reader);

/* Returns the memory that a reader of this configuration allocates, for memory plans. align_bytes: as the files report
 * it. */
uint64_t gnn_reader_memory_bytes(const struct gnn_reader_config *config, uint32_t align_bytes);

/* Submits the first *accepted of `count` loads: as many as fit into the depth, possibly 0. GNN_ESHORT: a load passes
 * the end of its file. GNN_EUSAGE: a load needs a bounce slot longer than bounce_bytes_max. That load and those after
 * it are not accepted then. */
GNN_MUST_CHECK enum gnn_status gnn_reader_submit(struct gnn_reader *reader, const struct gnn_load *loads,
                                                 uint32_t count, uint32_t *accepted, struct gnn_err *err);

/* Takes up to `max` completed loads and writes their tags in the order of completion. Sleeps (GNN_WAIT_IO) until `min`
 * have completed; min <= loads in flight. On an error, the first *got tags are valid; the message describes the failed
 * load. */
GNN_MUST_CHECK enum gnn_status gnn_reader_harvest(struct gnn_reader *reader, uint32_t min, uint32_t max, uint64_t *tags,
                                                  uint32_t *got, struct gnn_err *err);

uint32_t gnn_reader_in_flight(const struct gnn_reader *reader);

/* Waits until nothing is in flight. Results and failures are dropped. */
void gnn_reader_drain(struct gnn_reader *reader);

/* Loads everything and keeps the depth full. done(ctx, tag), which may be NULL, is called once per load as it
 * completes. On an error everything in flight is drained before it returns. */
typedef enum gnn_status gnn_reader_done_fn(void *ctx, uint64_t tag, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_reader_load_all(struct gnn_reader *reader, const struct gnn_load *loads,
                                                   uint64_t count, gnn_reader_done_fn *done, void *ctx,
                                                   struct gnn_err *err);

void gnn_reader_counters(const struct gnn_reader *reader, struct gnn_reader_counters *out);
void gnn_reader_clear_counters(struct gnn_reader *reader); /* sets all to 0 for a new epoch; nothing may be in flight */

#endif
