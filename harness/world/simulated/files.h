/* SPDX-License-Identifier: MIT */
/* What the other files of this folder ask of a file of the simulated world (files.c). The hooks of the world's table
 * are in internal.h. */
#ifndef GNN_SIM_FILES_H
#define GNN_SIM_FILES_H

#include "harness/world/simulated/inode.h"

/* Moves real bytes (offset + len inside the file); a no-op for feature memory. Takes no virtual time. */
void sim_file_fetch(struct simulated *s, const struct gnn_file *file, uint64_t offset_bytes, uint64_t len_bytes,
                    void *dst);
/* Returns the content's gather where it has one, else NULL. */
const struct gnn_content *sim_file_content(const struct gnn_file *file);

/* Returns the bytes a read moves, as Linux answers it: fewer than asked at the end of the file, 0 behind it, -EINVAL
 * where direct I/O is not aligned. */
int64_t sim_file_readable(const struct simulated *s, const struct gnn_file *file, uint64_t offset_bytes,
                          const void *dst, uint64_t len_bytes);

/* Hands such a read (len_bytes > 0) to the device or the page cache. Returns when it is done; *cpu_ps: CPU time of the
 * caller that the page cache asks for. */
uint64_t sim_file_start_read(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                             uint64_t len_bytes, uint64_t *cpu_ps);

/* Returns the bytes a write moves, as Linux answers it: -EBADF where the file is not open for writing, -EINVAL where
 * direct I/O is not aligned, -EFBIG beyond what a file here may hold. */
int64_t sim_file_writable(const struct simulated *s, const struct gnn_file *file, uint64_t offset_bytes,
                          const void *src, uint64_t len_bytes);
/* Keeps the bytes of such a write, or their absence for feature memory, and the file's new size. Takes no virtual time.
 * false: out of host memory. */
GNN_MUST_CHECK bool sim_file_store(struct simulated *s, struct gnn_file *file, uint64_t offset_bytes,
                                   uint64_t len_bytes, const void *src);
/* Hands such a write (len_bytes > 0; buffered: stored already) to the device or the page cache. Returns when it is
 * done; *cpu_ps: CPU time of the caller that the page cache asks for, 0 when direct. */
uint64_t sim_file_start_write(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                              uint64_t len_bytes, uint64_t *cpu_ps);

#endif
