/* SPDX-License-Identifier: MIT */
/* Distribution: external sorting of a hyperbatch's sorted rows by the windows that load them, in one pass. It is the
 * distribution sort of Aggarwal and Vitter, CACM 31(9), 1988.
 *
 *     Features   |--read--|    |---read---|       one sweep, ascending; gaps that cost less than a request are read.
 *     Staging    window 0 [block]   window 1 [block]  ...                          a block for every window.
 *     Scratch    0 | 1 | 0 | 2 | 1 ...           full blocks, written during the sweep.
 *
 * Packed rows (hot.h) are swept first, in the order of their file. Then the others are swept among the features, and
 * packed if the decision requires it. A window's sorted loads are put in the order in which the sweep reads them.
 *
 * Each row enters the sweep once. The staging memory must hold a block for every window and the blocks that are being
 * written. With many windows, blocks are smaller. If a row does not fit into a block, nothing is sorted.
 *
 * Disk     A full disk ends sorting for this hyperbatch and all later ones. Their rows are read one by one. Other
 *          errors of reads and writes end the run.
 * Memory   presort_distributor_bytes(). */
#ifndef PRESORT_DISTRIBUTE_H
#define PRESORT_DISTRIBUTE_H

#include "systems/presort/hot.h"

struct presort_distributor; /* one thread at a time */

uint64_t presort_distributor_bytes(const struct gnn_env *env, const struct presort_config *config,
                                   const struct presort_sizes *sizes);
/* Opens a distributor. setup and hot must outlive it; with hot NULL no rows are packed. Returns errors of files, rings
 * and the allocator; the caller must close *out even then. */
GNN_MUST_CHECK enum gnn_status presort_distributor_open(const struct presort_setup *setup, struct presort_hot *hot,
                                                        struct presort_distributor **out, struct gnn_err *err);
/* Closes it, after waiting for writes in flight. Accepts NULL. */
void presort_distributor_close(struct presort_distributor *d);

/* Sets the size of x's blocks by the number of its windows. */
void presort_distributor_cut(const struct presort_distributor *d, struct presort_hyperbatch *x);
/* Returns how many of x's loads may be sorted, by the limits of the options and the disk. */
uint64_t presort_distributor_room(const struct presort_distributor *d, const struct presort_hyperbatch *x);
/* Return limits in bytes: the size of one scratch file, what an epoch may write of drawn neighbours, and x's share of
 * what else its epoch may write. */
uint64_t presort_file_bytes(const struct presort_setup *setup);
uint64_t presort_spool_budget_bytes(const struct presort_config *config);
uint64_t presort_budget_bytes(const struct presort_setup *setup, const struct presort_hyperbatch *x);
/* Distributes x: reads its sorted rows, writes its extents and marks its sorted loads. If the disk is full, all loads
 * become direct and the result is GNN_OK. */
GNN_MUST_CHECK enum gnn_status presort_distribute(struct presort_distributor *d, struct presort_hyperbatch *x,
                                                  const struct presort_classes *classes,
                                                  struct presort_prepared *figures, struct gnn_err *err);

#endif
