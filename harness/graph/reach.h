/* SPDX-License-Identifier: MIT */
/* The closed reach of a generated graph: a set K of its nodes that holds every training, validation and test node, and
 * whose lists hold nodes of K alone, so that no mini-batch leaves it. README.md of harness/dataset states the laws and
 * why what a cache catches depends on the scale no more. Internal to harness/graph/. Immutable after open.
 *
 * Members have an index 0 .. count - 1, in the order of their IDs: member i lies at a hashed place in the i-th of
 * `count` equal intervals, which share out the first `spread` of the IDs. Classes are given to indices
 * (class_groups.h). The members of one class are cut into runs of RUN to 2 RUN members; inside a run an affine map with
 * a hashed offset gives each member a rank, and runs that agree in it are ordered by another one. Rank / length is the
 * member's quantile of popularity, at any scale: what is drawn by quantiles is drawn alike in a graph of any size. The
 * same map, or another one, gives its quantile of the degrees, so the two go together or not.
 *
 * All of it is O(1) in either direction, index to quantile (degrees) and quantile to index (neighbours). */
#ifndef GNN_GRAPH_REACH_H
#define GNN_GRAPH_REACH_H

#include "harness/graph/procedural.h"

struct gnn_reach;

/* config->reach.share is above 0 and every parameter inside its limits. GNN_EUSAGE: too few members for the classes, or
 * for the training nodes, or no such degrees. */
GNN_MUST_CHECK enum gnn_status gnn_reach_open(const struct gnn_procedural_config *config, struct gnn_reach **out,
                                              struct gnn_err *err);
void gnn_reach_close(struct gnn_reach *reach); /* accepts NULL */

uint32_t gnn_reach_count(const struct gnn_reach *reach);
uint32_t gnn_reach_degree_max(const struct gnn_reach *reach);
/* Entries of the members' lists, on average. */
double gnn_reach_edges(const struct gnn_reach *reach);

gnn_node gnn_reach_node(const struct gnn_reach *reach, uint32_t index);
/* GNN_NODE_NONE: not a member. */
uint32_t gnn_reach_index(const struct gnn_reach *reach, gnn_node node);
/* The first member whose ID is not below `node`; count: none. */
uint32_t gnn_reach_from(const struct gnn_reach *reach, gnn_node node);

uint32_t gnn_reach_class(const struct gnn_reach *reach, uint32_t index);
/* Whether it is a training, validation or test node. */
bool gnn_reach_is_split(const struct gnn_reach *reach, uint32_t index);
uint32_t gnn_reach_degree(const struct gnn_reach *reach, uint32_t index);

/* Whether lists are mutual (mutual.h): their entries are gnn_reach_mutual's, otherwise gnn_reach_source's. */
bool gnn_reach_is_mutual(const struct gnn_reach *reach);
/* The member at a position of index's list. */
uint32_t gnn_reach_mutual(const struct gnn_reach *reach, uint32_t index, uint32_t position);

/* A member of the class other than `own`, by popularity, for a list of `degree` entries. `place` in [0, 1): where in it
 * the entry stands, so that its entries are spread over the runs; bits: 32 random ones. */
uint32_t gnn_reach_source(const struct gnn_reach *reach, uint32_t own, uint32_t class, uint32_t degree, double place,
                          uint32_t bits);

#endif
