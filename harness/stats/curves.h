/* SPDX-License-Identifier: MIT */
/* What caches of any size would catch of a sequence of row accesses. A row is one unit; an access either finds it (a
 * hit) or brings it in.
 *
 *   LRU     stack distances (Mattson, Gecsei, Slutz and Traiger, IBM Systems Journal 9(2), 1970): an access hits in a
 *           cache of C rows when fewer than C other rows were used since its row's last use. One walk serves all sizes.
 *   Belady  the row that is used again last goes (IBM Systems Journal 5(2), 1966); one that is used later than all
 *           that are there is not kept at all, so no cache of C rows hits more often. One walk a size.
 *   best    the C rows that the whole sequence uses most often, held from the start: a static cache.
 *
 * Memory comes from the world: 4 B a node and 4.2 B an access at most, beside the sequence. */
#ifndef GNN_STATS_CURVES_H
#define GNN_STATS_CURVES_H

#include "harness/world/world.h"

struct gnn_accesses {
    const gnn_node *rows; /* (count), each below node_count */
    uint64_t count;       /* below 2^32 - 1 */
    uint32_t node_count;
};

/* hits[i]: of all accesses, those that a cache of sizes[i] rows catches. sizes ascend. */
GNN_MUST_CHECK enum gnn_status gnn_lru_hits(struct gnn_world *world, const struct gnn_accesses *accesses,
                                            const uint64_t *sizes, uint32_t size_count, uint64_t *hits,
                                            struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_belady_hits(struct gnn_world *world, const struct gnn_accesses *accesses,
                                               const uint64_t *sizes, uint32_t size_count, uint64_t *hits,
                                               struct gnn_err *err);

/* What the same caches of sizes[i] rows bring in, by part of the sequence: misses[i * part_count + p], the accesses of
 * part p that find nothing. ends[p] is the position behind part p; ends ascend, the last one is count. Their sum is the
 * least that any cache of that size brings in; a part's share is no bound of its own, since another cache may bring in
 * less there and more elsewhere. */
GNN_MUST_CHECK enum gnn_status gnn_belady_misses(struct gnn_world *world, const struct gnn_accesses *accesses,
                                                 const uint64_t *sizes, uint32_t size_count, const uint64_t *ends,
                                                 uint32_t part_count, uint64_t *misses, struct gnn_err *err);

/* Sorts values (count) from the largest down; scratch (count). */
void gnn_sort_falling(uint32_t *values, uint32_t *scratch, uint64_t count);

#endif
