/* SPDX-License-Identifier: MIT */
#include "systems/graphbolt/cache.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

uint64_t graphbolt_cache_table_bytes(const struct graphbolt_cache_config *config)
{
    const uint64_t ghosts = gnn_mul_bytes(graphbolt_ghosts(config->policy, config->rows), sizeof(gnn_node));
    const uint64_t entries = gnn_mul_bytes(config->rows, sizeof(struct graphbolt_entry));
    return gnn_add_bytes(gnn_add_bytes(entries, ghosts), gnn_mul_bytes(config->node_count, sizeof(uint32_t)));
}

enum gnn_status graphbolt_cache_open(struct gnn_world *world, const struct graphbolt_cache_config *config,
                                     struct graphbolt_cache **out, struct gnn_err *err)
{
    struct graphbolt_cache *c;
    GNN_NEW(c, 1, err, "graphbolt: row cache");
    *out = c;
    c->world = world;
    c->config = *config;
    assert(config->parts > 0);
    assert(config->parts <= config->rows);
    GNN_NEW(c->part, config->parts, err, "graphbolt: %" PRIu32 " partitions", config->parts);
    GNN_MEM_NEW(world, c->entry, config->rows, "graphbolt entries of the row cache", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, c->where, config->node_count, "graphbolt slots by node", GNN_MEM_PLAIN, err);
    if (graphbolt_ghosts(config->policy, config->rows) > 0)
        GNN_MEM_NEW(world, c->ghosts, config->rows, "graphbolt ghost queues", GNN_MEM_PLAIN, err);
    graphbolt_cache_clear(c);
    return GNN_OK;
}

void graphbolt_cache_clear(struct graphbolt_cache *cache)
{
    const struct graphbolt_cache_config *const config = &cache->config;
    memset(cache->where, 0, config->node_count * sizeof *cache->where);
    for (uint32_t p = 0; p < config->parts; p++) {
        const uint32_t first = graphbolt_first_slot(config, p), end = graphbolt_first_slot(config, p + 1);
        graphbolt_part_init(&cache->part[p], config->policy, end - first, cache->entry + first, cache->where,
                            cache->ghosts != NULL ? cache->ghosts + first : NULL);
    }
}

void graphbolt_cache_close(struct graphbolt_cache *cache)
{
    if (cache == NULL)
        return;
    gnn_mem_free(cache->world, cache->ghosts);
    gnn_mem_free(cache->world, cache->where);
    gnn_mem_free(cache->world, cache->entry);
    free(cache->part);
    free(cache);
}

uint32_t graphbolt_cache_take(struct graphbolt_cache *cache, uint32_t part, gnn_node node)
{
    assert(node < cache->config.node_count);
    const uint32_t taken = graphbolt_part_take(&cache->part[part], node);
    if ((taken & ~GRAPHBOLT_MISSED) == GRAPHBOLT_NO_SLOT)
        return taken;
    return taken + graphbolt_first_slot(&cache->config, part);
}

void graphbolt_cache_complete(struct graphbolt_cache *cache, uint32_t part, uint32_t taken)
{
    const uint32_t slot = taken & ~GRAPHBOLT_MISSED, first = graphbolt_first_slot(&cache->config, part);
    if (slot >= first && slot < graphbolt_first_slot(&cache->config, part + 1))
        graphbolt_part_complete(&cache->part[part], taken - first);
}

void graphbolt_cache_counts(const struct graphbolt_cache *cache, struct graphbolt_cache_counts *out)
{
    *out = (struct graphbolt_cache_counts){.evictions = 0};
    for (uint32_t p = 0; p < cache->config.parts; p++) {
        out->evictions += cache->part[p].evictions;
        out->steps += cache->part[p].steps;
    }
}

uint64_t graphbolt_cache_busy(const struct graphbolt_cache *cache)
{
    uint64_t busy = 0;
    for (uint32_t p = 0; p < cache->config.parts; p++)
        busy += cache->part[p].busy;
    return busy;
}
