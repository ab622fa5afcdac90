/* SPDX-License-Identifier: MIT */
/* Mutual lists of a generated graph: u is in v's list as often as v is in u's. Neighbours of a node are neighbours of
 * each other, as in undirected graphs. This is a configuration model of cliques (Newman 2009, "Random graphs with
 * clustering"). Each entry is computed when it is requested.
 *
 * A list consists of clique entries and pair entries. The share `clique_share` comes from cliques of 4, 10, 28 or 82
 * members, as the list's length allows. The other entries come from pairs, which are cliques of two. A member's places
 * in cliques are its stubs. The stubs of one class and one clique size are numbered by falling list length. A
 * permutation (permute.h) shuffles the numbers, and stubs that become adjacent form a clique. A share of the stubs is
 * shuffled within the class, the others among all classes, so that a share `homophily` of the edges stays in a class.
 * Every step from an entry to its stub, to the clique's other stubs and to their owners has bounded cost. Permutations
 * are computed in both directions. Owners are found in tables with one line per length of lists.
 *
 * A node is in as many places of other lists as its own list has entries. It may meet another node twice, by chance. It
 * may also meet itself, or remain after the last complete clique of a size. In these two cases the entry is the next
 * member of the node's class. Such an entry is not mutual.
 *
 * Members are numbered as the splits are cut: 0 .. train_count - 1 are the training nodes. Internal to harness/graph/.
 * Immutable after open. */
#ifndef GNN_GRAPH_MUTUAL_H
#define GNN_GRAPH_MUTUAL_H

#include "harness/graph/degree_law.h"

struct gnn_mutual_config {
    uint64_t seed;
    uint32_t count;       /* members: at least two per class */
    uint32_t train_count; /* members with lengths from train_lists, the first ones; 0: none */
    uint32_t class_count;
    double homophily;
    double clique_share;                              /* [0, 1] of the entries; 0: pairs only */
    const struct gnn_degree_law *lists, *train_lists; /* borrowed until close */
};

struct gnn_mutual;

/* Opens the lists, or returns GNN_EUSAGE if the entries of a class and clique size, or between classes, exceed 32
 * bits. */
GNN_MUST_CHECK enum gnn_status gnn_mutual_open(const struct gnn_mutual_config *config, struct gnn_mutual **out,
                                               struct gnn_err *err);
void gnn_mutual_close(struct gnn_mutual *mutual); /* accepts NULL */

uint32_t gnn_mutual_class(const struct gnn_mutual *mutual, uint32_t member);
uint32_t gnn_mutual_degree(const struct gnn_mutual *mutual, uint32_t member);
/* Returns the member at a position of the member's list. The position is below its degree. */
uint32_t gnn_mutual_neighbour(const struct gnn_mutual *mutual, uint32_t member, uint32_t position);

#endif
