/* SPDX-License-Identifier: MIT */
/* Mini-batches of edges for link prediction: their order in an epoch, the nodes they are compared with, and the list of
 * distinct nodes whose vectors they need (MariusGNN, EuroSys 2023, section 6; Marius, OSDI 2021, section 2).
 *
 * A mini-batch depends on (seed, epoch, batch), the graph, and the nodes that negatives may be drawn from. */
#ifndef GNN_SAMPLE_LINK_BATCH_H
#define GNN_SAMPLE_LINK_BATCH_H

#include "harness/base/link_view.h"
#include "harness/oocgnn.h"
#include "harness/world/world.h"

/* Which edge stands at `position` of an epoch: a permutation of [0, count) keyed by (seed, epoch), in constant time and
 * memory. Batch k is positions k * batch_size and on. */
uint32_t gnn_epoch_edge(uint64_t seed, uint64_t epoch, uint32_t count, uint32_t position);

struct gnn_negative_config {
    uint64_t seed;
    uint32_t count;      /* nodes that a chunk is compared with, on each side */
    uint32_t chunks;     /* a mini-batch is cut into; edges of a chunk share their negatives */
    double degree_share; /* of the negatives that are ends of the mini-batch's own edges on that side, so that a node is
                            drawn as often as it has edges; the others are uniform */
};

/* How many of count are ends of edges; the others are uniform. */
uint32_t gnn_negative_from_edges(const struct gnn_negative_config *config);
/* Distinct nodes of a mini-batch at most. */
uint32_t gnn_link_node_bound(const struct gnn_negative_config *config, uint32_t batch_size, uint32_t node_count);

/* Owns the arrays of one mini-batch. Made for batches of up to batch_size edges; nothing grows. */
struct gnn_link_batch {
    struct gnn_link_view view; /* all zero until a batch was filled */
    const gnn_node *nodes;     /* (view.node_count): ends in the order of the edges, source first; then negatives */
    uint64_t digest;           /* of its edges and negatives in global IDs */
    struct gnn_world *world;
    struct gnn_negative_config config;
    uint32_t universe, batch_size;
    void *memory, *map_memory;
    gnn_node *own_nodes;
    uint32_t *end[2], *relation, *negative[2], *own[2];
    struct gnn_id_map *map;
};

/* universe: nodes of the graph. GNN_EUSAGE when the settings cannot be; GNN_ENOMEM, GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status gnn_link_batch_open(struct gnn_world *world, const struct gnn_negative_config *config,
                                                   uint32_t universe, uint32_t batch_size, struct gnn_link_batch **out,
                                                   struct gnn_err *err);
void gnn_link_batch_close(struct gnn_link_batch *batch); /* accepts NULL */
/* Bytes it holds, for memory plans. */
uint64_t gnn_link_batch_bytes(const struct gnn_negative_config *config, uint32_t universe, uint32_t batch_size);

/* Fills the batch with these edges (1 to batch_size). pool (pool_count): what uniform negatives are drawn from, such as
 * the nodes that are in memory; NULL: all nodes. GNN_EFORMAT when an edge has a node outside the graph. */
GNN_MUST_CHECK enum gnn_status gnn_link_batch_fill(struct gnn_link_batch *batch, uint64_t epoch, uint64_t number,
                                                   const struct gnn_triple *edges, uint32_t count, const gnn_node *pool,
                                                   uint32_t pool_count, struct gnn_err *err);

#endif
