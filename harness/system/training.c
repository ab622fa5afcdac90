#include "harness/system/training.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void gnn_rows_init(struct gnn_rows *rows, const struct gnn_env *env, const char *name, bool on_tensor)
{
    *rows = (struct gnn_rows){.env = env, .name = name, .on_tensor = on_tensor};
}

void gnn_rows_close(struct gnn_rows *rows)
{
    if (rows->data == NULL)
        return;
    if (rows->on_tensor)
        rows->env->tensor->ops->free(rows->env->tensor, rows->data);
    else
        gnn_mem_free(rows->env->world, rows->data);
    rows->data = NULL;
    rows->capacity = 0;
}

enum gnn_status gnn_rows_reserve(struct gnn_rows *rows, uint64_t count, struct gnn_err *err)
{
    if (count <= rows->capacity)
        return GNN_OK;
    gnn_rows_close(rows);
    const struct gnn_env *env = rows->env;
    const uint64_t capacity = gnn_add_bytes(count, count / 8);
    const uint64_t bytes = gnn_mul_bytes(capacity, env->dataset->row_bytes);
    void *data = NULL;
    if (rows->on_tensor)
        GNN_TRY(env->tensor->ops->alloc(env->tensor, rows->name, bytes, &data, err));
    else
        GNN_TRY(gnn_mem_alloc(env->world, rows->name, bytes, GNN_MEM_FEATURES, &data, err));
    rows->data = data;
    rows->capacity = capacity;
    return GNN_OK;
}

/* The model's on_gradient: the mean over the ranks takes the gradient's place. */
static enum gnn_status average_gradient(const void *ctx, gnn_real *gradient, uint64_t count,
                                        const struct gnn_batch_view *batch, const struct gnn_step_result *step,
                                        struct gnn_err *err)
{
    const struct gnn_average_step own = {.seeds = batch->seed_count, .correct = step->correct, .loss = step->loss};
    const struct gnn_env *const env = ctx;
    return gnn_average_gradient(env->average, env->tensor, gradient, count, &own, err);
}

enum gnn_status gnn_training_open(const struct gnn_env *env, struct gnn_training *out, struct gnn_err *err)
{
    *out = (struct gnn_training){.env = env};
    gnn_rows_init(&out->uploaded, env, "uploaded input", true);
    if (env->average != NULL)
        gnn_model_on_gradient(env->model, average_gradient, env);
    GNN_MEM_NEW(env->world, out->labels, env->workload->batch_size, "labels of a batch", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

void gnn_training_close(struct gnn_training *training)
{
    if (training->labels != NULL)
        gnn_mem_free(training->env->world, training->labels);
    training->labels = NULL;
    gnn_rows_close(&training->uploaded);
}

void gnn_training_begin(struct gnn_training *training)
{
    training->loss_sum = 0;
    training->seeds = training->correct = training->batches = 0;
}

/* Copies the labels of the seeds. */
static enum gnn_status take_labels(struct gnn_training *training, const struct gnn_batch_view *batch,
                                   struct gnn_err *err)
{
    const struct gnn_dataset *d = training->env->dataset;
    assert(batch->seed_count <= training->env->workload->batch_size);
    for (uint32_t i = 0; i < batch->seed_count; i++) {
        const int32_t label = d->labels[batch->nodes[i]];
        if (label < 0)
            return gnn_fail(err, GNN_EFORMAT, "%s: training node %" PRIu32 " has no label", d->dir, batch->nodes[i]);
        training->labels[i] = label;
    }
    return GNN_OK;
}

/* Returns the input where the tensor back-end can read it. */
static enum gnn_status upload(struct gnn_training *training, const struct gnn_rows *rows, uint32_t count,
                              const gnn_real **x, struct gnn_err *err)
{
    *x = rows->data;
    if (rows->on_tensor)
        return GNN_OK;
    struct gnn_tensor *tensor = training->env->tensor;
    GNN_TRY(gnn_rows_reserve(&training->uploaded, count, err));
    tensor->ops->upload(tensor, training->uploaded.data, rows->data,
                        (uint64_t)count * training->env->dataset->row_bytes);
    *x = training->uploaded.data;
    return GNN_OK;
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
    GNN_TRY(find_bad_row(env, batch, x, &row, err));
    if (row < batch->node_count)
        return gnn_fail(err, GNN_ENUMBER,
                        "epoch %" PRIu64 ", mini-batch %" PRIu64 ": the features of node %" PRIu32
                        " are not all finite numbers; `oocgnn prepare %s --check` tells whether its files are damaged",
                        batch->epoch, batch->batch, batch->nodes[row], env->dataset->dir);
    return gnn_fail(err, GNN_ENUMBER,
                    "epoch %" PRIu64 ", mini-batch %" PRIu64 ", first seed node %" PRIu32
                    ": %s is not finite though every input is: the training diverged; lower --lr",
                    batch->epoch, batch->batch, batch->nodes[0], isfinite(step->loss) ? "the gradient" : "the loss");
}

enum gnn_status gnn_training_step(struct gnn_training *training, const struct gnn_batch_view *batch,
                                  const struct gnn_rows *rows, struct gnn_err *err)
{
    const struct gnn_env *env = training->env;
    const gnn_real *x;
    struct gnn_step_result step;
    GNN_TRY(take_labels(training, batch, err));
    assert(rows->capacity >= batch->node_count);
    GNN_TRY(upload(training, rows, batch->node_count, &x, err));
    GNN_TRY(gnn_model_train(env->model, batch, x, training->labels, &step, err));
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

void gnn_training_result(const struct gnn_training *training, struct gnn_epoch_result *out)
{
    out->loss_sum = training->loss_sum;
    out->seeds = training->seeds;
    out->correct = training->correct;
}
