/* SPDX-License-Identifier: MIT */
/* What a graph is like for out-of-core training, counted: its lists, who is in them, what training reaches, what a
 * mini-batch reads and what caches of any size catch of it.
 *
 * Out of core: the lists are read once from end to end, and those of the reached nodes once more, in the order of
 * their IDs; mini-batches fault what they draw, and so do the trees (trees.h), 1024 of 111 nodes at most. In memory
 * are 37 B a node at most (offsets 8, labels 4, counts and their order 16, seeds and theirs 8, sets), a mini-batch's
 * own, and 8.2 B for each access of the sampled sequence that is kept for the caches' curves (`accesses_max`).
 * `mixing` takes 32 B a node more. All of it is memory of the world, so a limit on that is kept.
 *
 * Training nodes are the seeds; a graph that has none, such as a knowledge graph, takes every node. */
#ifndef GNN_STATS_H
#define GNN_STATS_H

#include "harness/base/option.h"
#include "harness/graph/degree_law.h"
#include "harness/stats/lists.h"
#include "harness/stats/trees.h"

#include <stdatomic.h>

enum { GNN_STATS_QUANTILES = 7, GNN_STATS_SHARES = 11 };

/* 1, 10, 25, 50, 75, 90 and 99 % of the nodes, and the shares of the nodes that a cache holds, ascending to 1. */
extern const double gnn_stats_quantiles[GNN_STATS_QUANTILES];
extern const double gnn_stats_shares[GNN_STATS_SHARES];

struct gnn_stats_config {
    uint64_t seed;
    uint32_t batch_size;
    struct gnn_u32_list fanout; /* from the seeds outward */
    uint32_t epochs;            /* sampled; 0: none, and what follows from samples is unknown */
    uint32_t batches;           /* of an epoch at most; 0 = all */
    uint64_t accesses_max;      /* kept for LRU and Belady, from the first on; below 2^32 - 1 */
    uint64_t window_bytes;      /* of the feature file */
    bool lists;                 /* false: lists are not walked, so who is in them and the reach stay unknown */
    bool mixing;                /* whom long and short lists name, for a recipe; takes the lists */
    const atomic_bool *stop;    /* NULL: never */
};

/* Numbers of one kind over nodes. */
struct gnn_spread {
    uint64_t nodes;
    double mean, zero; /* share of the nodes that have 0 */
    uint32_t max, quantile[GNN_STATS_QUANTILES];
    double best[GNN_STATS_SHARES]; /* share of the sum that the first gnn_stats_shares of the nodes have */
    struct gnn_rank_law law;       /* the same in falling order, closely */
};

struct gnn_cache_hits {
    double best, lru, belady; /* shares of the accesses; NAN: unknown */
};

/* Shares are of 1, and of all nodes where nothing else is said. What was not counted is NAN. */
struct gnn_stats {
    struct gnn_spread lists;         /* neighbours of a node */
    struct gnn_spread train_lists;   /* of a training node, ... */
    struct gnn_spread reach_lists;   /* ... of another one of the reach, ... */
    struct gnn_spread rest_lists;    /* ... of one outside it */
    struct gnn_spread sources;       /* how often a node is a neighbour */
    struct gnn_spread reach_sources; /* how often one of the reach stands in a list of the reach */
    double same_class; /* share of the entries of the reach's lists, both ends labelled, that join a class */
    double coupling;   /* of list and popularity in the reach: 1, they go together; 0, independent; -1, opposed */
    struct gnn_mixing mixing; /* of reach_sources.law */
    struct gnn_trees trees;   /* of training nodes */

    double hop[GNN_LAYERS_MAX + 1]; /* nodes within so many hops of a training node */
    double reach;                   /* ... within any number */
    uint32_t reach_hops;            /* the number that suffices */
    uint64_t windows, windows_reached;

    uint64_t batches, accesses;
    double rows, edges;             /* of a whole mini-batch, or of those there are where none is whole */
    double touched_first, touched;  /* nodes of the first epoch's mini-batches, of all epochs' */
    double next_epoch;              /* share of the second epoch's accesses whose row the first one touched */
    struct gnn_spread row_accesses; /* of a node, over all mini-batches */
    uint64_t accesses_kept;
    struct gnn_cache_hits hits[GNN_STATS_SHARES];
};

/* GNN_EUSAGE for a fan-out or sizes that cannot be; GNN_ECANCELLED when stop was raised; errors of reads and memory. */
GNN_MUST_CHECK enum gnn_status gnn_stats_measure(struct gnn_world *world, struct gnn_lists *lists,
                                                 const struct gnn_stats_config *config, struct gnn_stats *out,
                                                 struct gnn_err *err);

/* Fills spread from values (count), which are sorted by it; scratch (count). */
void gnn_spread_of(uint32_t *values, uint32_t *scratch, uint64_t count, struct gnn_spread *spread);

#endif
