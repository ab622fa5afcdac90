/* SPDX-License-Identifier: MIT */
/* Mutual lists of a generated graph: u stands in v's list as often as v in u's, and neighbours of a node are neighbours
 * of each other, as in undirected graphs. A configuration model of cliques (Newman 2009, "Random graphs with
 * clustering"), computed where it is asked for.
 *
 * A member with a list of d entries has a share of them, `clique_share`, from cliques of 4, 10, 28 or 82 members, as d
 * allows, and the others from pairs, which are cliques of two. Its places in cliques are its stubs; the stubs of one
 * class and one size of clique are numbered in the order of falling lengths, a permutation (permute.h) shuffles the
 * numbers, and those that come to lie side by side are a clique. A share of the stubs is shuffled within the class,
 * such that edges stay in it as often as `homophily` says, the others among all classes. From an entry to its stub,
 * from there to the clique's other stubs and to their owners every step has a bounded cost: permutations are computed
 * in both directions, owners are found in tables of as many lines as there are lengths of lists.
 *
 * A node has as many places in others' lists as its own has entries. By chance it may meet another node twice, or
 * itself, or be left over beside the last clique of a size; in the latter cases its list has the next member of its
 * class instead, and that entry alone is not mutual.
 *
 * Members are numbered as the splits are cut (0 .. train_count - 1 are the training nodes). Internal to harness/graph/.
 * Immutable after open. */
#ifndef GNN_GRAPH_MUTUAL_H
#define GNN_GRAPH_MUTUAL_H

#include "harness/graph/degree_law.h"

struct gnn_mutual_config {
    uint64_t seed;
    uint32_t count;       /* members: at least two a class */
    uint32_t train_count; /* those that train_lists speak of, the first ones; 0: none */
    uint32_t class_count;
    double homophily;
    double clique_share;                              /* [0, 1]; 0: pairs alone */
    const struct gnn_degree_law *lists, *train_lists; /* kept */
};

struct gnn_mutual;

/* GNN_EUSAGE: more entries than 32 bits number. */
GNN_MUST_CHECK enum gnn_status gnn_mutual_open(const struct gnn_mutual_config *config, struct gnn_mutual **out,
                                               struct gnn_err *err);
void gnn_mutual_close(struct gnn_mutual *mutual); /* accepts NULL */

uint32_t gnn_mutual_class(const struct gnn_mutual *mutual, uint32_t member);
uint32_t gnn_mutual_degree(const struct gnn_mutual *mutual, uint32_t member);
/* The member at a position of member's list, which is below its degree. */
uint32_t gnn_mutual_neighbour(const struct gnn_mutual *mutual, uint32_t member, uint32_t position);

#endif
