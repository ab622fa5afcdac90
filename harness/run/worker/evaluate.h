/* SPDX-License-Identifier: MIT */
/* Accuracy on a split by sampled inference, as the released training scripts evaluate: same fan-outs, no shuffling, no
 * dropout. All systems use this code, outside the epoch's clock.
 *
 * Features come through the page cache, so an evaluation between two epochs leaves its pages there. The neighbourhoods
 * have their own random keys and are the same after every epoch. */
#ifndef GNN_RUN_EVALUATE_H
#define GNN_RUN_EVALUATE_H

#include "harness/run/wire.h"
#include "harness/system/system.h"

/* Computes the quality of the predictions for the nodes of a split. GNN_ECANCELLED: env->stop was set. */
GNN_MUST_CHECK enum gnn_status gnn_evaluate_split(const struct gnn_env *env, const struct gnn_split *split,
                                                  struct gnn_node_quality *out, struct gnn_err *err);

/* Returns the host memory of an evaluation, for memory plans: its sampler and one mini-batch of at most 512 seeds with
 * its features. With two classes it also holds the scores of a split. */
uint64_t gnn_evaluate_bytes(const struct gnn_env *env);

#endif
