/* SPDX-License-Identifier: MIT */
/* The queues of a partition: doubly linked lists of entries. */
#include "systems/graphbolt/policy.h"

#include <assert.h>

void graphbolt_push(struct graphbolt_part *part, uint32_t queue, uint32_t entry)
{
    struct graphbolt_queue *const q = &part->queue[queue];
    struct graphbolt_entry *const e = &part->entry[entry];
    e->newer = GRAPHBOLT_NONE;
    e->older = q->newest;
    if (q->newest != GRAPHBOLT_NONE)
        part->entry[q->newest].newer = entry;
    else
        q->oldest = entry;
    q->newest = entry;
    q->count++;
}

void graphbolt_unlink(struct graphbolt_part *part, uint32_t queue, uint32_t entry)
{
    struct graphbolt_queue *const q = &part->queue[queue];
    const struct graphbolt_entry *const e = &part->entry[entry];
    assert(q->count > 0);
    if (e->newer != GRAPHBOLT_NONE)
        part->entry[e->newer].older = e->older;
    else
        q->newest = e->older;
    if (e->older != GRAPHBOLT_NONE)
        part->entry[e->older].newer = e->newer;
    else
        q->oldest = e->newer;
    q->count--;
}

void graphbolt_renew(struct graphbolt_part *part, uint32_t queue, uint32_t entry)
{
    graphbolt_unlink(part, queue, entry);
    graphbolt_push(part, queue, entry);
}

void graphbolt_mark(struct graphbolt_part *part, uint32_t entry)
{
    part->entry[entry].used = 1;
}

void graphbolt_queue_only(struct graphbolt_part *part, uint32_t entry, bool was_cached)
{
    (void)was_cached;
    graphbolt_push(part, GRAPHBOLT_ONLY, entry);
}
