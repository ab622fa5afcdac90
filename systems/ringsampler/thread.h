/* SPDX-License-Identifier: MIT */
/* A sampling thread: its ring, file handle and workspace (struct rs_thread), and how it samples its batches. */
#ifndef RINGSAMPLER_THREAD_H
#define RINGSAMPLER_THREAD_H

#include "systems/ringsampler/blocks.h"
#include "systems/ringsampler/ringsampler.h"

/* Opens a thread's file, ring and workspace. Returns errors of the file, the ring and the allocator, or GNN_EFORMAT if
 * the length of the edge file differs from the dataset's. */
GNN_MUST_CHECK enum gnn_status rs_thread_open(struct ringsampler *s, struct rs_thread *thread, struct gnn_err *err);
void rs_thread_close(struct rs_thread *thread); /* accepts a zeroed one */
void rs_thread_begin(struct rs_thread *thread, uint64_t epoch);

/* Samples one batch into memory of the caller. Returns GNN_ECAP if it does not fit. */
GNN_MUST_CHECK enum gnn_status rs_sample_one(struct rs_thread *thread, struct rs_batch *batch, uint32_t number,
                                             struct gnn_err *err);
/* Samples `count` batches first, first + step … in the workspace, in bundles as large as it allows. Adds their number
 * to *items. */
GNN_MUST_CHECK enum gnn_status rs_thread_run(struct rs_thread *thread, uint32_t first, uint32_t count, uint32_t step,
                                             uint64_t *items, struct gnn_err *err);

/* ---- split.c ---- */

/* The split: which thread samples which mini-batches, and which seeds they have. It is static (paper, section 3.1). So
 * threads never wait for each other during an epoch.
 *
 *   `consecutive`  Thread i has floor(M / n) consecutive batches, and the first M mod n threads one more (paper;
 *                  sampling only).
 *   `interleaved`  Thread i has batches i, i + n, … Always with training, which needs batches in order.
 *   `release`      As consecutive, but thread i's first seed is number i * floor(M / n), without the factor B: the
 *                  released code's bug. Seeds repeat between threads. It is kept to reproduce published figures under a
 *                  memory limit (README). */

/* The batches of a thread: `count` of them, first, first + step, … */
struct rs_share {
    uint32_t first, count, step;
};
struct rs_share rs_share_of(const struct ringsampler *s, uint32_t thread);

/* Returns the seeds of batch (or request) `number` of the epoch. *count is their number. */
const gnn_node *rs_seeds(const struct ringsampler *s, uint32_t number, uint32_t *count);

#endif
