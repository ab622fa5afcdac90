/* SPDX-License-Identifier: MIT */
/* The limit on repeats of a read or write that moved nothing, for exact.c and ring_reads.c. */
#ifndef GNN_STORAGE_REPEAT_H
#define GNN_STORAGE_REPEAT_H

#include "harness/world/world.h"

/* A transfer fails after GNN_REPEATS_MAX repeats in a row without progress (EINTR, EAGAIN, less than a whole unit). */
enum { GNN_REPEATS_MAX = 1000, GNN_REPEATS_BETWEEN_PAUSES = 16 };
#define GNN_REPEAT_PAUSE_NS UINT64_C(100000)

/* Returns whether a transfer may continue, and updates *repeats, the number since bytes last moved. Sleeps
 * (GNN_WAIT_IO) before every sixteenth repeat in a row. */
static inline bool gnn_may_repeat(struct gnn_world *world, uint32_t *repeats, bool progress)
{
    *repeats = progress ? 0 : *repeats + 1;
    if (*repeats > GNN_REPEATS_MAX)
        return false;
    if (*repeats > 0 && *repeats % GNN_REPEATS_BETWEEN_PAUSES == 0)
        gnn_sleep_until(world, gnn_now_ns(world) + GNN_REPEAT_PAUSE_NS, GNN_WAIT_IO);
    return true;
}

#endif
