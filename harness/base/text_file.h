/* SPDX-License-Identifier: MIT */
/* The small text files the kernel shows under /proc and /sys. */
#ifndef GNN_BASE_TEXT_FILE_H
#define GNN_BASE_TEXT_FILE_H

#include <stddef.h>

/* The file as a string, cut at text_bytes - 1. Returns 0 or an errno, and then the text is "". text_bytes > 0. */
int gnn_text_file_read(const char *path, char *text, size_t text_bytes);

/* Cuts white space off the end. */
void gnn_trim(char *text);
/* Returns where the line after this one begins, or the end. */
const char *gnn_next_line(const char *line);

#endif
