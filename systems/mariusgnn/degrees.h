/* SPDX-License-Identifier: MIT */
/* What mini-batches hold at most, from the degrees of the graph in both directions. The harness's estimate
 * (harness/system/batch_size.h) knows incoming edges alone, and a node there draws again in every layer; here a node
 * draws once, from either direction, and meets only what is resident.
 *
 * In-degrees are the dataset's offsets. Out-degrees are not known before the edges lie in buckets: then the buckets
 * of one partition as a source hold every outgoing edge of its nodes, which were placed at random. Both degrees of a
 * node are kept together, because a node that is found along an edge has more of them at that end than others have. */
#ifndef MARIUSGNN_DEGREES_H
#define MARIUSGNN_DEGREES_H

#include "harness/system/batch_size.h"
#include "systems/mariusgnn/dense.h"
#include "systems/mariusgnn/store.h"

enum { MARIUS_DEGREES_MAX = 1024 };

/* Nodes spread evenly over those that were looked at. */
struct marius_degree_sample {
    uint32_t count;
    struct marius_degree {
        uint32_t in, out;
    } of[MARIUS_DEGREES_MAX];
};

struct marius_degrees {
    struct marius_degree_sample nodes; /* any */
    struct marius_degree_sample train; /* training nodes; none where there are no such */
    double mean;                       /* edges of the graph by its nodes: the mean of either degree */
};

/* Without a store: out-degrees as in-degrees are spread, and of other nodes. */
void marius_degrees_guess(const struct gnn_dataset *dataset, struct marius_degrees *out);
/* Reads the edges that leave one partition of an open store, and where training nodes come first the first one too;
 * where they do not, their out-degrees are those of any nodes. Memory: marius_degrees_bytes. Errors: those of reading;
 * GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status marius_degrees_read(const struct gnn_env *env, const struct marius_store *store,
                                                   bool direct, struct marius_degrees *out, struct gnn_err *err);
uint64_t marius_degrees_bytes(void);

/* What mini-batches are drawn from. */
struct marius_drawn_from {
    uint32_t local_count;
    uint64_t edge_count; /* resident */
    double share;        /* of a resident node's neighbours, that are resident */
    uint32_t targets;    /* at most */
    bool ends; /* targets are ends of edges, which nodes are in proportion to their degrees; false: training nodes */
};

/* What the largest of a million mini-batches holds: nodes after each hop, and the edges drawn. Targets grow trees of
 * draws, as gnn_batch_largest says it; by how much the largest sum of trees is above the mean one, the targets draw
 * more. From hop to hop draws fall on resident nodes in proportion to their degrees, so that hubs repeat, and a node
 * that is there already draws no more. Never above the bound at which lists are reserved. */
void marius_largest_batch(const struct marius_degrees *degrees, const struct marius_dense_config *dense,
                          const struct marius_drawn_from *from, struct gnn_batch_size *out);

#endif
