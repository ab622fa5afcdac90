/* SPDX-License-Identifier: MIT */
/* End to end (paper, section 5, "End-to-end implementation"). The sampler yields mini-batches when they are ready, an
 * extractor reads their features asynchronously, and the trainer trains them. Each stage has its own threads:
 *   sample (n threads) --in batch order--> extract (1, a deep ring) --in order--> train (1).
 * Thread i draws batches i, i + n, … It has `prefetch` tokens, which are empty mini-batches, so no thread samples far
 * ahead. There are two inputs: one is filled while the other trains. The stages form a chain, so they cannot
 * deadlock. */
#ifndef RINGSAMPLER_TRAINING_H
#define RINGSAMPLER_TRAINING_H

#include "systems/ringsampler/ringsampler.h"

enum { RS_INPUTS = 2 }; /* one being extracted, one in training */

struct rs_training;

/* Allocates mini-batches, inputs and the extractor. Returns errors of the feature file, the ring and the allocator; the
 * caller must close *out even then. */
GNN_MUST_CHECK enum gnn_status rs_training_open(struct ringsampler *s, struct rs_training **out, struct gnn_err *err);
void rs_training_close(struct rs_training *training); /* accepts NULL and a half-opened one */

/* Begins an epoch: sets sums to zero and adds queues and stages to the pipeline. rs_training_end must follow once the
 * pipeline has run, also after a failure. */
GNN_MUST_CHECK enum gnn_status rs_training_begin(struct rs_training *training, struct gnn_pipeline *pipeline,
                                                 struct gnn_err *err);
void rs_training_end(struct rs_training *training, struct gnn_epoch_result *out);

#endif
