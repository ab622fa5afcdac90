/* SPDX-License-Identifier: MIT */
/* Arrays that double their size. */
#ifndef GNN_BASE_GROW_H
#define GNN_BASE_GROW_H

#include "harness/oocgnn.h"

#include <assert.h>

/* Returns the array with room for at least one more element after its first `count`, or NULL if memory runs out. The
 * array may move; if the result is NULL, it is unchanged. *room is the number of elements that fit (0: no array
 * yet). */
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
