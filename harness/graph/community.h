/* SPDX-License-Identifier: MIT */
/* The training nodes of a reachable set as a community: lists of training nodes name training nodes more often than the
 * set's other lists do. Such an entry has the class that it would have without a community. All training nodes of the
 * class are drawn equally often, so the draws do not depend on the size of the graph. Internal to harness/graph/.
 * Immutable after open. */
#ifndef GNN_GRAPH_COMMUNITY_H
#define GNN_GRAPH_COMMUNITY_H

#include "harness/oocgnn.h"

/* A training node: its index in the set, and its class. */
struct gnn_community_node {
    uint32_t index, class;
};

struct gnn_community;

/* Opens a community of `count` nodes, which are only read during the call. */
GNN_MUST_CHECK enum gnn_status gnn_community_open(const struct gnn_community_node *nodes, uint32_t count,
                                                  uint32_t class_count, struct gnn_community **out,
                                                  struct gnn_err *err);
void gnn_community_close(struct gnn_community *community); /* accepts NULL */

/* Returns the index of a node of the class, drawn by 32 random bits, or the class's next node if that is `own`. Returns
 * GNN_NODE_NONE if the class has no other node. */
uint32_t gnn_community_draw(const struct gnn_community *community, uint32_t class, uint32_t bits, uint32_t own);

#endif
