/* SPDX-License-Identifier: MIT */
/* The simulated world: the machine of a profile on a virtual clock (docs/design.md, "The simulated world"). Included
 * only by run (and by tests).
 *
 * One operating-system thread runs everything. World threads are coroutines. The one with the least virtual time runs
 * next, ties by the order of start. So a run is a pure function of profile, workload and seed: same nanosecond on any
 * machine, at any optimisation level.
 *
 *   Time      Threads, cores, locks and sleeps: executor.h.
 *   Storage   One RAID-0 of modelled devices: device.h. Linux's two page lists and readahead: page_cache.h.
 *   Memory    Every gnn_mem_alloc counts towards the memory limit, by touched page. Feature memory has addresses only.
 *   Bytes     Topology is real: files of the host are read in place (read-only), contents are registered below. Written
 *             files are in host memory and end with the world. Feature bytes are never moved.
 *
 * The memory limit, page cache included, is cap_bytes (0: the profile's memory). An allocation that does not fit even
 * without page cache returns GNN_ECAP with name, size and sum. */
#ifndef GNN_WORLD_SIMULATED_H
#define GNN_WORLD_SIMULATED_H

#include "harness/base/sizes.h"
#include "harness/world/content.h"
#include "harness/world/profile.h"
#include "harness/world/world.h"

/* Whole pages that a page fault of a mapping reads in one request, readahead included. The last page of a file can end
 * behind it. */
struct gnn_page_fill {
    const struct gnn_file *file;
    uint64_t offset_bytes, len_bytes;
    uint64_t now_ns, done_ns;
};

struct gnn_simulated_config {
    const struct gnn_profile *profile; /* outlives the world */
    uint64_t cap_bytes;
    /* Called once when every thread waits for another. The report names each thread, the object that it waits for and
     * since when. Does not return. NULL: the report is printed on stderr and the process aborts. */
    void (*on_deadlock)(void *ctx, const char *report);
    void *on_deadlock_ctx;
    /* Observes the clock. The first call is at time 0, a later one when the clock reaches the time that the call before
     * returned. It may call gnn_world_simulated_glance and nothing else of the world. NULL: none. */
    uint64_t (*on_tick)(void *ctx, uint64_t now_ns);
    void *on_tick_ctx;
    /* Observes the requests of page faults. It calls nothing of the world. NULL: none. */
    void (*on_fill)(void *ctx, const struct gnn_page_fill *fill);
    void *on_fill_ctx;
};

/* Counts of the modelled machine since the world opened. */
struct gnn_simulated_counts {
    uint64_t device_read_bytes, device_read_ios;
    uint64_t device_write_bytes, device_write_ios;
    uint64_t page_hits, page_minor_faults, page_major_faults;
    uint64_t pages_evicted, pages_refaulted, pages_readahead;
    uint64_t cached_bytes; /* in the page cache now */
    /* Touched bytes of the allocations now, and the peak of these plus the page cache. The process's own memory is not
     * included. */
    uint64_t charged_bytes, charged_peak_bytes;
    uint64_t cpu_busy_ns; /* over all cores */
    uint64_t io_sleep_ns; /* time that threads slept for I/O, summed over them */
    uint64_t device_busy_ns;
    /* of device_read_ios, with readahead and page faults, as the device receives them */
    struct gnn_sizes device_read_sizes;
};

GNN_MUST_CHECK enum gnn_status gnn_world_simulated_open(const struct gnn_simulated_config *config,
                                                        struct gnn_world **out, struct gnn_err *err);
void gnn_world_simulated_close(struct gnn_world *world); /* accepts NULL */
void gnn_world_simulated_counts(struct gnn_world *world, struct gnn_simulated_counts *out);
/* Writes the counts without changing the world. Memory touched since the last look is not counted yet. */
void gnn_world_simulated_glance(struct gnn_world *world, struct gnn_simulated_counts *out);

/* Adds a file that no disk holds, or returns GNN_EBUG if the path is registered already. The path hides a file of the
 * host. */
GNN_MUST_CHECK enum gnn_status gnn_world_simulated_add_file(struct gnn_world *world, const char *path,
                                                            const struct gnn_content *content, struct gnn_err *err);

#endif
