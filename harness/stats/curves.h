/* SPDX-License-Identifier: MIT */
/* The hits of caches of any size in a sequence of row accesses. A row is one unit. An access finds its row (a hit) or
 * brings it in.
 *
 *   `LRU`     Stack distances (Mattson, Gecsei, Slutz and Traiger, IBM Systems Journal 9(2), 1970). An access hits in a
 *             cache of C rows if fewer than C other rows were used since its row's last use. One pass for all sizes.
 *   `Belady`  The row with the latest next use is evicted (IBM Systems Journal 5(2), 1966). A row whose next use is
 *             after those of all cached rows is not kept. So no cache of C rows hits more often. One pass per size.
 *   `best`    The C rows with the most uses in the whole sequence. They are held from the start.
 *
 * Memory comes from the world: at most 4 B per node and 4.2 B per access, in addition to the sequence. */
#ifndef GNN_STATS_CURVES_H
#define GNN_STATS_CURVES_H

#include "harness/world/world.h"

struct gnn_accesses {
    const gnn_node *rows; /* (count), each below node_count */
    uint64_t count;       /* below 2^32 - 1 */
    uint32_t node_count;
};

/* Fill hits[i] with the number of accesses that hit in a cache of sizes[i] rows. sizes ascend. Return errors of
 * memory. */
GNN_MUST_CHECK enum gnn_status gnn_lru_hits(struct gnn_world *world, const struct gnn_accesses *accesses,
                                            const uint64_t *sizes, uint32_t size_count, uint64_t *hits,
                                            struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_belady_hits(struct gnn_world *world, const struct gnn_accesses *accesses,
                                               const uint64_t *sizes, uint32_t size_count, uint64_t *hits,
                                               struct gnn_err *err);

/* Fills misses[i * part_count + p] with the number of accesses in part p that miss in Belady's cache of sizes[i] rows.
 * Part p ends before position ends[p]. Ends ascend, and the last one is count. The sum over the parts is the minimum of
 * any cache of that size. One part alone has no such bound: another cache may miss less there and more elsewhere.
 * Returns errors of memory. */
GNN_MUST_CHECK enum gnn_status gnn_belady_misses(struct gnn_world *world, const struct gnn_accesses *accesses,
                                                 const uint64_t *sizes, uint32_t size_count, const uint64_t *ends,
                                                 uint32_t part_count, uint64_t *misses, struct gnn_err *err);

/* Sorts values (count) in descending order. scratch: (count). */
void gnn_sort_falling(uint32_t *values, uint32_t *scratch, uint64_t count);

#endif
