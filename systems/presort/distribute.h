/* SPDX-License-Identifier: MIT */
/* Distribution: external sorting of a hyperbatch's sorted rows by the windows that load them, in one pass (Aggarwal and
 * Vitter, CACM 31(9), 1988: distribution sort).
 *
 *     features   |--read--|    |---read---|       one sweep, ascending; gaps that cost less than a request are read
 *     staging     window 0 [block]   window 1 [block]  ...                          a block for every window
 *     scratch     0 | 1 | 0 | 2 | 1 ...           full blocks, written while the sweep goes on
 *
 * Rows that are packed (hot.h) are swept in their file first, as they lie there, and only the others among the
 * features, from where they are packed as the decision says. A window's sorted loads are put in the order in which the
 * sweep meets them.
 *
 * Each row enters the sweep once. A block for every window must fit in the staging memory, beside those that are being
 * written; with many windows blocks are smaller, and where a row does not fit into one any more nothing is sorted.
 *
 * Disk     A full disk ends the sorting of the hyperbatch, and of all that come after it: their rows are read one by
 *          one. Other errors of reads and writes end the run.
 * Memory   presort_distributor_bytes() */
#ifndef PRESORT_DISTRIBUTE_H
#define PRESORT_DISTRIBUTE_H

#include "systems/presort/hot.h"

struct presort_distributor; /* one thread at a time */

uint64_t presort_distributor_bytes(const struct gnn_env *env, const struct presort_config *config,
                                   const struct presort_sizes *sizes);
/* setup and hot outlive it; hot NULL: no rows are packed. *out is the caller's to close also after an error. */
GNN_MUST_CHECK enum gnn_status presort_distributor_open(const struct presort_setup *setup, struct presort_hot *hot,
                                                        struct presort_distributor **out, struct gnn_err *err);
/* Waits for writes under way. Accepts NULL. */
void presort_distributor_close(struct presort_distributor *d);

/* Sets the size of x's blocks by its windows. */
void presort_distributor_cut(const struct presort_distributor *d, struct presort_hyperbatch *x);
/* Returns how many of x's loads may be sorted, by the limits that the options set and the disk. */
uint64_t presort_distributor_room(const struct presort_distributor *d, const struct presort_hyperbatch *x);
/* What one scratch file may have, what an epoch may write of what it draws, and a hyperbatch's share of what else its
 * epoch may write. */
uint64_t presort_file_bytes(const struct presort_setup *setup);
uint64_t presort_spool_budget_bytes(const struct presort_config *config);
uint64_t presort_budget_bytes(const struct presort_setup *setup, const struct presort_hyperbatch *x);
/* Sorts the loads of x whose rows are sorted: marks them, and makes their extents. */
GNN_MUST_CHECK enum gnn_status presort_distribute(struct presort_distributor *d, struct presort_hyperbatch *x,
                                                  const struct presort_classes *classes,
                                                  struct presort_prepared *figures, struct gnn_err *err);

#endif
