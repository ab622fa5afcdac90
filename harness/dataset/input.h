/* SPDX-License-Identifier: MIT */
/* Input files of an import, plain or gzip alike, read as a stream. Internal to harness/dataset/. */
#ifndef GNN_DATASET_INPUT_H
#define GNN_DATASET_INPUT_H

#include "harness/dataset/output.h"

enum { GNN_INPUT_LINE_MAX = 4096 };

/* Read by the folder, written by input.c. */
struct gnn_input {
    char path[GNN_OUTPUT_PATH];
    uint64_t size_bytes; /* of the file as stored */
    uint64_t line;       /* number of the line read last, from 1 */
    void *gz;            /* zlib's, which reads plain files as they are */
    uint32_t text_at, text_len;
    char text[65536]; /* unpacked, for lines */
};

/* Writes the path of dir/name or, where that is missing, dir/name.gz into path; false when neither exists. */
bool gnn_input_find(const char *dir, const char *name, char path[GNN_OUTPUT_PATH]);

/* GNN_ENOENT, GNN_EPERM name the path. */
GNN_MUST_CHECK enum gnn_status gnn_input_open(const char *path, struct gnn_input **out, struct gnn_err *err);
void gnn_input_close(struct gnn_input *input); /* accepts NULL */

/* Up to bytes; *got is less at the end of the data alone. A damaged or truncated gzip stream is GNN_EFORMAT. */
GNN_MUST_CHECK enum gnn_status gnn_input_read(struct gnn_input *input, void *dst, uint64_t bytes, uint64_t *got,
                                              struct gnn_err *err);
/* Moves on by bytes of unpacked data. */
GNN_MUST_CHECK enum gnn_status gnn_input_skip(struct gnn_input *input, uint64_t bytes, struct gnn_err *err);

/* The next line without its end (LF or CR LF), NUL-terminated, into line; *more false at the end of the data. A line of
 * GNN_INPUT_LINE_MAX characters or with a NUL in it is GNN_EFORMAT. Not to be mixed with read and skip. */
GNN_MUST_CHECK enum gnn_status gnn_input_line(struct gnn_input *input, char line[GNN_INPUT_LINE_MAX], bool *more,
                                              struct gnn_err *err);

/* For progress: bytes of size_bytes. */
uint64_t gnn_input_position(const struct gnn_input *input);

#endif
