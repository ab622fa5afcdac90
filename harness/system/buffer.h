/* SPDX-License-Identifier: MIT */
/* World memory that grows during warm-up and never shrinks, for scratch whose size the first batches show. The owner
 * decides when it may grow. One thread at a time. */
#ifndef GNN_SYSTEM_BUFFER_H
#define GNN_SYSTEM_BUFFER_H

#include "harness/world/world.h"

/* A buffer. To initialise it, set name and flags and zero the rest. */
struct gnn_buffer {
    const char *name;   /* name of the memory: a string literal */
    unsigned mem_flags; /* as in gnn_mem_alloc */
    void *data;         /* (bytes), page-aligned; NULL while bytes is 0 */
    uint64_t bytes;
};

/* Makes room for `bytes`. A buffer that has to grow gets a sixteenth more, and its old contents are lost. GNN_ENOMEM,
 * GNN_ECAP: the buffer is empty afterwards. */
GNN_MUST_CHECK enum gnn_status gnn_buffer_reserve(struct gnn_world *world, struct gnn_buffer *buffer, uint64_t bytes,
                                                  struct gnn_err *err);
void gnn_buffer_close(struct gnn_world *world, struct gnn_buffer *buffer); /* accepts an empty one */

#endif
