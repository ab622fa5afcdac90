/* SPDX-License-Identifier: MIT */
/* Rounds: consecutive mini-batches of an epoch that are drawn together, hop by hop. Where neighbour lists have no room
 * in memory they are read in ascending order so, each once a hop and a round, and not at random.
 *
 *     hop 1   |-read-|      |--read--|         |-read-|      lists of the seeds of all mini-batches
 *     hop 2   |-----read-----|     |------read------|        and of what those drew
 *
 * Draws    The harness' own (harness/sample/draw.h), which depend on seed, epoch, mini-batch, hop and node alone. So it
 *          changes no mini-batch how an epoch is cut into rounds.
 * Reads    A read goes on through what costs less than another request. A list that is longer than a read comes in
 *          pieces; none is asked for by itself from which nothing was drawn. No sector is read twice in a hop.
 * Size     A round takes as many mini-batches as its memory has room for, with what they draw and the lists that they
 *          want at the hop. That shows hop by hop; the last ones that turn out not to fit are left to the next round.
 * Tape     What was drawn is written to a scratch file, mini-batch by mini-batch, where training finds it (spool.h).
 *          What has no room there, by a limit or as the disk is full, is drawn again through a mapping.
 * Threads  A thread of their own draws rounds, each as soon as the one before it is on the tape, from where whoever
 *          reaches its mini-batches takes them. One that has no room there, and an epoch's last, is taken from memory,
 *          and what comes behind it waits.
 * Memory   presort_rounds_bytes(): the reads, a mini-batch's nodes and their index, what is drawn, two buffers */
#ifndef PRESORT_ROUNDS_H
#define PRESORT_ROUNDS_H

#include "systems/presort/presort.h"

struct presort_rounds; /* one thread at a time, besides its own */

/* Returns the bytes of memory that open allocates when what is drawn has drawn_bytes. */
uint64_t presort_rounds_bytes(const struct gnn_env *env, const struct presort_config *config, uint64_t drawn_bytes);
/* Returns the bytes that a mini-batch may need of what is drawn, at most. */
uint64_t presort_rounds_batch_bytes(const struct gnn_env *env);

/* setup outlives it; its sizes say how large a round is, and its tapes are there unless only samples are wanted.
 * GNN_EUSAGE where a mini-batch could draw more than a round can hold. *out is the caller's to close also after an
 * error. */
GNN_MUST_CHECK enum gnn_status presort_rounds_open(const struct presort_setup *setup, struct presort_rounds **out,
                                                   struct gnn_err *err);
void presort_rounds_close(struct presort_rounds *r); /* accepts NULL */

/* Adds the thread that draws to a pipeline that is about to run; unless only samples are wanted, which are drawn where
 * they are reached. */
GNN_MUST_CHECK enum gnn_status presort_rounds_stage(struct presort_rounds *r, struct gnn_pipeline *pipeline,
                                                    struct gnn_err *err);
void presort_rounds_done(struct presort_rounds *r); /* nothing more is reached in this pipeline */

/* Mini-batches of the epoch that sampling has begun follow, from the first one on. What is on the tape of the epoch
 * before the one before is gone. */
void presort_rounds_begin(struct presort_rounds *r, const struct gnn_sampling *sampling, uint64_t epoch);
/* Waits for the round that mini-batch k begins, unless it is of the last: mini-batches are reached in order, and the
 * source has the neighbours of k from now on. GNN_ECANCELLED; where there is no thread that draws, GNN_EFORMAT for
 * neighbours outside the graph, and errors of reads and writes, which else end that thread. */
GNN_MUST_CHECK enum gnn_status presort_rounds_reach(struct presort_rounds *r, uint32_t k, struct gnn_err *err);
/* Adds mini-batch k, which was reached last, drawn, and follows those in *spooled, if it is on the tape. */
void presort_rounds_add(const struct presort_rounds *r, uint32_t k, struct presort_spooled *spooled);
/* A source that gives what was drawn for the mini-batch that was reached last, hop after hop. */
GNN_MUST_CHECK enum gnn_status presort_rounds_source(void *rounds, uint32_t worker, struct gnn_neighbour_source **out,
                                                     struct gnn_err *err);

struct presort_rounds_counts {
    uint64_t rounds, draw_ns;
    uint64_t read_bytes, reads;      /* of neighbour lists */
    uint64_t written_bytes, writes;  /* of what was drawn */
    uint64_t back_bytes, back_reads; /* of it, to be inspected */
    uint64_t full;                   /* rounds that had no room on the disk: 1 at most in a run */
};
void presort_rounds_take_counts(struct presort_rounds *r, struct presort_rounds_counts *out); /* since the last call */

#endif
