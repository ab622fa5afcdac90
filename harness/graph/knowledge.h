/* SPDX-License-Identifier: MIT */
/* A knowledge graph without storage: edge i is a pure function of (seed, i), in constant time. Its edges have a
 * structure that a model can learn.
 *
 * Nodes are divided into classes in `facets` ways. In facet f, class c holds the nodes at positions [c N / C, (c + 1) N
 * / C) of the facet's own permutation. A relation belongs to one facet and joins nodes of one class of it. Each end is
 * drawn as u^2 of the class, so that some nodes have many edges. A share `noise` of the targets is drawn from all
 * nodes. Relations are drawn as u^2, too. A decoder that learns the classes of each facet ranks a true end among the
 * nodes of its class. The neighbours of a node reveal its class. Immutable: any thread may call. */
#ifndef GNN_GRAPH_KNOWLEDGE_H
#define GNN_GRAPH_KNOWLEDGE_H

#include "harness/base/link_view.h"

enum { GNN_KNOWLEDGE_FACETS = 8, GNN_KNOWLEDGE_CLASS_NODES = 32 };

struct gnn_knowledge {
    uint32_t node_count, relation_count;
    double noise; /* [0, 1] */
    uint64_t edge_key, facet_key[GNN_KNOWLEDGE_FACETS];
};

/* Initialises a graph. nodes and relations are at least 1, noise is in [0, 1]. */
void gnn_knowledge_init(struct gnn_knowledge *graph, uint64_t seed, uint32_t nodes, uint32_t relations, double noise);
struct gnn_triple gnn_knowledge_edge(const struct gnn_knowledge *graph, uint64_t index);
/* Returns the number of classes of a facet. The two ends of an edge without noise share the class of the relation's
 * facet. */
uint32_t gnn_knowledge_classes(const struct gnn_knowledge *graph);

#endif
