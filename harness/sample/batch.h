/* SPDX-License-Identifier: MIT */
/* The memory of a mini-batch, for the samplers that fill it. One range of world memory holds every array at its bound
 * for the number of seeds. Nothing grows while a mini-batch is sampled. Pages that are never touched take address space
 * only. */
#ifndef GNN_SAMPLE_BATCH_H
#define GNN_SAMPLE_BATCH_H

#include "harness/sample/sample.h"

struct gnn_batch {
    struct gnn_batch_view view; /* all zero until a mini-batch was sampled */
    void *memory;
    uint64_t memory_bytes;
    gnn_node *nodes;                     /* (bound of hop L) */
    uint32_t *row_start[GNN_LAYERS_MAX]; /* block b: (bound of its targets + 1) */
    uint32_t *col[GNN_LAYERS_MAX];       /* block b: (bound of its edges) */
};

/* Bounds of a mini-batch: nodes up to hop l, edges of hop l (0 .. layers; edges[0] is 0). */
struct gnn_sample_bounds {
    uint32_t layers;
    uint32_t nodes[GNN_LAYERS_MAX + 1];
    uint64_t edges[GNN_LAYERS_MAX + 1];
};

/* Computes the bounds of mini-batches of up to `seed_count` seeds. GNN_EUSAGE: a block could hold 2^32 edges. */
GNN_MUST_CHECK enum gnn_status gnn_sample_bounds(const struct gnn_dataset *dataset, uint32_t seed_count,
                                                 const uint32_t *fanout, uint32_t layers, struct gnn_sample_bounds *out,
                                                 struct gnn_err *err);

/* Returns the bytes that gnn_batch_reserve allocates. */
uint64_t gnn_batch_memory_bytes(const struct gnn_sample_bounds *bounds);

/* Points the arrays into memory that holds the bounds, and empties the view. Allocates only if the bounds exceed those
 * of all earlier calls. GNN_ENOMEM, GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status gnn_batch_reserve(struct gnn_world *world, struct gnn_batch *batch,
                                                 const struct gnn_sample_bounds *bounds, struct gnn_err *err);

#endif
