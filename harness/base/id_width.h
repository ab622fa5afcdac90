/* SPDX-License-Identifier: MIT */
/* The width of a node ID in a file: 4 bytes, or 8 as in the int64 tensors of most released systems. Little-endian. In
 * memory an ID is a gnn_node, whatever its width in the file. */
#ifndef GNN_BASE_ID_WIDTH_H
#define GNN_BASE_ID_WIDTH_H

#include "harness/oocgnn.h"

#include <string.h>

/* The width as an option's choice; the words are "4" and "8". */
enum gnn_id_width { GNN_ID_WIDTH_4, GNN_ID_WIDTH_8 };
extern const char *const gnn_id_width_words[];
_Static_assert(sizeof(enum gnn_id_width) == sizeof(uint32_t), "a choice is 32 bits");

static inline uint32_t gnn_id_width_bytes(enum gnn_id_width width)
{
    return width == GNN_ID_WIDTH_8 ? sizeof(uint64_t) : sizeof(gnn_node);
}

/* Returns an 8-byte ID as a gnn_node, or GNN_NODE_NONE if it does not fit. GNN_NODE_NONE is outside every graph, so a
 * comparison with the number of nodes rejects it. */
static inline gnn_node gnn_id_narrow(uint64_t id)
{
    return id < GNN_NODE_NONE ? (gnn_node)id : GNN_NODE_NONE;
}

/* Returns ids[i] as it is stored, for messages. ids is id_bytes wide and aligned to that. */
static inline uint64_t gnn_id_stored(const void *ids, uint32_t id_bytes, uint64_t i)
{
    return id_bytes == sizeof(gnn_node) ? ((const gnn_node *)ids)[i] : ((const uint64_t *)ids)[i];
}

/* Returns ids[i] as a gnn_node, or GNN_NODE_NONE if it does not fit. */
static inline gnn_node gnn_id_at(const void *ids, uint32_t id_bytes, uint64_t i)
{
    return id_bytes == sizeof(gnn_node) ? ((const gnn_node *)ids)[i] : gnn_id_narrow(((const uint64_t *)ids)[i]);
}

/* Copies ids (count), id_bytes wide, to out (count) as gnn_nodes. out may be equal to ids. */
static inline void gnn_ids_narrow(const void *ids, uint32_t id_bytes, uint64_t count, gnn_node *out)
{
    if (id_bytes == sizeof *out) {
        if (ids != out && count > 0)
            memcpy(out, ids, count * sizeof *out);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t id;
        memcpy(&id, (const unsigned char *)ids + i * sizeof id, sizeof id);
        const gnn_node narrow = gnn_id_narrow(id);
        memcpy((unsigned char *)out + i * sizeof narrow, &narrow, sizeof narrow);
    }
}

/* Copies ids (count) to dst (count), id_bytes wide there. dst may be equal to ids. */
static inline void gnn_ids_store(const gnn_node *ids, uint64_t count, uint32_t id_bytes, void *dst)
{
    if (id_bytes == sizeof *ids) {
        if (ids != dst && count > 0)
            memcpy(dst, ids, count * sizeof *ids);
        return;
    }
    for (uint64_t i = count; i-- > 0;) { /* from the end: a wide ID covers only narrow ones that were taken */
        gnn_node narrow;
        memcpy(&narrow, (const unsigned char *)ids + i * sizeof narrow, sizeof narrow);
        const uint64_t id = narrow;
        memcpy((unsigned char *)dst + i * sizeof id, &id, sizeof id);
    }
}

#endif
