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
#ifndef AGNES_SAMPLING_H
#define AGNES_SAMPLING_H

#include "systems/agnes/agnes.h"
#include "systems/agnes/hyperbatch.h"

/* setup and team outlive it; the team's workers run what it hands out. Errors: those of the allocator and the ring. */
GNN_MUST_CHECK enum gnn_status agnes_sampling_open(const struct agnes_setup *setup, struct gnn_team *team,
                                                   struct agnes_sampling **out, struct gnn_err *err);
void agnes_sampling_close(struct agnes_sampling *sampling); /* accepts NULL */

void agnes_sampling_begin(struct agnes_sampling *sampling, uint64_t epoch); /* sets the counters to zero */
/* Samples all mini-batches of a hyperbatch that has its seeds. The driver's. GNN_EFORMAT: a graph block that is not
 * what the index says; GNN_EIO, GNN_ENOSPC of graph blocks and spool; GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status agnes_sampling_run(struct agnes_sampling *sampling, struct agnes_hyperbatch *hyperbatch,
                                                  struct gnn_err *err);
/* Since begin. Call when no worker is at work. */
void agnes_sampling_counters(const struct agnes_sampling *sampling, struct gnn_sample_counters *samples,
                             struct agnes_stage_counters *out);

#endif
