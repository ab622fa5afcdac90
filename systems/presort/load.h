/* SPDX-License-Identifier: MIT */
/* Loading: the rows that a window needs and memory does not hold come into their slots, those that were sorted ahead
 * block by block from the window's extent, the others ascending and many reads in flight. Every load of the plan is
 * executed once, or the run ends; where plans are executed again (presort.reuse), but for those whose rows lie in their
 * slots already.
 *
 * Merging  a read of direct rows goes on to the window's next one where what lies between costs less than another
 *          request, as far as a buffer of presort.merge bytes has room; a row alone is read into its slot. Where no
 *          buffer is spare the reading waits for one, so that the requests are the same whatever their times are.
 * Memory   presort_loader_bytes(): a row a slot; 2 bytes a node that say where its row lies, 4 where there are more
 *          slots than those can number; the buffers; with reuse 4 bytes a slot that say what lies there */
#ifndef PRESORT_LOAD_H
#define PRESORT_LOAD_H

#include "systems/presort/presort.h"

struct presort_loaded {
    uint64_t direct_rows, sorted_rows;
    uint64_t there_rows; /* that lay in their slots already */
    uint64_t direct_bytes, direct_ios, scratch_bytes, scratch_ios;
};

uint64_t presort_loader_bytes(const struct gnn_env *env, const struct presort_config *config,
                              const struct presort_sizes *sizes);
/* setup outlives it. *out is the caller's to close also after an error. */
GNN_MUST_CHECK enum gnn_status presort_loader_open(const struct presort_setup *setup, struct presort_loader **out,
                                                   struct gnn_err *err);
void presort_loader_close(struct presort_loader *l);  /* accepts NULL; waits for reads under way */
void presort_loader_forget(struct presort_loader *l); /* no row is in memory */

/* Brings in window j of x, in order; the window before it may be in use. One thread at a time. GNN_EBUG where what came
 * in is not what was planned; errors of reads. */
GNN_MUST_CHECK enum gnn_status presort_load_window(struct presort_loader *l, struct presort_hyperbatch *x, uint32_t j,
                                                   struct gnn_err *err);
void presort_loader_take_counts(struct presort_loader *l, struct presort_loaded *out); /* since the last call */

/* The row of a node of a window that was brought in, while that or the next one is in use. */
const void *presort_row(const struct presort_loader *l, gnn_node node);

#endif
