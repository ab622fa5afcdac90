/* SPDX-License-Identifier: MIT */
/* Arrays that double. */
#ifndef GNN_BASE_GROW_H
#define GNN_BASE_GROW_H

#include "harness/oocgnn.h"

#include <assert.h>

/* Returns the array with room for one more element behind its first `count`, and its room in *room (0: no array yet).
 * NULL: out of memory, and the array is as it was. */
static inline void *gnn_grow(void *array, uint32_t count, uint32_t *room, size_t element_bytes)
{
    assert(count <= *room);
    if (count < *room)
        return array;
    const uint32_t wanted = *room == 0 ? 16 : 2 * *room;
    void *const larger = realloc(array, wanted * element_bytes);
    if (larger != NULL)
        *room = wanted;
    return larger;
}

#endif
