/* SPDX-License-Identifier: MIT */
/* Progress of several stages through pieces of work that pass one stage after the other (hyperbatches, windows). Each
 * stage has a count. Whether a stage may begin its next piece follows from the counts of the others. */
#ifndef GNN_PIPELINE_PROGRESS_H
#define GNN_PIPELINE_PROGRESS_H

#include "harness/pipeline/pipeline.h"

struct gnn_progress;

/* Opens `counts` counts that start at 0. Set *out to NULL first; it is the caller's to close, also on an error. */
GNN_MUST_CHECK enum gnn_status gnn_progress_open(struct gnn_world *world, uint32_t counts, struct gnn_progress **out,
                                                 struct gnn_err *err);
void gnn_progress_close(struct gnn_progress *progress); /* accepts NULL */

/* Sleeps (GNN_WAIT_QUEUE) until a count has reached `wanted`; does not sleep if wanted <= 0. GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status gnn_progress_wait(struct gnn_progress *progress, uint32_t count, int64_t wanted);
void gnn_progress_add(struct gnn_progress *progress, uint32_t count); /* adds one and wakes waiters */
uint64_t gnn_progress_count(struct gnn_progress *progress, uint32_t count);
void gnn_progress_clear(struct gnn_progress *progress); /* sets all counts to 0; no stage may run */

/* Joins a pipeline that is about to run: when it stops early, waits return GNN_ECANCELLED. Lifts an earlier
 * cancellation. */
GNN_MUST_CHECK enum gnn_status gnn_progress_join(struct gnn_progress *progress, struct gnn_pipeline *pipeline,
                                                 struct gnn_err *err);

#endif
