/* SPDX-License-Identifier: MIT */
/* A row cache: partitions of equal size, each with its own policy state (policy.h), and memory for their rows. A node
 * belongs to one partition. Slots are numbered over all partitions. It moves no rows; copy.c does.
 *
 * Source   dmlc/dgl, graphbolt/src/partitioned_cache_policy.cc
 * Threads  Each partition is used by one thread at a time. */
#ifndef GRAPHBOLT_CACHE_H
#define GRAPHBOLT_CACHE_H

#include "harness/base/rng.h"
#include "harness/world/world.h"
#include "systems/graphbolt/policy.h"

enum { GRAPHBOLT_PARTS_MAX = 256, GRAPHBOLT_PART_ROWS_MIN = 10 };

struct graphbolt_cache_config {
    enum graphbolt_policy_kind policy;
    uint32_t node_count;
    uint32_t rows;
    uint32_t parts; /* at least 1, at most rows / GRAPHBOLT_PART_ROWS_MIN */
};

struct graphbolt_cache {
    struct gnn_world *world;
    struct graphbolt_cache_config config;
    struct graphbolt_part *part;   /* (parts) */
    struct graphbolt_entry *entry; /* (rows) */
    uint32_t *where;               /* (node_count) */
    gnn_node *ghosts;              /* (rows) of S3-FIFO; else NULL */
};

/* Counts of lookups since open. */
struct graphbolt_cache_counts {
    uint64_t evictions, steps;
};

/* Returns the bytes of the tables, without rows, for memory plans. */
uint64_t graphbolt_cache_table_bytes(const struct graphbolt_cache_config *config);
/* Opens the tables of an empty cache. GNN_ENOMEM, GNN_ECAP. *out is the caller's to close, even then. */
GNN_MUST_CHECK enum gnn_status graphbolt_cache_open(struct gnn_world *world,
                                                    const struct graphbolt_cache_config *config,
                                                    struct graphbolt_cache **out, struct gnn_err *err);
void graphbolt_cache_close(struct graphbolt_cache *cache); /* accepts NULL */
/* Forgets all rows, uses and counts. For an epoch that failed: rows that it inserted may not have been read. */
void graphbolt_cache_clear(struct graphbolt_cache *cache);

/* Returns the partition of a node. */
static inline uint32_t graphbolt_part_of(uint32_t parts, gnn_node node)
{
    return (uint32_t)((gnn_mix64(node + GNN_RNG_GOLDEN) >> 32) * parts >> 32);
}
/* Returns the first slot of a partition; that of partition `parts` is the number of rows. */
static inline uint32_t graphbolt_first_slot(const struct graphbolt_cache_config *config, uint32_t part)
{
    return (uint32_t)((uint64_t)config->rows * part / config->parts);
}

/* As graphbolt_part_take and graphbolt_part_complete, with a slot of the cache instead of an entry. `part` is the
 * node's partition. complete ignores results of other partitions. */
uint32_t graphbolt_cache_take(struct graphbolt_cache *cache, uint32_t part, gnn_node node);
void graphbolt_cache_complete(struct graphbolt_cache *cache, uint32_t part, uint32_t taken);
void graphbolt_cache_counts(const struct graphbolt_cache *cache, struct graphbolt_cache_counts *out);
/* Returns the slots in use, over all partitions; 0 between two epochs. */
uint64_t graphbolt_cache_busy(const struct graphbolt_cache *cache);

#endif
