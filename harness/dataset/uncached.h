/* SPDX-License-Identifier: MIT */
/* Reads a few bytes of a file past the page cache, so that a check of a dataset leaves no pages for a run. A file
 * system without direct I/O reads them through the page cache, without readahead. */
#ifndef GNN_DATASET_UNCACHED_H
#define GNN_DATASET_UNCACHED_H

#include "harness/dataset/output.h"

struct gnn_uncached {
    int fd; /* -1: none */
    bool direct;
    unsigned char *buffer;
    uint64_t room_bytes;
    char path[GNN_OUTPUT_PATH];
};

/* Opens a regular file for reads of at most most_bytes. To be closed also after an error. Returns GNN_EFORMAT if it is
 * another kind of file, GNN_ENOMEM, or errors of gnn_out_errno(). */
GNN_MUST_CHECK enum gnn_status gnn_uncached_open(const char *path, uint64_t most_bytes, struct gnn_uncached *out,
                                                 struct gnn_err *err);
/* Reads bytes at an offset. *at points to them until the next call. Returns GNN_ESHORT if the file ends before, or
 * errors of gnn_out_errno(). */
GNN_MUST_CHECK enum gnn_status gnn_uncached_read(struct gnn_uncached *file, uint64_t offset_bytes, uint64_t bytes,
                                                 const void **at, struct gnn_err *err);
void gnn_uncached_close(struct gnn_uncached *file); /* accepts a zeroed struct after a failed open */

#endif
