/* SPDX-License-Identifier: MIT */
/* The batch digest: a sum, over every sampled edge, of a hash of (epoch, batch, layer, destination, source). A
 * destination without neighbours counts as an edge from GNN_NODE_NONE. Nodes count by their original IDs, layer is the
 * block's index. The sum does not depend on the order of edges or on local IDs. */
#ifndef GNN_SAMPLE_DIGEST_H
#define GNN_SAMPLE_DIGEST_H

#include "harness/base/rng.h"
#include "harness/oocgnn.h"

/* Version of the digest. Records have it, because digests of two versions cannot be compared. In version 1,
 * destinations without neighbours did not count. */
enum { GNN_DIGEST_VERSION = 2 };

/* Returns the key of a block, from which gnn_digest_row_key makes the key of one of its targets. */
static inline uint64_t gnn_digest_layer_key(uint64_t epoch, uint64_t batch, uint32_t layer)
{
    return gnn_rng_fold(gnn_rng_fold(gnn_rng_fold(0, epoch), batch), layer);
}

static inline uint64_t gnn_digest_row_key(uint64_t layer_key, gnn_node original_dst)
{
    return gnn_rng_fold(layer_key, original_dst);
}

/* Returns what one edge adds to the digest. */
static inline uint64_t gnn_digest_edge(uint64_t row_key, gnn_node original_src)
{
    return gnn_splitmix64_at(row_key, original_src);
}

/* Returns what a destination without neighbours adds to the digest. */
static inline uint64_t gnn_digest_lonely(uint64_t row_key)
{
    return gnn_digest_edge(row_key, GNN_NODE_NONE);
}

#endif
