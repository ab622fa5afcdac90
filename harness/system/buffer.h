/* SPDX-License-Identifier: MIT */
/* World memory that grows at warm-up and never shrinks: scratch whose size the first batches find out. Its owner
 * decides when it may grow; one thread at a time. */
#ifndef GNN_SYSTEM_BUFFER_H
#define GNN_SYSTEM_BUFFER_H

#include "harness/world/world.h"

/* Ready for use with its name and flags set and the rest zero. */
struct gnn_buffer {
    const char *name;   /* of the memory: a string literal */
    unsigned mem_flags; /* as in gnn_mem_alloc */
    void *data;         /* (bytes), page-aligned; NULL while bytes is 0 */
    uint64_t bytes;
};

/* Makes room for `bytes`; a buffer that has to grow gets a sixteenth more, and its old contents are lost. On failure
 * (GNN_ENOMEM, GNN_ECAP) it is empty. */
GNN_MUST_CHECK enum gnn_status gnn_buffer_reserve(struct gnn_world *world, struct gnn_buffer *buffer, uint64_t bytes,
                                                  struct gnn_err *err);
void gnn_buffer_close(struct gnn_world *world, struct gnn_buffer *buffer); /* accepts an empty one */

#endif
