/* SPDX-License-Identifier: MIT */
/* Makes SIGINT, SIGTERM, SIGHUP, SIGTSTP and SIGCONT readable from a descriptor during a run, on whichever thread they
 * arrive. Blocking them would affect only this thread, and a library may have started others before main (OpenBLAS
 * does). So other threads pass them on.
 *
 * A signal that the caller had ignored (nohup, a shell's background job) stays ignored. SIGPIPE is ignored, because the
 * worker may die while it is written to. One at a time, on the main thread. */
#ifndef GNN_RUN_SIGNALS_H
#define GNN_RUN_SIGNALS_H

#include "harness/oocgnn.h"

#include <signal.h>

enum { GNN_SIGNALS_TAKEN = 5 };

struct gnn_signals {
    int fd; /* readable if a signal came; -1: not open */
    sigset_t old_mask;
    struct sigaction old[GNN_SIGNALS_TAKEN], old_pipe;
};

/* Starts to take the signals. GNN_EIO, GNN_EFILES: signals->fd is -1. */
GNN_MUST_CHECK enum gnn_status gnn_signals_open(struct gnn_signals *signals, struct gnn_err *err);

/* Takes one signal and returns its number, or 0 if there is none. */
int gnn_signals_take(const struct gnn_signals *signals);

/* Restores handlers and mask; a signal that was not taken takes effect now. Does nothing if it is not open. */
void gnn_signals_close(struct gnn_signals *signals);

/* Restores the default handlers and unblocks everything, for a child between fork and exec. Async-signal-safe. */
void gnn_signals_leave_to_child(void);

#endif
