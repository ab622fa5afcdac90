/* SPDX-License-Identifier: MIT */
/* Reads input files of an import as streams, plain and gzip alike. Internal to harness/dataset/. */
#ifndef GNN_DATASET_INPUT_H
#define GNN_DATASET_INPUT_H

#include "harness/dataset/output.h"

enum { GNN_INPUT_LINE_MAX = 4096 };

/* Other files of this directory read it; only input.c writes it. */
struct gnn_input {
    char path[GNN_OUTPUT_PATH];
    uint64_t size_bytes; /* of the file as stored */
    uint64_t line;       /* number of the last line read, from 1 */
    void *gz;            /* zlib's handle, which also reads plain files */
    uint32_t text_at, text_len;
    char text[65536]; /* unpacked, for lines */
};

/* Writes the path of dir/name, or of dir/name.gz if the former is missing, to path. Returns false if neither exists. */
bool gnn_input_find(const char *dir, const char *name, char path[GNN_OUTPUT_PATH]);

/* Opens path. Returns GNN_ENOENT or GNN_EPERM, which name the path, or GNN_EUSAGE if it is not a file. */
GNN_MUST_CHECK enum gnn_status gnn_input_open(const char *path, struct gnn_input **out, struct gnn_err *err);
void gnn_input_close(struct gnn_input *input); /* accepts NULL */

/* Reads up to `bytes` bytes. *got is less only at the end of the data. Returns GNN_EFORMAT for a damaged or truncated
 * gzip stream. */
GNN_MUST_CHECK enum gnn_status gnn_input_read(struct gnn_input *input, void *dst, uint64_t bytes, uint64_t *got,
                                              struct gnn_err *err);
/* Skips `bytes` bytes of unpacked data. */
GNN_MUST_CHECK enum gnn_status gnn_input_skip(struct gnn_input *input, uint64_t bytes, struct gnn_err *err);

/* Reads the next line, without its end (LF or CR LF), into line, with a NUL behind it. *more is false at the end of the
 * data. Returns GNN_EFORMAT for a line of GNN_INPUT_LINE_MAX characters or with a NUL. Must not be mixed with read and
 * skip. */
GNN_MUST_CHECK enum gnn_status gnn_input_line(struct gnn_input *input, char line[GNN_INPUT_LINE_MAX], bool *more,
                                              struct gnn_err *err);

/* Returns, for progress, how many of size_bytes were read. */
uint64_t gnn_input_position(const struct gnn_input *input);

#endif
