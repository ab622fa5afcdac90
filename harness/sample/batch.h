/* SPDX-License-Identifier: MIT */
/* A batch's memory, for the samplers that fill it. One range of world memory holds every array at its bound for the
 * number of seeds, so that nothing grows while a batch is being sampled; the pages that stay untouched cost nothing but
 * address space. */
#ifndef GNN_SAMPLE_BATCH_H
#define GNN_SAMPLE_BATCH_H

#include "harness/sample/sample.h"

struct gnn_batch {
    struct gnn_batch_view view; /* all zero until a batch was sampled */
    void *memory;
    uint64_t memory_bytes;
    gnn_node *nodes;                     /* (bound of hop L) */
    uint32_t *row_start[GNN_LAYERS_MAX]; /* of block b: (bound of its targets + 1) */
    uint32_t *col[GNN_LAYERS_MAX];       /* of block b: (bound of its edges) */
};

/* Bounds of a batch: nodes after hop l and edges of hop l (0 .. layers; edges[0] is 0). */
struct gnn_sample_bounds {
    uint32_t layers;
    uint32_t nodes[GNN_LAYERS_MAX + 1];
    uint64_t edges[GNN_LAYERS_MAX + 1];
};

/* GNN_EUSAGE where a block could hold 2^32 edges. */
GNN_MUST_CHECK enum gnn_status gnn_sample_bounds(const struct gnn_dataset *dataset, uint32_t seed_count,
                                                 const uint32_t *fanout, uint32_t layers, struct gnn_sample_bounds *out,
                                                 struct gnn_err *err);

/* Bytes that gnn_batch_reserve asks the world for. */
uint64_t gnn_batch_memory_bytes(const struct gnn_sample_bounds *bounds);

/* Points the arrays into memory that holds the bounds; allocates only when they exceed every earlier call's. The view
 * is emptied. */
GNN_MUST_CHECK enum gnn_status gnn_batch_reserve(struct gnn_world *world, struct gnn_batch *batch,
                                                 const struct gnn_sample_bounds *bounds, struct gnn_err *err);

#endif
