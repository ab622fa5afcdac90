/* SPDX-License-Identifier: MIT */
/* A file that is written for a long time and has its name only when it is complete. Until then it has no name, so that
 * a killed process leaves nothing behind. On a file system without O_TMPFILE it is NAME.part meanwhile. */
#ifndef GNN_BASE_WHOLE_FILE_H
#define GNN_BASE_WHOLE_FILE_H

#include "harness/oocgnn.h"

#include <stdio.h>

struct gnn_whole_file;

/* Opens the file for writing. `option` ("--trace-io", a literal) begins the messages. A file of this name is removed
 * if it is empty or begins with `magic`. GNN_EUSAGE: it holds something else, or is no regular file.
 * Otherwise GNN_EPERM, GNN_ENOENT, GNN_ENOSPC or GNN_EIO. *out is NULL after an error. */
GNN_MUST_CHECK enum gnn_status gnn_whole_file_open(const char *option, const char *path, const char *magic,
                                                   struct gnn_whole_file **out, struct gnn_err *err);

/* Returns the stream, which has a buffer of 1 MiB and keeps the first error. */
FILE *gnn_whole_file_stream(struct gnn_whole_file *file);

/* Writes what is buffered. GNN_ENOSPC, GNN_EIO: a part was not written, now or earlier. */
GNN_MUST_CHECK enum gnn_status gnn_whole_file_flush(struct gnn_whole_file *file, struct gnn_err *err);

/* Flushes the file and gives it its name. Errors as of the flush; GNN_EPERM, GNN_EIO. Close it in every case. */
GNN_MUST_CHECK enum gnn_status gnn_whole_file_finish(struct gnn_whole_file *file, struct gnn_err *err);

/* Closes the file. It is gone unless it was finished. Accepts NULL. */
void gnn_whole_file_close(struct gnn_whole_file *file);

#endif
