/* SPDX-License-Identifier: MIT */
/* A mini-batch's blocks in one range of memory: targets, slots of their samples, local IDs. */
#ifndef RINGSAMPLER_BLOCKS_H
#define RINGSAMPLER_BLOCKS_H

#include "harness/base/block.h"

/* One hop. The slots of target t are row_start[t] <= p < row_start[t + 1]. */
struct rs_hop {
    const gnn_node *targets; /* (target_count) */
    uint32_t target_count, sample_count, fanout;
    bool replace, biased;
    uint64_t draw_key, digest_key;
    const uint64_t *indptr;
    uint32_t *row_start; /* (target_count + 1) */
    uint32_t *col;       /* (sample_count) the neighbours as read, later their local IDs */
    gnn_node *nodes;     /* (node_count), by local ID: the targets, then new nodes */
    uint32_t node_count;
};

/* Nodes grow from the low end of the memory, blocks from the high end, so a batch takes what it needs. */
struct rs_batch {
    unsigned char *memory;
    uint64_t size_bytes, low_bytes, high_bytes;
    uint32_t number, seed_count, hop_count;
    struct rs_hop hops[GNN_LAYERS_MAX];
    struct gnn_batch_view view; /* frontier=all: the blocks in the form that models require */
    uint64_t digest;
    bool full; /* it did not fit */
};

struct rs_thread;

/* Begins a batch with the seeds as the first targets, in the thread's epoch. Returns GNN_EFORMAT if a seed is outside
 * the graph. */
GNN_MUST_CHECK enum gnn_status rs_batch_begin(const struct rs_thread *thread, struct rs_batch *batch, uint32_t number,
                                              const gnn_node *seeds, uint32_t seed_count, struct gnn_err *err);
/* Takes memory for row_start and col of hop l (from 0) and fills row_start, so sizes are known before anything is read.
 * Marks the batch full if they do not fit. */
void rs_hop_begin(const struct rs_thread *thread, struct rs_batch *batch, uint32_t l);
/* Turns the neighbours that were read into col into local IDs and finds the next hop's targets. Marks the batch full if
 * its nodes do not fit. Returns GNN_EFORMAT if a neighbour is outside the graph or a seed occurs twice in the batch. */
GNN_MUST_CHECK enum gnn_status rs_hop_end(struct rs_thread *thread, struct rs_batch *batch, uint32_t l,
                                          struct gnn_err *err);
/* Fills the view if every hop's nodes are the next one's targets (`chained`), else does nothing. */
void rs_batch_end(struct rs_batch *batch, uint64_t epoch, bool chained);

#endif
