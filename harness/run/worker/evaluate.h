/* SPDX-License-Identifier: MIT */
/* Accuracy on a split by sampled inference, as the released training scripts evaluate: same fan-outs, no shuffling,
 * dropout off. One path for every system, outside the epoch's clock. Features come through the page cache, so an
 * evaluation between two epochs leaves its pages there. The neighbourhoods are keyed apart from training and are the
 * same after every epoch. */
#ifndef GNN_RUN_EVALUATE_H
#define GNN_RUN_EVALUATE_H

#include "harness/system/system.h"

/* *accuracy = correct / count over nodes; NAN for an empty split. GNN_ECANCELLED when env->stop is set. */
GNN_MUST_CHECK enum gnn_status gnn_evaluate_split(const struct gnn_env *env, const struct gnn_split *split,
                                                  double *accuracy, struct gnn_err *err);

/* Host memory that an evaluation holds, for plans: one mini-batch of at most 512 seeds with its features, as far as
 * those lie in host memory, and its sampler. */
uint64_t gnn_evaluate_bytes(const struct gnn_env *env, bool features_on_host);

#endif
