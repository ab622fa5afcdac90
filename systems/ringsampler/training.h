/* SPDX-License-Identifier: MIT */
/* End to end (paper, section 5, "End-to-end implementation"): the sampler yields mini-batches as they become ready, an
 * extractor reads their features asynchronously, the trainer trains them, each stage on its own threads:
 *
 *   sample (n threads) --in batch order--> extract (1, a deep ring) --in order--> train (1)
 *
 * Thread i draws batches i, i + n, …; it holds `prefetch` tokens, empty mini-batches, so that none samples far ahead.
 * Two inputs exist: one is filled while the other trains. The stages form a chain: nothing can deadlock. */
#ifndef RINGSAMPLER_TRAINING_H
#define RINGSAMPLER_TRAINING_H

#include "systems/ringsampler/ringsampler.h"

enum { RS_INPUTS = 2 }; /* one being extracted, one in training */

struct rs_training;

/* Allocates mini-batches, inputs and the extractor. Errors: those of the feature file, the ring and the allocator. */
GNN_MUST_CHECK enum gnn_status rs_training_open(struct ringsampler *s, struct rs_training **out, struct gnn_err *err);
void rs_training_close(struct rs_training *training); /* accepts NULL and a half-opened one */

/* Sums to zero, queues of the epoch, stages; to be ended once the pipeline has run, also after a failure. */
GNN_MUST_CHECK enum gnn_status rs_training_begin(struct rs_training *training, struct gnn_pipeline *pipeline,
                                                 struct gnn_err *err);
void rs_training_end(struct rs_training *training, struct gnn_epoch_result *out);

#endif
