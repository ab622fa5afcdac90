/* SPDX-License-Identifier: MIT */
/* The ranks of a measured run as processes: forked by the worker once what they share is open, so they are born in its
 * control group and process group, and watched by it.
 *
 *   a rank fails      it cancels the group of ranks (harness/ranks/ranks.h) and ends by itself; so do the others
 *   a rank is killed  the watcher tells the supervisor which one and how (GNN_WIRE_RANK_LOST) and kills the process
 *                     group, itself included
 *   rank 0 is killed  the kernel kills the others (PR_SET_PDEATHSIG); the supervisor kills and reaps what is left
 *
 * Only rank 0 talks to the supervisor. */
#ifndef GNN_RUN_RANK_PROCESSES_H
#define GNN_RUN_RANK_PROCESSES_H

#include "harness/ranks/ranks.h"

#include <pthread.h>
#include <sys/types.h>

struct gnn_rank_processes {
    struct gnn_ranks *ranks;
    uint32_t count; /* forked, without rank 0 */
    pid_t pid[GNN_RANKS_MAX];
    int lifeline[GNN_RANKS_MAX]; /* read ends: they end when the rank does */
    bool watched;
    pthread_t watcher;
};

/* Forks the ranks 1 .. W - 1 and returns in each of them with its number in *rank, and in the caller with 0. The caller
 * has no threads. On an error, which only the caller sees, those that were forked end by themselves: join them. */
GNN_MUST_CHECK enum gnn_status gnn_rank_processes_start(struct gnn_rank_processes *processes, struct gnn_ranks *ranks,
                                                        uint32_t *rank, struct gnn_err *err);

/* Rank 0: waits until the others have ended. */
void gnn_rank_processes_join(struct gnn_rank_processes *processes);

#endif
