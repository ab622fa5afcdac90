/* SPDX-License-Identifier: MIT */
/* The workers of one run ("ranks", 0 .. count - 1): what they share, where they meet, and how one that fails stops the
 * others (GNNDrive section 4.3, data parallelism).
 *
 * A rank is a process of its own in the measured world and a thread in the simulated one; no code below knows which.
 *
 * Ownership  one process opens the group before any rank starts and closes it after the last has ended. The group, the
 *            reports and whatever else ranks share come from gnn_mem_alloc(GNN_MEM_SHARED) and from locks opened before
 *            the ranks start, so they are the same memory at the same address in every rank.
 * Threads    any thread of any rank may cancel; one thread of a rank at a time meets (the rank's main thread between
 *            epochs, its trainer inside one).
 * Death      a rank that fails cancels the group: whoever meets, now or later, gets GNN_ECANCELLED. A rank that is
 *            killed cannot; whoever started the ranks watches them and ends them all (run/worker/rank_processes.h).
 * W = 1      there is no group: NULL is accepted by every call below and means a single rank. */
#ifndef GNN_RANKS_H
#define GNN_RANKS_H

#include "harness/world/world.h"

#include <stdatomic.h>

enum { GNN_RANKS_MAX = 64 };

struct gnn_ranks;

/* report_bytes: of each rank's report. GNN_ENOMEM, GNN_ECAP; *out is the caller's to close also then. */
GNN_MUST_CHECK enum gnn_status gnn_ranks_open(struct gnn_world *world, uint32_t count, uint64_t report_bytes,
                                              struct gnn_ranks **out, struct gnn_err *err);
void gnn_ranks_close(struct gnn_ranks *ranks);

uint32_t gnn_ranks_count(const struct gnn_ranks *ranks); /* 1 for NULL */

/* Sleeps until every rank is here (GNN_WAIT_RESOURCE). GNN_ECANCELLED when a rank failed or was stopped. */
GNN_MUST_CHECK enum gnn_status gnn_ranks_meet(struct gnn_ranks *ranks, struct gnn_err *err);

/* GNN_ECANCELLED when a rank failed or was stopped. For waits other than a meeting that are to end then. */
GNN_MUST_CHECK enum gnn_status gnn_ranks_go_on(struct gnn_ranks *ranks, struct gnn_err *err);

/* Ends all meetings. why: what went wrong on this rank; the first one that is not GNN_ECANCELLED is kept. */
void gnn_ranks_cancel(struct gnn_ranks *ranks, uint32_t rank, const struct gnn_err *why);
/* Returns the first failure, and whose it was; NULL: none (cancelled or not). Call when the ranks have ended. */
const struct gnn_err *gnn_ranks_failure(const struct gnn_ranks *ranks, uint32_t *rank);

/* A rank's report (report_bytes, zeroed at open): written by that rank, read by the others after the next meeting, and
 * written again after the one that follows. */
void *gnn_ranks_report(struct gnn_ranks *ranks, uint32_t rank);

/* One flag for all ranks: the run is to stop at the next mini-batch. */
atomic_bool *gnn_ranks_stop(struct gnn_ranks *ranks);

/* A rank says that it ends of its own accord: what ends without is taken for killed. */
void gnn_ranks_leave(struct gnn_ranks *ranks, uint32_t rank);
bool gnn_ranks_left(const struct gnn_ranks *ranks, uint32_t rank);

/* Rank `rank`'s part of `total` things, [first, end): parts differ by one at most. */
static inline void gnn_ranks_part(uint64_t total, uint32_t count, uint32_t rank, uint64_t *first, uint64_t *end)
{
    *first = total / count * rank + gnn_min_u64(rank, total % count);
    *end = *first + total / count + (rank < total % count);
}

#endif
