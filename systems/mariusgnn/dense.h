/* SPDX-License-Identifier: MIT */
/* DENSE: multi-hop neighbourhoods in which each node's neighbours are drawn once and serve every layer (MariusGNN,
 * EuroSys 2023, section 4).
 *
 *   Delta_K = the targets; for i = K .. 1: draw neighbours for the nodes of Delta_i alone;
 *   Delta_i-1 = the distinct ones among them that are new                               (algorithm 1)
 *
 * The paper stacks every delta in front of the ones before, so that the targets stand last. Here they are appended, the
 * mirror image, and so the four arrays are what the harness's blocks want as they are (harness/base/block.h: targets
 * are the head of the sources):
 *
 *   paper             here
 *   node_ids          view.nodes, original IDs: Delta_K | Delta_K-1 | ... | Delta_0; the same as local IDs in rows()
 *   node_id_offsets   ends(): nodes of the batch after hop h
 *   nbr_offsets       row_start, one array for all blocks
 *   nbrs, repr_map    col, one array for all blocks: where in nodes the neighbour stands. It never moves once written;
 *                     with prepending every delta shifts it
 *
 * The block of hop h has the nodes up to hop h - 1 as targets and those up to hop h as sources; its lists are the heads
 * of the shared arrays. The update between two layers (algorithm 2), which drops a delta and its neighbours from the
 * front, is therefore no work: the next block has smaller counts.
 *
 * A row holds the sources of the node's incoming edges first, then the destinations of its outgoing ones, each in the
 * order drawn, so a node that is both stands twice, and counts twice in a mean. Draws are keyed by (seed, epoch, batch,
 * hop at which the node's neighbours are first needed, original ID): incoming ones as every system draws them
 * (harness/sample/draw.h), outgoing ones by a key of their own. So a batch depends on neither threads nor slots.
 *
 * Threads  a sampler is one thread's; any number of samplers may read a subgraph
 * Memory   grows at warm-up, and when a subgraph is larger than those before; all of it is the world's */
#ifndef MARIUSGNN_DENSE_H
#define MARIUSGNN_DENSE_H

#include "harness/sample/sample.h"
#include "systems/mariusgnn/subgraph.h"

enum { MARIUS_DENSE_FANOUT_MAX = 1024 };
#define MARIUS_DENSE_ALL UINT32_MAX /* a fanout: every neighbour */

struct marius_dense_config {
    uint64_t seed;
    uint32_t layers;
    uint32_t fanout[GNN_LAYERS_MAX]; /* of each direction, from the targets outward; up to MARIUS_DENSE_FANOUT_MAX */
    bool out_edges;                  /* destinations of outgoing edges too; false: sources of incoming ones alone */
    /* A node with more neighbours than the fanout draws with replacement, so that one may stand in its row twice (the
     * released code); false: distinct edges (section 4.1, "only f will be sampled"). */
    bool replace;
    /* So many hops, the targets' first, find their new nodes by a hash set, in order of discovery: a cost for each
     * neighbour. The others mark a bitmap and read all of it, in ascending order of local IDs: a cost for each local ID
     * too, which many neighbours outweigh. The neighbourhoods are the same, their numbering differs. */
    uint32_t hash_hops;
};

struct marius_dense;
struct marius_dense_batch; /* one sampled mini-batch */

/* GNN_EUSAGE when layers or a fanout are out of range. */
GNN_MUST_CHECK enum gnn_status marius_dense_open(struct gnn_world *world, const struct marius_dense_config *config,
                                                 struct marius_dense **out, struct gnn_err *err);
void marius_dense_close(struct marius_dense *dense); /* accepts NULL */

GNN_MUST_CHECK enum gnn_status marius_dense_batch_open(struct gnn_world *world, struct marius_dense_batch **out,
                                                       struct gnn_err *err);
void marius_dense_batch_close(struct gnn_world *world, struct marius_dense_batch *batch); /* accepts NULL */

/* Samples batch `batch` of `epoch` for the targets (count >= 1), distinct local IDs that stand for nodes. GNN_EUSAGE
 * when the batch could draw 2^32 neighbours, GNN_ENOMEM, GNN_ECAP; after an error the view is empty. */
GNN_MUST_CHECK enum gnn_status marius_dense_sample(struct marius_dense *dense, const struct marius_subgraph *graph,
                                                   uint64_t epoch, uint64_t batch, const uint32_t *targets,
                                                   uint32_t count, struct marius_dense_batch *out, struct gnn_err *err);

/* What was sampled last; all zero before. */
const struct gnn_batch_view *marius_dense_view(const struct marius_dense_batch *batch);
const uint32_t *marius_dense_rows(const struct marius_dense_batch *batch); /* (node_count) local IDs */
const uint32_t *marius_dense_ends(const struct marius_dense_batch *batch); /* (layers + 1) nodes after hop h */

/* Since open or clear. sampled_edges counts an edge in every block that it stands in, as for the other systems;
 * one_hop_edges counts what was drawn. */
void marius_dense_counters(const struct marius_dense *dense, struct gnn_sample_counters *out);
uint64_t marius_dense_one_hop_edges(const struct marius_dense *dense);
void marius_dense_clear_counters(struct marius_dense *dense);

/* ---- sizes, for memory plans: both are bounds, whose untouched pages cost nothing ---- */

/* A sampler's: hash set, bitmaps, and the places of the nodes in order. */
uint64_t marius_dense_bytes(const struct marius_dense_config *config, uint32_t local_count, uint64_t edge_count,
                            uint32_t batch_size);
/* A batch's: nodes in both numberings, row starts, columns. */
uint64_t marius_dense_batch_bytes(const struct marius_dense_config *config, uint32_t local_count, uint64_t edge_count,
                                  uint32_t batch_size);
/* The edges that a mini-batch draws at most, and in nodes (layers + 1) its nodes after each hop. */
uint64_t marius_dense_bound(const struct marius_dense_config *config, uint32_t local_count, uint64_t edge_count,
                            uint32_t batch_size, uint32_t *nodes);

#endif
