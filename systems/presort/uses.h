/* SPDX-License-Identifier: MIT */
/* Expected uses of rows: in how many of an epoch's mini-batches each node will be, before any of them is drawn. From
 * this follows the cost of one row less in memory.
 *
 * Rule     An epoch has each training node once. In each hop a node of a mini-batch draws min(degree, fan-out) of its
 *          in-neighbours, all equally likely. So expectations pass along the neighbour lists, one pass for each hop.
 *          Draws fall on the mini-batches like balls into bins: x draws over K bins hit K (1 - exp(-x / K)) of them.
 *          The exponential is replaced by its first three terms, within 8 % and in integers, so every machine computes
 *          the same.
 * Kept     The number of nodes by number of uses, not the nodes, in bins at most an eighth of an octave wide.
 * Memory   presort_uses are 3 KiB. Counting temporarily takes 8 bytes a node, before the tables of nodes exist. */
#ifndef PRESORT_USES_H
#define PRESORT_USES_H

#include "systems/presort/topology.h"

enum {
    PRESORT_USE = 4096,      /* the unit of counts: one mini-batch */
    PRESORT_USES_BINS = 240, /* of 32 bits: 8 for each octave, and one for each number below 8 */
};

struct presort_uses {
    uint64_t edges, sources; /* drawn edges and nodes drawn from; sums over mini-batches */
    uint32_t nodes[PRESORT_USES_BINS];
    uint64_t uses[PRESORT_USES_BINS]; /* sum over the nodes of the bin; PRESORT_USE is one mini-batch */
};

/* Counts expected uses by the lists in memory. Returns GNN_ENOMEM or GNN_ECAP if its tables do not fit. */
GNN_MUST_CHECK enum gnn_status presort_uses_count(const struct gnn_env *env, const struct presort_topology *topology,
                                                  struct presort_uses *out, struct gnn_err *err);
/* Fills out as if all nodes were equally likely, for `batches` mini-batches of the expected size. */
void presort_uses_even(const struct gnn_env *env, const struct gnn_batch_size *batch, uint32_t batches,
                       struct presort_uses *out);

/* Returns how many of `bins` bins are hit by `balls` balls, in any unit of both. */
uint64_t presort_uses_hit(uint64_t bins, uint64_t balls);
/* Returns the mean number of rows of a mini-batch, with `batches` mini-batches an epoch. */
uint32_t presort_uses_mean(const struct presort_uses *uses, uint32_t batches);
/* Returns the rows of an epoch cut into `parts` parts (> 0), each row counted once in each part. */
uint64_t presort_uses_rows(const struct presort_uses *uses, uint32_t parts);
/* Returns the same without the `resident` rows that are used most often. */
uint64_t presort_uses_others(const struct presort_uses *uses, uint64_t resident, uint32_t parts);

#endif
