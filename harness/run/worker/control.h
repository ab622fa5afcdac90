/* SPDX-License-Identifier: MIT */
/* The worker's end of the two pipes. It sends messages, and its own thread listens for the supervisor's commands. That
 * thread does not belong to the world, because it waits for the supervisor and not for anything modelled. */
#ifndef GNN_RUN_CONTROL_H
#define GNN_RUN_CONTROL_H

#include "harness/run/wire.h"

#include <pthread.h>
#include <stdatomic.h>

struct gnn_control {
    atomic_bool *stop; /* set by the supervisor's command or its death; own_stop, or the flag of all ranks */
    atomic_bool own_stop;
    atomic_bool may_leave; /* a command to stop ends the process at once: it would leave nothing behind */
    bool started;
    pthread_t thread;
    int wake_fd; /* ends the thread */
    int go_fd;   /* counts GO commands, and the stop that ends all waiting */
};

/* Starts the control thread. stop: the flag to set; NULL: own_stop. GNN_EIO, GNN_EFILES, GNN_ETHREADS. */
GNN_MUST_CHECK enum gnn_status gnn_control_open(struct gnn_control *control, atomic_bool *stop, struct gnn_err *err);
void gnn_control_close(struct gnn_control *control); /* to be called also after a failed open */

/* Send a message or an error, from any thread. They do not fail: if the supervisor has died, the kernel kills this
 * process, too (PR_SET_PDEATHSIG). */
void gnn_control_send(struct gnn_wire_message *message, enum gnn_wire_type type);
void gnn_control_error(const struct gnn_err *err);

/* Sends a message and waits until the supervisor has read the group's counters (GO), or commands to stop. */
void gnn_control_announce(struct gnn_control *control, struct gnn_wire_message *message, enum gnn_wire_type type);

#endif
