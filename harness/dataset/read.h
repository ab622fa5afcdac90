/* SPDX-License-Identifier: MIT */
/* Reading a dataset's files outside any world, for adding to it, checking it and naming it in a record. */
#ifndef GNN_DATASET_READ_H
#define GNN_DATASET_READ_H

#include "harness/dataset/output.h"

/* Writes "<dir>/<name>" into path. */
void gnn_dataset_path(const char *dir, const char *name, char path[GNN_OUTPUT_PATH]);

/* Opens a file for reading that must be a regular one: GNN_EFORMAT otherwise; *fd is -1 after an error. */
GNN_MUST_CHECK enum gnn_status gnn_open_regular(const char *path, int *fd, struct gnn_err *err);

/* Reads up to `bytes` from where fd stands, resuming short reads; *got is less at the end of the file alone. Failures
 * are gnn_out_errno's and name path. */
GNN_MUST_CHECK enum gnn_status gnn_read_bytes(int fd, void *dst, uint64_t bytes, const char *path, uint64_t *got,
                                              struct gnn_err *err);

/* Reads and parses <dir>/meta. GNN_ENOENT: dir is not a dataset. */
GNN_MUST_CHECK enum gnn_status gnn_read_meta(const char *dir, struct gnn_meta *out, struct gnn_err *err);

#endif
