/* SPDX-License-Identifier: MIT */
#include "harness/system/buffer.h"

#include <assert.h>

enum gnn_status gnn_buffer_reserve(struct gnn_world *world, struct gnn_buffer *buffer, uint64_t bytes,
                                   struct gnn_err *err)
{
    assert(buffer->name != NULL);
    assert((buffer->data == NULL) == (buffer->bytes == 0));
    if (bytes <= buffer->bytes)
        return GNN_OK;
    gnn_buffer_close(world, buffer);
    const uint64_t wanted = gnn_add_bytes(bytes, bytes / 16);
    GNN_TRY(gnn_mem_alloc(world, buffer->name, wanted, buffer->mem_flags, &buffer->data, err));
    buffer->bytes = wanted;
    return GNN_OK;
}

void gnn_buffer_close(struct gnn_world *world, struct gnn_buffer *buffer)
{
    gnn_mem_free(world, buffer->data);
    buffer->data = NULL;
    buffer->bytes = 0;
}
