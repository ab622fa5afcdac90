/* SPDX-License-Identifier: MIT */
/* One step of an optimiser over an array of reals: relations, and rows of embeddings where an edge touched them. */
#ifndef GNN_MODEL_OPTIMIZER_H
#define GNN_MODEL_OPTIMIZER_H

#include "harness/tensor/tensor.h"

enum gnn_optimizer { GNN_OPTIMIZER_ADAM, GNN_OPTIMIZER_ADAGRAD, GNN_OPTIMIZERS };
extern const char *const gnn_optimizer_words[]; /* "adam", "adagrad", NULL */

/* Reals of state beside each real that is trained: Adam's two moments, Adagrad's sum of squares. */
static inline uint32_t gnn_optimizer_states(enum gnn_optimizer optimizer)
{
    return optimizer == GNN_OPTIMIZER_ADAM ? 2 : 1;
}

#define GNN_ADAGRAD_EPS 1e-10

/* One step over count reals of the back-end. state: gnn_optimizer_states arrays of count reals, one after another.
 * step: 1 for the first (Adam's correction). Rows of embeddings are updated where an edge touched them and are left
 * alone otherwise, their moments too (torch.optim.SparseAdam, and Adagrad's own behaviour). */
void gnn_optimizer_step(struct gnn_tensor *t, enum gnn_optimizer optimizer, double lr, uint64_t step, gnn_real *value,
                        const gnn_real *grad, gnn_real *state, uint64_t count);

#endif
