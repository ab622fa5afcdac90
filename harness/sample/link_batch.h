/* SPDX-License-Identifier: MIT */
/* Mini-batches of edges for link prediction: the order of edges in an epoch, the negatives, and the distinct nodes
 * whose vectors are needed. They are MariusGNN's (EuroSys 2023, section 6; Marius, OSDI 2021, section 2).
 *
 * A mini-batch depends on (seed, epoch, batch), the graph, and the nodes that negatives may be drawn from. */
#ifndef GNN_SAMPLE_LINK_BATCH_H
#define GNN_SAMPLE_LINK_BATCH_H

#include "harness/base/link_view.h"
#include "harness/oocgnn.h"
#include "harness/world/world.h"

/* Returns the edge at `position` of an epoch, in constant time and memory. The order is a permutation of [0, count)
 * keyed by (seed, epoch). Batch k consists of the positions from k * batch_size on. */
uint32_t gnn_epoch_edge(uint64_t seed, uint64_t epoch, uint32_t count, uint32_t position);

extern const char *const gnn_negative_set_words[]; /* "sampled", "own", "all", NULL */

struct gnn_negative_config {
    uint64_t seed;
    enum gnn_negative_set set;
    uint32_t count;      /* sampled negatives of a chunk on each side; unused with GNN_NEGATIVES_ALL */
    uint32_t chunks;     /* number of chunks of a mini-batch; edges of a chunk share their negatives */
    double degree_share; /* share of negatives that are ends of the mini-batch's own edges on that side, so nodes
                          * are drawn in proportion to their edges; the others are uniform */
};

/* Returns how many of `count` negatives are ends of edges. The others are uniform. */
uint32_t gnn_negative_from_edges(const struct gnn_negative_config *config);
/* Returns the largest number of nodes that a chunk is compared with on a side. */
uint32_t gnn_negative_most(const struct gnn_negative_config *config, uint32_t batch_size, uint32_t node_count);
/* Returns the largest number of distinct nodes in a mini-batch. */
uint32_t gnn_link_node_bound(const struct gnn_negative_config *config, uint32_t batch_size, uint32_t node_count);

/* Owns the arrays of one mini-batch of up to batch_size edges; nothing grows. */
struct gnn_link_batch {
    struct gnn_link_view view; /* all zero until a mini-batch was filled */
    const gnn_node *nodes;     /* (view.node_count): ends in the order of the edges, source first; then negatives */
    uint64_t digest;           /* digest of its edges and negatives in global IDs */
    struct gnn_world *world;
    struct gnn_negative_config config;
    uint32_t universe, batch_size;
    void *memory, *map_memory;
    gnn_node *own_nodes;
    uint32_t *end[2], *relation, *negative[2], *own[2], *masked[2];
    struct gnn_id_map *map;
};

/* Opens a batch for graphs of `universe` nodes; *out is the caller's to close. On an error nothing is left open.
 * GNN_EUSAGE: a setting is out of its range. GNN_ENOMEM, GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status gnn_link_batch_open(struct gnn_world *world, const struct gnn_negative_config *config,
                                                   uint32_t universe, uint32_t batch_size, struct gnn_link_batch **out,
                                                   struct gnn_err *err);
void gnn_link_batch_close(struct gnn_link_batch *batch); /* accepts NULL */
/* Returns the bytes that a batch holds, for memory plans. */
uint64_t gnn_link_batch_bytes(const struct gnn_negative_config *config, uint32_t universe, uint32_t batch_size);

/* Fills the batch with these edges (1 to batch_size). pool (pool_count): the nodes that uniform negatives are drawn
 * from, such as those in memory; NULL: all nodes. With GNN_NEGATIVES_ALL the negatives are the whole pool.
 * GNN_EFORMAT: an edge has a node outside the graph. */
GNN_MUST_CHECK enum gnn_status gnn_link_batch_fill(struct gnn_link_batch *batch, uint64_t epoch, uint64_t number,
                                                   const struct gnn_triple *edges, uint32_t count, const gnn_node *pool,
                                                   uint32_t pool_count, struct gnn_err *err);

#endif
