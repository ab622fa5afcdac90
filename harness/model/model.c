/* SPDX-License-Identifier: MIT */
#include "harness/model/model.h"
#include "harness/base/rng.h"
#include "harness/model/layer.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const gnn_model_names[] = {"sage", "gcn", "gat", NULL};

static const struct gnn_layer_kind *const layer_kinds[GNN_MODEL_KINDS] = {
    [GNN_MODEL_SAGE] = &gnn_layer_sage,
    [GNN_MODEL_GCN] = &gnn_layer_gcn,
    [GNN_MODEL_GAT] = &gnn_layer_gat,
};

struct gnn_model {
    struct gnn_tensor *tensor;
    struct gnn_model_config config;
    uint32_t layer_count;
    struct gnn_layer layer[GNN_LAYERS_MAX];
    gnn_real *state;       /* all values, then all gradients, then Adam's m, then its v: one pass updates them */
    uint64_t state_count;  /* reals of each of the four, padding included */
    gnn_real *column_sums; /* (COLUMNS), where every gradient ends; NULL on a back-end without values */
    uint64_t step;
    gnn_gradient_fn *on_gradient; /* NULL: one worker */
    const void *on_gradient_ctx;
};

/* Columns in which the optimiser's state is summed: state_count is a multiple, see padded_count. */
enum { COLUMNS = 64 / sizeof(gnn_real) };

/* ---- shape ---- */

static uint32_t hidden_channels(const struct gnn_model_config *config)
{
    return config->gat_width_total ? config->hidden / config->heads : config->hidden;
}

