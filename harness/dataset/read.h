/* SPDX-License-Identifier: MIT */
/* Reads a dataset's files without a world: to add to the dataset, check it or name it in a record. */
#ifndef GNN_DATASET_READ_H
#define GNN_DATASET_READ_H

#include "harness/dataset/output.h"

/* Writes "<dir>/<name>" into path. */
void gnn_dataset_path(const char *dir, const char *name, char path[GNN_OUTPUT_PATH]);

/* Opens a regular file for reading. Returns GNN_EFORMAT if it is another kind of file, or errors of gnn_out_errno();
 * *fd is then -1. */
GNN_MUST_CHECK enum gnn_status gnn_open_regular(const char *path, int *fd, struct gnn_err *err);

/* Reads up to `bytes` bytes from the current position of fd, and resumes short reads. *got is less only at the end of
 * the file. Returns errors of gnn_out_errno(), which name path. */
GNN_MUST_CHECK enum gnn_status gnn_read_bytes(int fd, void *dst, uint64_t bytes, const char *path, uint64_t *got,
                                              struct gnn_err *err);

/* Reads and parses <dir>/meta. Returns GNN_ENOENT if dir is not a dataset, or errors of gnn_meta_parse(). */
GNN_MUST_CHECK enum gnn_status gnn_read_meta(const char *dir, struct gnn_meta *out, struct gnn_err *err);

#endif
