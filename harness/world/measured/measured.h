/* SPDX-License-Identifier: MIT */
/* The measured world: this machine. pthreads, CLOCK_MONOTONIC, anonymous memory, direct and buffered files, mappings of
 * the page cache, io_uring or a thread pool. Included by run alone (and by tests).
 *
 * Time. Every thread, started by this world or not, has its own split; a thread that the world did not start joins at
 * its first call, and its wall time counts from there. A wait is the wall time of the blocking call: reads, writes and
 * ring waits whole, mutexes only when they were taken, conditions from sleep to wake. Page faults inside a gather
 * cannot be bracketed one by one; the call's wait is its wall time less the thread's CPU time less the time it stood
 * runnable in the scheduler's queue (/proc/thread-self/schedstat, second field; 0 where /proc is not readable).
 *
 * Bad pages. The world installs one SIGBUS handler for the process when the first mapping opens. A fault inside a
 * gather of a page that cannot be read (media error, file cut short) puts a zero page there and marks the mapping
 * broken for good: that gather and every later one return GNN_EIO. A fault anywhere else gets the default action. The
 * size is asked again at each gather, because a file cut inside its last page reads zeros without any signal. */
#ifndef GNN_WORLD_MEASURED_H
#define GNN_WORLD_MEASURED_H

#include "harness/world/world.h"

struct gnn_measured_config {
    uint64_t memory_limit_bytes; /* of gnn_mem_alloc, enforced in the program: beyond it GNN_ECAP; 0 = no limit */
    bool processes;              /* several processes will share what is opened before gnn_world_measured_forked */
    uint32_t force_align_bytes;  /* direct files report at least this alignment (a power of two); 0 = as asked of
                            * the kernel. Lets a machine of 512-byte sectors exercise the 4096-byte paths. */
};

/* config may be NULL: no limit, the machine's alignment. */
GNN_MUST_CHECK enum gnn_status gnn_world_measured_open(const struct gnn_measured_config *config, struct gnn_world **out,
                                                       struct gnn_err *err);

/* Sets the limit anew (0 = none): what the process takes beside the world's memory has grown. Nobody allocates
 * meanwhile; what is held already stays, though it pass the limit. */
void gnn_world_measured_limit(struct gnn_world *world, uint64_t memory_limit_bytes);

/* A world with `processes`: called on the forking thread in each process after the last fork. Locks that were opened
 * before, memory with GNN_MEM_SHARED and the count of all memory belong to every process; what is opened from now on
 * to this one alone. Nothing of the world may have threads of its own at the fork (rings, stages). */
void gnn_world_measured_forked(struct gnn_world *world);

/* Everything opened through the world is closed first; memory still allocated is reported on stderr. */
void gnn_world_measured_close(struct gnn_world *world);

#endif
