/* SPDX-License-Identifier: MIT */
/* The spool: reads mini-batches that rounds drew (rounds.h) from their tapes, hop by hop. Training draws from it a
 * second time. A mini-batch without a place on a tape is drawn through a mapping of the lists.
 *
 * Memory   presort_spool_bytes(): a tape's buffer.
 * Errors   Those of reads; GNN_EFORMAT if the tape differs from what was written. */
#ifndef PRESORT_SPOOL_H
#define PRESORT_SPOOL_H

#include "systems/presort/presort.h"
#include "systems/presort/tape.h"

struct presort_spool; /* one thread at a time */

uint64_t presort_spool_bytes(void);
/* Opens a spool for a setup with tapes, which must outlive it. The caller must close *out even after an error. */
GNN_MUST_CHECK enum gnn_status presort_spool_open(const struct presort_setup *setup, struct presort_spool **out,
                                                  struct gnn_err *err);
void presort_spool_close(struct presort_spool *s); /* accepts NULL */

/* Reads `count` neighbours, a hop of a mini-batch, from a tape that rounds wrote. Returns GNN_EFORMAT if the tape has
 * another number. */
GNN_MUST_CHECK enum gnn_status presort_spool_take(struct presort_tape *tape, uint64_t count, gnn_node *out,
                                                  struct gnn_err *err);

/* Begins the mini-batches of a hyperbatch. */
void presort_spool_begin(struct presort_spool *s, const struct presort_spooled *spooled);
/* Moves to the next mini-batch, whose neighbours the source has from then on. */
void presort_spool_next(struct presort_spool *s);
GNN_MUST_CHECK enum gnn_status presort_spool_source(void *spool, uint32_t worker, struct gnn_neighbour_source **out,
                                                    struct gnn_err *err);

struct presort_spool_counts {
    uint64_t read_bytes, reads;
    uint64_t mapped_batches; /* drawn through the mapping */
};
void presort_spool_take_counts(struct presort_spool *s, struct presort_spool_counts *out); /* since the last call */

#endif
