/* SPDX-License-Identifier: MIT */
/* Recognises binary inputs by their first bytes, and names the way to read them. Internal to
 * harness/dataset/. */
#ifndef GNN_DATASET_INPUT_KIND_H
#define GNN_DATASET_INPUT_KIND_H

#include "harness/oocgnn.h"

/* Fails if the first bytes of path, after gzip is undone, are of a known binary format, or if its lines end
 * with CR alone. Returns GNN_EFORMAT; the message names the format and a command that unpacks or converts it. */
GNN_MUST_CHECK enum gnn_status gnn_input_check_text(const char *path, const char *bytes, size_t len,
                                                    struct gnn_err *err);

/* Returns what is known about a binary file by its name, as the end of a message. */
const char *gnn_input_binary(const char *path);

/* Writes "<(COMMAND PATH)" to text and returns it, or "<(zcat PATH | COMMAND)" for a gzip file: a pipe of a shell. */
const char *gnn_input_pipe(const char *path, const char *command, char *text, size_t text_bytes);

#endif