static enum gnn_status check_config(const struct gnn_model_config *config, struct gnn_err *err)
{
    if ((unsigned)config->kind >= GNN_MODEL_KINDS)
        return gnn_fail(err, GNN_EUSAGE, "model kind %u does not exist; use sage, gcn or gat", (unsigned)config->kind);
    const struct {
        const char *name;
        uint32_t value, max;
    } counts[] = {{"layers", config->layers, GNN_LAYERS_MAX},
                  {"input dimension", config->in_dim, GNN_DIM_MAX},
                  {"hidden width", config->hidden, GNN_DIM_MAX},
                  {"classes", config->classes, INT32_MAX},
                  {"heads", config->kind == GNN_MODEL_GAT ? config->heads : 1, GNN_DIM_MAX}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (counts[i].value < 1 || counts[i].value > counts[i].max)
            return gnn_fail(err, GNN_EUSAGE, "%s %u: must be 1 to %u", counts[i].name, counts[i].value, counts[i].max);
    if (!(config->dropout >= 0 && config->dropout < 1))
        return gnn_fail(err, GNN_EUSAGE, "dropout %g: must be at least 0 and below 1", config->dropout);
    if (!(config->lr >= 0 && isfinite(config->lr)))
        return gnn_fail(err, GNN_EUSAGE, "learning rate %g: must be 0 or more", config->lr);
    if (!(config->weight_decay >= 0 && isfinite(config->weight_decay)))
        return gnn_fail(err, GNN_EUSAGE, "weight decay %g: must be 0 or more", config->weight_decay);
    if (config->kind != GNN_MODEL_GAT)
        return GNN_OK;
    if (config->gat_width_total && config->hidden % config->heads != 0)
        return gnn_fail(err, GNN_EUSAGE, "hidden width %u is not a multiple of %u heads; change one of them",
                        config->hidden, config->heads);
    if ((uint64_t)config->heads * hidden_channels(config) > GNN_DIM_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%u heads of %u channels: their product must be at most %d", config->heads,
                        hidden_channels(config), GNN_DIM_MAX);
    return GNN_OK;
}

static void shape_layer(const struct gnn_model_config *config, uint32_t index, struct gnn_layer *layer)
{
    const bool gat = config->kind == GNN_MODEL_GAT;
    const uint32_t width = gat ? config->heads * hidden_channels(config) : config->hidden;
    layer->kind = layer_kinds[config->kind];
    assert(layer->kind != NULL);
    layer->index = index;
    layer->last = index + 1 == config->layers;
    layer->in = index == 0 ? config->in_dim : width;
    layer->out = layer->last ? config->classes : width;
    layer->heads = gat ? config->heads : 1;
    layer->channels = layer->last || !gat ? layer->out : hidden_channels(config);
    layer->gcn_norm = config->gcn_norm;
    layer->gcn_maps_sources = config->gcn_maps_sources;
}

/* Parameters start on a cache line of their own, so Adam's one pass over all of them may run over the padding. */
static uint64_t padded_count(const struct gnn_param_spec *spec)
{
    return gnn_round_up((uint64_t)spec->rows * spec->cols, COLUMNS);
}

static uint64_t layer_param_count(const struct gnn_layer *layer)
{
    struct gnn_param_spec spec[GNN_LAYER_PARAMS_MAX];
    layer->kind->params(layer, spec);
    uint64_t count = 0;
    for (uint32_t p = 0; p < layer->kind->param_count; p++)
        count += padded_count(&spec[p]);
    return count;
}

/* ---- opening ---- */

/* Uniform in [-bound, bound), a pure function of (key, index): uploaded piece by piece, no host copy of the whole. */
static void init_param(struct gnn_tensor *t, const struct gnn_param *param, double bound, uint64_t key)
{
    enum { PIECE = 512 };
    gnn_real piece[PIECE];
    struct gnn_rng rng = gnn_rng_at(key);
    const uint64_t count = (uint64_t)param->rows * param->cols;
    for (uint64_t done = 0; done < count; done += PIECE) {
        const uint64_t n = gnn_min_u64(count - done, PIECE);
        for (uint64_t k = 0; k < n; k++)
            piece[k] = (gnn_real)((2 * gnn_rng_unit(&rng) - 1) * bound);
        t->ops->upload(t, param->value + done, piece, n * sizeof *piece);
    }
}

static void place_params(struct gnn_model *model)
{
    const uint64_t key = gnn_rng_fork(model->config.seed, "init");
    gnn_real *value = model->state;
    uint32_t total = 0;
    for (uint32_t k = 0; k < model->layer_count; k++) {
        struct gnn_layer *layer = &model->layer[k];
        assert(layer->kind != NULL);
        struct gnn_param_spec spec[GNN_LAYER_PARAMS_MAX];
        layer->kind->params(layer, spec);
        for (uint32_t p = 0; p < layer->kind->param_count; p++) {
            (void)snprintf(layer->param_name[p], sizeof layer->param_name[p], "layer%u.%s", k, spec[p].name);
            layer->param[p] = (struct gnn_param){
                .name = layer->param_name[p],
                .value = value,
                .grad = value + model->state_count,
                .m = value + 2 * model->state_count,
                .v = value + 3 * model->state_count,
                .rows = spec[p].rows,
                .cols = spec[p].cols,
            };
            init_param(model->tensor, &layer->param[p], spec[p].bound, gnn_rng_fold(key, total++));
            value += padded_count(&spec[p]);
        }
    }
    assert(value == model->state + model->state_count);
}

static enum gnn_status fill_model(struct gnn_model *model, struct gnn_err *err)
{
    struct gnn_tensor *t = model->tensor;
    model->layer_count = model->config.layers;
    for (uint32_t k = 0; k < model->layer_count; k++) {
        shape_layer(&model->config, k, &model->layer[k]);
        model->state_count += layer_param_count(&model->layer[k]);
    }
    const uint64_t bytes = gnn_mul_bytes(4 * model->state_count, sizeof(gnn_real));
    void *state = NULL;
    GNN_TRY(t->ops->alloc(t, "model parameters", bytes, &state, err));
    model->state = state;
    t->ops->fill(t, model->state, 4 * model->state_count, 0);
    place_params(model);
    if (t->no_values)
        return GNN_OK;
    GNN_TRY(t->ops->alloc(t, "column sums", COLUMNS * sizeof *model->column_sums, &state, err));
    model->column_sums = state;
    return GNN_OK;
}

enum gnn_status gnn_model_open(struct gnn_tensor *tensor, const struct gnn_model_config *config, struct gnn_model **out,
                               struct gnn_err *err)
{
    GNN_TRY(check_config(config, err));
    struct gnn_model *model;
    GNN_NEW(model, 1, err, "model: %zu bytes", sizeof *model);
    model->tensor = tensor;
    model->config = *config;
    const enum gnn_status status = fill_model(model, err);
    return GNN_OPENED(status, model, out, gnn_model_close);
}

void gnn_model_close(struct gnn_model *model)
{
    if (model == NULL)
        return;
    struct gnn_tensor *t = model->tensor;
    for (uint32_t k = 0; k < model->layer_count; k++) {
        struct gnn_layer *layer = &model->layer[k];
        for (uint32_t w = 0; w < GNN_LAYER_WORK_MAX; w++)
            t->ops->free(t, layer->work[w].data);
        t->ops->free(t, layer->y.data);
        t->ops->free(t, layer->dy.data);
    }
    t->ops->free(t, model->column_sums);
    t->ops->free(t, model->state);
    free(model);
}

/* ---- workspaces ---- */

/* Mini-batches of one epoch differ by a few per cent: an eighth of slack ends the growing after the first ones. */
static uint64_t with_slack(uint64_t count)
{
    return count + count / 8;
}

static enum gnn_status reserve(struct gnn_tensor *t, struct gnn_workspace *buffer, uint64_t count, struct gnn_err *err)
{
    if (count <= buffer->count)
        return GNN_OK;
    t->ops->free(t, buffer->data); /* the old contents are a finished batch's */
    *buffer = (struct gnn_workspace){0};
    void *data = NULL;
    GNN_TRY(t->ops->alloc(t, "activations", gnn_mul_bytes(with_slack(count), sizeof(gnn_real)), &data, err));
    *buffer = (struct gnn_workspace){.data = data, .count = with_slack(count)};
    return GNN_OK;
}

enum gnn_status gnn_layer_reserve(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_layer_size *size,
                                  bool train, struct gnn_err *err)
{
    uint64_t reals[GNN_LAYER_WORK_MAX] = {0};
    assert(layer->kind->work_count <= GNN_LAYER_WORK_MAX);
    layer->kind->sizes(layer, size, train, reals);
    for (uint32_t w = 0; w < layer->kind->work_count; w++)
        GNN_TRY(reserve(t, &layer->work[w], reals[w], err));
    GNN_TRY(reserve(t, &layer->y, size->dst * layer->out, err));
    if (train && !layer->last)
        GNN_TRY(reserve(t, &layer->dy, size->dst * layer->out, err));
    return GNN_OK;
}

static enum gnn_status reserve_batch(struct gnn_model *model, const struct gnn_batch_view *batch, bool train,
                                     struct gnn_err *err)
{
    assert(batch->layer_count == model->layer_count);
    assert(batch->node_count == batch->blocks[0].src_count);
    for (uint32_t k = 0; k < model->layer_count; k++) {
        const struct gnn_block *b = &batch->blocks[k];
        assert(b->dst_count <= b->src_count);
        assert(b->dst_count == (k + 1 < model->layer_count ? batch->blocks[k + 1].src_count : batch->seed_count));
        const struct gnn_layer_size size = {b->dst_count, b->src_count, b->edge_count};
        GNN_TRY(gnn_layer_reserve(model->tensor, &model->layer[k], &size, train, err));
    }
    return GNN_OK;
}

uint64_t gnn_model_bytes(const struct gnn_model_config *config, const uint32_t *max_nodes_per_hop)
{
    uint64_t reals = 0;
    assert(config->layers >= 1);
    assert(config->layers <= GNN_LAYERS_MAX);
    for (uint32_t k = 0; k < config->layers; k++) {
        struct gnn_layer layer = {0};
        shape_layer(config, k, &layer);
        const uint64_t dst = max_nodes_per_hop[config->layers - k - 1], src = max_nodes_per_hop[config->layers - k];
        const uint64_t fanout = gnn_min_u64(src, GNN_FANOUT_MAX);
        const struct gnn_layer_size size = {dst, src, dst * fanout};
        uint64_t work[GNN_LAYER_WORK_MAX] = {0};
        layer.kind->sizes(&layer, &size, true, work);
        for (uint32_t w = 0; w < layer.kind->work_count; w++)
            reals += with_slack(work[w]);
        reals += (layer.last ? 1 : 2) * with_slack(dst * layer.out);
        reals += 4 * layer_param_count(&layer);
    }
    return gnn_mul_bytes(reals + COLUMNS, sizeof(gnn_real));
}

uint64_t gnn_model_gradient_count(const struct gnn_model_config *config)
{
    uint64_t count = 0;
    for (uint32_t k = 0; k < config->layers; k++) {
        struct gnn_layer layer = {0};
        shape_layer(config, k, &layer);
        count += layer_param_count(&layer);
    }
    return count;
}

void gnn_model_on_gradient(struct gnn_model *model, gnn_gradient_fn *fn, const void *ctx)
{
    model->on_gradient = fn;
    model->on_gradient_ctx = ctx;
}

/* ---- a step ---- */

/* What ops could not return: a launch, a copy or an allocation of the device that failed. */
static enum gnn_status check_device(struct gnn_tensor *t, struct gnn_err *err)
{
    return t->ops->check != NULL ? t->ops->check(t, err) : GNN_OK;
}

static struct gnn_mat layer_output(const struct gnn_layer *layer, const struct gnn_block *b)
{
    return (struct gnn_mat){layer->y.data, b->dst_count, layer->out};
}

static struct gnn_mat layer_input(const struct gnn_model *model, const struct gnn_batch_view *batch, uint32_t k,
                                  const gnn_real *x)
{
    if (k > 0)
        return layer_output(&model->layer[k - 1], &batch->blocks[k - 1]);
    /* struct gnn_mat serves inputs and outputs; nothing writes to a layer's input */
    return (struct gnn_mat){(gnn_real *)x, batch->blocks[0].src_count, model->config.in_dim};
}

static struct gnn_dropout layer_dropout(const struct gnn_model *model, const struct gnn_batch_view *batch, uint32_t k,
                                        bool train)
{
    if (!train || model->layer[k].last)
        return (struct gnn_dropout){0};
    uint64_t key = gnn_rng_fork(model->config.seed, "dropout");
    key = gnn_rng_fold(key, batch->epoch);
    key = gnn_rng_fold(key, batch->batch);
    if (model->config.rank > 0)
        key = gnn_rng_fold(key, model->config.rank);
    return (struct gnn_dropout){.rate = model->config.dropout, .key = gnn_rng_fold(key, k)};
}

static enum gnn_activation layer_activation(const struct gnn_layer *layer)
{
    return layer->last ? GNN_ACT_NONE : layer->kind->activation;
}

static struct gnn_epilogue layer_epilogue(const struct gnn_model *model, const struct gnn_batch_view *batch, uint32_t k,
                                          bool train)
{
    return (struct gnn_epilogue){layer_activation(&model->layer[k]), layer_dropout(model, batch, k, train)};
}

static void layer_forward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                          struct gnn_mat y, const struct gnn_epilogue *epilogue)
{
    if (layer->kind->whole_forward != NULL && layer->kind->whole_forward(t, layer, b, x, y, epilogue))
        return;
    layer->kind->forward(t, layer, b, x, y);
    t->ops->activate(t, epilogue->act, y, layer->param[0].value, &epilogue->drop);
}

