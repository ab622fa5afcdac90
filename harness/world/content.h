/* SPDX-License-Identifier: MIT */
/* The bytes of a simulated file that no disk holds: a pure function of the offset. */
#ifndef GNN_WORLD_CONTENT_H
#define GNN_WORLD_CONTENT_H

#include "harness/oocgnn.h"

/* Hooks may be called in any order, by one thread at a time. They cannot fail, since the world has compared every range
 * with the file's size. A content outlives the files that are opened on it. */
struct gnn_content {
    uint64_t size_bytes;
    /* Writes the file's bytes from offset_bytes on to dst (len_bytes). NULL for feature bytes, which are never used: a
     * read into plain memory gives zeros. */
    void (*read)(const struct gnn_content *content, uint64_t offset_bytes, uint64_t len_bytes, void *dst);
    /* Sets out[i] to entry index[i] of the file, whose entries have id_bytes (4 or 8). A fast path for mappings; if it
     * is NULL, read is used. Index is mostly ascending inside runs that belong to one list. */
    void (*gather_ids)(const struct gnn_content *content, const uint64_t *index, uint64_t count, uint32_t *out);
    uint32_t id_bytes;
};

#endif
