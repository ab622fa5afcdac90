/* SPDX-License-Identifier: MIT */
#include "systems/ringsampler/sector_cache.h"

#include <assert.h>
#include <string.h>

static uint64_t blocks_of(uint64_t edge_count, uint32_t id_bytes)
{
    return gnn_div_up(edge_count, GNN_PAGE_BYTES / id_bytes);
}

static uint64_t slots_of(uint64_t blocks, uint64_t cache_bytes)
{
    const uint64_t slots = gnn_min_u64(blocks, cache_bytes / GNN_PAGE_BYTES);
    return gnn_min_u64(slots, RS_CACHE_FILLING - 2);
}

uint64_t rs_cache_bytes(uint64_t edge_count, uint32_t id_bytes, uint64_t cache_bytes)
{
    const uint64_t blocks = blocks_of(edge_count, id_bytes), slots = slots_of(blocks, cache_bytes);
    return slots == 0 ? 0 : slots * GNN_PAGE_BYTES + blocks * sizeof(uint32_t);
}

enum gnn_status rs_cache_open(struct gnn_world *world, uint64_t edge_count, uint32_t id_bytes, uint64_t cache_bytes,
                              struct rs_cache **out, struct gnn_err *err)
{
    struct rs_cache *cache;
    GNN_NEW(cache, 1, err, "ringsampler: sector cache");
    *out = cache;
    cache->world = world;
    assert(id_bytes == sizeof(uint32_t) || id_bytes == sizeof(uint64_t));
    cache->block_count = blocks_of(edge_count, id_bytes);
    cache->slot_count = (uint32_t)slots_of(cache->block_count, cache_bytes);
    GNN_MEM_NEW(world, cache->table, cache->block_count, "ringsampler sector cache's table", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, cache->slots, (uint64_t)cache->slot_count * GNN_PAGE_BYTES, "ringsampler sector cache",
                GNN_MEM_PLAIN, err);
    return GNN_OK;
}

void rs_cache_close(struct rs_cache *cache)
{
    if (cache == NULL)
        return;
    gnn_mem_free(cache->world, cache->slots);
    gnn_mem_free(cache->world, cache->table);
    free(cache);
}

void rs_cache_offer(struct rs_cache *cache, uint64_t block, const void *data, uint64_t bytes)
{
    assert(block < cache->block_count);
    assert(bytes <= GNN_PAGE_BYTES);
    if (atomic_load_explicit(&cache->used, memory_order_relaxed) >= cache->slot_count)
        return;
    uint32_t absent = 0;
    if (!atomic_compare_exchange_strong(&cache->table[block], &absent, RS_CACHE_FILLING))
        return;
    const unsigned slot = atomic_fetch_add(&cache->used, 1);
    if (slot >= cache->slot_count) { /* another thread took the last one */
        atomic_fetch_sub(&cache->used, 1);
        atomic_store(&cache->table[block], 0);
        return;
    }
    memcpy(cache->slots + (uint64_t)slot * GNN_PAGE_BYTES, data, bytes);
    gnn_charge(cache->world, GNN_WORK_COPIED_BYTE, bytes);
    atomic_store_explicit(&cache->table[block], slot + 1, memory_order_release);
}
