/* SPDX-License-Identifier: MIT */
/* A world that fails on purpose: a decorator around any world (measured or simulated), for tests and fault runs.
 *
 * The fault model. Each operation is judged by itself: a read may be late and then fail, but it fails, comes back empty
 * or comes short, one of them at a time. No fault makes another more likely. They stand for what a Linux machine does
 * to a correct program.
 *   read EIO        a sector cannot be read (media, cable); at the n-th read, or by chance. A gather through a mapping
 *                   gets it too, for a page fault that cannot be served.
 *   read EAGAIN     the kernel had no resources, or a signal came (EINTR). Nothing was read; the read may be
 *                   repeated.
 *   read short      fewer bytes than asked arrive, as at a signal or a RAID boundary; whole sectors on a direct file.
 *   read slow       the drive collects garbage or retries: the read completes, slow_ns late at least.
 *   reordering      completions leave a ring in another order than that of the submissions, as any device may do.
 *   write ENOSPC    the disk holds so many written bytes and no more: a write that would pass them is refused whole.
 *   write EIO       a sector cannot be written: nothing was; at the n-th write, or by chance.
 *   write EAGAIN    as of a read: nothing was written, it may be repeated.
 *   write short     part of the bytes is written, as just before the disk is full; whole sectors on a direct file.
 *   write slow      as of a read.
 *   alloc           gnn_mem_alloc fails as malloc would; at the n-th, or by chance.
 * Never injected: wrong bytes with a good status (a disk's own checksums catch them), lost writes, a crash between two
 * writes, and failures of threads, locks or opens.
 *
 * What happens to a read or write depends on the seed, the file's base name, the offset and length, and on how often
 * the same one came before; not on threads or time. So the same seed injects the same faults into the same operations,
 * and one that is repeated gets a new draw. The faults "at the n-th" count over all threads.
 *
 * Files, threads, locks and memory are the inner world's own: handles of either world work in the other. Rings and
 * mappings opened here are used here. A gather through a mapping counts as one read at its first element. Writes of a
 * ring take their bytes of the disk when they are submitted, and give back what was not written. */
#ifndef GNN_WORLD_FAULTS_H
#define GNN_WORLD_FAULTS_H

#include "harness/world/world.h"

/* Zero = never. Probabilities are per read, write or allocation, in [0, 1]. */
struct gnn_fault_plan {
    uint64_t seed;
    uint64_t read_eio_at; /* the n-th read fails with EIO, counted from 1 */
    double read_eio_probability;
    double read_again_probability; /* EAGAIN or EINTR, nothing is read */
    double read_short_probability; /* part of it is read: whole alignment units on a direct file */
    double read_slow_probability;  /* it completes, at least slow_ns late */
    uint64_t slow_ns;
    bool shuffle;                      /* completions that are there leave a ring in random order */
    uint64_t write_enospc_after_bytes; /* this many bytes fit on the "disk"; then ENOSPC */
    bool write_enospc;                 /* enables the line above (0 bytes are a plan too) */
    double write_short_probability;
    uint64_t write_eio_at; /* the n-th write fails with EIO, counted from 1 */
    double write_eio_probability;
    double write_again_probability; /* EAGAIN or EINTR, nothing is written */
    double write_slow_probability;  /* it completes, at least slow_ns late */
    uint64_t alloc_fail_at;         /* the n-th gnn_mem_alloc fails with GNN_ENOMEM, counted from 1 */
    double alloc_fail_probability;
};

/* What was injected so far. */
struct gnn_fault_counts {
    uint64_t reads; /* seen */
    uint64_t eio, again, shortened, slow;
    uint64_t writes;                           /* seen */
    uint64_t writes_refused, writes_shortened; /* refused: ENOSPC */
    uint64_t writes_eio, writes_again, writes_slow;
    uint64_t allocs_refused;
};

/* The inner world outlives this one and is not closed with it. */
GNN_MUST_CHECK enum gnn_status gnn_world_faulty_open(struct gnn_world *inner, const struct gnn_fault_plan *plan,
                                                     struct gnn_world **out, struct gnn_err *err);
void gnn_world_faulty_close(struct gnn_world *world); /* accepts NULL */
void gnn_world_faulty_counts(struct gnn_world *world, struct gnn_fault_counts *out);

#endif
