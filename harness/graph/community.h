/* SPDX-License-Identifier: MIT */
/* The training nodes of a reachable set as a community: lists of training nodes name training nodes more often than the
 * set's other lists do. Such an entry has the class that it would have without a community. Inside the class, the
 * training nodes are ordered by falling popularity, and the entry is drawn at a quantile of this order. Internal to
 * harness/graph/. Immutable after open. */
#ifndef GNN_GRAPH_COMMUNITY_H
#define GNN_GRAPH_COMMUNITY_H

#include "harness/oocgnn.h"

/* A training node: its index in the set, its class, and its quantile in the falling order of popularity. */
struct gnn_community_node {
    uint32_t index, class;
    double rank;
};

struct gnn_community;

/* Opens a community of `count` nodes, which the call sorts. */
GNN_MUST_CHECK enum gnn_status gnn_community_open(struct gnn_community_node *nodes, uint32_t count,
                                                  uint32_t class_count, struct gnn_community **out,
                                                  struct gnn_err *err);
void gnn_community_close(struct gnn_community *community); /* accepts NULL */

/* Returns the index of the class's node at quantile `rank`, or its next node if that is `own`. Returns GNN_NODE_NONE if
 * the class has no other node. */
uint32_t gnn_community_draw(const struct gnn_community *community, uint32_t class, double rank, uint32_t own);

#endif
