/* SPDX-License-Identifier: MIT */
/* The mean of the ranks' gradients, by which several workers train one model (GNNDrive section 4.3, "gradient
 * synchronization"). Every rank calls gnn_average_gradient in every step, with a gradient of the same length. All ranks
 * receive the same mean, bit for bit, so their parameters stay equal.
 *
 * The mean is that of one process over the union of the mini-batches. A rank's gradient is the mean over its own seeds
 * and is weighted by their number; a rank without seeds has weight 0. There are three kinds:
 *
 *   `shared`    Host memory, for CPU back-ends. Each rank writes its gradient into shared memory, sums one part over
 *               all ranks, and copies the whole mean back. Sums run in the order of the ranks, so their bits are always
 *               the same.
 *   `devices`   config.all_reduce sums on the devices (tensor/group.h: NCCL). Ranks meet before it, when all weights
 *               are known, and after it.
 *   `modelled`  No values. The last rank to arrive starts a ring all-reduce over the profile's links; its time comes
 *               from tensor/modelled/modelled.h.
 *
 * The shared part is opened once before the ranks start. The averager is opened by each rank. */
#ifndef GNN_RANKS_AVERAGE_H
#define GNN_RANKS_AVERAGE_H

#include "harness/ranks/ranks.h"
#include "harness/tensor/tensor.h"

/* ---- opened once, before the ranks start ---- */

struct gnn_average_memory;
/* Allocates the memory that the ranks share, for gradients of `count` reals. count 0: no gradient passes through the
 * host. Set *out to NULL first; it is the caller's to close, also on an error. */
GNN_MUST_CHECK enum gnn_status gnn_average_memory_open(struct gnn_world *world, struct gnn_ranks *ranks, uint64_t count,
                                                       struct gnn_average_memory **out, struct gnn_err *err);
void gnn_average_memory_close(struct gnn_average_memory *memory);  /* accepts NULL */
uint64_t gnn_average_memory_bytes(uint32_t ranks, uint64_t count); /* for memory plans */

/* ---- a rank's own ---- */

/* A rank's share of a step, and the total over all ranks. loss: mean over the seeds. */
struct gnn_average_step {
    uint64_t seeds;
    uint64_t correct;
    double loss;
};

struct gnn_average;
/* Replaces the gradient by the sum of all ranks' gradients, each multiplied by its rank's `weight`. NULL in
 * gnn_average_config: the sum is made in the host's shared memory. */
typedef enum gnn_status gnn_all_reduce_fn(void *ctx, struct gnn_tensor *tensor, gnn_real *gradient, uint64_t count,
                                          gnn_real weight, struct gnn_err *err);

struct gnn_average_config {
    struct gnn_average_memory *memory;
    uint32_t rank;
    gnn_all_reduce_fn *all_reduce;
    void *all_reduce_ctx;
};
/* Initialises a rank's averager. config->memory stays the caller's and must outlive it. */
void gnn_average_init(struct gnn_average *average, const struct gnn_average_config *config);

struct gnn_average {
    struct gnn_average_config config;
    struct gnn_average_step all; /* the last step, over all ranks */
};

/* Replaces `gradient` (count reals on `tensor`, complete) by the mean over the ranks, and writes average->all.
 * GNN_ECANCELLED: another rank failed or was stopped. */
GNN_MUST_CHECK enum gnn_status gnn_average_gradient(struct gnn_average *average, struct gnn_tensor *tensor,
                                                    gnn_real *gradient, uint64_t count,
                                                    const struct gnn_average_step *own, struct gnn_err *err);

#endif
