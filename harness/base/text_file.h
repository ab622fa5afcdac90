/* SPDX-License-Identifier: MIT */
/* Reads the small text files that the kernel provides under /proc and /sys. */
#ifndef GNN_BASE_TEXT_FILE_H
#define GNN_BASE_TEXT_FILE_H

#include <stddef.h>

/* Reads the file as a string, cut at text_bytes - 1 bytes. Returns 0, or an errno; text is then "". text_bytes > 0. */
int gnn_text_file_read(const char *path, char *text, size_t text_bytes);

/* Removes white space at the end. */
void gnn_trim(char *text);
/* Returns the start of the next line, or the end of the text if this line is the last. */
const char *gnn_next_line(const char *line);

#endif
