/* SPDX-License-Identifier: MIT */
#include "harness/run/worker/rank_processes.h"

#include "harness/base/thread_limits.h"
#include "harness/run/worker/control.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OWN_GROUP = 0 };

/* ---- the watcher: a thread of rank 0, none of the world's ---- */

/* Says which rank was lost and ends all, this process too. */
static void end_all(uint32_t rank, int wait_status)
{
    struct gnn_wire_message message = {0};
    message.as.rank_lost = (struct gnn_wire_rank_lost){.rank = rank, .wait_status = wait_status};
    gnn_control_send(&message, GNN_WIRE_RANK_LOST);
    (void)kill(OWN_GROUP, SIGKILL);
}

static void reap_rank(const struct gnn_rank_processes *p, uint32_t rank)
{
    int wait_status = 0;
    while (waitpid(p->pid[rank], &wait_status, 0) < 0 && errno == EINTR)
        continue;
    if (!gnn_ranks_left(p->ranks, rank))
        end_all(rank, wait_status);
}

static void *watch(void *arg)
{
    const struct gnn_rank_processes *const p = arg;
    struct pollfd fds[GNN_RANKS_MAX];
    for (uint32_t i = 0; i < p->count; i++)
        fds[i] = (struct pollfd){.fd = p->lifeline[i + 1], .events = POLLIN};
    for (uint32_t left = p->count; left > 0;) {
        if (poll(fds, p->count, -1) < 0)
            continue;
        for (uint32_t i = 0; i < p->count; i++) {
            if (fds[i].fd < 0 || fds[i].revents == 0)
                continue;
            reap_rank(p, i + 1);
            fds[i].fd = -1; /* poll passes over it */
            left--;
        }
    }
    return NULL;
}

/* ---- starting ---- */

/* In the new process: it talks to nobody but the other ranks, and does not outlive rank 0. */
static void become_rank(struct gnn_rank_processes *p, uint32_t rank, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the line above */
        _exit(1);
    (void)close(GNN_WORKER_OUT_FD);
    (void)close(GNN_WORKER_CONTROL_FD);
    for (uint32_t other = 1; other < rank; other++)
        (void)close(p->lifeline[other]);
    p->count = 0;
}

/* Forks one rank; *child tells the new process. Its end of the lifeline stays open until it ends. */
static enum gnn_status fork_rank(struct gnn_rank_processes *p, uint32_t rank, bool *child, struct gnn_err *err)
{
    int lifeline[2];
    const pid_t parent = getpid();
    if (pipe2(lifeline, O_CLOEXEC) != 0)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "pipe to worker %u: %s", rank, strerror(errno));
    const pid_t pid = fork();
    *child = pid == 0;
    if (pid == 0) {
        (void)close(lifeline[0]);
        become_rank(p, rank, parent);
        return GNN_OK;
    }
    const int error = errno;
    (void)close(lifeline[1]);
    if (pid < 0) {
        (void)close(lifeline[0]);
        char what[32];
        (void)snprintf(what, sizeof what, "worker %u", rank);
        return gnn_fail_thread(err, what, error, 0);
    }
    p->pid[rank] = pid;
    p->lifeline[rank] = lifeline[0];
    p->count++;
    return GNN_OK;
}

static enum gnn_status start_watcher(struct gnn_rank_processes *p, struct gnn_err *err)
{
    const int error = pthread_create(&p->watcher, NULL, watch, p);
    if (error != 0)
        return gnn_fail_thread(err, "the thread that watches the workers", error, gnn_thread_stack_bytes());
    p->watched = true;
    return GNN_OK;
}

enum gnn_status gnn_rank_processes_start(struct gnn_rank_processes *p, struct gnn_ranks *ranks, uint32_t *rank,
                                         struct gnn_err *err)
{
    *p = (struct gnn_rank_processes){.ranks = ranks};
    *rank = 0;
    assert(gnn_ranks_count(ranks) <= GNN_RANKS_MAX);
    enum gnn_status status = GNN_OK;
    for (uint32_t r = 1; r < gnn_ranks_count(ranks) && status == GNN_OK; r++) {
        bool child = false;
        status = fork_rank(p, r, &child, err);
        if (child) {
            *rank = r;
            return GNN_OK;
        }
    }
    GNN_NEXT(status, start_watcher(p, err));
    if (status != GNN_OK)
        gnn_ranks_cancel(ranks, 0, err);
    return status;
}

void gnn_rank_processes_join(struct gnn_rank_processes *p)
{
    if (p->watched)
        (void)pthread_join(p->watcher, NULL);
    for (uint32_t rank = 1; rank <= p->count; rank++) {
        if (!p->watched)
            reap_rank(p, rank);
        (void)close(p->lifeline[rank]);
    }
}
