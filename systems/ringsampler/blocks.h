/* SPDX-License-Identifier: MIT */
/* A mini-batch's blocks in a range of memory of its own: targets, the slots of their samples, local IDs. */
#ifndef RINGSAMPLER_BLOCKS_H
#define RINGSAMPLER_BLOCKS_H

#include "harness/base/block.h"

/* One hop. Slot p of target t: row_start[t] <= p < row_start[t + 1]. */
struct rs_hop {
    const gnn_node *targets; /* (target_count) */
    uint32_t target_count, sample_count, fanout;
    bool replace, biased;
    uint64_t draw_key, digest_key;
    const uint64_t *indptr;
    uint32_t *row_start; /* (target_count + 1) */
    uint32_t *col;       /* (sample_count): first the neighbours as they were read, then local IDs */
    gnn_node *nodes;     /* (node_count), by local ID: the targets, then new nodes */
    uint32_t node_count;
};

/* Nodes grow from the low end of the memory, blocks from the high end: a batch takes what it needs. */
struct rs_batch {
    unsigned char *memory;
    uint64_t size_bytes, low_bytes, high_bytes;
    uint32_t number, seed_count, hop_count;
    struct rs_hop hops[GNN_LAYERS_MAX];
    struct gnn_batch_view view; /* frontier=all: the blocks as the model wants them */
    uint64_t digest;
    bool full; /* it did not fit */
};

struct rs_thread;

/* Makes the seeds the first targets. The thread's epoch is the batch's. GNN_EFORMAT: a seed outside the graph. */
GNN_MUST_CHECK enum gnn_status rs_batch_begin(const struct rs_thread *thread, struct rs_batch *batch, uint32_t number,
                                              const gnn_node *seeds, uint32_t seed_count, struct gnn_err *err);
/* Takes row_start and col of hop l (from 0), and fills row_start: sizes are known before anything is read. */
void rs_hop_begin(const struct rs_thread *thread, struct rs_batch *batch, uint32_t l);
/* Turns the neighbours that were read into col into local IDs; the next hop's targets are known then. GNN_EFORMAT: a
 * neighbour outside the graph, or a seed that stands twice in the batch. */
GNN_MUST_CHECK enum gnn_status rs_hop_end(struct rs_thread *thread, struct rs_batch *batch, uint32_t l,
                                          struct gnn_err *err);
/* Fills the view, where every hop's nodes are the next one's targets (`chained`). */
void rs_batch_end(struct rs_batch *batch, uint64_t epoch, bool chained);

#endif
