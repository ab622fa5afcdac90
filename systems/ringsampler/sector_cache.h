/* SPDX-License-Identifier: MIT */
/* A cache of edge-file blocks that fills and never evicts. A sweep passes over the file in order again and again, and
 * of a cyclic scan keeping the first blocks is as good as any policy. A block that never leaves needs no lock: threads
 * share the cache and never wait for one another; one that finds a block being filled reads it itself.
 * RingSampler's paper has no cache and asks for one (section 4.4). */
#ifndef RINGSAMPLER_SECTOR_CACHE_H
#define RINGSAMPLER_SECTOR_CACHE_H

#include "harness/world/world.h"

#include <stdatomic.h>

struct rs_cache {
    struct gnn_world *world;
    _Atomic uint32_t *table; /* (blocks of the file): slot + 1, 0 = absent, RS_CACHE_FILLING */
    unsigned char *slots;    /* (slot_count) blocks */
    uint32_t slot_count;
    uint64_t block_count;
    atomic_uint used;
};
#define RS_CACHE_FILLING UINT32_MAX

/* Returns the memory of a cache that may take cache_bytes for its blocks: the table comes on top. */
uint64_t rs_cache_bytes(uint64_t edge_count, uint32_t id_bytes, uint64_t cache_bytes);
GNN_MUST_CHECK enum gnn_status rs_cache_open(struct gnn_world *world, uint64_t edge_count, uint32_t id_bytes,
                                             uint64_t cache_bytes, struct rs_cache **out, struct gnn_err *err);
void rs_cache_close(struct rs_cache *cache); /* accepts NULL */

/* Returns where the entry at `position` lies, or NULL; id_bytes: as the cache was opened with. */
static inline const void *rs_cache_find(const struct rs_cache *cache, uint32_t id_bytes, uint64_t position)
{
    const uint32_t entry =
        atomic_load_explicit(&cache->table[position * id_bytes / GNN_PAGE_BYTES], memory_order_acquire);
    if (entry == 0 || entry == RS_CACHE_FILLING)
        return NULL;
    return cache->slots + (uint64_t)(entry - 1) * GNN_PAGE_BYTES + position * id_bytes % GNN_PAGE_BYTES;
}

/* Offers the bytes of `block` (a page, or what the file's end leaves); they are kept if there is room. */
void rs_cache_offer(struct rs_cache *cache, uint64_t block, const void *data, uint64_t bytes);

#endif
