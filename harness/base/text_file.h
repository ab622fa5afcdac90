/* SPDX-License-Identifier: MIT */
/* Reads the small text files that the kernel provides under /proc and /sys, and replaces text files. */
#ifndef GNN_BASE_TEXT_FILE_H
#define GNN_BASE_TEXT_FILE_H

#include "harness/oocgnn.h"

#include <stddef.h>

/* Reads the file as a string, cut at text_bytes - 1 bytes. Returns 0, or an errno; text is then "". text_bytes > 0. */
int gnn_text_file_read(const char *path, char *text, size_t text_bytes);

/* Replaces the file, or creates it. A reader sees the whole old or the whole new text. Returns GNN_EPERM, GNN_ENOSPC or
 * GNN_EIO, which name the path. The message ends with the remedy. */
GNN_MUST_CHECK enum gnn_status gnn_text_file_replace(const char *path, const char *text, const char *remedy,
                                                     struct gnn_err *err);

/* Removes white space at the end. */
void gnn_trim(char *text);
/* Returns the start of the next line, or the end of the text if this line is the last. */
const char *gnn_next_line(const char *line);

#endif
