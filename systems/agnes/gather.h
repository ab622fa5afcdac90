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
#ifndef AGNES_GATHER_H
#define AGNES_GATHER_H

#include "systems/agnes/agnes.h"
#include "systems/agnes/hyperbatch.h"

/* setup and team outlive it; the team's workers run what it hands out. Errors: those of the allocator and the ring. */
GNN_MUST_CHECK enum gnn_status agnes_gathering_open(const struct agnes_setup *setup, struct gnn_team *team,
                                                    struct agnes_gathering **out, struct gnn_err *err);
void agnes_gathering_close(struct agnes_gathering *gathering); /* accepts NULL */

void agnes_gathering_begin(struct agnes_gathering *gathering); /* sets the counters to zero */
/* Brings every row that a sampled hyperbatch needs into `rows`. The driver's. GNN_EIO, GNN_ENOSPC of feature blocks and
 * spill; GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status agnes_gathering_run(struct agnes_gathering *gathering,
                                                   struct agnes_hyperbatch *hyperbatch,
                                                   const struct agnes_row_set *rows, struct gnn_err *err);
/* Since begin. Call when no worker is at work. spilled_rows: for every mini-batch that needs one. */
void agnes_gathering_counters(const struct agnes_gathering *gathering, struct agnes_stage_counters *out,
                              uint64_t *cached_rows, uint64_t *spilled_rows);

#endif
