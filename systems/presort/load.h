/* SPDX-License-Identifier: MIT */
/* Loading: brings the rows that a window needs and memory does not have into their slots. Sorted rows come block by
 * block from the window's extent. Direct rows are read in ascending order, many in flight. Every load of the plan is
 * executed once, or the run ends. If plans are executed again (presort.reuse), loads whose rows are in their slots
 * already are skipped.
 *
 * Merging  A single row is read into its slot. A read of direct rows continues to the window's next one if the gap
 *          costs less than another request. A buffer of presort.merge bytes must have room for it. If no buffer is
 *          free, reading waits for one, so requests do not depend on timing.
 * Memory   presort_loader_bytes(): a row a slot; 2 bytes a node for the slot of its row, or 4 with more slots than 2
 *          bytes can number; the buffers. With reuse, also 4 bytes a slot for the row in it. */
#ifndef PRESORT_LOAD_H
#define PRESORT_LOAD_H

#include "systems/presort/presort.h"

struct presort_loaded {
    uint64_t direct_rows, sorted_rows;
    uint64_t there_rows; /* that were in their slots already */
    uint64_t direct_bytes, direct_ios, scratch_bytes, scratch_ios;
};

uint64_t presort_loader_bytes(const struct gnn_env *env, const struct presort_config *config,
                              const struct presort_sizes *sizes);
/* Opens a loader with empty slots. setup must outlive it. Returns errors of the allocator and the reader; the caller
 * must close *out even then. */
GNN_MUST_CHECK enum gnn_status presort_loader_open(const struct presort_setup *setup, struct presort_loader **out,
                                                   struct gnn_err *err);
void presort_loader_close(struct presort_loader *l);  /* accepts NULL; waits for reads in flight */
void presort_loader_forget(struct presort_loader *l); /* empties all slots */

/* Loads window j of x; windows come in order, and the one before may be in use. Only one thread at a time. Returns
 * GNN_EBUG if another number of rows came in than was planned, or errors of reads. */
GNN_MUST_CHECK enum gnn_status presort_load_window(struct presort_loader *l, struct presort_hyperbatch *x, uint32_t j,
                                                   struct gnn_err *err);
void presort_loader_take_counts(struct presort_loader *l, struct presort_loaded *out); /* since the last call */

/* Returns the row of a node of a loaded window, while that window or the next one is in use. */
const void *presort_row(const struct presort_loader *l, gnn_node node);

#endif
