/* SPDX-License-Identifier: MIT */
/* The simulated world: the machine of a profile on a virtual clock (docs/design.md, "The simulated world"). Included by
 * run alone (and by tests).
 *
 * One operating-system thread runs everything. World threads are coroutines; the one with the least virtual time goes
 * next, ties by the order in which they were started, so a run is a pure function of profile, workload and seed: same
 * nanosecond on any machine, at any optimisation level.
 *
 *   time      executor.h: threads, cores, locks, sleeps
 *   storage   device.h: one RAID-0 of modelled devices; page_cache.h: Linux's two lists, readahead, room
 *   memory    every gnn_mem_alloc counts against the cap, page by page when touched; feature memory has addresses only
 *   bytes     topology is real: files on the host are read in place (read-only), contents are registered below, written
 *             files live in host memory and are gone when the world closes. Feature bytes are never moved.
 *
 * cap_bytes is the memory cap, page cache included (0: the profile's memory). What does not fit even without page cache
 * is GNN_ECAP at the allocation that asks for it, named with size and sum. */
#ifndef GNN_WORLD_SIMULATED_H
#define GNN_WORLD_SIMULATED_H

#include "harness/base/sizes.h"
#include "harness/world/content.h"
#include "harness/world/profile.h"
#include "harness/world/world.h"

struct gnn_simulated_config {
    const struct gnn_profile *profile; /* outlives the world */
    uint64_t cap_bytes;
    /* Called once when every thread waits for another: the report names each thread, what it waits for and since when.
     * Does not return. NULL: the report goes to stderr and the process aborts. */
    void (*on_deadlock)(void *ctx, const char *report);
    void *on_deadlock_ctx;
    /* Told when the clock has reached the time that the last call returned (the first: 0); it may look with
     * gnn_world_simulated_glance and must do nothing else with the world. NULL: nobody is. */
    uint64_t (*on_tick)(void *ctx, uint64_t now_ns);
    void *on_tick_ctx;
};

/* What the modelled machine did since the world opened. */
struct gnn_simulated_counts {
    uint64_t device_read_bytes, device_read_ios;
    uint64_t device_write_bytes, device_write_ios;
    uint64_t page_hits, page_minor_faults, page_major_faults;
    uint64_t pages_evicted, pages_refaulted, pages_readahead;
    uint64_t cached_bytes; /* in the page cache now */
    /* The process's own not included: what was touched of the allocations, now; that and the page cache, at most. */
    uint64_t charged_bytes, charged_peak_bytes;
    uint64_t cpu_busy_ns; /* over all cores */
    uint64_t io_sleep_ns; /* that threads slept for I/O, summed over them */
    uint64_t device_busy_ns;
    struct gnn_sizes device_read_sizes; /* of device_read_ios: readahead and page faults too, as the device sees them */
};

GNN_MUST_CHECK enum gnn_status gnn_world_simulated_open(const struct gnn_simulated_config *config,
                                                        struct gnn_world **out, struct gnn_err *err);
void gnn_world_simulated_close(struct gnn_world *world); /* accepts NULL */
void gnn_world_simulated_counts(struct gnn_world *world, struct gnn_simulated_counts *out);
/* The same from outside: what was touched since the last look at memory is not counted yet, and nothing changes. */
void gnn_world_simulated_glance(struct gnn_world *world, struct gnn_simulated_counts *out);

/* Files that no disk holds. The path hides one on the host. GNN_EBUG when the path is registered already. */
GNN_MUST_CHECK enum gnn_status gnn_world_simulated_add_file(struct gnn_world *world, const char *path,
                                                            const struct gnn_content *content, struct gnn_err *err);

#endif
