/* SPDX-License-Identifier: MIT */
/* The worker's end of the two pipes: it sends messages, and a thread of its own listens for the supervisor's commands.
 * That thread is none of the world's: it waits for the supervisor, not for anything modelled. */
#ifndef GNN_RUN_CONTROL_H
#define GNN_RUN_CONTROL_H

#include "harness/run/wire.h"

#include <pthread.h>
#include <stdatomic.h>

struct gnn_control {
    atomic_bool *stop; /* set by the supervisor's command or its death; own_stop, or the one of all ranks */
    atomic_bool own_stop;
    atomic_bool may_leave; /* a command to stop ends the process at once: nothing is left behind on this machine */
    bool started;
    pthread_t thread;
    int wake_fd; /* ends the thread */
    int go_fd;   /* counts the supervisor's GO, and the stop that ends all waiting */
};

/* stop: the flag to raise; NULL: own_stop. */
GNN_MUST_CHECK enum gnn_status gnn_control_open(struct gnn_control *control, atomic_bool *stop, struct gnn_err *err);
void gnn_control_close(struct gnn_control *control); /* after a failed open too */

/* Sends a message, from any thread. Does not fail: a supervisor that is gone has taken this process with it
 * (PR_SET_PDEATHSIG). */
void gnn_control_send(struct gnn_wire_message *message, enum gnn_wire_type type);
void gnn_control_error(const struct gnn_err *err);

/* Sends, and waits until the supervisor has read the group's counters (GO), or has said stop. */
void gnn_control_announce(struct gnn_control *control, struct gnn_wire_message *message, enum gnn_wire_type type);

#endif
