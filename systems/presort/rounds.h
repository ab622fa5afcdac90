/* SPDX-License-Identifier: MIT */
/* Rounds: consecutive mini-batches of an epoch that are drawn together, hop by hop. Neighbour lists without room in
 * memory are then read in ascending order. Each is read once a hop and a round, and never at random.
 *
 *     Hop 1   |-read-|      |--read--|         |-read-|      lists of the seeds of all mini-batches.
 *     Hop 2   |-----read-----|     |------read------|        and of what those drew.
 *
 * Draws    The harness' draws (harness/sample/draw.h), which depend only on seed, epoch, mini-batch, hop and node. So
 *          the cut of an epoch into rounds changes no mini-batch.
 * Reads    A read continues through gaps that cost less than another request. A list longer than a read comes in
 *          pieces; a piece without draws is never requested separately. No sector is read twice in a hop.
 * Size     A round takes as many mini-batches as its memory has room for, with the neighbours that they draw and the
 *          lists that they need at the hop. The need shows hop by hop; the last mini-batches that do not fit are left
 *          to the next round.
 * Tape     Drawn neighbours are written to a scratch file, mini-batch by mini-batch, where training reads them
 *          (spool.h). Those without room there, because of a limit or a full disk, are drawn again through a mapping.
 * Threads  A separate thread draws each round as soon as the one before it is on the tape. A thread that reaches the
 *          mini-batches of a round takes them from there. A round without room on the tape, and the last one of an
 *          epoch, is taken from memory; the next round waits for it.
 * Memory   presort_rounds_bytes(): the reads, a mini-batch's nodes and their index, what is drawn, two buffers. */
#ifndef PRESORT_ROUNDS_H
#define PRESORT_ROUNDS_H

#include "systems/presort/presort.h"

struct presort_rounds; /* one thread at a time, in addition to the one that draws */

/* Returns the bytes of memory that open allocates with drawn_bytes for what is drawn. */
uint64_t presort_rounds_bytes(const struct gnn_env *env, const struct presort_config *config, uint64_t drawn_bytes);
/* Returns the largest part of drawn_bytes, in bytes, that a mini-batch may need. */
uint64_t presort_rounds_batch_bytes(const struct gnn_env *env);

/* Opens rounds. setup must outlive them. Its sizes give the size of a round, and its tapes must exist unless
 * --sample-only is set. Returns GNN_EUSAGE if a mini-batch could draw more than a round can hold. The caller must close
 * *out even after an error. */
GNN_MUST_CHECK enum gnn_status presort_rounds_open(const struct presort_setup *setup, struct presort_rounds **out,
                                                   struct gnn_err *err);
void presort_rounds_close(struct presort_rounds *r); /* accepts NULL */

/* Adds the thread that draws to a pipeline before it runs. With --sample-only there is none, and rounds are drawn when
 * they are reached. */
GNN_MUST_CHECK enum gnn_status presort_rounds_stage(struct presort_rounds *r, struct gnn_pipeline *pipeline,
                                                    struct gnn_err *err);
void presort_rounds_done(struct presort_rounds *r); /* ends reaching mini-batches in this pipeline */

/* Begins an epoch, whose order sampling has begun, with its first mini-batch. Overwrites the tape of the epoch before
 * the previous one. */
void presort_rounds_begin(struct presort_rounds *r, const struct gnn_sampling *sampling, uint64_t epoch);
/* Moves to mini-batch k; mini-batches come in order. The source has its neighbours from then on. If k begins a round,
 * waits for that round. Returns GNN_ECANCELLED if the pipeline stops. Without a thread that draws, returns GNN_EFORMAT
 * if a neighbour is outside the graph, or errors of reads and writes. With one, these errors end that thread. */
GNN_MUST_CHECK enum gnn_status presort_rounds_reach(struct presort_rounds *r, uint32_t k, struct gnn_err *err);
/* Adds mini-batch k to *spooled if it is on the tape. It must be the last one reached, must have been drawn, and must
 * follow those in *spooled. */
void presort_rounds_add(const struct presort_rounds *r, uint32_t k, struct presort_spooled *spooled);
/* Opens a source with the drawn neighbours of the last mini-batch that was reached, hop after hop. */
GNN_MUST_CHECK enum gnn_status presort_rounds_source(void *rounds, uint32_t worker, struct gnn_neighbour_source **out,
                                                     struct gnn_err *err);

struct presort_rounds_counts {
    uint64_t rounds, draw_ns;
    uint64_t read_bytes, reads;      /* of neighbour lists */
    uint64_t written_bytes, writes;  /* of what was drawn */
    uint64_t back_bytes, back_reads; /* of what was drawn, for the inspection */
    uint64_t full;                   /* rounds without room because the disk was full: at most 1 in a run */
};
void presort_rounds_take_counts(struct presort_rounds *r, struct presort_rounds_counts *out); /* since the last call */

#endif
