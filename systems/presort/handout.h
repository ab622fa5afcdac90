/* SPDX-License-Identifier: MIT */
/* Handing out: the mini-batches of windows that are loaded go to assembling threads in order, and come back in any. A
 * window is assembled once all of its mini-batches came back and those before it are; with the last one of a
 * hyperbatch that is released.
 *
 * Threads  window by the loading thread; take and give by the assembling ones
 * Memory   none beside itself: at most two windows are loaded and not yet assembled */
#ifndef PRESORT_HANDOUT_H
#define PRESORT_HANDOUT_H

#include "systems/presort/presort.h"

struct presort_handout;

/* progress is the run's; both outlive it. *out is the caller's to close also after an error. */
GNN_MUST_CHECK enum gnn_status presort_handout_open(struct gnn_world *world, struct gnn_progress *progress,
                                                    struct presort_handout **out, struct gnn_err *err);
void presort_handout_close(struct presort_handout *h); /* accepts NULL */

/* An epoch of so many mini-batches begins; its first window is number first_window of the run. */
void presort_handout_begin(struct presort_handout *h, uint32_t batches, uint64_t first_window);

/* Window j of x is loaded. */
void presort_handout_window(struct presort_handout *h, const struct presort_hyperbatch *x, uint32_t j);

/* A mini-batch that was taken. */
struct presort_taken {
    uint32_t batch;                 /* of the epoch */
    bool begins;                    /* a hyperbatch */
    struct presort_spooled spooled; /* of the hyperbatch that it begins */
};

/* Takes the next mini-batch and sleeps until its window is loaded (GNN_WAIT_QUEUE). *some = false: none is left.
 * GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status presort_handout_take(struct presort_handout *h, struct presort_taken *out, bool *some);
/* The mini-batch needs its window no more. */
void presort_handout_give(struct presort_handout *h, uint32_t batch);

#endif
