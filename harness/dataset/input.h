/* SPDX-License-Identifier: MIT */
/* Reads input files of an import as streams: plain files, gzip, and members of an archive of NumPy (.npz) or PyTorch
 * (.pt, .pth). Internal to harness/dataset/. A path such as "raw/data.npz/edge_index.npy" names the member
 * edge_index.npy of raw/data.npz. */
#ifndef GNN_DATASET_INPUT_H
#define GNN_DATASET_INPUT_H

#include "harness/dataset/output.h"

enum { GNN_INPUT_LINE_MAX = 65536 /* longer lines are no line of any format */ };

/* Other files of this directory read it; only input.c writes it. */
struct gnn_input {
    char path[GNN_OUTPUT_PATH];
    uint64_t size_bytes; /* as stored; of a member, its packed bytes */
    uint64_t line;       /* number of the last line read, from 1 */
    void *gz;            /* zlib's handle, which also reads plain files; NULL for a member and for numbers alone */
    struct gnn_zip *zip; /* of a member; else NULL */
    struct gnn_zip_member *member;
    void *numbers; /* FILE * of gnn_input_open_numbers(); else NULL */
    bool unended;  /* the last line read has no line end */
    uint32_t text_at, text_len;
    char text[65536]; /* unpacked, for lines */
};

/* Writes the path of dir/name, or of dir/name.gz if the former is missing, to path. Returns false if neither exists. */
bool gnn_input_find(const char *dir, const char *name, char path[GNN_OUTPUT_PATH]);

/* Returns whether the path names something that exists, members of archives included. */
bool gnn_input_exists(const char *path);

/* Returns whether the path is a file whose name ends in .npz. */
bool gnn_input_is_npz(const char *path);

/* Opens path. Returns GNN_ENOENT or GNN_EPERM, which name the path, or GNN_EUSAGE if it is not a file. */
GNN_MUST_CHECK enum gnn_status gnn_input_open(const char *path, struct gnn_input **out, struct gnn_err *err);
/* Opens a plain file whose first bytes may look like gzip, because it has nothing but numbers. Errors as above. */
GNN_MUST_CHECK enum gnn_status gnn_input_open_numbers(const char *path, struct gnn_input **out, struct gnn_err *err);
/* Reads `len` bytes of memory, which must outlive the input. path is for messages. */
GNN_MUST_CHECK enum gnn_status gnn_input_open_memory(const char *path, const void *bytes, uint64_t len,
                                                     struct gnn_input **out, struct gnn_err *err);
void gnn_input_close(struct gnn_input *input); /* accepts NULL */

/* Reads up to `bytes` bytes. *got is less only at the end of the data. Returns GNN_EFORMAT for a damaged or truncated
 * gzip stream. */
GNN_MUST_CHECK enum gnn_status gnn_input_read(struct gnn_input *input, void *dst, uint64_t bytes, uint64_t *got,
                                              struct gnn_err *err);
/* Skips `bytes` bytes of unpacked data. */
GNN_MUST_CHECK enum gnn_status gnn_input_skip(struct gnn_input *input, uint64_t bytes, struct gnn_err *err);
/* Moves to an offset of the unpacked data, which must not be past its end. It is fast if gnn_input_seeks(). */
GNN_MUST_CHECK enum gnn_status gnn_input_seek(struct gnn_input *input, uint64_t offset, struct gnn_err *err);

/* Reads the next line, without its end (LF or CR LF), into line, with a NUL behind it. *more is false at the end of the
 * data. Returns GNN_EFORMAT for a line of GNN_INPUT_LINE_MAX characters or with a NUL, and for a file of a known
 * binary format. Must not be mixed with read and skip. */
GNN_MUST_CHECK enum gnn_status gnn_input_line(struct gnn_input *input, char line[GNN_INPUT_LINE_MAX], bool *more,
                                              struct gnn_err *err);

/* The following two hold once some bytes were read. */
/* Returns whether the data is stored as it is, so that a seek costs no reading. */
bool gnn_input_seeks(const struct gnn_input *input);
/* Returns the smallest and the largest possible number of unpacked bytes. They are equal unless the data is gzip. */
void gnn_input_unpacked_bytes(const struct gnn_input *input, uint64_t *least, uint64_t *most);

/* Returns, for progress, how many of size_bytes were read. */
uint64_t gnn_input_position(const struct gnn_input *input);

#endif
