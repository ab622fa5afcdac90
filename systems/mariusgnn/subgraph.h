/* SPDX-License-Identifier: MIT */
/* The resident subgraph: the nodes of the partitions in the buffer, under local IDs, and every edge whose two ends are
 * among them, in two copies sorted by either end (section 4.1 of the paper).
 *
 * Local IDs   slot * rows_per_slot + row. A slot may hold the last, shorter partition, and a slot may be empty: such a
 *             local ID has no edges and is never a neighbour.
 * Order       of a list: by the partition of the other end, ascending, then the order of the bucket's file. So a node's
 *             list does not depend on which slot a partition lies in, nor on when a bucket was read.
 * Parallel edges of the dataset stay: a list may name a neighbour twice.
 * Threads     read by any number while nobody builds. */
#ifndef MARIUSGNN_SUBGRAPH_H
#define MARIUSGNN_SUBGRAPH_H

#include "harness/oocgnn.h"

/* What a sampler sees. All arrays are the owner's and stay valid until the next build. */
struct marius_subgraph {
    uint32_t local_count; /* slots * rows_per_slot: every local ID is below it */
    uint64_t edge_count;  /* resident edges: < 2^32 */
    /* By destination: the sources of v are in_nbrs[in_start[v] .. in_start[v + 1]); a dataset's neighbour list. */
    const uint32_t *in_start; /* (local_count + 1) */
    const uint32_t *in_nbrs;  /* (edge_count) local IDs */
    /* By source: the destinations of v. NULL where the run samples in-neighbours only. */
    const uint32_t *out_start; /* (local_count + 1) */
    const uint32_t *out_nbrs;  /* (edge_count) */
    const gnn_node *original;  /* (local_count) original IDs: keys of draws, digests, labels; GNN_NODE_NONE: no node */
};

#endif
