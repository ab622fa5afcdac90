/* SPDX-License-Identifier: MIT */
/* The closed reachable set ("reach") of a generated graph: a set K of its nodes that holds every training, validation
 * and test node. Lists of nodes in K hold only nodes of K, so mini-batches never leave it. The README.md of
 * harness/dataset states the laws and why the hit rate of a cache no longer depends on the scale. Internal to
 * harness/graph/. Immutable after open.
 *
 * Members have an index 0 .. count - 1, in the order of their IDs. node_order.h places them among the IDs. Classes are
 * assigned to indices (class_groups.h). The members of one class are cut into runs of RUN to 2 RUN members. In a run an
 * affine map with a hashed offset gives each member a rank. Members of equal rank are ordered by their runs, in an
 * order of its own. Rank / length is the member's quantile of popularity at any scale, so draws by quantile are alike
 * in graphs of any size. The same map gives the member's quantile of the degrees, or another map does. So popularity
 * and degree are correlated or independent.
 *
 * Both directions cost O(1): index to quantile (degrees) and quantile to index (neighbours). */
#ifndef GNN_GRAPH_REACH_H
#define GNN_GRAPH_REACH_H

#include "harness/graph/procedural.h"

struct gnn_reach;

/* Opens the set, or returns GNN_EUSAGE if it is too small for the classes or the splits, or no law has such degrees.
 * The caller has checked that config->reach.share is above 0 and that every parameter is inside its limits. */
GNN_MUST_CHECK enum gnn_status gnn_reach_open(const struct gnn_procedural_config *config, struct gnn_reach **out,
                                              struct gnn_err *err);
void gnn_reach_close(struct gnn_reach *reach); /* accepts NULL */

uint32_t gnn_reach_count(const struct gnn_reach *reach);
uint32_t gnn_reach_degree_max(const struct gnn_reach *reach);
/* Returns the expected number of entries in the lists of all members. */
double gnn_reach_edges(const struct gnn_reach *reach);

gnn_node gnn_reach_node(const struct gnn_reach *reach, uint32_t index);
/* Returns the index of a node, or GNN_NODE_NONE if it is not a member. */
uint32_t gnn_reach_index(const struct gnn_reach *reach, gnn_node node);
/* Returns the first member whose ID is not below `node`, or the number of members if there is none. */
uint32_t gnn_reach_from(const struct gnn_reach *reach, gnn_node node);

uint32_t gnn_reach_class(const struct gnn_reach *reach, uint32_t index);
/* Returns whether the member is a training, validation or test node. */
bool gnn_reach_is_split(const struct gnn_reach *reach, uint32_t index);
uint32_t gnn_reach_degree(const struct gnn_reach *reach, uint32_t index);

/* Returns the share of the entries of this member's list that are drawn by gnn_reach_train_source, of 2^24. It is 0 if
 * the member is no training node, or if training nodes are no community (community.h). */
uint32_t gnn_reach_community(const struct gnn_reach *reach, uint32_t index);

/* Returns whether lists are mutual (mutual.h). Entries then come from gnn_reach_mutual, otherwise from
 * gnn_reach_source. */
bool gnn_reach_is_mutual(const struct gnn_reach *reach);
/* Returns the member at a position of the list of member `index`. */
uint32_t gnn_reach_mutual(const struct gnn_reach *reach, uint32_t index, uint32_t position);

/* Returns a member of the class other than `own`, drawn by popularity for a list of `degree` entries. `place` in [0, 1)
 * is the entry's position in the list; it spreads the list's entries over the runs. `bits` are 32 random bits. */
uint32_t gnn_reach_source(const struct gnn_reach *reach, uint32_t own, uint32_t class, uint32_t degree, double place,
                          uint32_t bits);
/* Returns a training node of the class other than `own`, or GNN_NODE_NONE if there is none. All are equally likely. */
uint32_t gnn_reach_train_source(const struct gnn_reach *reach, uint32_t own, uint32_t class, uint32_t bits);

#endif
