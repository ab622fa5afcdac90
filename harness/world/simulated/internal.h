/* SPDX-License-Identifier: MIT */
/* The parts of a simulated world, for the files of this folder. Of the following files each calls only those before it:
 * executor.c (clock and threads), locks.c, touched.c (touched pages), memory.c (allocations). Above these are inode.c
 * (bytes of one file), cached.c (buffered reads, page faults) and files.c (names, direct I/O). They are followed by
 * map.c (mappings), ring.c (rings) and simulated.c, which opens all of them. */
#ifndef GNN_SIM_INTERNAL_H
#define GNN_SIM_INTERNAL_H

#include "harness/world/simulated/device.h"
#include "harness/world/simulated/executor.h"
#include "harness/world/simulated/page_cache.h"
#include "harness/world/simulated/simulated.h"

struct sim_files;  /* files.c: all names, and scratch files */
struct sim_cached; /* cached.c: reads in flight into the page cache */
struct sim_memory; /* memory.c: allocations and the memory limit */

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
/* Returns whether ptr is in feature memory, whose bytes are neither read nor written. */
bool sim_is_feature(const struct simulated *s, const void *ptr);
/* Returns the same for `bytes` that are written now. In feature memory their pages are charged. */
bool sim_written_features(struct simulated *s, const void *ptr, uint64_t bytes);
/* Charges plain memory that was touched since the last look, if it is time for the next one. */
void sim_memory_look(struct simulated *s, uint64_t now_ns);
/* Charges touched plain memory now, and updates the peak. */
void sim_memory_note(struct simulated *s);
/* Writes the bytes charged by the last look, and the peak of these plus the page cache. The process's own memory is not
 * included. */
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
/* Implements gnn_world_simulated_add_file. */
enum gnn_status sim_file_add(struct simulated *s, const char *path, const struct gnn_content *content,
                             struct gnn_err *err);

/* ---- cached.c ---- */
enum gnn_status sim_cached_open(struct simulated *s, struct gnn_err *err);
void sim_cached_close(struct simulated *s);
/* Reads [offset, offset + len) through the page cache at time now_ns and charges nothing. Returns the time at which the
 * bytes are available (now_ns if all were cached). *cpu_ps is the CPU time of the call without syscall_ns. */
uint64_t sim_cached_read(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                         uint64_t len_bytes, uint64_t *cpu_ps);
/* Does the same for a read that a ring submits. *cpu_ps is its CPU time without the ring's calls. If the read ends
 * after now_ns, the reaping of its completion is not included either. */
uint64_t sim_cached_ring_read(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                              uint64_t len_bytes, uint64_t *cpu_ps);
/* Writes through the page cache: pages become cached and dirty. They are written back when the file is synced or when
 * room runs out. */
uint64_t sim_cached_write(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                          uint64_t len_bytes, uint64_t *cpu_ps);
/* Marks pages dirty that a mapping has just touched. */
void sim_cached_dirty(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                      uint64_t len_bytes);
/* Submits the file's dirty pages to the device (fsync). Returns the time at which the last is written, now_ns if none
 * was dirty. */
uint64_t sim_cached_sync(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t *cpu_ps);
/* Touches one page through a mapping, as the running thread. Returns false without any effect if the page has no
 * page-table entry or is still being read; call sim_cached_fault then. Charges nothing and is no scheduling point. */
bool sim_cached_hit(struct simulated *s, const struct gnn_file *file, enum gnn_map_advice advice, uint64_t page);
/* Handles the fault: its CPU time passes (a scheduling point), then the missing pages are read. Returns the time at
 * which the page is present, which is not after sim_now() if it is present already. */
uint64_t sim_cached_fault(struct simulated *s, const struct gnn_file *file, enum gnn_map_advice advice, uint64_t page);

#endif
