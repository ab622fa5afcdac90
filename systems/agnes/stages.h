/* SPDX-License-Identifier: MIT */
/* The stages of a hyperbatch before it trains: sampling, gathering, and the assembly of each mini-batch. */
#ifndef AGNES_STAGES_H
#define AGNES_STAGES_H

#include "harness/system/buffer.h"
#include "systems/agnes/agnes.h"

/* Sampling of a hyperbatch, hop by hop over graph blocks. AGNES (KDD 2026), sections 3.4 (1) and (3), Algorithm 1 lines
 * 4 to 12.
 *
 *   Bucket   Finds which positions of which F_j need which block.
 *   Draw     For each block, on W workers: draws, and writes the drawn IDs at position x fanout.
 *   Localise For each mini-batch, on W workers: assigns local IDs in order of discovery. Writes blocks to the spool and
 *            forms the next F_j.
 *
 * Draws depend only on (seed, epoch, mini-batch, hop, node), and each result has its own place. So the result does not
 * depend on threads, blocks or hyperbatches. A large object is served in pieces. Its positions are drawn over the whole
 * degree, which is in the index. Each block of its run serves the positions that it holds.
 *
 * Memory   (4 fanout + 1) sum |F_j| bytes of the hop; 8 sum |F_j| bytes of the bucket; V_j. One ID map per worker,
 *          filled again at every hop. The released code keeps a map per mini-batch. */

/* Opens the stage. setup and team must outlive it; its tasks run on the team's workers. Returns errors of the allocator
 * and the ring. */
GNN_MUST_CHECK enum gnn_status agnes_sampling_open(const struct agnes_setup *setup, struct gnn_team *team,
                                                   struct agnes_sampling **out, struct gnn_err *err);
void agnes_sampling_close(struct agnes_sampling *sampling); /* accepts NULL */

void agnes_sampling_begin(struct agnes_sampling *sampling); /* sets the counters to zero */
/* Samples all mini-batches of a hyperbatch that has its seeds, and adds its counts to *samples. Only the driver may
 * call it. Returns GNN_EFORMAT if a graph block does not match the index, GNN_EIO or GNN_ENOSPC for graph blocks and
 * spool, or GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status agnes_sampling_run(struct agnes_sampling *sampling, struct agnes_hyperbatch *hyperbatch,
                                                  struct gnn_sample_counters *samples, struct gnn_err *err);
/* Returns the counts since begin. No worker may be running. */
void agnes_sampling_counters(const struct agnes_sampling *sampling, struct agnes_stage_counters *out);

/* Gathering of a hyperbatch, feature block by feature block. AGNES (KDD 2026), section 3.4 (2), Algorithm 1 lines 13 to
 * 17.
 *
 *   Count    Counts the mini-batches that need each node.
 *   Place    Assigns slots of the feature cache to rows that are used often. All other rows are spilled.
 *   Bucket   Finds which positions of which V_j need which block.
 *   Serve    Reads each needed block once, in ascending order, for W workers. A cached row is copied once, a spilled
 *            one for every mini-batch that needs it.
 *
 * Memory   D + W blocks being read or served; 8 sum |V_j| bytes of the bucket; feature cache and spill as in rows.h. */

/* Opens the stage. setup and team must outlive it; its tasks run on the team's workers. Returns errors of the allocator
 * and the ring. */
GNN_MUST_CHECK enum gnn_status agnes_gathering_open(const struct agnes_setup *setup, struct gnn_team *team,
                                                    struct agnes_gathering **out, struct gnn_err *err);
void agnes_gathering_close(struct agnes_gathering *gathering); /* accepts NULL */

void agnes_gathering_begin(struct agnes_gathering *gathering); /* sets the counters to zero */
/* Brings every row that a sampled hyperbatch needs into `rows`. Adds the spilled rows, one for every mini-batch that
 * needs the row, to *spilled_rows. Only the driver may call it. Returns GNN_EIO or GNN_ENOSPC for feature blocks and
 * spill, or GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status agnes_gathering_run(struct agnes_gathering *gathering,
                                                   struct agnes_hyperbatch *hyperbatch,
                                                   const struct agnes_row_set *rows, uint64_t *spilled_rows,
                                                   struct gnn_err *err);
/* Returns the counts since begin. No worker may be running. needed_rows counts the different rows of each
 * hyperbatch. */
void agnes_gathering_counters(const struct agnes_gathering *gathering, struct agnes_stage_counters *out,
                              uint64_t *needed_rows, uint64_t *cached_rows);

/* Assembly of the input of one mini-batch, one mini-batch ahead of training. AGNES (KDD 2026), section 3.4 (2): "moved
 * to a contiguous memory space". Blocks come back from the spool, spilled rows from the spill file. Cached, staged and
 * reloaded rows become one matrix. Only one thread at a time.
 *
 * Memory   AGNES_INPUTS inputs (blocks, node IDs and rows of a mini-batch); the spilled rows of one mini-batch. */

/* A mini-batch between assembly and training. */
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

/* Opens the inputs. setup must outlive them. Returns GNN_ENOMEM, GNN_ECAP or GNN_EGPU. */
GNN_MUST_CHECK enum gnn_status agnes_assembly_open(const struct agnes_setup *setup, struct agnes_assembly *out,
                                                   struct gnn_err *err);
void agnes_assembly_close(struct agnes_assembly *assembly); /* accepts a zeroed one */
void agnes_assembly_begin(struct agnes_assembly *assembly, uint64_t epoch);

/* Assembles the input of mini-batch j of a gathered hyperbatch and starts its copies to a GPU. spool is a reader of the
 * hyperbatch's spool. Returns GNN_EIO, GNN_ESHORT, GNN_ENOMEM, GNN_ECAP, GNN_EFORMAT or GNN_EGPU. */
GNN_MUST_CHECK enum gnn_status agnes_assemble(struct agnes_assembly *assembly,
                                              const struct agnes_hyperbatch *hyperbatch,
                                              const struct agnes_row_set *rows, uint32_t j, struct gnn_reader *spool,
                                              struct agnes_input *input, struct gnn_err *err);

#endif