static void layer_backward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                           const struct gnn_epilogue *epilogue, struct gnn_mat dy, struct gnn_mat dx)
{
    const struct gnn_mat y = layer_output(layer, b);
    if (layer->kind->whole_backward != NULL && layer->kind->whole_backward(t, layer, b, x, y, epilogue, dy, dx))
        return;
    if (!layer->last)
        t->ops->activate_back(t, epilogue->act, dy, y, &epilogue->drop);
    t->ops->column_sum(t, layer->param[0].grad, dy);
    layer->kind->backward(t, layer, b, x, dy, dx);
}

/* Returns the logits (seeds, classes): the last layer's output. */
static struct gnn_mat forward(struct gnn_model *model, const struct gnn_batch_view *batch, const gnn_real *x,
                              bool train)
{
    struct gnn_tensor *t = model->tensor;
    struct gnn_mat y = {0};
    for (uint32_t k = 0; k < model->layer_count; k++) {
        const struct gnn_epilogue epilogue = layer_epilogue(model, batch, k, train);
        y = layer_output(&model->layer[k], &batch->blocks[k]);
        layer_forward(t, &model->layer[k], &batch->blocks[k], layer_input(model, batch, k, x), y, &epilogue);
    }
    return y;
}

/* dlogits: what softmax_nll left in place of the logits. dinput (node_count, in_dim): written; NULL: nobody asks. */
static void backward(struct gnn_model *model, const struct gnn_batch_view *batch, const gnn_real *x,
                     struct gnn_mat dlogits, gnn_real *dinput)
{
    struct gnn_tensor *t = model->tensor;
    struct gnn_mat dy = dlogits;
    for (uint32_t k = model->layer_count; k-- > 0;) {
        struct gnn_layer *layer = &model->layer[k];
        const struct gnn_block *b = &batch->blocks[k];
        const struct gnn_epilogue epilogue = layer_epilogue(model, batch, k, true);
        const struct gnn_mat dx = {k > 0 ? model->layer[k - 1].dy.data : dinput, b->src_count, layer->in};
        layer_backward(t, layer, b, layer_input(model, batch, k, x), &epilogue, dy, dx);
        dy = dx;
    }
}

