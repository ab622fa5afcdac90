/* SPDX-License-Identifier: MIT */
/* Functions of files.c that the other files of this folder use. The hooks of the world's table are in internal.h. */
#ifndef GNN_SIM_FILES_H
#define GNN_SIM_FILES_H

#include "harness/world/simulated/inode.h"

/* Copies real bytes (offset + len inside the file), or does nothing for feature memory. Takes no virtual time. */
void sim_file_fetch(struct simulated *s, const struct gnn_file *file, uint64_t offset_bytes, uint64_t len_bytes,
                    void *dst);
/* Returns the content if it has a gather, else NULL. */
const struct gnn_content *sim_file_content(const struct gnn_file *file);

/* Returns the bytes that a read moves, with Linux's rules. They are fewer than requested at the end of the file, 0
 * behind it, and -EINVAL if direct I/O is not aligned. */
int64_t sim_file_readable(const struct simulated *s, const struct gnn_file *file, uint64_t offset_bytes,
                          const void *dst, uint64_t len_bytes);

/* Submits such a read (len_bytes > 0) to the device or the page cache. Returns the time of its completion. *cpu_ps is
 * the caller's CPU time in the page cache. */
uint64_t sim_file_start_read(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                             uint64_t len_bytes, uint64_t *cpu_ps);

/* Returns the bytes that a write moves, with Linux's rules. The result is -EBADF if the file is not open for writing,
 * -EINVAL if direct I/O is not aligned, -EFBIG beyond the largest size of a file here. */
int64_t sim_file_writable(const struct simulated *s, const struct gnn_file *file, uint64_t offset_bytes,
                          const void *src, uint64_t len_bytes);
/* Stores the bytes of such a write, or their absence for feature memory, and the file's new size. Returns false if host
 * memory is exhausted. Takes no virtual time. */
GNN_MUST_CHECK bool sim_file_store(struct simulated *s, struct gnn_file *file, uint64_t offset_bytes,
                                   uint64_t len_bytes, const void *src);
/* Submits such a write (len_bytes > 0; buffered: already stored) to the device or the page cache. Returns the time of
 * its completion. *cpu_ps is the caller's CPU time in the page cache, 0 for direct writes. */
uint64_t sim_file_start_write(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                              uint64_t len_bytes, uint64_t *cpu_ps);

#endif
