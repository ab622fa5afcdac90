/* SPDX-License-Identifier: MIT */
/* S3-FIFO: Yang, Zhang, Qiu, Yue, Rashmi, "FIFO queues are all you need for cache eviction", SOSP 2023, section 4.1,
 * Algorithm 1. New rows enter a small queue of a tenth of the cache. A row that was used there moves to the main queue;
 * another is evicted and its node noted in the ghost queue. A noted node enters the main queue at once. The main queue
 * is a FIFO with reinsertion that counts up to three uses.
 *
 * As in the released S3FifoCachePolicy, one use is enough to leave the small queue, and a row in use leaves it, too. */
#include "systems/graphbolt/policy.h"

#include <assert.h>

enum { USED_MAX = 3, SMALL_SHARE = 10 };

static void touch(struct graphbolt_part *part, uint32_t entry)
{
    struct graphbolt_entry *const e = &part->entry[entry];
    if (e->used < USED_MAX)
        e->used++;
}

static void insert(struct graphbolt_part *part, uint32_t entry, bool was_cached)
{
    graphbolt_push(part, was_cached ? GRAPHBOLT_MAIN : GRAPHBOLT_SMALL, entry);
}

/* Shrinks the small queue to `rows`. Returns the first row that is evicted, or GRAPHBOLT_NONE if all moved on. */
static uint32_t evict_small(struct graphbolt_part *part, uint32_t rows)
{
    for (; part->queue[GRAPHBOLT_SMALL].count > rows; part->steps++) {
        const uint32_t entry = part->queue[GRAPHBOLT_SMALL].oldest;
        struct graphbolt_entry *const e = &part->entry[entry];
        graphbolt_unlink(part, GRAPHBOLT_SMALL, entry);
        if (e->used == 0 && !graphbolt_in_use(e))
            return entry;
        e->used = 0;
        graphbolt_push(part, GRAPHBOLT_MAIN, entry);
    }
    return GRAPHBOLT_NONE;
}

/* Returns the row that the main queue evicts, or GRAPHBOLT_NONE if all its rows are in use. */
static uint32_t evict_main(struct graphbolt_part *part)
{
    for (uint64_t left = (USED_MAX + UINT64_C(1)) * part->queue[GRAPHBOLT_MAIN].count; left > 0;
         left--, part->steps++) {
        const uint32_t entry = part->queue[GRAPHBOLT_MAIN].oldest;
        struct graphbolt_entry *const e = &part->entry[entry];
        if (e->used == 0 && !graphbolt_in_use(e)) {
            graphbolt_unlink(part, GRAPHBOLT_MAIN, entry);
            return entry;
        }
        if (e->used > 0)
            e->used--;
        graphbolt_renew(part, GRAPHBOLT_MAIN, entry);
    }
    return GRAPHBOLT_NONE;
}

static uint32_t evict(struct graphbolt_part *part, bool *remember)
{
    uint32_t entry = evict_small(part, part->capacity / SMALL_SHARE);
    *remember = entry != GRAPHBOLT_NONE;
    if (entry == GRAPHBOLT_NONE)
        entry = evict_main(part);
    if (entry == GRAPHBOLT_NONE) { /* every row of the main queue is in use */
        entry = evict_small(part, 0);
        *remember = entry != GRAPHBOLT_NONE;
    }
    if (entry == GRAPHBOLT_NONE)
        entry = evict_main(part);
    assert(entry != GRAPHBOLT_NONE);
    return entry;
}

const struct graphbolt_policy graphbolt_s3_fifo = {.name = "s3-fifo", .touch = touch, .insert = insert, .evict = evict};
