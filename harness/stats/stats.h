/* SPDX-License-Identifier: MIT */
/* Statistics of a graph that matter for out-of-core training. They cover its lists, the nodes in them and the reachable
 * set. They also cover the reads of a mini-batch and cache hits.
 *
 * Reads. The lists are read once from end to end, and those of reached nodes a second time, in the order of their IDs.
 * Mini-batches fault the pages that they draw from. So do the trees (trees.h), at most 1024 of 111 nodes.
 *
 * Memory. At most 37 B per node, a mini-batch's own, and 8.2 B for each kept access (`accesses_max`). The 37 B are
 * offsets 8, labels 4, counts and their order 16, seeds and theirs 8, and sets. `mixing` uses 32 B per node more. All
 * of it is memory of the world, so a memory limit holds.
 *
 * Seeds. Training nodes are the seeds. In a graph without them, such as a knowledge graph, every node is a seed. */
#ifndef GNN_STATS_H
#define GNN_STATS_H

#include "harness/base/option.h"
#include "harness/graph/degree_law.h"
#include "harness/stats/lists.h"
#include "harness/stats/trees.h"

#include <stdatomic.h>

#define GNN_STATS_UNCOUNTED UINT64_MAX

enum { GNN_STATS_QUANTILES = 7, GNN_STATS_SHARES = 11 };

/* The quantiles, and the shares of the nodes that a cache holds, ascending to 1. */
extern const double gnn_stats_quantiles[GNN_STATS_QUANTILES];
extern const double gnn_stats_shares[GNN_STATS_SHARES];

struct gnn_stats_config {
    uint64_t seed;
    uint32_t batch_size;
    struct gnn_u32_list fanout; /* from the seeds outward */
    uint32_t epochs;            /* epochs to sample; 0: none, and the fields that need samples stay unknown */
    uint32_t batches;           /* largest number per epoch; 0 = all */
    uint64_t accesses_max;      /* accesses kept for LRU and Belady, from the first on; below 2^32 - 1 */
    uint64_t window_bytes;      /* of a window of the feature file */
    bool lists;                 /* false: lists are not read, so the nodes in them and the reachable set stay unknown */
    bool mixing;                /* measures which nodes long and short lists name, for a recipe; requires lists */
    const atomic_bool *stop;    /* NULL: never stops */
};

/* Distribution of a number over nodes. */
struct gnn_spread {
    uint64_t nodes;
    double mean, zero; /* zero: share of the nodes whose number is 0 */
    uint32_t max, quantile[GNN_STATS_QUANTILES];
    double best[GNN_STATS_SHARES]; /* share of the sum that the largest gnn_stats_shares of the nodes have */
    struct gnn_rank_law law;       /* the numbers in falling order, in fine steps */
};

struct gnn_cache_hits {
    double best, lru, belady; /* shares of the accesses; NAN: unknown */
};

/* Statistics. Shares are between 0 and 1, and refer to all nodes unless a comment states otherwise. NAN: not
 * counted. */
struct gnn_stats {
    struct gnn_spread lists;         /* neighbours of a node */
    struct gnn_spread train_lists;   /* of a training node, ... */
    struct gnn_spread reach_lists;   /* ... of another node of the reachable set, ... */
    struct gnn_spread rest_lists;    /* ... of a node outside it */
    uint64_t isolated;               /* nodes without edges; GNN_STATS_UNCOUNTED if lists are not read */
    struct gnn_spread sources;       /* how often a node is a neighbour */
    struct gnn_spread reach_sources; /* how often a reachable node is in the list of a reachable node */
    double same_class; /* share of the entries of reachable nodes' lists, both ends labelled, that join a class */
    double coupling; /* of list length and popularity of reachable nodes: 1, they agree; 0, independent; -1, opposed */
    struct gnn_mixing mixing; /* of reach_sources.law */
    struct gnn_trees trees;   /* of training nodes */

    double hop[GNN_LAYERS_MAX + 1]; /* share of the nodes within that number of hops of a training node */
    double reach;                   /* ... within any number of hops: the reachable set */
    uint32_t reach_hops;            /* the number of hops that suffices */
    uint64_t windows, windows_reached;

    uint64_t batches, accesses;
    double rows, edges;             /* mean over full mini-batches, or over all if none is full */
    double touched_first, touched;  /* share of the nodes in the first epoch's mini-batches, in all epochs' */
    double next_epoch;              /* share of the second epoch's accesses whose row the first epoch accessed */
    struct gnn_spread row_accesses; /* accesses of a node, over all mini-batches */
    uint64_t accesses_kept;
    struct gnn_cache_hits hits[GNN_STATS_SHARES];
};

/* Measures the statistics. Returns GNN_EUSAGE for an invalid fan-out or size, GNN_ECANCELLED if stop was set, and
 * errors of reads and memory. */
GNN_MUST_CHECK enum gnn_status gnn_stats_measure(struct gnn_world *world, struct gnn_lists *lists,
                                                 const struct gnn_stats_config *config, struct gnn_stats *out,
                                                 struct gnn_err *err);

/* Fills spread from values (count) and sorts values in falling order. scratch: (count). */
void gnn_spread_of(uint32_t *values, uint32_t *scratch, uint64_t count, struct gnn_spread *spread);

#endif
