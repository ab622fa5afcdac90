/* SPDX-License-Identifier: MIT */
/* How far the lists of neighbours agree, from two-hop trees of single nodes: what lists that are drawn one by one have
 * not, and what lets a mini-batch of few seeds read fewer rows than its entries are. */
#ifndef GNN_STATS_TREES_H
#define GNN_STATS_TREES_H

#include "harness/stats/lists.h"

enum { GNN_TREE_SEEDS = 1024, GNN_TREE_FANOUT = 10 };

struct gnn_trees {
    double mutual; /* share of the roots' neighbours in whose list the root stands */
    double again;  /* share of the second hop's entries that name a node of the tree: root, neighbour or one before */
};

/* Takes min(count, GNN_TREE_SEEDS) of the nodes as roots, GNN_TREE_FANOUT neighbours of each and as many of theirs, or
 * all, and reads one whole list a root; memory is constant. NAN: no root has neighbours. Errors of reads. */
GNN_MUST_CHECK enum gnn_status gnn_trees_measure(struct gnn_lists *lists, const gnn_node *nodes, uint32_t count,
                                                 uint64_t seed, struct gnn_trees *out, struct gnn_err *err);

#endif
