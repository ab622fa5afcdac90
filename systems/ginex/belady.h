/* SPDX-License-Identifier: MIT */
/* Which rows the feature cache should hold after every mini-batch of a superbatch whose accesses are all known.
 *
 * Source   Ginex (PVLDB 15(11), 2022): provably optimal caching, Belady's replacement at mini-batch granularity
 * In       per mini-batch its distinct nodes; three times the same lists in the same order
 * Out      the initial cache; per mini-batch the rows that come in and those that make room
 * Rule     candidates are the cached nodes and the batch's; kept are the C with the smallest next access, ties by
 *          ascending node ID: a row may pass the cache by. Unit cost, so misses are the least possible
 *          (Belady, IBM Systems Journal 5(2), 1966)
 * Memory   ginex_belady_bytes(): 13 bytes a node, 2 an access, 12 a row of the largest batch
 * Time     linear in accesses, plus log per row thrown out. The released code recounts all candidates in every batch
 *          (on a GPU); here each access moves one node from one bucket to another. Bucket t holds the cached nodes
 *          whose next access is batch t; each bucket is a pairing heap whose root has the largest ID, so a victim is
 *          the root of the last bucket that is not empty, and bucket b at batch b is exactly the batch's hits: it is
 *          dropped whole, and every node of the batch enters the bucket of its next access. */
#ifndef GINEX_BELADY_H
#define GINEX_BELADY_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"

enum { GINEX_BATCHES_MAX = 32767 }; /* of a superbatch: batch numbers of 15 bits */

enum ginex_replacement {
    GINEX_REPLACE_BELADY,
    GINEX_REPLACE_LRU,    /* keeps the rows used last: what an online cache would do */
    GINEX_REPLACE_STATIC, /* keeps the initial cache */
};

struct ginex_belady_config {
    uint32_t node_count;
    uint32_t cache_rows; /* C >= 1 */
    uint32_t batches;    /* of the superbatch, 1 .. GINEX_BATCHES_MAX */
    uint64_t accesses;   /* sum of the batches' nodes, < 2^32 - 1 */
    uint32_t batch_nodes_max;
    enum ginex_replacement policy;
};

/* What changes after a batch: in_node[k] at row in_row[k] of the batch's input takes the slot of out_node[k]. */
struct ginex_changes {
    const gnn_node *in_node;
    const uint32_t *in_row;
    const gnn_node *out_node;
    uint32_t count;
    uint32_t misses; /* rows of this batch that are not in the cache when it comes */
};

struct ginex_belady; /* one thread at a time */

uint64_t ginex_belady_bytes(const struct ginex_belady_config *config);
/* GNN_EUSAGE when accesses or batches exceed their limits, GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status ginex_belady_open(struct gnn_world *world, const struct ginex_belady_config *config,
                                                 struct ginex_belady **out, struct gnn_err *err);
void ginex_belady_close(struct ginex_belady *b); /* accepts NULL */

/* Pass 1, every batch in order: counts accesses. initial (cache_rows) gets the first distinct nodes in access order, as
 * many as fit; *initial_count of them. NULL: the caller has an initial cache of its own. */
void ginex_belady_count(struct ginex_belady *b, const gnn_node *nodes, uint32_t count, gnn_node *initial,
                        uint32_t *initial_count);
/* Between the passes: gives every node room for its accesses. */
void ginex_belady_lay_out(struct ginex_belady *b);
/* Pass 2, every batch in order: enters the accesses themselves. */
void ginex_belady_place(struct ginex_belady *b, uint32_t batch, const gnn_node *nodes, uint32_t count);
/* After pass 2: fills the cache with these nodes (distinct; min(C, N) of them unless they are all that is accessed). */
void ginex_belady_begin(struct ginex_belady *b, const gnn_node *initial, uint32_t initial_count);
/* Pass 3, every batch in order. The changes stay valid until the next call. */
void ginex_belady_step(struct ginex_belady *b, uint32_t batch, const gnn_node *nodes, uint32_t count,
                       struct ginex_changes *out);

bool ginex_belady_cached(const struct ginex_belady *b, gnn_node node); /* after the last step */
uint32_t ginex_belady_distinct(const struct ginex_belady *b);          /* nodes accessed at all; for tests */

#endif
