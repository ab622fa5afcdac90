/* SPDX-License-Identifier: MIT */
/* Degrees of the graph in both directions, and the size of the largest mini-batch that follows from them. The harness's
 * estimate (harness/system/batch_size.h) uses only incoming edges and lets a node draw again in every layer. Here a
 * node draws once, from either direction, and only resident neighbours.
 *
 * In-degrees are the dataset's offsets. Out-degrees are available once the edges are in buckets. The buckets with one
 * partition as the source hold every outgoing edge of its nodes, which were placed at random. Both degrees of a node
 * are kept together. On average, a node that is found along an edge has more edges at that end than other nodes. */
#ifndef MARIUSGNN_DEGREES_H
#define MARIUSGNN_DEGREES_H

#include "harness/system/batch_size.h"
#include "systems/mariusgnn/dense.h"
#include "systems/mariusgnn/store.h"

enum { MARIUS_DEGREES_MAX = 1024 };

/* A sample of nodes, evenly spaced. */
struct marius_degree_sample {
    uint32_t count;
    struct marius_degree {
        uint32_t in, out;
    } of[MARIUS_DEGREES_MAX];
};

struct marius_degrees {
    struct marius_degree_sample nodes; /* any */
    struct marius_degree_sample train; /* training nodes; count is 0 if there are none */
    double mean;                       /* edges of the graph divided by its nodes: the mean of either degree */
};

/* Guesses the degrees without a store: out-degrees are distributed as in-degrees are, and each node is given another
 * node's. */
void marius_degrees_guess(const struct gnn_dataset *dataset, struct marius_degrees *out);
/* Reads the edges that leave one partition of an open store, and takes the degrees from them. If training nodes come
 * first, it reads the first partition, too. If they do not, training nodes are given the out-degrees of other nodes.
 * Takes marius_degrees_bytes of memory. Returns the errors of reading, or GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status marius_degrees_read(const struct gnn_env *env, const struct marius_store *store,
                                                   bool direct, struct marius_degrees *out, struct gnn_err *err);
uint64_t marius_degrees_bytes(void);

/* The resident graph that mini-batches are drawn from. */
struct marius_drawn_from {
    uint32_t local_count;
    uint64_t edge_count; /* resident */
    double share;        /* share of a resident node's neighbours that are resident */
    double trained;      /* share of the nodes found along edges that are training nodes; 0: no more than of any */
    uint32_t targets;    /* of a mini-batch, at most */
    bool ends;           /* targets are ends of edges, nodes in proportion to their degrees; false: training nodes */
};

/* Estimates the largest of a million mini-batches: nodes after each hop, and the edges drawn. Targets grow trees of
 * draws, as in gnn_batch_largest. The targets draw more than the mean, by as much as the largest sum of trees exceeds
 * the mean one. From hop to hop, draws hit resident nodes in proportion to their degrees, so hubs repeat. A node that
 * is in the batch already draws no more. The result is at most marius_dense_bound, for which lists are reserved. */
void marius_largest_batch(const struct marius_degrees *degrees, const struct marius_dense_config *dense,
                          const struct marius_drawn_from *from, struct gnn_batch_size *out);

#endif
