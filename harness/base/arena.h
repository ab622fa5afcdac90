/* SPDX-License-Identifier: MIT */
/* An arena: takes pieces one after another from one range of memory, which the caller owns. Pieces are not freed one by
 * one; gnn_arena_reset() frees all of them. */
#ifndef GNN_BASE_ARENA_H
#define GNN_BASE_ARENA_H

#include "harness/oocgnn.h"

#include <assert.h>

enum { GNN_ARENA_ALIGN_BYTES = 64 }; /* alignment of every piece: a cache line */

struct gnn_arena {
    char *memory; /* NULL: the arena only counts bytes */
    uint64_t size_bytes;
    uint64_t used_bytes;
};

/* Returns the next piece of at least `bytes` bytes, or NULL if it does not fit or the arena only counts. used_bytes
 * grows in every case. After a pass over an arena that only counts, used_bytes is therefore the size to allocate. */
static inline void *gnn_arena_take(struct gnn_arena *arena, uint64_t bytes)
{
    const uint64_t start_bytes = arena->used_bytes;
    assert(start_bytes % GNN_ARENA_ALIGN_BYTES == 0 || start_bytes == UINT64_MAX);
    const uint64_t padded_bytes = gnn_add_bytes(bytes, GNN_ARENA_ALIGN_BYTES - 1);
    arena->used_bytes = gnn_add_bytes(
        start_bytes, padded_bytes == UINT64_MAX ? UINT64_MAX : gnn_round_down(padded_bytes, GNN_ARENA_ALIGN_BYTES));
    if (arena->memory == NULL || arena->used_bytes > arena->size_bytes)
        return NULL;
    return arena->memory + start_bytes;
}

static inline void gnn_arena_reset(struct gnn_arena *arena)
{
    arena->used_bytes = 0;
}

#endif
