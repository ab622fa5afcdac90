/* How long reads of storage take: from the moment a read is handed over until the thread that wants it has seen it
 * done. So a time holds the device, the queue before it, repeats after short reads and EAGAIN, and how long a finished
 * read waited to be looked for. Counted are reads through rings (ring_reads.h) and those made one at a time (exact.h),
 * of whatever size; a mapping's page faults happen inside one call and cannot be told apart.
 *
 * A run has one collector, and its world points to it (struct gnn_world, read_times); in a world without one nothing is
 * timed. A histogram has one writer at a time, who has joined; what left is used again by the next.
 *
 * Memory: a histogram a ring, of which the pages are touched that its times fall into: 8 to 12 KiB. It belongs to no
 * system's plan, as little as the histogram of the mini-batches. */
#ifndef GNN_STORAGE_READ_TIMES_H
#define GNN_STORAGE_READ_TIMES_H

#include "harness/base/histogram.h"
#include "harness/world/world.h"

struct gnn_read_times;

/* Makes an empty collector; GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_read_times_open(struct gnn_read_times **out, struct gnn_err *err);
/* Accepts NULL. Nobody is joined. */
void gnn_read_times_close(struct gnn_read_times *times);

/* Sets *out to a histogram that the caller alone adds to until gnn_read_times_leave; to NULL where the world has no
 * collector. Any thread; takes no lock and no virtual time. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_read_times_join(struct gnn_world *world, struct gnn_histogram **out,
                                                   struct gnn_err *err);
void gnn_read_times_leave(struct gnn_histogram *histogram); /* accepts NULL */

/* Notes one read that took so long; for those who do not stay joined. Does nothing without a collector. */
GNN_MUST_CHECK enum gnn_status gnn_read_times_note(struct gnn_world *world, uint64_t ns, struct gnn_err *err);

/* Adds everything to *sum and begins anew. Nothing is read meanwhile, and whoever read since has been waited for. */
void gnn_read_times_take(struct gnn_read_times *times, struct gnn_histogram *sum);

#endif
