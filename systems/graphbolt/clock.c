/* SPDX-License-Identifier: MIT */
/* CLOCK, or FIFO with reinsertion: Corbato, "A Paging Experiment with the Multics System", MIT Project MAC report
 * MAC-M-384, 1968. A row that was used since it was queued is queued once more, without its mark. */
#include "systems/graphbolt/policy.h"

static uint32_t evict(struct graphbolt_part *part, bool *remember)
{
    (void)remember;
    for (;; part->steps++) {
        const uint32_t entry = part->queue[GRAPHBOLT_ONLY].oldest;
        struct graphbolt_entry *const e = &part->entry[entry];
        if (e->used == 0 && !graphbolt_in_use(e)) {
            graphbolt_unlink(part, GRAPHBOLT_ONLY, entry);
            return entry;
        }
        e->used = 0;
        graphbolt_renew(part, GRAPHBOLT_ONLY, entry);
    }
}

const struct graphbolt_policy graphbolt_clock = {
    .name = "clock", .touch = graphbolt_mark, .insert = graphbolt_queue_only, .evict = evict};
