/* SPDX-License-Identifier: MIT */
/* How often rows are expected to be used: in how many of an epoch's mini-batches each node will be, before any of them
 * is drawn. What a row fewer in memory costs follows from that.
 *
 * Rule     An epoch has each training node once. In each hop a node of a mini-batch draws min(degree, fan-out) of its
 *          in-neighbours, any of them as likely as another, so that what is expected passes along the neighbour lists,
 *          a pass for each hop. Draws fall on the mini-batches like balls into bins: x draws that are spread over K
 *          bins hit K (1 - exp(-x / K)) of them: for the exponential its first three terms, within 8 % and in
 *          integers, so that every machine counts the same.
 * Kept     not the nodes but how many of them are used how often, in bins an eighth of an octave wide at most
 * Memory   presort_uses are 3 KiB; counting takes 8 bytes a node meanwhile, before the tables of nodes are there */
#ifndef PRESORT_USES_H
#define PRESORT_USES_H

#include "systems/presort/topology.h"

enum {
    PRESORT_USE = 4096,      /* a mini-batch, in the unit that is counted in */
    PRESORT_USES_BINS = 240, /* of 32 bits: 8 for each octave, and one for each number below 8 */
};

struct presort_uses {
    uint64_t edges, sources; /* an epoch draws, and draws from; in mini-batches' nodes */
    uint32_t nodes[PRESORT_USES_BINS];
    uint64_t uses[PRESORT_USES_BINS]; /* of all nodes of the bin together, PRESORT_USE each */
};

/* Counts by the lists in memory. GNN_ENOMEM, GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status presort_uses_count(const struct gnn_env *env, const struct presort_topology *topology,
                                                  struct presort_uses *out, struct gnn_err *err);
/* Takes every node for as likely as another: batches mini-batches of the expected size. */
void presort_uses_even(const struct gnn_env *env, const struct gnn_batch_size *batch, uint32_t batches,
                       struct presort_uses *out);

/* Returns how many of so many bins are hit when so many balls are thrown, in any unit of both. */
uint64_t presort_uses_hit(uint64_t bins, uint64_t balls);
/* The rows of a mini-batch on average, of so many. */
uint32_t presort_uses_mean(const struct presort_uses *uses, uint32_t batches);
/* The rows of an epoch cut into parts, each counted once in each part. parts > 0. */
uint64_t presort_uses_rows(const struct presort_uses *uses, uint32_t parts);
/* Likewise, but without the `resident` rows that are used most often. */
uint64_t presort_uses_others(const struct presort_uses *uses, uint64_t resident, uint32_t parts);

#endif
