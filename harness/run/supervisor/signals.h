/* SPDX-License-Identifier: MIT */
/* SIGINT, SIGTERM, SIGHUP, SIGTSTP and SIGCONT as something to read while a run lasts, whichever thread the kernel
 * picks: a library may have started threads of its own before main (OpenBLAS does), and blocking a signal here
 * blocks it in this thread alone. A signal that the caller had ignored (nohup, a shell's background job) stays
 * ignored. SIGPIPE is ignored meanwhile: the worker may die while it is written to. One at a time, on the main
 * thread. */
#ifndef GNN_RUN_SIGNALS_H
#define GNN_RUN_SIGNALS_H

#include "harness/oocgnn.h"

#include <signal.h>

enum { GNN_SIGNALS_TAKEN = 5 };

struct gnn_signals {
    int fd; /* readable when a signal came; -1: not open */
    sigset_t old_mask;
    struct sigaction old[GNN_SIGNALS_TAKEN], old_pipe;
};

/* signals->fd is -1 after a failure. */
GNN_MUST_CHECK enum gnn_status gnn_signals_open(struct gnn_signals *signals, struct gnn_err *err);

/* Takes one signal off; returns its number, 0 if there was none. */
int gnn_signals_take(const struct gnn_signals *signals);

/* Puts everything back; a signal that was not taken takes effect now. Accepts one that is not open. */
void gnn_signals_close(struct gnn_signals *signals);

/* Unblocks everything, with the handlers of before: for a child between fork and exec. Async-signal-safe. */
void gnn_signals_leave_to_child(void);

#endif
