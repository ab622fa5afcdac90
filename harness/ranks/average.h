/* SPDX-License-Identifier: MIT */
/* The mean of the ranks' gradients: what makes several workers train one model (GNNDrive section 4.3, "gradient
 * synchronization"). Every rank calls at every step, with a gradient of the same length; when the call returns, every
 * rank holds the same mean, bit for bit, so the parameters stay equal as well.
 *
 * The mean is that of one process over the union of the mini-batches: each rank's gradient (the mean over its own
 * seeds) counts by its seeds. A rank without seeds counts nothing.
 *
 *   shared    host memory (CPU back-ends): each rank writes its gradient into shared memory, sums one part of all of
 *             them in the order of the ranks (so the bits depend on nothing else), and copies the whole mean back
 *   devices   config.all_reduce does the sum where the gradients are (tensor/group.h: NCCL); ranks meet before, when
 *             each has said what its gradient weighs, and after
 *   modelled  no values: the last to arrive starts a ring all-reduce over the profile's links, which takes what
 *             tensor/modelled/modelled.h says
 *
 * Lives in every rank: the shared part is opened once before the ranks start, the averager by each rank. */
#ifndef GNN_RANKS_AVERAGE_H
#define GNN_RANKS_AVERAGE_H

#include "harness/ranks/ranks.h"
#include "harness/tensor/tensor.h"

/* ---- opened once, before the ranks start ---- */

struct gnn_average_memory;
/* Room for gradients of `count` reals; count = 0: for a kind that moves none through the host. */
GNN_MUST_CHECK enum gnn_status gnn_average_memory_open(struct gnn_world *world, struct gnn_ranks *ranks, uint64_t count,
                                                       struct gnn_average_memory **out, struct gnn_err *err);
void gnn_average_memory_close(struct gnn_average_memory *memory);  /* accepts NULL */
uint64_t gnn_average_memory_bytes(uint32_t ranks, uint64_t count); /* for plans */

/* ---- a rank's own ---- */

/* What a rank adds besides its gradient, and what comes back for all of them: the loss is a mean over seeds. */
struct gnn_average_step {
    uint64_t seeds;
    uint64_t correct;
    double loss;
};

struct gnn_average;
/* Does the sum; NULL in gnn_average_config: through the host's shared memory. weight: of this rank's gradient. */
typedef enum gnn_status gnn_all_reduce_fn(void *ctx, struct gnn_tensor *tensor, gnn_real *gradient, uint64_t count,
                                          gnn_real weight, struct gnn_err *err);

struct gnn_average_config {
    struct gnn_average_memory *memory;
    uint32_t rank;
    gnn_all_reduce_fn *all_reduce;
    void *all_reduce_ctx;
};
void gnn_average_init(struct gnn_average *average, const struct gnn_average_config *config);

struct gnn_average {
    struct gnn_average_config config;
    struct gnn_average_step all; /* of the last step, over all ranks */
};

/* gradient (count) on the back-end `tensor`, complete, becomes the ranks' mean. GNN_ECANCELLED when another rank
 * failed. */
GNN_MUST_CHECK enum gnn_status gnn_average_gradient(struct gnn_average *average, struct gnn_tensor *tensor,
                                                    gnn_real *gradient, uint64_t count,
                                                    const struct gnn_average_step *own, struct gnn_err *err);

#endif
