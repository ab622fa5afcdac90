/* SPDX-License-Identifier: MIT */
/* The contents of the feature cache after every mini-batch of a superbatch whose accesses are all known.
 *
 * Source   Ginex (PVLDB 15(11), 2022): provably optimal caching, Belady's replacement per mini-batch.
 * In       The distinct nodes of each mini-batch. The same lists come three times in the same order.
 * Out      The initial cache and, per mini-batch, the rows that come in and those that they replace.
 * Rule     Candidates are the cached nodes and the batch's. The C candidates with the smallest next access are kept,
 *          ties by ascending node ID. So a row may bypass the cache. Costs are equal, so misses are the fewest possible
 *          (Belady, IBM Systems Journal 5(2), 1966).
 * Memory   ginex_belady_bytes(): 13 bytes a node, 2 an access, 12 a row of the largest batch.
 * Time     Linear in accesses, plus a logarithm per evicted row. The released code counts all candidates again in every
 *          batch (on a GPU). Here each access moves one node from one bucket to another.
 * Buckets  Bucket t holds the cached nodes whose next access is batch t. Each bucket is a pairing heap whose root has
 *          the largest ID, so the victim is the root of the last bucket that is not empty. At batch b, bucket b has
 *          exactly the batch's hits. It is dropped whole, and every node of the batch enters the bucket of its next
 *          access. */
#ifndef GINEX_BELADY_H
#define GINEX_BELADY_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"

enum { GINEX_BATCHES_MAX = 32767 }; /* of a superbatch: batch numbers of 15 bits */

enum ginex_replacement {
    GINEX_REPLACE_BELADY,
    GINEX_REPLACE_LRU,    /* keeps the rows used last, as an online cache does */
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

/* The changes after a batch: in_node[k], at row in_row[k] of the batch's input, takes the slot of out_node[k]. */
struct ginex_changes {
    const gnn_node *in_node;
    const uint32_t *in_row;
    const gnn_node *out_node;
    uint32_t count;
    uint32_t misses; /* rows of this batch that are not in the cache before it */
};

struct ginex_belady; /* one thread at a time */

uint64_t ginex_belady_bytes(const struct ginex_belady_config *config);
/* Opens the inspection of a superbatch. Returns GNN_EUSAGE if accesses or batches exceed their limits, GNN_ENOMEM or
 * GNN_ECAP. The caller must close *out even after an error. */
GNN_MUST_CHECK enum gnn_status ginex_belady_open(struct gnn_world *world, const struct ginex_belady_config *config,
                                                 struct ginex_belady **out, struct gnn_err *err);
void ginex_belady_close(struct ginex_belady *b); /* accepts NULL */

/* Pass 1, for every batch in order: counts accesses. Lists the first distinct nodes in access order in initial
 * (cache_rows), as many as fit, and counts them in *initial_count. With initial NULL nothing is listed. */
void ginex_belady_count(struct ginex_belady *b, const gnn_node *nodes, uint32_t count, gnn_node *initial,
                        uint32_t *initial_count);
/* Between passes 1 and 2: reserves a segment for each node's accesses. */
void ginex_belady_lay_out(struct ginex_belady *b);
/* Pass 2, for every batch in order: records its accesses. */
void ginex_belady_place(struct ginex_belady *b, uint32_t batch, const gnn_node *nodes, uint32_t count);
/* After pass 2: fills the cache with distinct nodes, min(C, N) of them or all that are accessed. */
void ginex_belady_begin(struct ginex_belady *b, const gnn_node *initial, uint32_t initial_count);
/* Pass 3, for every batch in order: computes its changes. They stay valid until the next call. */
void ginex_belady_step(struct ginex_belady *b, uint32_t batch, const gnn_node *nodes, uint32_t count,
                       struct ginex_changes *out);

bool ginex_belady_cached(const struct ginex_belady *b, gnn_node node); /* after the last step */
uint32_t ginex_belady_distinct(const struct ginex_belady *b);          /* nodes with any access; for tests */

#endif
