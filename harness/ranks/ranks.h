/* SPDX-License-Identifier: MIT */
/* The workers of one run ("ranks", 0 .. count - 1): shared memory, meetings, and how one failing rank stops the others.
 * They are the data parallelism of GNNDrive, section 4.3.
 *
 * A rank is a process in the measured world and a thread in the simulated one. The code below is the same for both.
 *
 * Ownership  One process opens the group before any rank starts and closes it after the last has ended. The group, the
 *            reports and all that ranks share come from gnn_mem_alloc(GNN_MEM_SHARED) and from locks opened before the
 *            ranks start. It is therefore the same memory at the same address in every rank.
 * Threads    Any thread of any rank may cancel. One thread of a rank at a time meets: the rank's main thread between
 *            epochs, its trainer inside one.
 * Failures   A rank that fails cancels the group: every later or waiting meeting returns GNN_ECANCELLED. A rank that is
 *            killed cannot cancel. The code that started the ranks watches them and ends them all
 *            (run/worker/rank_processes.h).
 * W = 1      There is no group. Close, count, meet, go_on, cancel and failure accept NULL, which means a single
 *            rank. */
#ifndef GNN_RANKS_H
#define GNN_RANKS_H

#include "harness/world/world.h"

#include <stdatomic.h>

enum { GNN_RANKS_MAX = 64 };

struct gnn_ranks;

/* Opens a group. report_bytes: size of each rank's report. GNN_ENOMEM, GNN_ECAP. Set *out to NULL first; it is the
 * caller's to close, also on an error. */
GNN_MUST_CHECK enum gnn_status gnn_ranks_open(struct gnn_world *world, uint32_t count, uint64_t report_bytes,
                                              struct gnn_ranks **out, struct gnn_err *err);
void gnn_ranks_close(struct gnn_ranks *ranks);

uint32_t gnn_ranks_count(const struct gnn_ranks *ranks); /* 1 for NULL */

/* Sleeps until every rank has called it (GNN_WAIT_RESOURCE). GNN_ECANCELLED: a rank failed or was stopped. */
GNN_MUST_CHECK enum gnn_status gnn_ranks_meet(struct gnn_ranks *ranks, struct gnn_err *err);

/* Returns GNN_ECANCELLED if a rank failed or was stopped, without waiting. For loops that wait for something else than
 * a meeting. */
GNN_MUST_CHECK enum gnn_status gnn_ranks_go_on(struct gnn_ranks *ranks, struct gnn_err *err);

/* Cancels the group: all meetings end. why: this rank's error; the first that is not GNN_ECANCELLED is kept. */
void gnn_ranks_cancel(struct gnn_ranks *ranks, uint32_t rank, const struct gnn_err *why);
/* Returns the first failure and its rank, or NULL if there is none, cancelled or not. Call it after the ranks have
 * ended. */
const struct gnn_err *gnn_ranks_failure(const struct gnn_ranks *ranks, uint32_t *rank);

/* Returns a rank's report (report_bytes, zeroed at open). Only that rank writes it. The others read it after the next
 * meeting; its rank may write it again after the meeting that follows. */
void *gnn_ranks_report(struct gnn_ranks *ranks, uint32_t rank);

/* Returns the stop flag that all ranks share. When it is set, the run stops at the next mini-batch. */
atomic_bool *gnn_ranks_stop(struct gnn_ranks *ranks);

/* Records that a rank ends regularly. A rank that ends without this call counts as killed. */
void gnn_ranks_leave(struct gnn_ranks *ranks, uint32_t rank);
bool gnn_ranks_left(const struct gnn_ranks *ranks, uint32_t rank);

/* Computes the part [*first, *end) of `total` items that rank `rank` of `count` has. Parts differ by at most one
 * item. */
static inline void gnn_ranks_part(uint64_t total, uint32_t count, uint32_t rank, uint64_t *first, uint64_t *end)
{
    *first = total / count * rank + gnn_min_u64(rank, total % count);
    *end = *first + total / count + (rank < total % count);
}

#endif
