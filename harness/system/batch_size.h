/* SPDX-License-Identifier: MIT */
/* Sizes of mini-batches, for memory plans: what one is expected to hold, what the largest of a long run holds, and what
 * samplers and batches reserve. */
#ifndef GNN_SYSTEM_BATCH_SIZE_H
#define GNN_SYSTEM_BATCH_SIZE_H

#include "harness/system/system.h"

struct gnn_batch_size {
    uint32_t nodes[GNN_LAYERS_MAX + 1]; /* [0] = seeds, [layers] = rows of features */
    uint64_t edges;                     /* of all blocks */
};

/* What a mini-batch is expected to hold: every frontier node draws the mean of min(in-degree, s), over nodes spread
 * evenly over the graph, and draws fall on distinct nodes like balls into N bins: n_l = N (1 - exp(-m_l / N)) with m_l
 * = B prod(1 + mean). Graphs whose hubs repeat stay below. What sums over many mini-batches is sized by it. */
void gnn_batch_expect(const struct gnn_dataset *dataset, const struct gnn_workload *workload,
                      struct gnn_batch_size *out);

/* What the largest of a million mini-batches holds. A seed grows a tree of draws; of independent degrees, spread as
 * those of the nodes that have in-neighbours, its mean and variance follow hop by hop, a mini-batch is the sum of B
 * trees, and the largest of n sums is on average no more than mean + sigma sqrt(2 ln n) where they are sub-Gaussian
 * (Boucheron, Lugosi, Massart 2013, Concentration Inequalities, theorem 2.5). Never above the fan-outs' bound. What
 * one mini-batch fills is planned by it. Degrees do not tell whom mini-batches reach: where those nodes have the longer
 * lists, as in igb260m and mag240m, a mini-batch can pass it. Weighing degrees by themselves, as if nodes were reached
 * as often as their lists are long, gives the fan-outs' bound on nearly every graph. */
void gnn_batch_largest(const struct gnn_dataset *dataset, const struct gnn_workload *workload,
                       struct gnn_batch_size *out);

/* Bytes of node IDs and blocks of such a batch. */
uint64_t gnn_batch_bytes(const struct gnn_batch_size *size, uint32_t layers);
/* Bytes that a struct gnn_batch reserves: at the fan-outs' bound, and the cap counts what is reserved. 0 for batches
 * so large that sampling refuses them. */
uint64_t gnn_batch_reserved_bytes(const struct gnn_dataset *dataset, const struct gnn_workload *workload);
/* What a sampler reserves besides its batch: the edge offsets of the largest hop, and the ID map. */
uint64_t gnn_sampler_bytes(const struct gnn_dataset *dataset, const struct gnn_workload *workload);
/* The epoch's order and what each sampler reserves. */
uint64_t gnn_sampling_bytes(const struct gnn_env *env, uint32_t workers);

#endif
