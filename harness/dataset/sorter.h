/* SPDX-License-Identifier: MIT */
/* Sorts 64-bit keys in bounded memory. Runs that fit into memory are radix-sorted and spilled, then merged. Keys that
 * all fit are never written to disk; the result is the same. Internal to harness/dataset/. One thread at a time. */
#ifndef GNN_DATASET_SORTER_H
#define GNN_DATASET_SORTER_H

#include "harness/dataset/output.h"

enum { GNN_SORTER_MEMORY_MIN = 1 << 20 };

struct gnn_sorter;

/* Opens a sorter. Spilled runs are files in output's directory, and are removed after they are merged. memory_bytes (at
 * least GNN_SORTER_MEMORY_MIN) limits all memory of the sorter. Returns GNN_ENOMEM if memory runs out. */
GNN_MUST_CHECK enum gnn_status gnn_sorter_open(struct gnn_output *output, uint64_t memory_bytes, bool drop_duplicates,
                                               struct gnn_sorter **out, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_sorter_add(struct gnn_sorter *sorter, uint64_t key, struct gnn_err *err);
/* Ends adding. Call it after the last gnn_sorter_add() and before the first gnn_sorter_next(). */
GNN_MUST_CHECK enum gnn_status gnn_sorter_finish(struct gnn_sorter *sorter, struct gnn_err *err);
/* Returns the next keys in ascending order, valid until the following call. *count is 0 at the end. */
GNN_MUST_CHECK enum gnn_status gnn_sorter_next(struct gnn_sorter *sorter, const uint64_t **keys, uint64_t *count,
                                               struct gnn_err *err);
/* Returns the number of added keys. After finish it is an upper bound of the keys that next returns. */
uint64_t gnn_sorter_added(const struct gnn_sorter *sorter);
uint32_t gnn_sorter_runs(const struct gnn_sorter *sorter); /* spilled so far; 0: all in memory */
void gnn_sorter_close(struct gnn_sorter *sorter);          /* accepts NULL */

#endif
