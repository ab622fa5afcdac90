/* SPDX-License-Identifier: MIT */
#include "harness/run/supervisor/signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int taken[GNN_SIGNALS_TAKEN] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT};

/* On a thread that does not block the signal: hands it to the main thread, which does, and reads it. */
static void pass_on(int number)
{
    const int saved = errno;
    (void)syscall(SYS_tgkill, getpid(), getpid(), number);
    errno = saved;
}

static void put_back(const struct gnn_signals *signals)
{
    for (int i = 0; i < GNN_SIGNALS_TAKEN; i++)
        (void)sigaction(taken[i], &signals->old[i], NULL);
    (void)sigaction(SIGPIPE, &signals->old_pipe, NULL);
    (void)sigprocmask(SIG_SETMASK, &signals->old_mask, NULL);
}

enum gnn_status gnn_signals_open(struct gnn_signals *signals, struct gnn_err *err)
{
    const struct sigaction pass = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t mask;
    signals->fd = -1;
    (void)sigemptyset(&mask);
    for (int i = 0; i < GNN_SIGNALS_TAKEN; i++) {
        (void)sigaction(taken[i], NULL, &signals->old[i]);
        if (signals->old[i].sa_handler != SIG_IGN)
            (void)sigaddset(&mask, taken[i]);
    }
    if (sigprocmask(SIG_BLOCK, &mask, &signals->old_mask) != 0)
        return gnn_fail(err, GNN_EIO, "sigprocmask: %s", strerror(errno));
    (void)sigaction(SIGPIPE, &ignore, &signals->old_pipe);
    for (int i = 0; i < GNN_SIGNALS_TAKEN; i++)
        if (sigismember(&mask, taken[i]) == 1)
            (void)sigaction(taken[i], &pass, NULL);
    signals->fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals->fd >= 0)
        return GNN_OK;
    const int failed = errno;
    put_back(signals);
    return gnn_fail(err, gnn_errno_status(failed, GNN_EIO), "signalfd: %s", strerror(failed));
}

int gnn_signals_take(const struct gnn_signals *signals)
{
    struct signalfd_siginfo info;
    return read(signals->fd, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}

void gnn_signals_close(struct gnn_signals *signals)
{
    if (signals->fd < 0)
        return;
    (void)close(signals->fd);
    signals->fd = -1;
    put_back(signals);
}

void gnn_signals_leave_to_child(void)
{
    const struct sigaction normal = {.sa_handler = SIG_DFL};
    struct sigaction now;
    sigset_t none;
    for (int i = 0; i < GNN_SIGNALS_TAKEN; i++)
        if (sigaction(taken[i], NULL, &now) == 0 && now.sa_handler == pass_on)
            (void)sigaction(taken[i], &normal, NULL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}
