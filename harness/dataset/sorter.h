/* SPDX-License-Identifier: MIT */
/* Sorts 64-bit keys in bounded memory: runs that fit are radix-sorted and spilled, then merged; what fits whole never
 * touches the disk. Both ways give the same stream. Internal to harness/dataset/. One thread at a time. */
#ifndef GNN_DATASET_SORTER_H
#define GNN_DATASET_SORTER_H

#include "harness/dataset/output.h"

enum { GNN_SORTER_MEMORY_MIN = 1 << 20 };

struct gnn_sorter;

/* Spilled runs live in output's directory and are removed when they have been merged. memory_bytes (at least
 * GNN_SORTER_MEMORY_MIN) bounds everything the sorter allocates. */
GNN_MUST_CHECK enum gnn_status gnn_sorter_open(struct gnn_output *output, uint64_t memory_bytes, bool drop_duplicates,
                                               struct gnn_sorter **out, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_sorter_add(struct gnn_sorter *sorter, uint64_t key, struct gnn_err *err);
/* After the last add, before the first next. */
GNN_MUST_CHECK enum gnn_status gnn_sorter_finish(struct gnn_sorter *sorter, struct gnn_err *err);
/* The next keys in ascending order, valid until the following call; *count 0 at the end. */
GNN_MUST_CHECK enum gnn_status gnn_sorter_next(struct gnn_sorter *sorter, const uint64_t **keys, uint64_t *count,
                                               struct gnn_err *err);
/* Keys added so far; after finish an upper bound on what next will deliver. */
uint64_t gnn_sorter_added(const struct gnn_sorter *sorter);
uint32_t gnn_sorter_runs(const struct gnn_sorter *sorter); /* spilled so far: 0 = all in memory */
void gnn_sorter_close(struct gnn_sorter *sorter);          /* accepts NULL */

#endif
