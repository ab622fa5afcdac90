/* The feature cache and its index table, for one hyperbatch (AGNES, KDD 2026, sections 3.2 (2) and 3.4 (2)): rows that
 * many of its mini-batches need stay in memory, C of them.
 *
 * Life     open -> per hyperbatch: clear, count (all mini-batches), place, put and find -> close
 * Memory   C rows; 4 bytes a node: one array holds the counts, and after place the cache slots of those nodes that got
 *          one (the released code has an array for each)
 * Threads  count and put may run on many workers at once: put only for different nodes. */
#ifndef AGNES_FEATURE_CACHE_H
#define AGNES_FEATURE_CACHE_H

#include "systems/agnes/agnes.h"

struct agnes_feature_cache;

/* setup outlives it. GNN_ENOMEM, GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status agnes_feature_cache_open(const struct agnes_setup *setup,
                                                        struct agnes_feature_cache **out, struct gnn_err *err);
void agnes_feature_cache_close(struct agnes_feature_cache *cache); /* accepts NULL */

void agnes_feature_cache_clear(struct agnes_feature_cache *cache);
/* Adds one access to each node. */
void agnes_feature_cache_count(struct agnes_feature_cache *cache, const agnes_node *nodes, uint32_t count);
/* Gives the nodes that agnes.cache_rank prefers their slots. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status agnes_feature_cache_place(struct agnes_feature_cache *cache, struct gnn_err *err);

/* Copies the row of a node that has a slot, unless it is there already; counts in *copied. Returns false if the node
 * has no slot. */
bool agnes_feature_cache_put(struct agnes_feature_cache *cache, agnes_node v, const void *row, uint64_t *copied);
/* Returns the row of a node that has a slot and was put; NULL: it has none. */
const void *agnes_feature_cache_find(const struct agnes_feature_cache *cache, agnes_node v);

#endif
