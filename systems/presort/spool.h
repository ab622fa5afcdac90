/* SPDX-License-Identifier: MIT */
/* The spool: mini-batches that rounds drew (rounds.h) come back from their tapes, hop by hop, for training, which draws
 * them a second time. One that has no place on a tape is drawn through a mapping of the lists.
 *
 * Memory   presort_spool_bytes(): a tape's buffer
 * Errors   those of reads; GNN_EFORMAT: what comes back is not what was written */
#ifndef PRESORT_SPOOL_H
#define PRESORT_SPOOL_H

#include "systems/presort/presort.h"
#include "systems/presort/tape.h"

struct presort_spool; /* one thread at a time */

uint64_t presort_spool_bytes(void);
/* Of a setup with tapes, which outlives it. *out is the caller's to close also after an error. */
GNN_MUST_CHECK enum gnn_status presort_spool_open(const struct presort_setup *setup, struct presort_spool **out,
                                                  struct gnn_err *err);
void presort_spool_close(struct presort_spool *s); /* accepts NULL */

/* Takes a hop of a mini-batch, so many neighbours, from a tape that rounds wrote. */
GNN_MUST_CHECK enum gnn_status presort_spool_take(struct presort_tape *tape, uint64_t count, gnn_node *out,
                                                  struct gnn_err *err);

/* The mini-batches of a hyperbatch follow. */
void presort_spool_begin(struct presort_spool *s, const struct presort_spooled *spooled);
/* The source has the neighbours of the next mini-batch from now on. */
void presort_spool_next(struct presort_spool *s);
GNN_MUST_CHECK enum gnn_status presort_spool_source(void *spool, uint32_t worker, struct gnn_neighbour_source **out,
                                                    struct gnn_err *err);

struct presort_spool_counts {
    uint64_t read_bytes, reads;
    uint64_t mapped_batches; /* that were drawn through the mapping */
};
void presort_spool_take_counts(struct presort_spool *s, struct presort_spool_counts *out); /* since the last call */

#endif
