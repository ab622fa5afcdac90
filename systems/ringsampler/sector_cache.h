/* SPDX-License-Identifier: MIT */
/* A cache of edge-file blocks that fills and never evicts. Sweeps read the file in order again and again. For such a
 * cyclic scan, keeping the first blocks is as good as any policy. A block that never leaves needs no lock: threads
 * share the cache and never wait for each other. A thread that finds a block being filled reads the block itself.
 * RingSampler's paper has no cache and suggests one (section 4.4). */
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

/* Returns the memory in bytes of a cache with cache_bytes for its blocks, table included, or 0 if there is no room for
 * a block. */
uint64_t rs_cache_bytes(uint64_t edge_count, uint32_t id_bytes, uint64_t cache_bytes);
GNN_MUST_CHECK enum gnn_status rs_cache_open(struct gnn_world *world, uint64_t edge_count, uint32_t id_bytes,
                                             uint64_t cache_bytes, struct rs_cache **out, struct gnn_err *err);
void rs_cache_close(struct rs_cache *cache); /* accepts NULL */

/* Returns the entry at `position`, or NULL if its block is not cached. id_bytes must be as at open. */
static inline const void *rs_cache_find(const struct rs_cache *cache, uint32_t id_bytes, uint64_t position)
{
    const uint32_t entry =
        atomic_load_explicit(&cache->table[position * id_bytes / GNN_PAGE_BYTES], memory_order_acquire);
    if (entry == 0 || entry == RS_CACHE_FILLING)
        return NULL;
    return cache->slots + (uint64_t)(entry - 1) * GNN_PAGE_BYTES + position * id_bytes % GNN_PAGE_BYTES;
}

/* Offers the bytes of `block` (a page, or less at the end of the file). The cache copies them if it has room and lacks
 * the block. */
void rs_cache_offer(struct rs_cache *cache, uint64_t block, const void *data, uint64_t bytes);

#endif
