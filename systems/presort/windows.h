/* SPDX-License-Identifier: MIT */
/* Windows: an epoch's mini-batches in their order, cut into runs whose rows are in memory together. A window takes
 * mini-batches until its distinct rows would exceed a limit. So the memory of a window is known before any mini-batch
 * is drawn. A mini-batch that alone exceeds the limit has a separate window, up to what memory can hold. A hyperbatch
 * takes windows until its lists are full.
 *
 * Memory   presort_windows_bytes(): 4 bytes a member, 8 a window, a bit a node, 4 a row of the largest mini-batch. */
#ifndef PRESORT_WINDOWS_H
#define PRESORT_WINDOWS_H

#include "systems/presort/belady.h"

struct presort_windows_config {
    uint32_t node_count;
    uint32_t windows_max, members_max; /* of a hyperbatch */
    uint32_t rows_max;                 /* of a window; at most lone_rows_max */
    uint32_t lone_rows_max;            /* of a window with a single mini-batch; at most members_max */
    uint32_t batches_max;              /* of a window; 0: any number */
};

struct presort_windows {
    struct gnn_world *world;
    struct presort_windows_config config;
    struct presort_lists lists; /* of the windows that are closed */
    uint32_t *batch_end;        /* (windows_max) mini-batches of windows 0 .. j */
    uint32_t batches;           /* taken so far, with those of the open window */
    uint32_t open_batches, open_rows;
    uint32_t largest;  /* rows of the largest window since open */
    uint64_t *present; /* a set of nodes: those of the open window */
    gnn_node *fresh;   /* (lone_rows_max) nodes that a mini-batch adds */
};

uint64_t presort_windows_bytes(const struct presort_windows_config *config);
/* Opens without mini-batches. Returns GNN_ENOMEM or GNN_ECAP; the caller must close *out even then. */
GNN_MUST_CHECK enum gnn_status presort_windows_open(struct gnn_world *world,
                                                    const struct presort_windows_config *config,
                                                    struct presort_windows *out, struct gnn_err *err);
void presort_windows_close(struct presort_windows *w); /* accepts a zeroed one */

void presort_windows_begin(struct presort_windows *w); /* begins an empty hyperbatch; drops an open window */
/* Takes a mini-batch's distinct nodes. Sets *taken to false if the lists are full: the hyperbatch ends before this
 * mini-batch. Returns GNN_ECAP if the mini-batch alone exceeds lone_rows_max. */
GNN_MUST_CHECK enum gnn_status presort_windows_take(struct presort_windows *w, const gnn_node *nodes, uint32_t count,
                                                    bool *taken, struct gnn_err *err);
/* Closes the last window. At least one mini-batch must have been taken. */
void presort_windows_end(struct presort_windows *w);

#endif
