/* SPDX-License-Identifier: MIT */
/* Single reads and writes of exactly the requested bytes: headers, index arrays, prepared files. */
#ifndef GNN_STORAGE_EXACT_H
#define GNN_STORAGE_EXACT_H

#include "harness/world/world.h"

/* Reads len_bytes into dst. Continues after short reads, EINTR and EAGAIN. GNN_EIO: the read failed; the message has
 * file, offset and the kernel's reason. GNN_ESHORT: the file ends first. GNN_EUSAGE: offset, length or dst of a direct
 * file is not aligned. */
GNN_MUST_CHECK enum gnn_status gnn_read_all(struct gnn_world *world, struct gnn_file *file, uint64_t offset_bytes,
                                            void *dst, uint64_t len_bytes, struct gnn_err *err);

/* Reads a window that may pass the end of the file: requests len_bytes and succeeds if the first need_bytes arrive.
 * Otherwise as gnn_read_all. */
GNN_MUST_CHECK enum gnn_status gnn_read_window(struct gnn_world *world, struct gnn_file *file, uint64_t offset_bytes,
                                               void *dst, uint64_t len_bytes, uint64_t need_bytes, struct gnn_err *err);

/* Reads as gnn_read_window, for a caller that uses the wanted IDs only (world.h, gnn_file_read_ids). */
GNN_MUST_CHECK enum gnn_status gnn_read_window_ids(struct gnn_world *world, struct gnn_file *file,
                                                   uint64_t offset_bytes, void *dst, uint64_t len_bytes,
                                                   uint64_t need_bytes, const struct gnn_ids_wanted *wanted,
                                                   struct gnn_err *err);

/* Writes len_bytes from src. GNN_ENOSPC: the disk is full; otherwise errors as gnn_read_all. Bytes written before an
 * error stay. */
GNN_MUST_CHECK enum gnn_status gnn_write_all(struct gnn_world *world, struct gnn_file *file, uint64_t offset_bytes,
                                             const void *src, uint64_t len_bytes, struct gnn_err *err);

/* Returns the reason for the errno of a read or write. Device errors have their own text, because the usual one
 * misleads: "No data available" stands for an unreadable sector. */
const char *gnn_io_reason(int error);

#endif
