/* SPDX-License-Identifier: MIT */
/* Files that a system makes once, in a subdirectory of the dataset, and uses in every later run. Each is written as
 * <name>.part, synced and renamed, so it appears under its name only when complete. The next preparation overwrites
 * what a crash leaves. One thread at a time. */
#ifndef GNN_SYSTEM_PREPARED_H
#define GNN_SYSTEM_PREPARED_H

#include "harness/world/world.h"

struct gnn_prepared {
    struct gnn_world *world;
    char dir[700];          /* must exist */
    uint64_t written_bytes; /* bytes of files that were made in this run; 0: all existed */
};

struct gnn_prepared_path {
    char text[800];
};
/* Returns <dir>/<name>. */
struct gnn_prepared_path gnn_prepared_path(const struct gnn_prepared *prepared, const char *name);

/* Opens a file. *out = NULL with GNN_OK: it does not exist. Other errors are those of gnn_file_open. */
GNN_MUST_CHECK enum gnn_status gnn_prepared_open(const struct gnn_prepared *prepared, const char *name, unsigned flags,
                                                 struct gnn_file **out, struct gnn_err *err);
/* Opens <name>.part for writing; flags: GNN_OPEN_DIRECT or 0. Errors of gnn_file_open. */
GNN_MUST_CHECK enum gnn_status gnn_prepared_begin(const struct gnn_prepared *prepared, const char *name, unsigned flags,
                                                  struct gnn_file **out, struct gnn_err *err);
/* Closes the .part file. If `status`, the result of writing it, is GNN_OK, the file is synced and renamed; else it is
 * removed. Returns the first error. `file` may be NULL if status is an error. */
GNN_MUST_CHECK enum gnn_status gnn_prepared_end(struct gnn_prepared *prepared, const char *name, struct gnn_file *file,
                                                enum gnn_status status, struct gnn_err *err);
/* Writes a small file at once. data: world memory. Errors as gnn_write_all. */
GNN_MUST_CHECK enum gnn_status gnn_prepared_write(struct gnn_prepared *prepared, const char *name, const void *data,
                                                  uint64_t bytes, struct gnn_err *err);
/* Returns whether `found` is the magic of another version of the format: it differs from `expected` only in the number
 * at its end. Both have GNN_MAGIC_BYTES. If so, logs that the files of `path` are prepared again. */
enum { GNN_MAGIC_BYTES = 16 };
bool gnn_prepared_other_version(const char *path, const char *found, const char *expected);
/* Adds the size of a file to *bytes; 0 if it does not exist. */
GNN_MUST_CHECK enum gnn_status gnn_prepared_count(const struct gnn_prepared *prepared, const char *name,
                                                  uint64_t *bytes, struct gnn_err *err);

#endif
