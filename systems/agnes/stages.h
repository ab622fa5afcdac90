/* SPDX-License-Identifier: MIT */
/* The stages of a hyperbatch before it trains: sampling, gathering, and the assembly of each mini-batch. */
#ifndef AGNES_STAGES_H
#define AGNES_STAGES_H

#include "harness/system/buffer.h"
#include "systems/agnes/agnes.h"

/* Sampling of a hyperbatch, hop by hop over graph blocks (AGNES, KDD 2026, sections 3.4 (1) and (3), Algorithm 1 lines
 * 4 to 12).
 *
 *   bucket   which positions of which F_j need which block
 *   draw     block by block, W workers: draw, and write the drawn IDs at position x fanout
 *   localise mini-batch by mini-batch, W workers: local IDs in order of discovery, blocks to the spool, next F_j
 *
 * Draws depend on (seed, epoch, mini-batch, hop, node) alone and each result has a place of its own, so neither
 * threads nor blocks nor hyperbatches show in the result. A large object is served piecewise: its positions are drawn
 * over the whole degree, which the index knows, and each block of its run serves those that lie in it.
 *
 * Memory   (4 fanout + 1) sum |F_j| of the hop; 8 sum |F_j| of the bucket; V_j; one ID map per worker, filled again at
 *          every hop (the released code keeps one per mini-batch) */

/* setup and team outlive it; the team's workers run what it hands out. Errors: those of the allocator and the ring. */
GNN_MUST_CHECK enum gnn_status agnes_sampling_open(const struct agnes_setup *setup, struct gnn_team *team,
                                                   struct agnes_sampling **out, struct gnn_err *err);
void agnes_sampling_close(struct agnes_sampling *sampling); /* accepts NULL */

void agnes_sampling_begin(struct agnes_sampling *sampling); /* sets the counters to zero */
/* Samples all mini-batches of a hyperbatch that has its seeds, and adds what was sampled to *samples. The driver's.
 * GNN_EFORMAT: a graph block that is not what the index says; GNN_EIO, GNN_ENOSPC of graph blocks and spool;
 * GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status agnes_sampling_run(struct agnes_sampling *sampling, struct agnes_hyperbatch *hyperbatch,
                                                  struct gnn_sample_counters *samples, struct gnn_err *err);
/* Since begin. Call when no worker is at work. */
void agnes_sampling_counters(const struct agnes_sampling *sampling, struct agnes_stage_counters *out);

/* Gathering of a hyperbatch, feature block by feature block (AGNES, KDD 2026, section 3.4 (2), Algorithm 1 lines 13 to
 * 17).
 *
 *   count    how many mini-batches need a node
 *   place    often-used rows get a slot of the feature cache, all others are spilled
 *   bucket   which positions of which V_j need which block
 *   serve    each needed block once, ascending, W workers: a cached row is copied once, a spilled one for every
 *            mini-batch that needs it
 *
 * Memory   D + W blocks being read or served; 8 sum |V_j| of the bucket; feature_cache.h, spill.h */

/* setup and team outlive it; the team's workers run what it hands out. Errors: those of the allocator and the ring. */
GNN_MUST_CHECK enum gnn_status agnes_gathering_open(const struct agnes_setup *setup, struct gnn_team *team,
                                                    struct agnes_gathering **out, struct gnn_err *err);
void agnes_gathering_close(struct agnes_gathering *gathering); /* accepts NULL */

void agnes_gathering_begin(struct agnes_gathering *gathering); /* sets the counters to zero */
/* Brings every row that a sampled hyperbatch needs into `rows`, and adds those that were spilled, for every mini-batch
 * that needs one, to *spilled_rows. The driver's. GNN_EIO, GNN_ENOSPC of feature blocks and spill; GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status agnes_gathering_run(struct agnes_gathering *gathering,
                                                   struct agnes_hyperbatch *hyperbatch,
                                                   const struct agnes_row_set *rows, uint64_t *spilled_rows,
                                                   struct gnn_err *err);
/* Since begin. Call when no worker is at work. needed_rows: different ones of a hyperbatch. */
void agnes_gathering_counters(const struct agnes_gathering *gathering, struct agnes_stage_counters *out,
                              uint64_t *needed_rows, uint64_t *cached_rows);

/* Assembly of the input of one mini-batch, one mini-batch ahead of training (AGNES, KDD 2026, section 3.4 (2): "moved
 * to a contiguous memory space"): its blocks come back from the spool and its spilled rows from the spill file; cached,
 * staged and reloaded rows become one matrix. One thread at a time.
 *
 * Memory   AGNES_INPUTS inputs (blocks, node IDs and rows of a mini-batch); the spilled rows of one mini-batch */

/* A mini-batch on its way from assembly to training. */
struct agnes_input {
    struct gnn_batch_view view;
    struct gnn_buffer blocks;     /* its records */
    struct gnn_buffer nodes;      /* gnn_node: V_j in the dataset's IDs */
    struct gnn_train_input input; /* rows and labels, on their way to the trainer */
    bool last;                    /* of its hyperbatch */
};

struct agnes_assembly_counters {
    uint64_t spool_reads, spool_read_bytes;
    uint64_t spill_reads, spill_read_bytes;
};

struct agnes_assembly {
    const struct agnes_setup *setup;
    struct agnes_input inputs[AGNES_INPUTS];
    struct gnn_buffer reloaded; /* spilled blocks of one mini-batch */
    uint64_t epoch;
    struct agnes_assembly_counters counters; /* since begin */
};

/* setup outlives it. GNN_ENOMEM, GNN_ECAP, GNN_EGPU. */
GNN_MUST_CHECK enum gnn_status agnes_assembly_open(const struct agnes_setup *setup, struct agnes_assembly *out,
                                                   struct gnn_err *err);
void agnes_assembly_close(struct agnes_assembly *assembly); /* accepts a zeroed one */
void agnes_assembly_begin(struct agnes_assembly *assembly, uint64_t epoch);

/* Makes the input of mini-batch j of a gathered hyperbatch and starts its copies to a GPU. spool: a reader of the
 * hyperbatch's spool. GNN_EIO, GNN_ESHORT, GNN_ENOMEM, GNN_EFORMAT, GNN_EGPU. */
GNN_MUST_CHECK enum gnn_status agnes_assemble(struct agnes_assembly *assembly,
                                              const struct agnes_hyperbatch *hyperbatch,
                                              const struct agnes_row_set *rows, uint32_t j, struct gnn_reader *spool,
                                              struct agnes_input *input, struct gnn_err *err);

#endif
