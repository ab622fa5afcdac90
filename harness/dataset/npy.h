/* SPDX-License-Identifier: MIT */
/* NumPy's .npy files (format 1.0 to 3.0), plain or gzip, read as a stream of numbers. Internal to harness/dataset/.
 * Source: numpy/lib/format.py's description of the format. C order and little-endian alone; anything else is refused
 * with the line of Python that converts it. */
#ifndef GNN_DATASET_NPY_H
#define GNN_DATASET_NPY_H

#include "harness/dataset/input.h"

enum { GNN_NPY_DIMS_MAX = 2, GNN_NPY_HEADER_MAX = 4096, GNN_NPY_BATCH = 4096 };

struct gnn_npy_header {
    char kind; /* 'f', 'i', 'u' or 'b' */
    uint32_t item_bytes;
    uint32_t dim_count;
    uint64_t shape[GNN_NPY_DIMS_MAX];
    uint64_t items; /* product of shape */
};

/* Parses the header's dictionary, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" and what pads it. text
 * need not end in NUL. Pure. GNN_EFORMAT names path and what is wrong. */
GNN_MUST_CHECK enum gnn_status gnn_npy_parse(const char *text, size_t len, const char *path, struct gnn_npy_header *out,
                                             struct gnn_err *err);

/* Read by the folder, written by npy.c. */
struct gnn_npy {
    struct gnn_input *input;
    struct gnn_npy_header header;
    uint64_t data_offset;
    uint64_t read_items;
    unsigned char batch[GNN_NPY_BATCH * 8]; /* of the widest dtype */
};

/* Opens path and reads its header. A plain file's size is compared with the header. */
GNN_MUST_CHECK enum gnn_status gnn_npy_open(const char *path, struct gnn_npy **out, struct gnn_err *err);
void gnn_npy_close(struct gnn_npy *npy); /* accepts NULL */

GNN_MUST_CHECK enum gnn_status gnn_npy_skip(struct gnn_npy *npy, uint64_t items, struct gnn_err *err);

/* The next count (at most GNN_NPY_BATCH) numbers. Integers from floating point must be whole; NaN becomes GNN_NPY_NAN
 * in integers (a missing label), and is passed on in floats. Numbers that do not fit are GNN_EFORMAT. Fewer numbers
 * than the header promises are GNN_ESHORT. */
#define GNN_NPY_NAN INT64_MIN
GNN_MUST_CHECK enum gnn_status gnn_npy_read_i64(struct gnn_npy *npy, int64_t *out, uint64_t count, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_npy_read_f32(struct gnn_npy *npy, float *out, uint64_t count, struct gnn_err *err);

/* After the last number: nothing may follow. */
GNN_MUST_CHECK enum gnn_status gnn_npy_expect_end(struct gnn_npy *npy, struct gnn_err *err);

#endif
