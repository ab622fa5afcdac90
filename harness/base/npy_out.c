/* SPDX-License-Identifier: MIT */
#include "harness/base/npy_out.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PREFIX = 10 /* magic, version and length */ };

void gnn_npy_out_header(const struct gnn_npy_shape *shape, char header[GNN_NPY_OUT_HEADER])
{
    const unsigned text_bytes = GNN_NPY_OUT_HEADER - PREFIX;
    char text[GNN_NPY_OUT_HEADER];
    int len;
    if (shape->columns == 0)
        len = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRIu64 ",), }",
                       shape->descr, shape->rows);
    else
        len = snprintf(text, sizeof text,
                       "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRIu64 ", %" PRIu64 "), }", shape->descr,
                       shape->rows, shape->columns);
    assert(len > 0);
    assert((unsigned)len < text_bytes);
    memset(header, ' ', GNN_NPY_OUT_HEADER);
    memcpy(header, "\x93NUMPY\x01", 8); /* version 1.0 */
    header[8] = (char)(text_bytes & 0xff);
    header[9] = (char)(text_bytes >> 8);
    memcpy(header + PREFIX, text, (size_t)len);
    header[GNN_NPY_OUT_HEADER - 1] = '\n';
}

void gnn_npy_out_widen(const void *items, bool is_signed, uint64_t count, int64_t *out)
{
    for (uint64_t i = 0; i < count; i++)
        out[i] = is_signed ? ((const int32_t *)items)[i] : (int64_t)((const uint32_t *)items)[i];
}