/* Sums Adam's v over the parameters: it keeps the squares of every gradient so far, so nothing there is negative and no
 * term cancels another. A NaN in an input row is in the first layer's gradient whatever the activations made of it,
 * since a product with 0 is NaN too. A part of the step, so that a device need not be asked twice. */
static void sum_squares(struct gnn_model *model)
{
    struct gnn_tensor *t = model->tensor;
    assert(model->state_count % COLUMNS == 0);
    if (t->no_values)
        return;
    const struct gnn_mat v = {model->state + 3 * model->state_count, (uint32_t)(model->state_count / COLUMNS), COLUMNS};
    t->ops->column_sum(t, model->column_sums, v);
}

/* Whether every gradient so far was a finite number whose square is one, after sum_squares. */
static bool gradients_finite(struct gnn_model *model)
{
    struct gnn_tensor *t = model->tensor;
    gnn_real sums[COLUMNS];
    if (t->no_values)
        return true;
    t->ops->download(t, sums, model->column_sums, sizeof sums);
    bool finite = true;
    for (uint32_t c = 0; c < COLUMNS; c++)
        finite = finite && isfinite(sums[c]);
    return finite;
}

static bool loss_finite(const struct gnn_model *model, const struct gnn_step_result *step)
{
    return model->tensor->no_values || isfinite(step->loss);
}

