/* SPDX-License-Identifier: MIT */
/* A knowledge graph without storage: edge i is a pure function of (seed, i), in constant time, and there is something
 * to learn in it.
 *
 * Nodes form classes in `facets` ways: in facet f, class c holds the nodes at positions [c N / C, (c + 1) N / C) of a
 * permutation of its own. A relation belongs to one facet and joins nodes of one class of it, each end drawn as u^2 of
 * the class, so that some nodes have many edges; a share `noise` of the targets is any node. Relations are drawn as u^2
 * too. So a decoder that learns the classes of each facet ranks a true end among those of its class, and a node's
 * neighbours tell its class. Immutable: any thread may call. */
#ifndef GNN_GRAPH_KNOWLEDGE_H
#define GNN_GRAPH_KNOWLEDGE_H

#include "harness/base/link_view.h"

enum { GNN_KNOWLEDGE_FACETS = 8, GNN_KNOWLEDGE_CLASS_NODES = 32 };

struct gnn_knowledge {
    uint32_t node_count, relation_count;
    double noise; /* [0, 1] */
    uint64_t edge_key, facet_key[GNN_KNOWLEDGE_FACETS];
};

/* At least one node and one relation. */
void gnn_knowledge_init(struct gnn_knowledge *graph, uint64_t seed, uint32_t nodes, uint32_t relations, double noise);
struct gnn_triple gnn_knowledge_edge(const struct gnn_knowledge *graph, uint64_t index);
/* The class that a node has in the facet of a relation: two ends of an edge without noise share it. */
uint32_t gnn_knowledge_classes(const struct gnn_knowledge *graph);

#endif
