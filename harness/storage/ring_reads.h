/* SPDX-License-Identifier: MIT */
/* Reads and writes in flight on one ring. Each has a slot, and every result is compared with the request. Transient
 * failures are repeated up to a limit (repeat.h). The batched reader (reader.h) adds alignment windows and bounce
 * memory. Systems whose reads are aligned windows already use this file directly.
 *
 * After EINTR or EAGAIN a request is submitted again. A short read or write is continued or fails, as configured. A
 * full disk is GNN_ENOSPC; an unaligned direct write is GNN_EUSAGE. Any other error is GNN_EIO with file, offset and
 * the kernel's reason.
 *
 * One thread at a time. After an error, call gnn_ring_reads_drain before destinations and sources are freed or used
 * again. */
#ifndef GNN_STORAGE_RING_READS_H
#define GNN_STORAGE_RING_READS_H

#include "harness/world/world.h"

#include <assert.h>

enum gnn_short_reads {
    GNN_SHORT_RESUMES, /* the rest is requested, from the last whole alignment unit that was moved */
    GNN_SHORT_FAILS,   /* GNN_ESHORT with the position */
};

struct gnn_ring_reads_config {
    struct gnn_ring_config ring;
    uint32_t batch_max; /* most completions taken from the ring in one call; 1 to ring.depth */
    enum gnn_short_reads short_reads;
    const char *entry_name; /* optional, a literal: messages name the entry of the file, too ("edge 17") */
    uint32_t entry_bytes;
};

struct gnn_read_tally;

/* Counts since open, or since the owner cleared them. */
struct gnn_ring_counters {
    uint64_t requested_ios, requested_bytes; /* reads */
    uint64_t write_ios, write_bytes;         /* writes, as they were requested */
    uint64_t repeated_ios;                   /* submitted again: after EINTR, EAGAIN, short ones */
    uint64_t completed;                      /* succeeded or failed for good */
    uint64_t in_flight_peak;
};

/* The rest of a read, or of a write (dst: its source, never written). */
struct gnn_ring_slot {
    struct gnn_read read; /* tag: the caller's */
    uint32_t repeats;     /* in a row, without progress */
    bool write;
};

/* Owners may read world, counters and the number in flight, and may clear the counters. Only ring_reads.c writes the
 * rest. */
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
    struct gnn_read_tally *tally; /* of reads (read_times.h); NULL: not timed */
    uint64_t *handed_ns;          /* (depth) clock at the submission of a slot's read; NULL without tally */
};

/* Returns the bytes that open allocates. */
uint64_t gnn_ring_reads_bytes(uint32_t depth, uint32_t batch_max);
/* Opens the ring and its slots. GNN_ENOMEM; other errors as gnn_ring_open. On an error everything is closed again. */
GNN_MUST_CHECK enum gnn_status gnn_ring_reads_open(struct gnn_world *world, const struct gnn_ring_reads_config *config,
                                                   struct gnn_ring_reads *out, struct gnn_err *err);
void gnn_ring_reads_close(struct gnn_ring_reads *reads); /* waits for what is in flight; accepts a zeroed struct */

/* Returns the number of slots in use: requests in the ring, and after an error those that were given up. */
static inline uint32_t gnn_ring_reads_in_flight(const struct gnn_ring_reads *reads)
{
    return reads->config.ring.depth - reads->free_count;
}

/* Returns the slot that read i of the next submission will get; i < depth - in flight. */
static inline uint32_t gnn_ring_reads_next_slot(const struct gnn_ring_reads *reads, uint32_t i)
{
    assert(i < reads->free_count);
    return reads->free_slots[reads->free_count - 1 - i];
}

/* Submits the reads in one batch; count is at most depth - in flight (asserted). Sleeps (GNN_WAIT_IO) while the
 * kernel's polling thread leaves no room. Tags in `wanted` are overwritten. */
GNN_MUST_CHECK enum gnn_status gnn_ring_reads_submit(struct gnn_ring_reads *reads, struct gnn_read *wanted,
                                                     uint32_t count, struct gnn_err *err);

/* Submits writes to the same ring. On a direct file, offset, length and source must be multiples of gnn_file_align.
 * Files stay open and bytes unchanged until wait has returned the write's tag. Callers distinguish writes from reads by
 * their tags. */
GNN_MUST_CHECK enum gnn_status gnn_ring_reads_submit_writes(struct gnn_ring_reads *reads, struct gnn_write *wanted,
                                                            uint32_t count, struct gnn_err *err);

/* Takes up to `max` completed reads and writes and writes their tags in the order of completion. Sleeps (GNN_WAIT_IO)
 * until `min` have completed; min <= requests in flight. On an error, the first *got tags are valid. */
GNN_MUST_CHECK enum gnn_status gnn_ring_reads_wait(struct gnn_ring_reads *reads, uint32_t min, uint32_t max,
                                                   uint64_t *tags, uint32_t *got, struct gnn_err *err);

/* Waits until nothing is in flight. Results and failures are dropped, and all slots are free. */
void gnn_ring_reads_drain(struct gnn_ring_reads *reads);

#endif
