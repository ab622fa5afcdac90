/* SPDX-License-Identifier: MIT */
/* Files that a system makes once beside the dataset and uses in every later run. Each is written as <name>.part, synced
 * and renamed: it appears under its name only when complete. What a crash leaves is overwritten by the next
 * preparation. One thread at a time. */
#ifndef GNN_SYSTEM_PREPARED_H
#define GNN_SYSTEM_PREPARED_H

#include "harness/world/world.h"

struct gnn_prepared {
    struct gnn_world *world;
    char dir[700];          /* exists */
    uint64_t written_bytes; /* of files that were made here; 0: all were there */
};

struct gnn_prepared_path {
    char text[800];
};
/* Returns <dir>/<name>. */
struct gnn_prepared_path gnn_prepared_path(const struct gnn_prepared *prepared, const char *name);

/* Opens a file that is there. *out = NULL: it does not exist, which is no error here; other open errors are. */
GNN_MUST_CHECK enum gnn_status gnn_prepared_open(const struct gnn_prepared *prepared, const char *name, unsigned flags,
                                                 struct gnn_file **out, struct gnn_err *err);
/* Opens <name>.part for writing; flags: GNN_OPEN_DIRECT or 0. */
GNN_MUST_CHECK enum gnn_status gnn_prepared_begin(const struct gnn_prepared *prepared, const char *name, unsigned flags,
                                                  struct gnn_file **out, struct gnn_err *err);
/* Closes the .part file: synced and renamed where `status`, the outcome of writing it, is GNN_OK, removed where not.
 * Returns the first error. file may be NULL after an error. */
GNN_MUST_CHECK enum gnn_status gnn_prepared_end(struct gnn_prepared *prepared, const char *name, struct gnn_file *file,
                                                enum gnn_status status, struct gnn_err *err);
/* Writes a small file at once. data: world memory. */
GNN_MUST_CHECK enum gnn_status gnn_prepared_write(struct gnn_prepared *prepared, const char *name, const void *data,
                                                  uint64_t bytes, struct gnn_err *err);
/* Adds the size of a file, 0 where it is not there. */
GNN_MUST_CHECK enum gnn_status gnn_prepared_count(const struct gnn_prepared *prepared, const char *name,
                                                  uint64_t *bytes, struct gnn_err *err);

#endif
