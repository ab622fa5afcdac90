/* SPDX-License-Identifier: MIT */
#include "systems/agnes/rows.h"

#include <inttypes.h>

/* A node's word: the number of its accesses; after place, if it got a slot: CACHED | slot, and COPIED once its row is
 * there. */
enum { CACHED = 1U << 31, COPIED = 1U << 30 };
_Static_assert((AGNES_SLOT_MASK & (COPIED | CACHED)) == 0, "slot and marks share a word");
_Static_assert((AGNES_SLOT_MASK | COPIED | CACHED) == UINT32_MAX, "slot and marks fill the word");

struct agnes_feature_cache {
    const struct gnn_env *env;
    enum agnes_rank rank;
    uint32_t nodes, slots;   /* N, C */
    uint32_t count_most;     /* H */
    _Atomic uint32_t *words; /* (nodes) */
    void *rows;              /* (slots, dim) */
};

static uint32_t word_of(const struct agnes_feature_cache *cache, agnes_node v)
{
    return atomic_load_explicit(&cache->words[v], memory_order_relaxed);
}

static unsigned char *slot_of(const struct agnes_feature_cache *cache, uint32_t word)
{
    assert((word & AGNES_SLOT_MASK) < cache->slots);
    return (unsigned char *)cache->rows + (uint64_t)(word & AGNES_SLOT_MASK) * cache->env->dataset->row_bytes;
}

enum gnn_status agnes_feature_cache_open(const struct agnes_setup *setup, struct agnes_feature_cache **out,
                                         struct gnn_err *err)
{
    struct gnn_world *const world = setup->env->world;
    const struct gnn_dataset *const d = setup->env->dataset;
    struct agnes_feature_cache *cache;
    GNN_NEW(cache, 1, err, "agnes feature cache");
    *out = cache;
    *cache = (struct agnes_feature_cache){.env = setup->env,
                                          .rank = setup->config->cache_rank,
                                          .nodes = d->node_count,
                                          .slots = setup->sizes.cache_rows,
                                          .count_most = setup->sizes.hyperbatch};
    assert(cache->slots <= AGNES_SLOT_MASK);
    assert(cache->count_most < COPIED);
    GNN_MEM_NEW(world, cache->words, cache->nodes, "agnes access counts", GNN_MEM_PLAIN, err);
    return gnn_mem_alloc(world, "agnes feature cache", gnn_mul_bytes(cache->slots, d->row_bytes), GNN_MEM_FEATURES,
                         &cache->rows, err);
}

void agnes_feature_cache_close(struct agnes_feature_cache *cache)
{
    if (cache == NULL)
        return;
    gnn_mem_free(cache->env->world, cache->rows);
    gnn_mem_free(cache->env->world, (void *)cache->words);
    free(cache);
}

/* ---- counts ---- */

void agnes_feature_cache_clear(struct agnes_feature_cache *cache)
{
    memset((void *)cache->words, 0, cache->nodes * sizeof *cache->words);
}

void agnes_feature_cache_count(struct agnes_feature_cache *cache, const agnes_node *nodes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        atomic_fetch_add_explicit(&cache->words[nodes[i]], 1, memory_order_relaxed);
    gnn_charge(cache->env->world, GNN_WORK_TABLE_ENTRY, count);
}

/* Returns the mean number of accesses to a node that is needed at all, rounded down; *needed: how many are. */
static uint32_t mean_count(const struct agnes_feature_cache *cache, uint64_t *needed)
{
    uint64_t sum = 0, used = 0;
    for (uint32_t v = 0; v < cache->nodes; v++) {
        const uint32_t count = word_of(cache, v);
        sum += count;
        used += count > 0;
    }
    *needed = used;
    return used > 0 ? (uint32_t)(sum / used) : 0;
}

/* Finds the smallest access count such that all nodes with at least that count fit into the cache. */
static enum gnn_status count_that_fits(const struct agnes_feature_cache *cache, uint32_t *out, struct gnn_err *err)
{
    uint32_t *nodes_with; /* by count */
    GNN_NEW(nodes_with, cache->count_most + UINT64_C(1), err, "agnes histogram of access counts");
    for (uint32_t v = 0; v < cache->nodes; v++)
        nodes_with[word_of(cache, v)]++;
    uint64_t fitting = 0;
    uint32_t count = cache->count_most + 1;
    for (; count > 1 && fitting + nodes_with[count - 1] <= cache->slots; count--)
        fitting += nodes_with[count - 1];
    free(nodes_with);
    *out = count;
    return GNN_OK;
}

/* ---- slots ---- */

/* Gives slots to nodes with at least `least` accesses, lowest IDs first, until none is left. */
static void fill_slots(struct agnes_feature_cache *cache, uint32_t least, uint32_t *used)
{
    assert(least > 0);
    for (uint32_t v = 0; v < cache->nodes && *used < cache->slots; v++) {
        const uint32_t word = word_of(cache, v);
        if (word >= least && (word & CACHED) == 0)
            atomic_store_explicit(&cache->words[v], CACHED | (*used)++, memory_order_relaxed);
    }
}

/* threshold: those at or above the mean, then all others. count: by count; those with the count that fits in part get
 * the remaining slots. */
enum gnn_status agnes_feature_cache_place(struct agnes_feature_cache *cache, uint64_t *needed, struct gnn_err *err)
{
    uint32_t least = mean_count(cache, needed), used = 0;
    if (cache->rank == AGNES_RANK_COUNT) {
        GNN_TRY(count_that_fits(cache, &least, err));
        fill_slots(cache, least, &used);
        least--;
    }
    fill_slots(cache, gnn_max_u32(least, 1), &used);
    fill_slots(cache, 1, &used);
    gnn_charge(cache->env->world, GNN_WORK_TABLE_ENTRY, cache->nodes);
    return GNN_OK;
}

bool agnes_feature_cache_put(struct agnes_feature_cache *cache, agnes_node v, const void *row, uint64_t *copied)
{
    assert(v < cache->nodes);
    const uint32_t word = word_of(cache, v);
    if ((word & CACHED) != 0 && (word & COPIED) == 0) {
        atomic_store_explicit(&cache->words[v], word | COPIED, memory_order_relaxed);
        gnn_mem_copy(cache->env->world, slot_of(cache, word), row, cache->env->dataset->row_bytes);
        ++*copied;
    }
    return (word & CACHED) != 0;
}

const void *agnes_feature_cache_find(const struct agnes_feature_cache *cache, agnes_node v)
{
    assert(v < cache->nodes);
    const uint32_t word = word_of(cache, v);
    if ((word & CACHED) == 0)
        return NULL;
    assert((word & COPIED) != 0);
    return slot_of(cache, word);
}
