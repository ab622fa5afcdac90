/* SPDX-License-Identifier: MIT */
/* LRU: the row that was used least recently is evicted. In-use rows at that end move to the other one, as in the
 * released LruCachePolicy. */
#include "systems/graphbolt/policy.h"

static void touch(struct graphbolt_part *part, uint32_t entry)
{
    graphbolt_renew(part, GRAPHBOLT_ONLY, entry);
}

static uint32_t evict(struct graphbolt_part *part, bool *remember)
{
    (void)remember;
    for (;; part->steps++) {
        const uint32_t entry = part->queue[GRAPHBOLT_ONLY].oldest;
        if (graphbolt_in_use(&part->entry[entry])) {
            graphbolt_renew(part, GRAPHBOLT_ONLY, entry);
            continue;
        }
        graphbolt_unlink(part, GRAPHBOLT_ONLY, entry);
        return entry;
    }
}

const struct graphbolt_policy graphbolt_lru = {
    .name = "lru", .touch = touch, .insert = graphbolt_queue_only, .evict = evict};
