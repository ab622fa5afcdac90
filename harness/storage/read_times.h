/* SPDX-License-Identifier: MIT */
/* How long reads of storage take, and how large they are. A read lasts from the moment it is handed over until the
 * thread that wants it has seen it done. So a time holds the device, the queue before it, repeats after short reads and
 * EAGAIN, and how long a finished read waited to be looked for. Its size is what was asked for when it was handed over,
 * whatever the page cache or a device makes of it; a repeat is part of the read it repeats. Counted are reads through
 * rings (ring_reads.h) and those made one at a time (exact.h), of whatever size; a mapping's page faults happen inside
 * one call and cannot be told apart.
 *
 * A run has one collector, and its world points to it (struct gnn_world, read_times); in a world without one nothing is
 * noted. A tally has one writer at a time, who has joined; what left is used again by the next.
 *
 * Memory: a tally a ring, of which the pages are touched that its times fall into: 8 to 12 KiB. It belongs to no
 * system's plan, as little as the histogram of the mini-batches. */
#ifndef GNN_STORAGE_READ_TIMES_H
#define GNN_STORAGE_READ_TIMES_H

#include "harness/base/histogram.h"
#include "harness/base/sizes.h"
#include "harness/world/world.h"

struct gnn_read_times;

/* Zeroed is empty. */
struct gnn_read_tally {
    struct gnn_histogram times; /* of reads that are done */
    struct gnn_sizes sizes;     /* of reads that were handed over */
};

/* Makes an empty collector; GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_read_times_open(struct gnn_read_times **out, struct gnn_err *err);
/* Accepts NULL. Nobody is joined. */
void gnn_read_times_close(struct gnn_read_times *times);

/* Sets *out to a tally that the caller alone adds to until gnn_read_times_leave; to NULL where the world has no
 * collector. Any thread; takes no lock and no virtual time. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_read_times_join(struct gnn_world *world, struct gnn_read_tally **out,
                                                   struct gnn_err *err);
void gnn_read_times_leave(struct gnn_read_tally *tally); /* accepts NULL */

/* Notes one read of so many bytes that took so long, for those who do not stay joined. Does nothing where there is no
 * collector. */
GNN_MUST_CHECK enum gnn_status gnn_read_times_note(struct gnn_world *world, uint64_t len_bytes, uint64_t ns,
                                                   struct gnn_err *err);

/* Adds everything to *sum and begins anew. Nothing is read meanwhile, and whoever read since has been waited for. */
void gnn_read_times_take(struct gnn_read_times *times, struct gnn_read_tally *sum);

#endif
