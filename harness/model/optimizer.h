/* SPDX-License-Identifier: MIT */
/* Optimisers over an array of reals: relations, and the rows of embeddings that an edge touched. */
#ifndef GNN_MODEL_OPTIMIZER_H
#define GNN_MODEL_OPTIMIZER_H

#include "harness/tensor/tensor.h"

enum gnn_optimizer { GNN_OPTIMIZER_ADAM, GNN_OPTIMIZER_ADAGRAD, GNN_OPTIMIZERS };
extern const char *const gnn_optimizer_words[]; /* "adam", "adagrad", NULL */

/* Returns the number of state reals per trained real: 2 for Adam (both moments), 1 for Adagrad (sum of squares). */
static inline uint32_t gnn_optimizer_states(enum gnn_optimizer optimizer)
{
    return optimizer == GNN_OPTIMIZER_ADAM ? 2 : 1;
}

#define GNN_ADAGRAD_EPS 1e-10

/* Runs one step over `count` reals of the back-end. `state` holds gnn_optimizer_states arrays of `count` reals, one
 * after another. `step` is 1 for the first step; Adam's bias correction uses it. A row of embeddings is updated only if
 * an edge touched it. Otherwise its moments stay as they are, too (torch.optim.SparseAdam, and Adagrad's own
 * behaviour). */
void gnn_optimizer_step(struct gnn_tensor *t, enum gnn_optimizer optimizer, double lr, uint64_t step, gnn_real *value,
                        const gnn_real *grad, gnn_real *state, uint64_t count);

#endif
