/* SPDX-License-Identifier: MIT */
/* Writes NumPy archives (.npz): zip files whose members are stored .npy files. Internal to harness/export/.
 * Source: APPNOTE.TXT 6.3.10 of PKWARE, sections 4.3.7 to 4.3.16. Sizes and offsets have 32 bits. */
#ifndef GNN_EXPORT_NPZ_OUT_H
#define GNN_EXPORT_NPZ_OUT_H

#include "harness/dataset/output.h"

enum { GNN_NPZ_MEMBERS_MAX = 3 + 2 * GNN_LAYERS_MAX, GNN_NPZ_NAME = 24 };

struct gnn_npz_out {
    struct gnn_out_file *file;
    uint64_t written_bytes;
    uint32_t count;
    struct {
        char name[GNN_NPZ_NAME];
        uint32_t crc, bytes, offset;
    } members[GNN_NPZ_MEMBERS_MAX];
};

/* Creates the archive. Returns errors of gnn_out_open(). */
GNN_MUST_CHECK enum gnn_status gnn_npz_open(struct gnn_output *output, const char *name, struct gnn_npz_out *out,
                                            struct gnn_err *err);
/* Adds 32-bit numbers (count) as array `name` of int64. Returns GNN_ENOTSUP if the archive would exceed 4 GiB, or
 * errors of writing. */
GNN_MUST_CHECK enum gnn_status gnn_npz_add(struct gnn_npz_out *npz, const char *name, const void *items, bool is_signed,
                                           uint64_t count, struct gnn_err *err);
/* Closes the archive and returns status, the result of adding. If that is GNN_OK, first writes the list of members. */
GNN_MUST_CHECK enum gnn_status gnn_npz_end(struct gnn_npz_out *npz, enum gnn_status status, struct gnn_err *err);

#endif
