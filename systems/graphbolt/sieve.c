/* SPDX-License-Identifier: MIT */
/* SIEVE: Zhang, Yang, Yue, Vigfusson, Rashmi, "SIEVE is Simpler than LRU", NSDI 2024, Algorithm 1. The hand moves from
 * the oldest row to newer ones and clears their marks. The first row without a mark is evicted. Other rows keep their
 * places, unlike in CLOCK. */
#include "systems/graphbolt/policy.h"

static uint32_t evict(struct graphbolt_part *part, bool *remember)
{
    (void)remember;
    for (;; part->steps++) {
        const uint32_t entry = part->hand != GRAPHBOLT_NONE ? part->hand : part->queue[GRAPHBOLT_ONLY].oldest;
        struct graphbolt_entry *const e = &part->entry[entry];
        part->hand = e->newer;
        if (e->used == 0 && !graphbolt_in_use(e)) {
            graphbolt_unlink(part, GRAPHBOLT_ONLY, entry);
            return entry;
        }
        e->used = 0;
    }
}

const struct graphbolt_policy graphbolt_sieve = {
    .name = "sieve", .touch = graphbolt_mark, .insert = graphbolt_queue_only, .evict = evict};
