/* Where the bytes of a simulated file come from when no disk holds them: a pure function of the offset. */
#ifndef GNN_WORLD_CONTENT_H
#define GNN_WORLD_CONTENT_H

#include "harness/oocgnn.h"

/* Hooks may be called in any order and from one thread at a time; they never fail, since the world has compared every
 * range with the file's size. A content outlives the files that are opened on it. */
struct gnn_content {
    uint64_t size_bytes;
    /* dst (len_bytes) = the file's bytes from offset_bytes on. NULL: feature bytes, which are never looked at (a read
     * into plain memory gives zeros). */
    void (*read)(const struct gnn_content *content, uint64_t offset_bytes, uint64_t len_bytes, void *dst);
    /* out[i] = element index[i] of the file as uint32_t[]; a fast path for mappings. NULL: read is used. Index is
     * mostly ascending inside runs that belong to one list. */
    void (*gather_u32)(const struct gnn_content *content, const uint64_t *index, uint64_t count, uint32_t *out);
};

#endif
