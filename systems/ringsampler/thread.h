/* SPDX-License-Identifier: MIT */
/* A sampling thread: its ring, file handle and workspace (struct rs_thread), and how it gets through its batches. */
#ifndef RINGSAMPLER_THREAD_H
#define RINGSAMPLER_THREAD_H

#include "systems/ringsampler/blocks.h"
#include "systems/ringsampler/ringsampler.h"

/* Errors of the file, the ring and the allocator; GNN_EFORMAT when the edge file is not as long as the dataset says. */
GNN_MUST_CHECK enum gnn_status rs_thread_open(struct ringsampler *s, struct rs_thread *thread, struct gnn_err *err);
void rs_thread_close(struct rs_thread *thread); /* accepts a zeroed one */
void rs_thread_begin(struct rs_thread *thread, uint64_t epoch);

/* Samples one batch into memory of the caller's; one that does not fit is GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status rs_sample_one(struct rs_thread *thread, struct rs_batch *batch, uint32_t number,
                                             struct gnn_err *err);
/* Samples batches first, first + step … (count of them) in the workspace, bundled as it allows; adds to *items. */
GNN_MUST_CHECK enum gnn_status rs_thread_run(struct rs_thread *thread, uint32_t first, uint32_t count, uint32_t step,
                                             uint64_t *items, struct gnn_err *err);

/* ---- split.c ---- */

/* Which thread samples which mini-batches, and which seeds they have: a static rule, so threads never meet during an
 * epoch (paper, section 3.1).
 *
 *   consecutive   thread i: floor(M / n) batches in a row, the first M mod n threads one more (paper; sampling only)
 *   interleaved   thread i: batches i, i + n, … (always with training: batches are wanted in order)
 *   release       as consecutive, but thread i's first seed is number i * floor(M / n), not B times that: the released
 *                 code's bug. Seeds repeat between threads; kept to reproduce published capped figures (README) */

/* Batches first, first + step, …: `count` of them. */
struct rs_share {
    uint32_t first, count, step;
};
struct rs_share rs_share_of(const struct ringsampler *s, uint32_t thread);

/* Returns the seeds of batch (or request) `number` of the epoch; *count of them. */
const gnn_node *rs_seeds(const struct ringsampler *s, uint32_t number, uint32_t *count);

#endif
