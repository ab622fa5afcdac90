/* SPDX-License-Identifier: MIT */
#include "harness/system/link_training.h"

#include <assert.h>
#include <inttypes.h>

void gnn_link_training_open(const struct gnn_env *env, struct gnn_link_training *out)
{
    static const char *const names[GNN_EMBEDDING_TABLES_MAX] = {"gathered vectors", "gathered state",
                                                                "gathered second moments"};
    *out = (struct gnn_link_training){.env = env, .tables = 1 + gnn_optimizer_states(env->link_config->optimizer)};
    assert(out->tables <= GNN_EMBEDDING_TABLES_MAX);
    for (uint32_t t = 0; t < GNN_EMBEDDING_TABLES_MAX; t++) { /* a table that the optimiser lacks stays empty */
        gnn_rows_init(&out->rows[t], env, names[t], gnn_env_on_device(env) ? GNN_ROWS_HOST : GNN_ROWS_TENSOR);
        gnn_rows_init(&out->device[t], env, "uploaded vectors", GNN_ROWS_TENSOR);
    }
    gnn_rows_init(&out->state, env, "optimiser's state", GNN_ROWS_TENSOR);
    gnn_rows_init(&out->d_targets, env, "gradient of the targets", GNN_ROWS_TENSOR);
    gnn_rows_init(&out->d_input, env, "gradient of the vectors", GNN_ROWS_TENSOR);
}

void gnn_link_training_close(struct gnn_link_training *training)
{
    if (training->env == NULL)
        return;
    for (uint32_t t = 0; t < training->tables; t++) {
        gnn_rows_close(&training->rows[t]);
        gnn_rows_close(&training->device[t]);
    }
    gnn_rows_close(&training->state);
    gnn_rows_close(&training->d_targets);
    gnn_rows_close(&training->d_input);
    *training = (struct gnn_link_training){.env = NULL};
}

void gnn_link_training_begin(struct gnn_link_training *training)
{
    training->loss_sum = 0;
    training->edges = training->batches = 0;
}

enum gnn_status gnn_link_training_reserve(struct gnn_link_training *training, uint32_t count, struct gnn_err *err)
{
    for (uint32_t t = 0; t < training->tables; t++)
        GNN_TRY(gnn_rows_reserve(&training->rows[t], count, err));
    return GNN_OK;
}

/* ---- a step ---- */

/* Vectors and state where ops read them. */
static enum gnn_status bring(struct gnn_link_training *training, uint32_t count, gnn_real *at[], struct gnn_err *err)
{
    struct gnn_tensor *const t = training->env->tensor;
    const uint64_t bytes = (uint64_t)count * training->env->dataset->row_bytes;
    for (uint32_t table = 0; table < training->tables; table++) {
        at[table] = training->rows[table].data;
        if (!gnn_env_on_device(training->env))
            continue;
        GNN_TRY(gnn_rows_reserve(&training->device[table], count, err));
        at[table] = training->device[table].data;
        t->ops->upload(t, at[table], training->rows[table].data, bytes);
    }
    return GNN_OK;
}

static void bring_back(struct gnn_link_training *training, uint32_t count, gnn_real *const at[])
{
    struct gnn_tensor *const t = training->env->tensor;
    const uint64_t bytes = (uint64_t)count * training->env->dataset->row_bytes;
    for (uint32_t table = 0; table < training->tables && gnn_env_on_device(training->env); table++)
        t->ops->download(t, t->no_values ? NULL : training->rows[table].data, at[table], bytes);
}

/* The optimiser takes its state as one array after another: Adam's two tables are put together for the step. */
static enum gnn_status update(struct gnn_link_training *training, uint32_t count, gnn_real *const at[],
                              const gnn_real *grad, struct gnn_err *err)
{
    const struct gnn_env *const env = training->env;
    struct gnn_tensor *const t = env->tensor;
    const struct gnn_link_config *const config = env->link_config;
    const uint64_t reals = (uint64_t)count * env->dataset->dim;
    const uint32_t states = training->tables - 1;
    training->step++;
    if (states == 1) {
        gnn_optimizer_step(t, config->optimizer, config->lr, training->step, at[0], grad, at[1], reals);
        return GNN_OK;
    }
    GNN_TRY(gnn_rows_reserve(&training->state, (uint64_t)states * count, err));
    gnn_real *const state = training->state.data;
    for (uint32_t s = 0; s < states; s++)
        t->ops->copy(t, state + s * reals, at[1 + s], reals);
    gnn_optimizer_step(t, config->optimizer, config->lr, training->step, at[0], grad, state, reals);
    for (uint32_t s = 0; s < states; s++)
        t->ops->copy(t, at[1 + s], state + s * reals, reals);
    return GNN_OK;
}

