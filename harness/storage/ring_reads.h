/* SPDX-License-Identifier: MIT */
/* Reads and writes in flight on one ring: a slot for each, every result compared with what was asked, transient
 * failures repeated a bounded number of times (repeat.h), one drain. The batched reader (reader.h) puts alignment
 * windows and bounce memory on top; systems whose reads are windows already use it as it is.
 *
 * A result of EINTR or EAGAIN sends it to the ring again. A short read or write goes on or fails, as the configuration
 * says. A full disk is GNN_ENOSPC, a direct write off the file's alignment GNN_EUSAGE; any other error is GNN_EIO with
 * file, offset and the kernel's reason.
 *
 * One thread at a time. After an error: gnn_ring_reads_drain before destinations and sources are freed or used
 * again. */
#ifndef GNN_STORAGE_RING_READS_H
#define GNN_STORAGE_RING_READS_H

#include "harness/world/world.h"

#include <assert.h>

enum gnn_short_reads {
    GNN_SHORT_RESUMES, /* the rest is asked for, from the last whole alignment unit that was moved */
    GNN_SHORT_FAILS,   /* GNN_ESHORT with the position */
};

struct gnn_ring_reads_config {
    struct gnn_ring_config ring;
    uint32_t batch_max; /* completions taken from the ring in one call; 1 to ring.depth */
    enum gnn_short_reads short_reads;
    const char *entry_name; /* optional, a literal: messages also say which entry of the file ("edge 17") */
    uint32_t entry_bytes;
};

struct gnn_read_tally;

/* Since open, or since the owner cleared them. */
struct gnn_ring_counters {
    uint64_t requested_ios, requested_bytes; /* of reads */
    uint64_t write_ios, write_bytes;         /* of writes, as they were asked for */
    uint64_t repeated_ios;                   /* handed to the ring again: after EINTR, EAGAIN, short ones */
    uint64_t completed;                      /* succeeded or failed for good */
    uint64_t in_flight_peak;
};

/* What is still to come of a read, or of a write (dst: its source, only read). */
struct gnn_ring_slot {
    struct gnn_read read; /* tag: the caller's */
    uint32_t repeats;     /* in a row, without progress */
    bool write;
};

/* Owners read world, counters and in-flight count, and may clear the counters; only ring_reads.c writes the rest. */
struct gnn_ring_reads {
    struct gnn_world *world;
    struct gnn_ring *ring;
    struct gnn_ring_reads_config config;
    struct gnn_ring_slot *slots; /* (depth); the ring's tag is the index */
    uint32_t *free_slots;        /* (depth) stack of indices */
    uint32_t free_count;
    uint32_t in_ring;
    struct gnn_completion *completions; /* (batch_max) */
    struct gnn_ring_counters counters;
    struct gnn_read_tally *tally; /* of reads (read_times.h); NULL: they are not timed */
    uint64_t *handed_ns;          /* (depth) the clock when a slot's read was handed over; NULL without tally */
};

/* Bytes that open allocates. */
uint64_t gnn_ring_reads_bytes(uint32_t depth, uint32_t batch_max);
/* Errors as gnn_ring_open; GNN_ENOMEM. On failure close has been done. */
GNN_MUST_CHECK enum gnn_status gnn_ring_reads_open(struct gnn_world *world, const struct gnn_ring_reads_config *config,
                                                   struct gnn_ring_reads *out, struct gnn_err *err);
void gnn_ring_reads_close(struct gnn_ring_reads *reads); /* waits for what is in flight; accepts a zeroed one */

/* Reads and writes with a slot: in the ring, or given up since an error. */
static inline uint32_t gnn_ring_reads_in_flight(const struct gnn_ring_reads *reads)
{
    return reads->config.ring.depth - reads->free_count;
}

/* The slot that read i of the next submission will get; i < depth - in flight. */
static inline uint32_t gnn_ring_reads_next_slot(const struct gnn_ring_reads *reads, uint32_t i)
{
    assert(i < reads->free_count);
    return reads->free_slots[reads->free_count - 1 - i];
}

/* Hands the reads to the ring in one batch; count is at most depth - in flight (asserted). Sleeps (GNN_WAIT_IO) where
 * the kernel's polling thread leaves no room for a moment. Tags in `wanted` are overwritten. */
GNN_MUST_CHECK enum gnn_status gnn_ring_reads_submit(struct gnn_ring_reads *reads, struct gnn_read *wanted,
                                                     uint32_t count, struct gnn_err *err);

/* Likewise writes, to the same ring. On a direct file offset, length and source are multiples of gnn_file_align. Files
 * stay open, and bytes as they are, until wait returned the write's tag; the caller's tags tell writes from reads. */
GNN_MUST_CHECK enum gnn_status gnn_ring_reads_submit_writes(struct gnn_ring_reads *reads, struct gnn_write *wanted,
                                                            uint32_t count, struct gnn_err *err);

/* Takes up to `max` completed reads and writes, their tags in the order they completed; sleeps (GNN_WAIT_IO) until
 * `min` are there. min <= those in flight. On an error *got tags are valid too. */
GNN_MUST_CHECK enum gnn_status gnn_ring_reads_wait(struct gnn_ring_reads *reads, uint32_t min, uint32_t max,
                                                   uint64_t *tags, uint32_t *got, struct gnn_err *err);

/* Waits until nothing is in flight; results and failures are dropped, all slots are free. */
void gnn_ring_reads_drain(struct gnn_ring_reads *reads);

#endif
