/* SPDX-License-Identifier: MIT */
/* Sizes of mini-batches, for memory plans: the expected size, the largest of a long run, and what samplers and batches
 * reserve. */
#ifndef GNN_SYSTEM_BATCH_SIZE_H
#define GNN_SYSTEM_BATCH_SIZE_H

#include "harness/system/system.h"

struct gnn_batch_size {
    uint32_t nodes[GNN_LAYERS_MAX + 1]; /* [0] = seeds, [layers] = feature rows */
    uint64_t edges;                     /* edges of all blocks */
};

/* Computes the expected size of a mini-batch. For what is summed over many mini-batches.
 *
 * Every frontier node draws the mean of min(in-degree, s), over nodes spread evenly over the graph. Draws fall on
 * distinct nodes like balls into N bins: n_l = N (1 - exp(-m_l / N)) with m_l = B prod(1 + mean). On graphs whose hubs
 * are drawn repeatedly, mini-batches are smaller. */
void gnn_batch_expect(const struct gnn_dataset *dataset, const struct gnn_workload *workload,
                      struct gnn_batch_size *out);

/* Computes the largest size among a million mini-batches, at most the fan-outs' bound. For what one mini-batch fills.
 *
 * A seed's draws form a tree. Degrees are taken as independent, spread like those of the nodes that have in-neighbours.
 * Mean and variance of the tree then follow hop by hop. A mini-batch is the sum of B trees. If the sums are
 * sub-Gaussian, the largest of n is on average at most mean + sigma sqrt(2 ln n). The source is Boucheron, Lugosi,
 * Massart 2013, Concentration Inequalities, theorem 2.5.
 *
 * Degrees do not show which nodes mini-batches reach. If those nodes have longer lists, as in igb260m and mag240m, a
 * mini-batch can exceed this size. The alternative is to weigh degrees by themselves, as if nodes were reached in
 * proportion to their lists. It gives the fan-outs' bound on nearly every graph. */
void gnn_batch_largest(const struct gnn_dataset *dataset, const struct gnn_workload *workload,
                       struct gnn_batch_size *out);

/* Returns the bytes of node IDs and blocks of a batch of this size. */
uint64_t gnn_batch_bytes(const struct gnn_batch_size *size, uint32_t layers);
/* Returns the bytes that a struct gnn_batch reserves, at the fan-outs' bound. The memory limit counts what is reserved.
 * 0: batches are so large that sampling refuses them. */
uint64_t gnn_batch_reserved_bytes(const struct gnn_dataset *dataset, const struct gnn_workload *workload);
/* Returns the bytes that a sampler reserves in addition to its batch: the edge offsets of the largest hop, and the ID
 * map. */
uint64_t gnn_sampler_bytes(const struct gnn_dataset *dataset, const struct gnn_workload *workload);
/* Returns the bytes of the epoch's order and of what `workers` samplers reserve. */
uint64_t gnn_sampling_bytes(const struct gnn_env *env, uint32_t workers);

#endif
