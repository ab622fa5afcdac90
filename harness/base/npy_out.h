/* SPDX-License-Identifier: MIT */
/* Writes headers of NumPy's .npy files (format 1.0).
 * Source: the description of the format in numpy/lib/format.py. */
#ifndef GNN_BASE_NPY_OUT_H
#define GNN_BASE_NPY_OUT_H

#include "harness/oocgnn.h"

enum { GNN_NPY_OUT_HEADER = 128 };

/* Type and shape of an array in C order. */
struct gnn_npy_shape {
    const char *descr; /* "<i8", "<f4", "<f2" */
    uint64_t rows;
    uint64_t columns; /* 0: an array of one dimension */
};

/* Writes the header of a file, which has always the same size. Pure. */
void gnn_npy_out_header(const struct gnn_npy_shape *shape, char header[GNN_NPY_OUT_HEADER]);

/* Converts unsigned or signed 32-bit numbers (count) to int64. */
void gnn_npy_out_widen(const void *items, bool is_signed, uint64_t count, int64_t *out);

#endif
