/* SPDX-License-Identifier: MIT */
/* The measured world: this machine. It uses pthreads, CLOCK_MONOTONIC, anonymous memory, direct and buffered files,
 * mappings of the page cache, io_uring or a thread pool. Included only by run (and by tests).
 *
 * Time. Every thread has its own split, whether this world started it or not. A thread that the world did not start
 * joins at its first call, and its wall time counts from there. A wait is the wall time of the blocking call. Reads,
 * writes and ring waits count whole, mutexes only if they were taken, conditions from sleep to wake. Page faults inside
 * a gather cannot be timed one by one. The wait of a gather is its wall time less the thread's CPU time less its time
 * in the scheduler's queue. The latter is the second field of /proc/thread-self/schedstat, or 0 if /proc is not
 * readable.
 *
 * Bad pages. The world installs one SIGBUS handler for the process when the first mapping opens. A gather may fault on
 * a page that cannot be read (media error, file cut short). The handler then inserts a zero page and marks the mapping
 * broken for good. That gather and every later one return GNN_EIO. A fault anywhere else gets the default action. Each
 * gather checks the file's size again, because a file cut inside its last page reads zeros without any signal. */
#ifndef GNN_WORLD_MEASURED_H
#define GNN_WORLD_MEASURED_H

#include "harness/world/world.h"

struct gnn_measured_config {
    uint64_t memory_limit_bytes; /* of gnn_mem_alloc, enforced in the program: GNN_ECAP beyond it; 0 = no limit */
    bool processes;              /* several processes will share what is opened before gnn_world_measured_forked */
    /* least alignment that direct files report, a power of two; 0 = the kernel's. Lets a machine with 512-byte sectors
     * exercise the 4096-byte paths. */
    uint32_t force_align_bytes;
};

/* Opens the measured world, or returns GNN_ENOMEM. config may be NULL: no limit, the machine's alignment. */
GNN_MUST_CHECK enum gnn_status gnn_world_measured_open(const struct gnn_measured_config *config, struct gnn_world **out,
                                                       struct gnn_err *err);

/* Sets a new limit (0 = none), because the process's other memory has grown. No thread may allocate meanwhile. Memory
 * that is already allocated stays, even beyond the limit. */
void gnn_world_measured_limit(struct gnn_world *world, uint64_t memory_limit_bytes);

/* Ends the sharing of a world opened with `processes`. Called on the forking thread in each process after the last
 * fork. Locks that were opened before, memory with GNN_MEM_SHARED and the count of all memory belong to every process.
 * Objects opened from now on belong to this process alone. At the fork no object of the world may have threads of its
 * own (rings, stages). */
void gnn_world_measured_forked(struct gnn_world *world);

/* Closes the world. Everything opened through it must be closed before. Memory that is still allocated is reported on
 * stderr. */
void gnn_world_measured_close(struct gnn_world *world);

#endif
