/* SPDX-License-Identifier: MIT */
#include "systems/graphbolt/policy.h"

#include <assert.h>

const char *const graphbolt_policy_words[] = {"lru", "clock", "sieve", "s3-fifo", NULL};

const struct graphbolt_policy *graphbolt_policy_of(enum graphbolt_policy_kind kind)
{
    static const struct graphbolt_policy *const of[] = {[GRAPHBOLT_LRU] = &graphbolt_lru,
                                                        [GRAPHBOLT_CLOCK] = &graphbolt_clock,
                                                        [GRAPHBOLT_SIEVE] = &graphbolt_sieve,
                                                        [GRAPHBOLT_S3_FIFO] = &graphbolt_s3_fifo};
    return of[kind];
}

/* Nine tenths, the rows of the main queue: S3-FIFO section 4.1, and the released S3FifoCachePolicy. */
uint32_t graphbolt_ghosts(enum graphbolt_policy_kind kind, uint32_t capacity)
{
    return kind == GRAPHBOLT_S3_FIFO ? capacity - capacity / 10 : 0;
}

void graphbolt_part_init(struct graphbolt_part *part, enum graphbolt_policy_kind kind, uint32_t capacity,
                         struct graphbolt_entry *entry, uint32_t *where, gnn_node *ghosts)
{
    assert(capacity > 0);
    assert(capacity < GRAPHBOLT_NO_SLOT);
    *part = (struct graphbolt_part){
        .policy = graphbolt_policy_of(kind),
        .entry = entry,
        .where = where,
        .ghosts = ghosts,
        .ghost_capacity = graphbolt_ghosts(kind, capacity),
        .capacity = capacity,
        .hand = GRAPHBOLT_NONE,
    };
    for (uint32_t q = 0; q < GRAPHBOLT_QUEUES; q++)
        part->queue[q].newest = part->queue[q].oldest = GRAPHBOLT_NONE;
}

/* ---- lookups ---- */

/* Notes an evicted node in the ghost queue. The oldest note is dropped, even if its node was noted again since, as in
 * the released code. */
static void note_eviction(struct graphbolt_part *part, gnn_node node)
{
    assert(part->ghost_capacity > 0);
    if (part->ghost_count == part->ghost_capacity) {
        const gnn_node oldest = part->ghosts[part->ghost_first];
        if (part->where[oldest] == GRAPHBOLT_WAS_CACHED)
            part->where[oldest] = 0;
        part->ghost_first = (part->ghost_first + 1) % part->ghost_capacity;
        part->ghost_count--;
    }
    part->where[node] = GRAPHBOLT_WAS_CACHED;
    part->ghosts[(part->ghost_first + (uint64_t)part->ghost_count) % part->ghost_capacity] = node;
    part->ghost_count++;
}

/* Returns an entry without a row: one that never held any, or the one that the policy evicts. */
static uint32_t free_entry(struct graphbolt_part *part)
{
    if (part->filled < part->capacity)
        return part->filled++;
    bool remember = false;
    const uint32_t entry = part->policy->evict(part, &remember);
    const gnn_node node = part->entry[entry].node;
    assert(!graphbolt_in_use(&part->entry[entry]));
    assert(part->where[node] == entry + 1);
    part->where[node] = 0;
    if (remember)
        note_eviction(part, node);
    part->evictions++;
    return entry;
}

/* Inserts an absent node whose row is going to be written. */
static uint32_t insert(struct graphbolt_part *part, gnn_node node)
{
    if (part->busy == part->capacity)
        return GRAPHBOLT_MISSED | GRAPHBOLT_NO_SLOT;
    const uint32_t entry = free_entry(part);
    const bool was_cached = part->where[node] == GRAPHBOLT_WAS_CACHED; /* the eviction may have dropped the note */
    part->where[node] = entry + 1;
    part->entry[entry] = (struct graphbolt_entry){.node = node, .writing = true};
    part->policy->insert(part, entry, was_cached);
    part->busy++;
    return GRAPHBOLT_MISSED | entry;
}

uint32_t graphbolt_part_take(struct graphbolt_part *part, gnn_node node)
{
    const uint32_t word = part->where[node];
    if (word == 0 || word == GRAPHBOLT_WAS_CACHED)
        return insert(part, node);
    struct graphbolt_entry *const e = &part->entry[word - 1];
    assert(e->node == node);
    part->policy->touch(part, word - 1);
    if (e->writing)
        return GRAPHBOLT_MISSED | GRAPHBOLT_NO_SLOT;
    assert(e->readers < GRAPHBOLT_READERS_MAX);
    part->busy += e->readers++ == 0;
    return word - 1;
}

void graphbolt_part_complete(struct graphbolt_part *part, uint32_t taken)
{
    const uint32_t entry = taken & ~GRAPHBOLT_MISSED;
    if (entry == GRAPHBOLT_NO_SLOT)
        return;
    assert(entry < part->filled);
    struct graphbolt_entry *const e = &part->entry[entry];
    if ((taken & GRAPHBOLT_MISSED) != 0) {
        assert(e->writing);
        e->writing = false;
    } else {
        assert(e->readers > 0);
        e->readers--;
    }
    part->busy -= !graphbolt_in_use(e);
}
