/* SPDX-License-Identifier: MIT */
/* Reads and writes of exactly what was asked, one at a time: headers, index arrays, prepared files. */
#ifndef GNN_STORAGE_EXACT_H
#define GNN_STORAGE_EXACT_H

#include "harness/world/world.h"

/* dst (len_bytes). Goes on after short reads, EINTR and EAGAIN. GNN_EIO names file, offset and the kernel's
 * reason; GNN_ESHORT when the file ends first. A direct file wants offset, length and dst aligned: GNN_EUSAGE
 * otherwise. */
GNN_MUST_CHECK enum gnn_status gnn_read_all(struct gnn_world *world, struct gnn_file *file, uint64_t offset_bytes,
                                            void *dst, uint64_t len_bytes, struct gnn_err *err);

/* As gnn_read_all for a window that may pass the end of the file: len_bytes are asked for, and it is enough when the
 * first need_bytes of them are there. */
GNN_MUST_CHECK enum gnn_status gnn_read_window(struct gnn_world *world, struct gnn_file *file, uint64_t offset_bytes,
                                               void *dst, uint64_t len_bytes, uint64_t need_bytes, struct gnn_err *err);

/* As gnn_read_window by a caller that looks at the wanted IDs alone (world.h, gnn_file_read_ids). */
GNN_MUST_CHECK enum gnn_status gnn_read_window_ids(struct gnn_world *world, struct gnn_file *file,
                                                   uint64_t offset_bytes, void *dst, uint64_t len_bytes,
                                                   uint64_t need_bytes, const struct gnn_ids_wanted *wanted,
                                                   struct gnn_err *err);

/* As gnn_read_all; GNN_ENOSPC when the disk is full. What was written so far stays. */
GNN_MUST_CHECK enum gnn_status gnn_write_all(struct gnn_world *world, struct gnn_file *file, uint64_t offset_bytes,
                                             const void *src, uint64_t len_bytes, struct gnn_err *err);

/* Returns the words for the errno of a read or write. A device's own errors come under numbers whose usual words
 * ("No data available" for a sector that cannot be read) would lead a reader astray. */
const char *gnn_io_reason(int error);

#endif
