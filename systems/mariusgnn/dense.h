/* SPDX-License-Identifier: MIT */
/* DENSE: multi-hop neighbourhoods in which each node's neighbours are drawn once and serve every layer (MariusGNN,
 * EuroSys 2023, section 4). In algorithm 1, Delta_K is the set of targets. For i = K .. 1, neighbours are drawn only
 * for the nodes of Delta_i. Delta_i-1 is the set of new nodes among them.
 *
 * The paper stacks every delta in front of the earlier ones, so the targets come last. Here deltas are appended. So the
 * four arrays have the form of the harness's blocks, in which targets are the head of the sources
 * (harness/base/block.h). The paper's arrays are these:
 *
 *   `node_ids`         Original IDs in view.nodes: Delta_K | Delta_K-1 | ... | Delta_0. Local IDs in rows().
 *   `node_id_offsets`  Nodes of the batch after hop h, in ends().
 *   `nbr_offsets`      The array row_start, one for all blocks.
 *   `nbrs`, `repr_map` The array col, one for all blocks: the index of a neighbour in nodes. It never changes once
 *                      written. With prepending, every delta would shift it.
 *
 * The block of hop h has the nodes up to hop h - 1 as targets and those up to hop h as sources. Its lists are the heads
 * of the shared arrays. Algorithm 2, the update between two layers, drops a delta and its neighbours from the front.
 * The next block only has smaller counts here, so this costs nothing.
 *
 * A row has the sources of the node's incoming edges first. The destinations of its outgoing edges follow, each in the
 * order drawn. A node that is both appears twice, and counts twice in a mean. Draws are keyed by (seed, epoch, batch,
 * hop at which the node's neighbours are first needed, original ID). Incoming edges are drawn as in every system
 * (harness/sample/draw.h), outgoing ones with a separate key. So a batch depends on neither threads nor slots.
 *
 * Threads  One thread uses a sampler. Any number of samplers may read a subgraph.
 * Memory   World memory. It grows at warm-up, and when a subgraph is larger than all before. */
#ifndef MARIUSGNN_DENSE_H
#define MARIUSGNN_DENSE_H

#include "harness/sample/sample.h"
#include "systems/mariusgnn/subgraph.h"

enum { MARIUS_DENSE_FANOUT_MAX = 1024 };
#define MARIUS_DENSE_ALL UINT32_MAX /* a fanout: every neighbour */

struct marius_dense_config {
    uint64_t seed;
    uint32_t layers;
    uint32_t fanout[GNN_LAYERS_MAX]; /* of each direction, from the targets outward; at most MARIUS_DENSE_FANOUT_MAX */
    bool out_edges;                  /* also destinations of outgoing edges; false: only sources of incoming ones */
    /* A node with more neighbours than the fan-out draws with replacement, so a neighbour may appear twice in its row
     * (the released code). False: distinct edges (section 4.1, "only f will be sampled"). */
    bool replace;
    /* The number of hops, the targets' first, that find new nodes with a hash set, in order of discovery. Such a hop
     * has a cost for each neighbour. The others mark a bitmap and read all of it, in ascending order of local IDs. They
     * have a cost for each local ID, too, which many neighbours outweigh. The neighbourhoods are the same; their
     * numberings differ. */
    uint32_t hash_hops;
    uint32_t threads; /* that share the work of one mini-batch in virtual time; 0: 1 */
};

struct marius_dense;
struct marius_dense_batch; /* one sampled mini-batch */

/* Opens a sampler. Returns GNN_EUSAGE if layers or a fan-out are out of range, or GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status marius_dense_open(struct gnn_world *world, const struct marius_dense_config *config,
                                                 struct marius_dense **out, struct gnn_err *err);
void marius_dense_close(struct marius_dense *dense); /* accepts NULL */

GNN_MUST_CHECK enum gnn_status marius_dense_batch_open(struct gnn_world *world, struct marius_dense_batch **out,
                                                       struct gnn_err *err);
void marius_dense_batch_close(struct gnn_world *world, struct marius_dense_batch *batch); /* accepts NULL */

/* Samples batch `batch` of `epoch` for the targets (count >= 1), which are distinct local IDs of nodes. Returns
 * GNN_EUSAGE if the batch could draw 2^32 neighbours, GNN_ENOMEM or GNN_ECAP. After an error the view is empty. */
GNN_MUST_CHECK enum gnn_status marius_dense_sample(struct marius_dense *dense, const struct marius_subgraph *graph,
                                                   uint64_t epoch, uint64_t batch, const uint32_t *targets,
                                                   uint32_t count, struct marius_dense_batch *out, struct gnn_err *err);

/* Returns what was sampled last, or zeros before the first sample. */
const struct gnn_batch_view *marius_dense_view(const struct marius_dense_batch *batch);
const uint32_t *marius_dense_rows(const struct marius_dense_batch *batch); /* (node_count) local IDs */
const uint32_t *marius_dense_ends(const struct marius_dense_batch *batch); /* (layers + 1) nodes after hop h */

/* Returns the counts since open or clear. sampled_edges counts an edge in every block that contains it, as for the
 * other systems. one_hop_edges counts the edges drawn. */
void marius_dense_counters(const struct marius_dense *dense, struct gnn_sample_counters *out);
uint64_t marius_dense_one_hop_edges(const struct marius_dense *dense);
void marius_dense_clear_counters(struct marius_dense *dense);

/* ---- sizes for memory plans: upper bounds; pages that are never touched cost nothing ---- */

/* Returns the bytes of a sampler: hash set, bitmaps, and the positions of the nodes in the batch. */
uint64_t marius_dense_bytes(const struct marius_dense_config *config, uint32_t local_count, uint64_t edge_count,
                            uint32_t batch_size);
/* Returns the bytes of a batch: nodes in both numberings, row starts, columns. */
uint64_t marius_dense_batch_bytes(const struct marius_dense_config *config, uint32_t local_count, uint64_t edge_count,
                                  uint32_t batch_size);
/* Returns the largest number of edges that a mini-batch can draw. Fills nodes (layers + 1) with the largest number of
 * its nodes after each hop. */
uint64_t marius_dense_bound(const struct marius_dense_config *config, uint32_t local_count, uint64_t edge_count,
                            uint32_t batch_size, uint32_t *nodes);

#endif
