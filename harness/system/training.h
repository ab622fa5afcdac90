/* SPDX-License-Identifier: MIT */
/* The common part of the training stage: one step of the model, the epoch's sums, and the call of on_step. One trainer
 * thread at a time. */
#ifndef GNN_SYSTEM_TRAINING_H
#define GNN_SYSTEM_TRAINING_H

#include "harness/system/train_input.h"

struct gnn_training {
    const struct gnn_env *env;
    double loss_sum; /* sum over the seeds of this epoch */
    uint64_t seeds, correct, batches;
    struct gnn_rows wide; /* of the input in training, if the dataset's rows are float16 */
};

void gnn_training_open(const struct gnn_env *env, struct gnn_training *out);
/* Releases the memory; a later step gets it again. Accepts a zeroed struct. */
void gnn_training_close(struct gnn_training *training);
/* Adds to the plan what gnn_training_step holds in these phases in addition to the inputs. */
void gnn_training_plan(struct gnn_memory_plan *plan, uint32_t phases);
void gnn_training_begin(struct gnn_training *training); /* sets the sums to 0 */

/* Trains one step on a batch's input, staged or not, and ends its use; then calls on_step. Rows of float16 are widened
 * first. GNN_EFORMAT: a seed has no
 * label. GNN_ENUMBER, with the batch and the node: an input row, the loss or a gradient is not finite. */
GNN_MUST_CHECK enum gnn_status gnn_training_step(struct gnn_training *training, const struct gnn_batch_view *batch,
                                                 struct gnn_train_input *input, struct gnn_err *err);
/* Trains one step for a system that gathers the rows itself: x (node_count, dim), float32, is on the back-end, and
 * the input is in use. Otherwise as gnn_training_step. */
GNN_MUST_CHECK enum gnn_status gnn_training_step_on(struct gnn_training *training, const struct gnn_batch_view *batch,
                                                    const struct gnn_train_input *input, const gnn_real *x,
                                                    struct gnn_err *err);
/* Returns GNN_ENUMBER with the reason why a step is not finite: the first such row of x (node_count, dim, on the
 * back-end), else the gradient or the loss. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_step_not_finite(const struct gnn_env *env, const struct gnn_batch_view *batch,
                                                   const gnn_real *x, const struct gnn_step_result *step,
                                                   struct gnn_err *err);
void gnn_training_result(const struct gnn_training *training, struct gnn_epoch_result *out);

#endif
