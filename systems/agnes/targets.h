/* SPDX-License-Identifier: MIT */
/* The nodes that each target of a hyperbatch reaches, for agnes.visits=target: blocks are visited for one target after
 * another (AGNES, KDD 2026, Figure 5 (a)). A target is a seed node. The nodes of a target are positions in the node
 * list of its mini-batch, the seed first.
 *
 * Life     Open; per hyperbatch begin, per hop reserve, grow of each mini-batch and turn; close.
 * Memory   16 bytes a target, and twice 4 bytes for each position of each target.
 * Threads  Workers may grow different mini-batches at once. All else is the driver's. */
#ifndef AGNES_TARGETS_H
#define AGNES_TARGETS_H

#include "harness/system/buffer.h"

struct agnes_target {
    uint32_t batch, count;
    uint64_t start; /* of its positions in the list */
};

struct agnes_targets {
    struct gnn_world *world;
    uint64_t count;
    struct gnn_buffer all;      /* (count) struct agnes_target */
    struct gnn_buffer next;     /* (count) the same, of the next hop */
    struct gnn_buffer lists[2]; /* positions of all targets; each hop moves them to the other one */
    uint32_t turn;              /* index in `lists` of the current positions */
};

void agnes_targets_open(struct gnn_world *world, struct agnes_targets *out);
void agnes_targets_close(struct agnes_targets *targets); /* accepts a zeroed one */

/* Starts a hyperbatch: each of the seeds (batches) of each mini-batch is a target. Returns GNN_ENOMEM or GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status agnes_targets_begin(struct agnes_targets *targets, const uint32_t *seeds,
                                                   uint32_t batches, struct gnn_err *err);

static inline const struct agnes_target *agnes_targets_at(const struct agnes_targets *targets, uint64_t t)
{
    return (const struct agnes_target *)targets->all.data + t;
}

static inline const uint32_t *agnes_targets_positions(const struct agnes_targets *targets, uint64_t t)
{
    return (const uint32_t *)targets->lists[targets->turn].data + agnes_targets_at(targets, t)->start;
}

/* Makes room for the positions after a hop with this fan-out. Returns GNN_ENOMEM or GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status agnes_targets_reserve(struct agnes_targets *targets, uint32_t fanout,
                                                     struct gnn_err *err);

/* Adds, to targets [first, end) of one mini-batch, the neighbours of their nodes. Row p of the sampled block is
 * col[row_start[p] .. row_start[p + 1]). marks has a word for each node of the mini-batch. It is zeroed once, and
 * *stamp is the last value in it. Returns the number of neighbours that were looked at. */
uint64_t agnes_targets_grow(struct agnes_targets *targets, uint64_t first, uint64_t end, const uint32_t *row_start,
                            const uint32_t *col, uint32_t *marks, uint32_t *stamp);

void agnes_targets_turn(struct agnes_targets *targets); /* the grown positions become the current ones */

/* Returns the bytes that targets with `positions` positions each take, for plans. */
uint64_t agnes_targets_bytes(uint64_t targets, uint64_t positions);

#endif