/* Waits for the gradient and the loss, and hands them to the other workers. */
static enum gnn_status average_gradient(struct gnn_model *model, const struct gnn_batch_view *batch,
                                        const struct gnn_step_result *step, struct gnn_err *err)
{
    struct gnn_tensor *t = model->tensor;
    t->ops->synchronize(t);
    GNN_TRY(check_device(t, err));
    return model->on_gradient(model->on_gradient_ctx, model->state + model->state_count, model->state_count, batch,
                              step, err);
}

static void step_adam(struct gnn_model *model)
{
    struct gnn_tensor *t = model->tensor;
    model->step++;
    const struct gnn_adam adam = {.lr = model->config.lr,
                                  .beta1 = 0.9,
                                  .beta2 = 0.999,
                                  .eps = 1e-8,
                                  .weight_decay = model->config.weight_decay,
                                  .step = model->step};
    gnn_real *value = model->state;
    const uint64_t count = model->state_count;
    t->ops->adam(t, value, value + count, value + 2 * count, value + 3 * count, count, &adam);
}

static void update(struct gnn_model *model)
{
    step_adam(model);
    sum_squares(model);
}

/* Gives the step to the device, with Adam where no other worker has a part in the gradient. Returns false if the device
 * has run nothing of it. */
static bool launch_step(struct gnn_model *model, const struct gnn_batch_view *batch, const gnn_real *x,
                        const int32_t *labels, struct gnn_step_result *out)
{
    struct gnn_tensor *t = model->tensor;
    const struct gnn_batch_lists lists = {.view = batch, .labels = labels};
    const uint64_t step = model->step;
    t->ops->step_begin(t, &lists);
    const struct gnn_mat logits = forward(model, batch, x, true);
    t->ops->softmax_nll(t, logits, labels, &out->loss, &out->correct);
    backward(model, batch, x, logits, NULL);
    if (model->on_gradient == NULL)
        update(model);
    if (t->ops->step_end(t))
        return true;
    model->step = step;
    return false;
}

