/* SPDX-License-Identifier: MIT */
/* The agreement of neighbour lists, from two-hop trees of single nodes. Lists that are drawn independently have none.
 * It lets a mini-batch of few seeds read fewer rows than it has entries. */
#ifndef GNN_STATS_TREES_H
#define GNN_STATS_TREES_H

#include "harness/stats/lists.h"

enum { GNN_TREE_SEEDS = 1024, GNN_TREE_FANOUT = 10 };

struct gnn_trees {
    double mutual; /* share of the roots that are in the list of a sampled neighbour, one per root */
    double again; /* share of the second hop's entries that name a node of the tree: root, neighbour or earlier entry */
};

/* Takes min(count, GNN_TREE_SEEDS) of the nodes as roots. Draws at most GNN_TREE_FANOUT neighbours of each root, and of
 * each of those. Reads one whole list per root; memory is constant. A field is NAN if no root has neighbours. Returns
 * errors of reads. */
GNN_MUST_CHECK enum gnn_status gnn_trees_measure(struct gnn_lists *lists, const gnn_node *nodes, uint32_t count,
                                                 uint64_t seed, struct gnn_trees *out, struct gnn_err *err);

#endif
