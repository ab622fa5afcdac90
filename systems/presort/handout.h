/* SPDX-License-Identifier: MIT */
/* Handing out: the mini-batches of loaded windows go to assembling threads in order and come back in any order. A
 * window is assembled when all of its mini-batches have come back and all windows before it are assembled. The last
 * window of a hyperbatch releases the hyperbatch.
 *
 * Threads  The loading thread calls window; assembling threads call take and give.
 * Memory   Only its state: at most two windows are loaded and not yet assembled. */
#ifndef PRESORT_HANDOUT_H
#define PRESORT_HANDOUT_H

#include "systems/presort/presort.h"

struct presort_handout;

/* Opens a handout. progress is the run's; both must outlive it. Returns GNN_ENOMEM or errors of the mutex; the caller
 * must close *out even then. */
GNN_MUST_CHECK enum gnn_status presort_handout_open(struct gnn_world *world, struct gnn_progress *progress,
                                                    struct presort_handout **out, struct gnn_err *err);
void presort_handout_close(struct presort_handout *h); /* accepts NULL */

/* Begins an epoch of `batches` mini-batches, whose first window is number first_window of the run. */
void presort_handout_begin(struct presort_handout *h, uint32_t batches, uint64_t first_window);

/* Hands out the mini-batches of window j of x, which is loaded. */
void presort_handout_window(struct presort_handout *h, const struct presort_hyperbatch *x, uint32_t j);

/* A mini-batch that is being assembled. */
struct presort_taken {
    uint32_t batch;                 /* of the epoch */
    bool begins;                    /* it is the first of a hyperbatch */
    struct presort_spooled spooled; /* of that hyperbatch */
};

/* Takes the next mini-batch and sleeps until its window is loaded (GNN_WAIT_QUEUE). *some is false if the epoch has no
 * more. Returns GNN_ECANCELLED if the pipeline stops. */
GNN_MUST_CHECK enum gnn_status presort_handout_take(struct presort_handout *h, struct presort_taken *out, bool *some);
/* Gives a mini-batch back: it does not need its window any more. */
void presort_handout_give(struct presort_handout *h, uint32_t batch);

#endif
