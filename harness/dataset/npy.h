/* SPDX-License-Identifier: MIT */
/* Reads NumPy's .npy files (format 1.0 to 3.0) and arrays without a header as a stream of numbers. Internal to
 * harness/dataset/.
 * Source: the description of the format in numpy/lib/format.py. Numbers come row by row and in the byte order of this
 * machine, whatever the order in the file. For any other dtype the error has the line of Python that converts it. */
#ifndef GNN_DATASET_NPY_H
#define GNN_DATASET_NPY_H

#include "harness/dataset/input.h"

enum {
    GNN_NPY_DIMS_MAX = 2,
    GNN_NPY_HEADER_MAX = 4096,
    GNN_NPY_BATCH = 4096,
    GNN_NPY_BLOCK = 1 << 18, /* bytes of rows that are turned at once in a matrix stored column by column */
};

struct gnn_npy_header {
    char kind; /* 'f', 'i', 'u' or 'b' */
    uint32_t item_bytes;
    bool big_endian;
    bool fortran; /* a matrix of more than one row and column is stored column by column */
    uint32_t dim_count;
    uint64_t shape[GNN_NPY_DIMS_MAX];
    uint64_t items; /* product of shape */
};

/* Parses the header's dictionary, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", and its padding. text
 * needs no NUL at its end. Pure. Returns GNN_EFORMAT, which names path and fault. */
GNN_MUST_CHECK enum gnn_status gnn_npy_parse(const char *text, size_t len, const char *path, struct gnn_npy_header *out,
                                             struct gnn_err *err);

struct gnn_csv_numbers;

/* Other files of this directory read it; only npy.c writes it. */
struct gnn_npy {
    struct gnn_input *input;
    struct gnn_csv_numbers *text; /* of a table in text: its numbers are float64; else NULL */
    struct gnn_npy_header header;
    uint64_t data_offset;
    uint64_t read_items;
    bool window;          /* more data may follow the numbers */
    unsigned char *block; /* rows of a Fortran matrix, column by column; NULL before the first read */
    uint64_t block_bytes, block_first, block_rows;
    _Alignas(8) unsigned char batch[GNN_NPY_BATCH * 8]; /* fits the widest dtype */
};

/* Opens path and reads its header. A plain file's size must match the header. A name in .csv or .csv.gz is a table in
 * text (csv_numbers.h), whose header is float64 [rows, columns]. Returns GNN_EFORMAT or GNN_ESHORT for another size,
 * and errors of gnn_input_open() and gnn_npy_parse(). */
GNN_MUST_CHECK enum gnn_status gnn_npy_open(const char *path, struct gnn_npy **out, struct gnn_err *err);
/* Opens an array file without a header that has `header`'s numbers from its first byte on. Returns GNN_EFORMAT or
 * GNN_ESHORT for another size. */
GNN_MUST_CHECK enum gnn_status gnn_npy_open_raw(const char *path, const struct gnn_npy_header *header,
                                                struct gnn_npy **out, struct gnn_err *err);
/* The same for numbers in memory, which must outlive the reader. */
GNN_MUST_CHECK enum gnn_status gnn_npy_open_memory(const char *path, const void *bytes, uint64_t len,
                                                   const struct gnn_npy_header *header, struct gnn_npy **out,
                                                   struct gnn_err *err);
/* Opens path as described by raw if raw has items of a size, else by its own header. */
GNN_MUST_CHECK enum gnn_status gnn_npy_open_as(const char *path, const struct gnn_npy_header *raw, struct gnn_npy **out,
                                               struct gnn_err *err);
/* Returns whether the file begins as a NumPy file. Returns false for a file that cannot be read. */
bool gnn_npy_has_magic(const char *path);
void gnn_npy_close(struct gnn_npy *npy); /* accepts NULL */

GNN_MUST_CHECK enum gnn_status gnn_npy_skip(struct gnn_npy *npy, uint64_t items, struct gnn_err *err);
/* Restricts a reader of an array without a header to `header`'s numbers, of which the first is number `first`. Call it
 * before the first read. */
GNN_MUST_CHECK enum gnn_status gnn_npy_window(struct gnn_npy *npy, uint64_t first, const struct gnn_npy_header *header,
                                              struct gnn_err *err);
/* From now on, reads the numbers in the order in which they are stored. Call it before the first read. */
void gnn_npy_read_as_stored(struct gnn_npy *npy);
/* Sets the memory for turning a Fortran matrix, GNN_NPY_BLOCK without it. The larger, the fewer seeks. Call it before
 * the first read. */
void gnn_npy_set_block(struct gnn_npy *npy, uint64_t bytes);

/* Read the next count (at most GNN_NPY_BATCH) numbers. As integers, floating-point numbers must be whole and so small
 * that their type has every whole number (float16 below 2^11, float32 below 2^24). NaN (a missing label) becomes
 * GNN_NPY_NAN. As floats, NaN is kept. Return GNN_EFORMAT for a number that does not fit, or
 * GNN_ESHORT if there are fewer numbers than the header states. */
#define GNN_NPY_NAN INT64_MIN
GNN_MUST_CHECK enum gnn_status gnn_npy_read_i64(struct gnn_npy *npy, int64_t *out, uint64_t count, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_npy_read_f32(struct gnn_npy *npy, float *out, uint64_t count, struct gnn_err *err);

/* Returns GNN_EFORMAT if data follows the last number. */
GNN_MUST_CHECK enum gnn_status gnn_npy_expect_end(struct gnn_npy *npy, struct gnn_err *err);

#endif
