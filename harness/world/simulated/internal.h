/* SPDX-License-Identifier: MIT */
/* The parts of a simulated world, for the files of this folder. simulated.c opens them; executor.c has the clock and
 * the threads, locks.c their locks; memory.c allocations, touched.c
 * their pages; inode.c bytes of one file; cached.c buffered reads and page
 * faults; files.c names and direct I/O; map.c mappings; ring.c rings. A file of this list calls those before it. */
#ifndef GNN_SIM_INTERNAL_H
#define GNN_SIM_INTERNAL_H

#include "harness/world/simulated/device.h"
#include "harness/world/simulated/executor.h"
#include "harness/world/simulated/page_cache.h"
#include "harness/world/simulated/simulated.h"

struct sim_files;  /* files.c: everything that has a name, and scratch files */
struct sim_cached; /* cached.c: reads in flight into the page cache */
struct sim_memory; /* memory.c: allocations against the cap */

struct simulated {
    struct sim_executor *executor; /* first: sim_executor_of() */
    struct gnn_world base;
    struct gnn_simulated_config config;
    const struct gnn_profile *profile;
    struct sim_device *device;
    struct sim_page_cache *cache;
    struct sim_files *files;
    struct sim_cached *cached;
    struct sim_memory *memory;
};

static inline struct simulated *simulated_of(struct gnn_world *w)
{
    return w->state;
}

/* ---- memory.c ---- */
enum gnn_status sim_memory_open(struct simulated *s, struct gnn_err *err);
void sim_memory_close(struct simulated *s);
/* Returns whether ptr lies in feature memory, whose bytes are neither read nor written. */
bool sim_is_feature(const struct simulated *s, const void *ptr);
/* The same for `bytes` that are written now: in feature memory their pages are charged. */
bool sim_written_features(struct simulated *s, const void *ptr, uint64_t bytes);
/* Charges what was touched of plain memory since the last look, if the time for the next has come. */
void sim_memory_look(struct simulated *s, uint64_t now_ns);
/* Looks, and notes the peak. */
void sim_memory_note(struct simulated *s);
/* What was charged by the last look, and with the page cache was at most; the process's own not included. */
void sim_memory_known(const struct simulated *s, uint64_t *current_bytes, uint64_t *peak_bytes);

/* ---- files.c ---- */
struct sim_inode; /* one file's bytes and place on the device; shared by its handles */
struct gnn_file {
    struct sim_inode *inode;
    char *path;
    bool direct, random, writable;
};
enum gnn_status sim_files_open(struct simulated *s, struct gnn_err *err);
void sim_files_close(struct simulated *s);
/* gnn_world_simulated_add_file hands on to this. */
enum gnn_status sim_file_add(struct simulated *s, const char *path, const struct gnn_content *content,
                             struct gnn_err *err);

/* ---- cached.c ---- */
enum gnn_status sim_cached_open(struct simulated *s, struct gnn_err *err);
void sim_cached_close(struct simulated *s);
/* Reads [offset, offset + len) through the page cache at time now_ns and charges nothing. Returns when the bytes are
 * there (now_ns when all were cached); *cpu_ps: CPU time of the call besides syscall_ns. */
uint64_t sim_cached_read(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                         uint64_t len_bytes, uint64_t *cpu_ps);
/* Likewise a read that a ring submits: *cpu_ps is what it takes besides the ring's calls and, where it ends after
 * now_ns, the reaping of an interrupt's completion. */
uint64_t sim_cached_ring_read(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                              uint64_t len_bytes, uint64_t *cpu_ps);
/* Writes likewise: pages become cached and dirty; they are written back when the file is synced or room runs out. */
uint64_t sim_cached_write(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                          uint64_t len_bytes, uint64_t *cpu_ps);
/* Marks pages dirty that a mapping has just touched. */
void sim_cached_dirty(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                      uint64_t len_bytes);
/* Hands the file's dirty pages to the device (fsync). Returns when the last is written: now_ns when none was dirty. */
uint64_t sim_cached_sync(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t *cpu_ps);
/* Touches one page through a mapping, as the running thread. Returns false, and does nothing, when the page has no
 * page-table entry or is still being read: fault on it. Charges nothing and is no scheduling point. */
bool sim_cached_hit(struct simulated *s, const struct gnn_file *file, enum gnn_map_advice advice, uint64_t page);
/* Takes the fault: its CPU time passes (a scheduling point), then the missing pages are read. Returns when the page is
 * there; not after sim_now() when it is there already. */
uint64_t sim_cached_fault(struct simulated *s, const struct gnn_file *file, enum gnn_map_advice advice, uint64_t page);

#endif
