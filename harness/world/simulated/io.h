/* What one read through a handle and one through a ring have in common (files.c). */
#ifndef GNN_SIM_IO_H
#define GNN_SIM_IO_H

#include "harness/world/simulated/internal.h"

enum { SIM_PS_PER_NS = 1000 };

/* Bytes a read moves, as Linux answers it: fewer than asked at the end of the file, 0 behind it, -EINVAL where direct
 * I/O is not aligned. */
int64_t sim_io_readable(const struct simulated *s, const struct gnn_file *file, uint64_t offset_bytes, const void *dst,
                        uint64_t len_bytes);

/* Hands such a read (len_bytes > 0) to the device or the page cache: when it is done, and CPU time of the caller that
 * the page cache asks for. */
uint64_t sim_io_start_read(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                           uint64_t len_bytes, uint64_t *cpu_ps);

#endif