/* Scores on vectors as they are, or behind the encoder; grad: of the vectors. */
static enum gnn_status learn(struct gnn_link_training *training, const struct gnn_link_item *item, const gnn_real *x,
                             const gnn_real **grad, double *loss, bool *finite, struct gnn_err *err)
{
    const struct gnn_env *const env = training->env;
    const struct gnn_link_view *const edges = &item->edges->view;
    const struct gnn_batch_view *const view = gnn_link_item_view(item);
    GNN_TRY(gnn_rows_reserve(&training->d_targets, edges->node_count, err));
    gnn_real *const d_targets = training->d_targets.data;
    *grad = d_targets;
    if (env->workload->layers == 0)
        return gnn_link_train(env->link, edges, x, d_targets, loss, finite, err);
    const gnn_real *targets;
    bool encoder_finite = true;
    assert(view->seed_count == edges->node_count);
    GNN_TRY(gnn_rows_reserve(&training->d_input, view->node_count, err));
    GNN_TRY(gnn_model_encode(env->model, view, x, true, &targets, err));
    GNN_TRY(gnn_link_train(env->link, edges, targets, d_targets, loss, finite, err));
    GNN_TRY(gnn_model_encode_back(env->model, view, x, d_targets, training->d_input.data, &encoder_finite, err));
    *finite = *finite && encoder_finite;
    *grad = training->d_input.data;
    return GNN_OK;
}

enum gnn_status gnn_link_training_step(struct gnn_link_training *training, const struct gnn_link_item *item,
                                       struct gnn_err *err)
{
    const struct gnn_env *const env = training->env;
    const struct gnn_batch_view *const view = gnn_link_item_view(item);
    gnn_real *at[GNN_EMBEDDING_TABLES_MAX] = {NULL};
    const gnn_real *grad;
    double loss = 0;
    bool finite = true;
    assert(training->rows[0].capacity >= view->node_count);
    GNN_TRY(bring(training, view->node_count, at, err));
    GNN_TRY(learn(training, item, at[0], &grad, &loss, &finite, err));
    if (!finite)
        return gnn_fail(err, GNN_ENUMBER,
                        "epoch %" PRIu64 ", batch %" PRIu64 " of edges: the loss is %g or a gradient is not finite; a "
                        "smaller --lr may help",
                        view->epoch, view->batch, loss);
    GNN_TRY(update(training, view->node_count, at, grad, err));
    bring_back(training, view->node_count, at);
    const uint32_t edges = item->edges->view.edge_count;
    training->loss_sum += loss;
    training->edges += edges;
    training->batches++;
    const struct gnn_step_result step = {.loss = loss / edges, .finite = finite};
    if (env->on_step != NULL)
        env->on_step(env->on_step_ctx, view, &step);
    return GNN_OK;
}

void gnn_link_training_result(const struct gnn_link_training *training, struct gnn_epoch_result *out)
{
    out->loss_sum = training->loss_sum;
    out->seeds = training->edges;
    out->correct = 0;
}

uint64_t gnn_link_training_bytes(const struct gnn_env *env, const struct gnn_batch_size *size)
{
    const uint32_t layers = env->workload->layers, states = gnn_optimizer_states(env->link_config->optimizer);
    const uint64_t copies = 1 + states + (layers > 0 ? 1 : 0) + (states > 1 ? states : 0);
    const uint64_t rows = gnn_add_bytes(gnn_mul_bytes(size->nodes[layers], copies), size->nodes[0]);
    return gnn_mul_bytes(rows + rows / 8, env->dataset->row_bytes);
}
