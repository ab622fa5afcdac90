/* SPDX-License-Identifier: MIT */
/* Duration and size of reads from storage, and bytes read and written. A read lasts from its submission until its
 * thread has seen its completion. The duration thus includes the device, the queue before it, and repeats after short
 * reads and EAGAIN. It also includes the time until the completion was looked for. The size is the one that was
 * submitted; a repeat belongs to the read that it repeats.
 *
 * Counted are reads and writes through rings (ring_reads.h) and single ones (exact.h), of any size. Page faults of a
 * mapping are not counted: several can happen inside one call. Rows that are put into a mapping are counted in bytes.
 *
 * A run has one collector, and its world points to it (struct gnn_world, read_times). Without a collector, nothing is
 * recorded. A tally has one writer at a time, the thread that joined it. A tally that was left is reused by the next
 * join.
 *
 * Memory: one tally per ring, of which only touched pages count: 8 to 12 KiB. Memory plans do not include it, nor the
 * histogram of mini-batches. */
#ifndef GNN_STORAGE_READ_TIMES_H
#define GNN_STORAGE_READ_TIMES_H

#include "harness/base/histogram.h"
#include "harness/base/sizes.h"
#include "harness/world/world.h"

struct gnn_read_times;

/* A tally; all zero is empty. */
struct gnn_read_tally {
    struct gnn_histogram times; /* reads that are done */
    struct gnn_sizes sizes;     /* reads that were submitted */
    uint64_t read_bytes;        /* of these reads */
    uint64_t writes, write_bytes;
    uint64_t buffered_write_bytes; /* part of write_bytes that went into the page cache */
    uint64_t put_bytes;            /* written through mappings, in addition to write_bytes */
};

static inline void gnn_read_tally_add(struct gnn_read_tally *tally, uint64_t len_bytes)
{
    gnn_sizes_add(&tally->sizes, len_bytes);
    tally->read_bytes += len_bytes;
}

static inline void gnn_read_tally_add_write(struct gnn_read_tally *tally, uint64_t len_bytes, bool buffered)
{
    tally->writes++;
    tally->write_bytes += len_bytes;
    tally->buffered_write_bytes += buffered ? len_bytes : 0;
}

/* Adds everything in `from` to `into`. */
void gnn_read_tally_merge(struct gnn_read_tally *into, const struct gnn_read_tally *from);

/* Opens an empty collector. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_read_times_open(struct gnn_read_times **out, struct gnn_err *err);
/* Closes a collector; accepts NULL. All threads that joined it must have left. */
void gnn_read_times_close(struct gnn_read_times *times);

/* Sets *out to a tally that only the caller adds to until gnn_read_times_leave, or to NULL if the world has no
 * collector. May be called on any thread; takes no lock and no virtual time. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_read_times_join(struct gnn_world *world, struct gnn_read_tally **out,
                                                   struct gnn_err *err);
void gnn_read_times_leave(struct gnn_read_tally *tally); /* accepts NULL */

/* Records one read of len_bytes that took `ns`, for callers that do not stay joined. Does nothing if the world has no
 * collector. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_read_times_note(struct gnn_world *world, uint64_t len_bytes, uint64_t ns,
                                                   struct gnn_err *err);

/* Do the same for one write, and for rows that were put into a mapping. */
GNN_MUST_CHECK enum gnn_status gnn_read_times_note_write(struct gnn_world *world, uint64_t len_bytes, bool buffered,
                                                         struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_read_times_note_put(struct gnn_world *world, uint64_t bytes, struct gnn_err *err);

/* Adds everything to *sum and empties the tallies. No read may be in progress, and all threads that read must have been
 * waited for. */
void gnn_read_times_take(struct gnn_read_times *times, struct gnn_read_tally *sum);

#endif
