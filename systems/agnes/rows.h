/* SPDX-License-Identifier: MIT */
/* Where the rows of a gathered hyperbatch are (struct agnes_row_set): in the feature cache, or spilled. */
#ifndef AGNES_ROWS_H
#define AGNES_ROWS_H

#include "harness/system/buffer.h"
#include "systems/agnes/agnes.h"

/* The feature cache and its index table, for one hyperbatch (AGNES, KDD 2026, sections 3.2 (2) and 3.4 (2)): rows that
 * many of its mini-batches need stay in memory, C of them.
 *
 * Life     open -> per hyperbatch: clear, count (all mini-batches), place, put and find -> close
 * Memory   C rows; 4 bytes a node: one array holds the counts, and after place the cache slots of those nodes that got
 *          one (the released code has an array for each)
 * Threads  count and put may run on many workers at once: put only for different nodes. */

struct agnes_feature_cache;

/* setup outlives it. GNN_ENOMEM, GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status agnes_feature_cache_open(const struct agnes_setup *setup,
                                                        struct agnes_feature_cache **out, struct gnn_err *err);
void agnes_feature_cache_close(struct agnes_feature_cache *cache); /* accepts NULL */

void agnes_feature_cache_clear(struct agnes_feature_cache *cache);
/* Adds one access to each node. */
void agnes_feature_cache_count(struct agnes_feature_cache *cache, const agnes_node *nodes, uint32_t count);
/* Gives the nodes that agnes.cache_rank prefers their slots. *needed: nodes with any access. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status agnes_feature_cache_place(struct agnes_feature_cache *cache, uint64_t *needed,
                                                         struct gnn_err *err);

/* Copies the row of a node that has a slot, unless it is there already; counts in *copied. Returns false if the node
 * has no slot. */
bool agnes_feature_cache_put(struct agnes_feature_cache *cache, agnes_node v, const void *row, uint64_t *copied);
/* Returns the row of a node that has a slot and was put; NULL: it has none. */
const void *agnes_feature_cache_find(const struct agnes_feature_cache *cache, agnes_node v);

/* Spilled rows of one hyperbatch: what the feature cache does not keep is packed per mini-batch, "written back to
 * storage at each minibatch and reloaded when required" (AGNES, KDD 2026, section 3.4 (2)).
 *
 * Mini-batch j has a staging buffer of one block; when r rows are in it, it is written whole to the next free place of
 * the spill file. The tail stays in memory. Before j trains its blocks are read back, all at once. spill=async: full
 * buffers go to writer threads, one a worker, and spare ones take their place.
 *
 * Life     open -> per epoch: begin_epoch, { begin, add from many workers, finish, reload and row for each mini-batch }
 *          -> close
 * Memory   H (+ W + 1 with spill=async) blocks; 4 bytes for each node of each mini-batch
 * Disk     the spill file has no name: it goes with its handle, however the run ends */

struct agnes_spill;

/* setup outlives it. Errors: those of the allocator, the file and the ring. */
GNN_MUST_CHECK enum gnn_status agnes_spill_open(const struct agnes_setup *setup, struct agnes_spill **out,
                                                struct gnn_err *err);
void agnes_spill_close(struct agnes_spill *spill); /* accepts NULL */

/* full: where full buffers go to, with spill=async; else NULL. The queue of spare ones is the epoch's pipeline's. */
GNN_MUST_CHECK enum gnn_status agnes_spill_begin_epoch(struct agnes_spill *spill, struct gnn_pipeline *pipeline,
                                                       struct gnn_queue *full, struct gnn_err *err);
uint64_t agnes_spill_written_bytes(const struct agnes_spill *spill); /* since begin_epoch */

/* Forgets all rows and takes in a hyperbatch whose lists were laid; it stays as it is until its last mini-batch is read
 * back. */
GNN_MUST_CHECK enum gnn_status agnes_spill_begin(struct agnes_spill *spill, const struct agnes_hyperbatch *hyperbatch,
                                                 struct gnn_err *err);
/* Between lock and unlock, rows of mini-batch j may be added. */
void agnes_spill_lock(struct agnes_spill *spill, uint32_t j);
void agnes_spill_unlock(struct agnes_spill *spill, uint32_t j);
/* Appends the row at `position` of j's list to j's staging buffer; writes the buffer out when it is full. Errors of
 * gnn_write_all: GNN_ENOSPC, GNN_EIO. */
GNN_MUST_CHECK enum gnn_status agnes_spill_add(struct agnes_spill *spill, uint32_t j, uint32_t position,
                                               const void *row, struct gnn_err *err);
/* Waits until everything is written. */
GNN_MUST_CHECK enum gnn_status agnes_spill_finish(struct agnes_spill *spill);

/* Writes full staging buffers of all spills until there are no more, *items of them: a writer thread's. */
GNN_MUST_CHECK enum gnn_status agnes_spill_writer(struct gnn_queue *full, uint64_t *items, struct gnn_err *err);

/* Reads j's spilled blocks back into `reloaded`, *blocks of them. One thread at a time. */
GNN_MUST_CHECK enum gnn_status agnes_spill_reload(struct agnes_spill *spill, uint32_t j, struct gnn_buffer *reloaded,
                                                  uint32_t *blocks, struct gnn_err *err);
/* Returns the row that was added at `position` of j's list. reloaded: j's blocks. */
const void *agnes_spill_row(const struct agnes_spill *spill, const struct gnn_buffer *reloaded, uint32_t j,
                            uint32_t position);

#endif
