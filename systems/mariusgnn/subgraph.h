/* SPDX-License-Identifier: MIT */
/* The resident subgraph: the nodes of the partitions in the buffer, under local IDs, and all edges between them. Edges
 * are stored twice, sorted by either end (section 4.1 of the paper). Threads may read it while no thread builds it.
 *
 * Local IDs slot * rows_per_slot + row. Local IDs of an empty slot, or past the end of the shorter last partition, have
 *          no edges and are never neighbours.
 * Order    A list is sorted by the partition of the other end, ascending, then by the order of the bucket's file. So a
 *          node's list does not depend on the slots of partitions, nor on when a bucket was read.
 * Multiple Parallel edges of the dataset stay: a list may name a neighbour twice. */
#ifndef MARIUSGNN_SUBGRAPH_H
#define MARIUSGNN_SUBGRAPH_H

#include "harness/oocgnn.h"

/* The input of a sampler. All arrays belong to the owner and stay valid until the next build. */
struct marius_subgraph {
    uint32_t local_count; /* slots * rows_per_slot: every local ID is below it */
    uint64_t edge_count;  /* resident edges: < 2^32 */
    /* By destination: the sources of v are in_nbrs[in_start[v] .. in_start[v + 1]), as in a dataset's neighbour
     * list. */
    const uint32_t *in_start; /* (local_count + 1) */
    const uint32_t *in_nbrs;  /* (edge_count) local IDs */
    /* By source: the destinations of v. NULL if the run samples only in-neighbours. */
    const uint32_t *out_start; /* (local_count + 1) */
    const uint32_t *out_nbrs;  /* (edge_count) */
    const gnn_node *original;  /* (local_count) original IDs: keys of draws, digests, labels; GNN_NODE_NONE: no node */
};

#endif
