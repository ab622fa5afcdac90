/* SPDX-License-Identifier: MIT */
/* A world that injects faults: a decorator around any world (measured or simulated), for tests and fault runs.
 *
 * The faults represent what a Linux machine does to a correct program.
 *   Read EIO       A sector cannot be read (media, cable): at the n-th read, or by chance. A gather through a mapping
 *                  returns it for a page fault that fails.
 *   Read EAGAIN    The kernel had no resources, or a signal arrived (EINTR). Nothing was read; it may be repeated.
 *   Read short     Fewer bytes than requested arrive, as at a signal or a RAID boundary. A direct file gives whole
 *                  sectors.
 *   Read slow      The drive collects garbage or retries: the read completes at least slow_ns late.
 *   Reordering     Completions leave a ring in another order than that of the submissions, as with any device.
 *   Write ENOSPC   The disk has room for a fixed number of written bytes. A write beyond them is refused whole.
 *   Write EIO      A sector cannot be written: nothing was written. At the n-th write, or by chance.
 *   Write EAGAIN   As for a read: nothing was written, the write may be repeated.
 *   Write short    Part of the bytes is written, as just before the disk is full. A direct file takes whole sectors.
 *   Write slow     As for a read.
 *   Allocation     The call gnn_mem_alloc fails as malloc would: at the n-th, or by chance.
 * Each operation is judged by itself, and no fault makes another more likely. A read may be late and then fail. Only
 * one of EIO, EAGAIN and short happens to one operation. Never injected are wrong bytes with a good status (a disk's
 * own checksums catch them), lost writes, a crash between two writes, and failures of threads, locks or opens.
 *
 * Faults can be repeated. The fault of a read or write is drawn from the seed, the file's base name, the offset, the
 * length and the number of earlier operations with the same three. Threads and time have no influence. So the same seed
 * injects the same faults into the same operations, and a repeated operation gets a new draw. Faults "at the n-th"
 * count over all threads.
 *
 * Handles of files, threads, locks and memory are the inner world's and work in both worlds. Rings and mappings opened
 * here are used here. A gather through a mapping counts as one read at its first element. Writes of a ring reserve room
 * on the disk when they are submitted, and release what was not written. */
#ifndef GNN_WORLD_FAULTS_H
#define GNN_WORLD_FAULTS_H

#include "harness/world/world.h"

/* A plan of faults. Zero = never. Probabilities are per read, write or allocation, in [0, 1]. */
struct gnn_fault_plan {
    uint64_t seed;
    uint64_t read_eio_at; /* the n-th read fails with EIO, counted from 1 */
    double read_eio_probability;
    double read_again_probability; /* EAGAIN or EINTR, nothing is read */
    double read_short_probability; /* part of it is read: whole alignment units on a direct file */
    double read_slow_probability;  /* it completes, at least slow_ns late */
    uint64_t slow_ns;
    bool shuffle;                      /* completions that are available leave a ring in random order */
    uint64_t write_enospc_after_bytes; /* bytes that fit on the "disk"; then ENOSPC */
    bool write_enospc;                 /* enables the field above, since 0 bytes are a valid plan */
    double write_short_probability;
    uint64_t write_eio_at; /* the n-th write fails with EIO, counted from 1 */
    double write_eio_probability;
    double write_again_probability; /* EAGAIN or EINTR, nothing is written */
    double write_slow_probability;  /* it completes, at least slow_ns late */
    uint64_t alloc_fail_at;         /* the n-th gnn_mem_alloc fails with GNN_ENOMEM, counted from 1 */
    double alloc_fail_probability;
};

/* Counts of operations and of injected faults so far. */
struct gnn_fault_counts {
    uint64_t reads; /* seen */
    uint64_t eio, again, shortened, slow;
    uint64_t writes;                           /* seen */
    uint64_t writes_refused, writes_shortened; /* refused: ENOSPC */
    uint64_t writes_eio, writes_again, writes_slow;
    uint64_t allocs_refused;
};

/* Opens a faulty world around `inner`, or returns GNN_ENOMEM. The inner world outlives this one and is not closed with
 * it. */
GNN_MUST_CHECK enum gnn_status gnn_world_faulty_open(struct gnn_world *inner, const struct gnn_fault_plan *plan,
                                                     struct gnn_world **out, struct gnn_err *err);
void gnn_world_faulty_close(struct gnn_world *world); /* accepts NULL */
void gnn_world_faulty_counts(struct gnn_world *world, struct gnn_fault_counts *out);

#endif
