/* SPDX-License-Identifier: MIT */
/* The ranks of a measured run as processes. The worker forks them once the shared parts are open. They are thus born in
 * its control group and process group, and it watches them.
 *
 *   `a rank fails`      It cancels the group of ranks (harness/ranks/ranks.h) and ends by itself. So do the others.
 *   `a rank is killed`  The watcher reports to the supervisor which one and how (GNN_WIRE_RANK_LOST). It then kills the
 *                       process group, itself included.
 *   `rank 0 is killed`  The kernel kills the others (PR_SET_PDEATHSIG). The supervisor kills and reaps the rest.
 *
 * Only rank 0 communicates with the supervisor. */
#ifndef GNN_RUN_RANK_PROCESSES_H
#define GNN_RUN_RANK_PROCESSES_H

#include "harness/ranks/ranks.h"

#include <pthread.h>
#include <sys/types.h>

struct gnn_rank_processes {
    struct gnn_ranks *ranks;
    uint32_t count; /* forked ranks, without rank 0 */
    pid_t pid[GNN_RANKS_MAX];
    int lifeline[GNN_RANKS_MAX]; /* read ends of pipes: each reports end of file when its rank ends */
    bool watched;
    pthread_t watcher;
};

/* Forks the ranks 1 .. W - 1. It returns in each of them with its number in *rank, and in the caller with 0. The caller
 * must have no threads. On an error, which only the caller receives, the forked ranks end by themselves: join them.
 * GNN_ENOMEM, GNN_ETHREADS, GNN_EIO, GNN_EFILES. */
GNN_MUST_CHECK enum gnn_status gnn_rank_processes_start(struct gnn_rank_processes *processes, struct gnn_ranks *ranks,
                                                        uint32_t *rank, struct gnn_err *err);

/* Waits on rank 0 until the others have ended. */
void gnn_rank_processes_join(struct gnn_rank_processes *processes);

#endif
