/* SPDX-License-Identifier: MIT */
/* The rows of a gathered hyperbatch (struct agnes_row_set): each is in the feature cache or spilled. */
#ifndef AGNES_ROWS_H
#define AGNES_ROWS_H

#include "harness/system/buffer.h"
#include "systems/agnes/agnes.h"

/* The feature cache and its index table, for one hyperbatch (AGNES, KDD 2026, sections 3.2 (2) and 3.4 (2)). C rows
 * that many of its mini-batches need stay in memory.
 *
 * Life     Open; per hyperbatch clear, count (all mini-batches), place, put and find; close.
 * Memory   C rows and 4 bytes a node. One array holds the counts and, after place, the slots of cached nodes. The
 *          released code has an array for each.
 * Threads  Many workers may run count and put at once, put only for different nodes. */

struct agnes_feature_cache;

/* Allocates a feature cache, or returns GNN_ENOMEM or GNN_ECAP. setup must outlive it. */
GNN_MUST_CHECK enum gnn_status agnes_feature_cache_open(const struct agnes_setup *setup,
                                                        struct agnes_feature_cache **out, struct gnn_err *err);
void agnes_feature_cache_close(struct agnes_feature_cache *cache); /* accepts NULL */

void agnes_feature_cache_clear(struct agnes_feature_cache *cache);
/* Adds one access to each node. */
void agnes_feature_cache_count(struct agnes_feature_cache *cache, const agnes_node *nodes, uint32_t count);
/* Assigns slots to the nodes that agnes.cache_rank prefers. *needed is the number of nodes with any access. Returns
 * GNN_ENOMEM if counting fails. */
GNN_MUST_CHECK enum gnn_status agnes_feature_cache_place(struct agnes_feature_cache *cache, uint64_t *needed,
                                                         struct gnn_err *err);

/* Returns whether the node has a slot. If it has one without its row, copies the row there and adds one to *copied. */
bool agnes_feature_cache_put(struct agnes_feature_cache *cache, agnes_node v, const void *row, uint64_t *copied);
/* Returns the row of a node, or NULL if it has no slot. A row in a slot must have been put. */
const void *agnes_feature_cache_find(const struct agnes_feature_cache *cache, agnes_node v);

/* Spilled rows of one hyperbatch. Rows that the feature cache does not keep are packed per mini-batch, "written back to
 * storage at each minibatch and reloaded when required". AGNES (KDD 2026), section 3.4 (2).
 *
 * Mini-batch j has a staging buffer of one block. When r rows are in it, it is written whole to the next free place of
 * the spill file. The tail stays in memory. Before j trains, all its blocks are read back at once. With spill=async,
 * full buffers go to W writer threads. Spare ones replace them.
 *
 * Life     Open; per epoch begin_epoch; per hyperbatch begin, add from many workers, finish, and per mini-batch reload
 *          and row; close.
 * Memory   H blocks, or H + W + 1 with spill=async. 4 bytes for each node of each mini-batch.
 * Disk     The spill file has no name, so the file system frees it when its handle is closed, even after a crash. */

struct agnes_spill;

/* Opens the spill and its file. setup must outlive it. Returns errors of the allocator, the file and the ring. */
GNN_MUST_CHECK enum gnn_status agnes_spill_open(const struct agnes_setup *setup, struct agnes_spill **out,
                                                struct gnn_err *err);
void agnes_spill_close(struct agnes_spill *spill); /* accepts NULL */

/* Starts an epoch. With spill=async, full buffers go to queue `full` and a queue of the pipeline holds the spare ones.
 * Without it, full must be NULL. */
GNN_MUST_CHECK enum gnn_status agnes_spill_begin_epoch(struct agnes_spill *spill, struct gnn_pipeline *pipeline,
                                                       struct gnn_queue *full, struct gnn_err *err);
uint64_t agnes_spill_written_bytes(const struct agnes_spill *spill); /* since begin_epoch */

/* Drops all rows and starts a hyperbatch, whose lists must be laid. It must not change until its last mini-batch is
 * read back. */
GNN_MUST_CHECK enum gnn_status agnes_spill_begin(struct agnes_spill *spill, const struct agnes_hyperbatch *hyperbatch,
                                                 struct gnn_err *err);
/* Locks mini-batch j. Its rows may be added only between lock and unlock. */
void agnes_spill_lock(struct agnes_spill *spill, uint32_t j);
void agnes_spill_unlock(struct agnes_spill *spill, uint32_t j);
/* Appends the row at `position` of j's list to j's staging buffer. Writes the buffer when it is full and then returns
 * the errors of gnn_write_all: GNN_ENOSPC, GNN_EIO. */
GNN_MUST_CHECK enum gnn_status agnes_spill_add(struct agnes_spill *spill, uint32_t j, uint32_t position,
                                               const void *row, struct gnn_err *err);
/* Waits until all full buffers are written. */
GNN_MUST_CHECK enum gnn_status agnes_spill_finish(struct agnes_spill *spill);

/* Writes the buffers of queue `full` until it is closed, and adds their number to *items. Each writer thread runs
 * it. */
GNN_MUST_CHECK enum gnn_status agnes_spill_writer(struct gnn_queue *full, uint64_t *items, struct gnn_err *err);

/* Reads the spilled blocks of mini-batch j back into `reloaded`. *blocks is their number. Only one thread at a time may
 * call it. */
GNN_MUST_CHECK enum gnn_status agnes_spill_reload(struct agnes_spill *spill, uint32_t j, struct gnn_buffer *reloaded,
                                                  uint32_t *blocks, struct gnn_err *err);
/* Returns the row that was added at `position` of j's list. reloaded has the blocks of j. */
const void *agnes_spill_row(const struct agnes_spill *spill, const struct gnn_buffer *reloaded, uint32_t j,
                            uint32_t position);

#endif