enum gnn_status gnn_model_train(struct gnn_model *model, const struct gnn_batch_view *batch, const gnn_real *x,
                                const int32_t *labels, struct gnn_step_result *out, struct gnn_err *err)
{
    struct gnn_tensor *t = model->tensor;
    GNN_TRY(reserve_batch(model, batch, true, err));
    if (!launch_step(model, batch, x, labels, out) && !launch_step(model, batch, x, labels, out))
        return gnn_fail(err, GNN_EBUG, "a training step could not be launched twice");
    if (model->on_gradient != NULL) {
        GNN_TRY(average_gradient(model, batch, out, err));
        update(model);
    }
    t->ops->synchronize(t);
    GNN_TRY(check_device(t, err));
    out->finite = gradients_finite(model) && loss_finite(model, out);
    return GNN_OK;
}

enum gnn_status gnn_model_evaluate(struct gnn_model *model, const struct gnn_batch_view *batch, const gnn_real *x,
                                   const int32_t *labels, struct gnn_step_result *out, gnn_real *logits,
                                   struct gnn_err *err)
{
    struct gnn_tensor *t = model->tensor;
    GNN_TRY(reserve_batch(model, batch, false, err));
    const struct gnn_mat z = forward(model, batch, x, false);
    if (logits != NULL) /* before softmax_nll replaces them by its gradient */
        t->ops->download(t, logits, z.data, (uint64_t)z.rows * z.cols * sizeof *logits);
    t->ops->softmax_nll(t, z, labels, &out->loss, &out->correct);
    out->finite = loss_finite(model, out);
    t->ops->synchronize(t);
    GNN_TRY(check_device(t, err));
    return GNN_OK;
}

enum gnn_status gnn_model_encode(struct gnn_model *model, const struct gnn_batch_view *batch, const gnn_real *x,
                                 bool train, const gnn_real **out, struct gnn_err *err)
{
    GNN_TRY(reserve_batch(model, batch, train, err));
    *out = forward(model, batch, x, train).data;
    return GNN_OK;
}

/* Adagrad's sums of squares lie where Adam has its v, whose sum says whether every gradient was finite. */
static void step_encoder(struct gnn_model *model)
{
    gnn_real *const value = model->state;
    const uint64_t count = model->state_count;
    if (model->config.optimizer == GNN_OPTIMIZER_ADAM)
        step_adam(model);
    else
        gnn_optimizer_step(model->tensor, model->config.optimizer, model->config.lr, ++model->step, value,
                           value + count, value + 3 * count, count);
}

enum gnn_status gnn_model_encode_back(struct gnn_model *model, const struct gnn_batch_view *batch, const gnn_real *x,
                                      gnn_real *dout, gnn_real *dx, bool *finite, struct gnn_err *err)
{
    struct gnn_tensor *t = model->tensor;
    const struct gnn_mat dz = {dout, batch->seed_count, model->config.classes};
    backward(model, batch, x, dz, dx);
    step_encoder(model);
    sum_squares(model);
    t->ops->synchronize(t);
    GNN_TRY(check_device(t, err));
    *finite = gradients_finite(model);
    return GNN_OK;
}

enum gnn_status gnn_model_logits(struct gnn_model *model, const struct gnn_batch_view *batch, const gnn_real *x,
                                 gnn_real *out, struct gnn_err *err)
{
    struct gnn_tensor *t = model->tensor;
    GNN_TRY(reserve_batch(model, batch, false, err));
    const struct gnn_mat logits = forward(model, batch, x, false);
    t->ops->download(t, out, logits.data, (uint64_t)logits.rows * logits.cols * sizeof *out);
    return GNN_OK;
}

/* ---- looking inside ---- */

uint32_t gnn_model_param_count(const struct gnn_model *model)
{
    return model->layer_count * model->layer[0].kind->param_count;
}

struct gnn_param gnn_model_param(const struct gnn_model *model, uint32_t index)
{
    assert(index < gnn_model_param_count(model));
    const uint32_t per_layer = model->layer[0].kind->param_count;
    return model->layer[index / per_layer].param[index % per_layer];
}

void gnn_model_set_step(struct gnn_model *model, uint64_t step)
{
    model->step = step;
}

uint32_t gnn_model_layer_count(const struct gnn_model *model)
{
    return model->layer_count;
}

struct gnn_layer *gnn_model_layer(struct gnn_model *model, uint32_t index)
{
    assert(index < model->layer_count);
    return &model->layer[index];
}
