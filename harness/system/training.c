/* SPDX-License-Identifier: MIT */
#include "harness/system/training.h"

#include "harness/base/plain_text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The model's on_gradient: the mean over the ranks takes the gradient's place. */
static enum gnn_status average_gradient(const void *ctx, gnn_real *gradient, uint64_t count,
                                        const struct gnn_batch_view *batch, const struct gnn_step_result *step,
                                        struct gnn_err *err)
{
    const struct gnn_average_step own = {.seeds = batch->seed_count, .correct = step->correct, .loss = step->loss};
    const struct gnn_env *const env = ctx;
    return gnn_average_gradient(env->average, env->tensor, gradient, count, &own, err);
}

void gnn_training_open(const struct gnn_env *env, struct gnn_training *out)
{
    *out = (struct gnn_training){.env = env};
    gnn_rows_init_wide(&out->wide, env, "input widened to float32", GNN_ROWS_TENSOR);
    if (env->average != NULL)
        gnn_model_on_gradient(env->model, average_gradient, env);
}

void gnn_training_close(struct gnn_training *training)
{
    gnn_rows_close(&training->wide);
}

void gnn_training_plan(struct gnn_memory_plan *plan, uint32_t phases)
{
    const uint64_t rows = gnn_rows_capacity(plan->largest.nodes[plan->env->workload->layers]);
    const uint64_t bytes = gnn_mul_bytes(rows, gnn_dataset_wide_bytes(plan->env->dataset));
    gnn_plan_widened(plan, phases, gnn_round_up(bytes, GNN_PAGE_BYTES));
}

void gnn_training_begin(struct gnn_training *training)
{
    training->loss_sum = 0;
    training->seeds = training->correct = training->batches = 0;
}

/* Finds the first input row that holds a NaN or an infinity; node_count: none does. */
static enum gnn_status find_bad_row(const struct gnn_env *env, const struct gnn_batch_view *batch, const gnn_real *x,
                                    uint32_t *row, struct gnn_err *err)
{
    const uint32_t dim = env->dataset->dim;
    gnn_real *values;
    GNN_NEW(values, dim, err, "a row of %" PRIu32 " values", dim);
    bool finite = true;
    for (*row = 0; *row < batch->node_count; ++*row) {
        env->tensor->ops->download(env->tensor, values, x + *row * (uint64_t)dim, dim * sizeof *values);
        for (uint32_t c = 0; c < dim; c++)
            finite = finite && isfinite(values[c]);
        if (!finite)
            break;
    }
    free(values);
    return GNN_OK;
}

enum gnn_status gnn_step_not_finite(const struct gnn_env *env, const struct gnn_batch_view *batch, const gnn_real *x,
                                    const struct gnn_step_result *step, struct gnn_err *err)
{
    uint32_t row = 0;
    char dir[sizeof env->dataset->dir];
    GNN_TRY(find_bad_row(env, batch, x, &row, err));
    if (row < batch->node_count)
        return gnn_fail(err, GNN_ENUMBER,
                        "epoch %" PRIu64 ", mini-batch %" PRIu64 ": the features of node %" PRIu32
                        " are not all finite numbers; `oocgnn prepare %s --check` finds damaged files",
                        batch->epoch, batch->batch, batch->nodes[row],
                        gnn_shell_word(env->dataset->dir, dir, sizeof dir));
    return gnn_fail(err, GNN_ENUMBER,
                    "epoch %" PRIu64 ", mini-batch %" PRIu64 ", first seed node %" PRIu32
                    ": %s is not finite though every input is: the training diverged; lower --lr",
                    batch->epoch, batch->batch, batch->nodes[0], isfinite(step->loss) ? "the gradient" : "the loss");
}

enum gnn_status gnn_training_step_on(struct gnn_training *training, const struct gnn_batch_view *batch,
                                     const struct gnn_train_input *input, const gnn_real *x, struct gnn_err *err)
{
    const struct gnn_env *env = training->env;
    struct gnn_step_result step;
    assert(input->in_use);
    env->tensor->ops->range(env->tensor, "train");
    const enum gnn_status status = gnn_model_train(env->model, batch, x, input->labels, &step, err);
    env->tensor->ops->range(env->tensor, NULL);
    GNN_TRY(status);
    if (!step.finite)
        return gnn_step_not_finite(env, batch, x, &step, err);
    training->loss_sum += step.loss * batch->seed_count;
    training->seeds += batch->seed_count;
    training->correct += step.correct;
    training->batches++;
    if (env->average != NULL) { /* what the others see is the step of all ranks */
        step.loss = env->average->all.loss;
        step.correct = (uint32_t)env->average->all.correct;
    }
    if (env->on_step != NULL)
        env->on_step(env->on_step_ctx, batch, &step);
    return GNN_OK;
}

enum gnn_status gnn_training_step(struct gnn_training *training, const struct gnn_batch_view *batch,
                                  struct gnn_train_input *input, struct gnn_err *err)
{
    const gnn_real *stored, *x = NULL;
    GNN_TRY(gnn_train_input_use(input, batch, &stored, err));
    enum gnn_status status = gnn_rows_widen(&training->wide, stored, batch->node_count, &x, err);
    GNN_NEXT(status, gnn_training_step_on(training, batch, input, x, err));
    gnn_train_input_end(input);
    return status;
}

void gnn_training_result(const struct gnn_training *training, struct gnn_epoch_result *out)
{
    out->loss_sum = training->loss_sum;
    out->seeds = training->seeds;
    out->correct = training->correct;
}
