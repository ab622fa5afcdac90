/* SPDX-License-Identifier: MIT */
/* Random small graphs in memory, as a dataset without files: zero-degree nodes, short lists, and a few long
 * ones. */
#ifndef GNN_TESTS_SMALL_GRAPH_H
#define GNN_TESTS_SMALL_GRAPH_H

#include "harness/graph/dataset.h"

struct small_graph {
    struct gnn_dataset dataset; /* indptr, counts and name; no features, labels, splits or paths */
    uint64_t *indptr;
    gnn_node *indices; /* distinct and ascending inside each list */
};

void small_graph_open(struct small_graph *graph, uint64_t seed, uint32_t node_count);

/* The same graph under new names: node v becomes new_id[v] (a random permutation), every list keeps its
 * order. original_id (node_count) receives the way back. */
void small_graph_renumber(const struct small_graph *from, uint64_t seed, struct small_graph *out,
                          gnn_node *original_id);

void small_graph_close(struct small_graph *graph);

#endif
