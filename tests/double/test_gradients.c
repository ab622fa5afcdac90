/* SPDX-License-Identifier: MIT */
/* Finite differences in double precision (docs/invariants-harness.md, Models: 1 to 4): the reference back-end
 * and the models compiled with gnn_real = double. */
#include "harness/model/layer.h"
#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const uint64_t seed = 20240229;

/* Central differences in double: truncation ~h^2, rounding ~1e-16 / h; a kink of ReLU or leaky ReLU inside
 * +-h would show as a gross error, so the seed is fixed. */
static const double step = 1e-6, tolerance = 2e-7;

struct model_case {
    const char *name;
    struct gnn_model_config config;
};

#define BASE_CONFIG .layers = 3, .in_dim = 5, .hidden = 4, .heads = 2, .classes = 3, .seed = 11
static const struct model_case models[] = {
    {"sage", {.kind = GNN_MODEL_SAGE, BASE_CONFIG}},
    {"gcn released", {.kind = GNN_MODEL_GCN, BASE_CONFIG}},
    {"gcn standard", {.kind = GNN_MODEL_GCN, .gcn_norm = GNN_GCN_NORM_STANDARD, BASE_CONFIG}},
    {"gcn maps sources", {.kind = GNN_MODEL_GCN, .gcn_maps_sources = true, BASE_CONFIG}},
    {"gat per head", {.kind = GNN_MODEL_GAT, BASE_CONFIG}},
    {"gat total", {.kind = GNN_MODEL_GAT, .gat_width_total = true, BASE_CONFIG}},
};
enum { MODELS = sizeof models / sizeof *models };

struct fixture {
    struct toy_memory memory;
    struct gnn_tensor *tensor;
    struct gnn_model *model;
    struct gnn_rng rng;
    struct gnn_batch_view batch;
    gnn_real *x;
    int32_t *labels;
};

/* Biases that start at zero get values: a check at zero would miss a wrong sign. */
static void randomise_params(struct fixture *f)
{
    for (uint32_t p = 0; p < gnn_model_param_count(f->model); p++) {
        const struct gnn_param param = gnn_model_param(f->model, p);
        for (uint32_t k = 0; k < param.rows * param.cols; k++)
            param.value[k] = gnn_rng_unit(&f->rng) * 1.6 - 0.8;
    }
}

static void fixture_open(struct fixture *f, const struct gnn_model_config *config, struct toy_degree degree)
{
    *f = (struct fixture){.rng = gnn_rng_at(seed)};
    f->tensor = toy_tensor_open(&gnn_tensor_ref, &f->memory, 1);
    assert_int_equal(gnn_model_open(f->tensor, config, &f->model, NULL), GNN_OK);
    randomise_params(f);
    f->batch = toy_batch(&f->rng, config->layers, 4, 1, degree);
    f->x = toy_reals(&f->rng, (uint64_t)f->batch.node_count * config->in_dim, -1, 1);
    f->labels = toy_labels(&f->rng, f->batch.seed_count, config->classes);
}

static void fixture_close(struct fixture *f)
{
    toy_batch_free(&f->batch);
    free(f->x);
    free(f->labels);
    gnn_model_close(f->model);
    f->tensor->ops->close(f->tensor);
    assert_int_equal(f->memory.current_bytes, 0);
}

static double loss_of(struct fixture *f)
{
    struct gnn_step_result result;
    assert_int_equal(gnn_model_evaluate(f->model, &f->batch, f->x, f->labels, &result, NULL, NULL), GNN_OK);
    return result.loss;
}

static void check_close(const char *model, const char *what, uint32_t k, double analytic, double numeric)
{
    const double bound = tolerance * (1 + fabs(numeric));
    if (!(fabs(analytic - numeric) <= bound))
        fail_msg("%s, %s[%u]: gradient %.12g, finite difference %.12g", model, what, k, analytic, numeric);
}

static void check_params(struct fixture *f, const char *name)
{
    struct gnn_step_result result;
    double largest = 0;
    assert_int_equal(gnn_model_train(f->model, &f->batch, f->x, f->labels, &result, NULL), GNN_OK);
    for (uint32_t p = 0; p < gnn_model_param_count(f->model); p++) {
        const struct gnn_param param = gnn_model_param(f->model, p);
        for (uint32_t k = 0; k < param.rows * param.cols; k++) {
            const double value = param.value[k];
            param.value[k] = value + step;
            const double above = loss_of(f);
            param.value[k] = value - step;
            const double below = loss_of(f);
            param.value[k] = value;
            check_close(name, param.name, k, param.grad[k], (above - below) / (2 * step));
            largest = fmax(largest, fabs(param.grad[k]));
        }
    }
    assert_true(largest > 1e-3);
}

/* lr = 0: a training step leaves the parameters alone and the gradients behind. */
static void test_parameter_gradients(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < MODELS; c++) {
        struct fixture f;
        fixture_open(&f, &models[c].config, (struct toy_degree){0, 3});
        check_params(&f, models[c].name);
        fixture_close(&f);
    }
}

/* ---- inputs of inner layers ---- */

/* <z, r> with z the layer's output before the epilogue: any linear functional will do as a loss. */
static double layer_value(struct fixture *f, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                          const gnn_real *r)
{
    const struct gnn_mat z = {layer->y.data, b->dst_count, layer->out};
    layer->kind->forward(f->tensor, layer, b, x, z);
    double sum = 0;
    for (uint32_t k = 0; k < z.rows * z.cols; k++)
        sum += z.data[k] * r[k];
    return sum;
}

static void check_layer_input(struct fixture *f, const char *name, uint32_t index)
{
    struct gnn_layer *layer = gnn_model_layer(f->model, index);
    const struct gnn_block *b = &f->batch.blocks[index];
    const struct gnn_layer_size size = {b->dst_count, b->src_count, b->edge_count};
    assert_int_equal(gnn_layer_reserve(f->tensor, layer, &size, true, NULL), GNN_OK);
    const uint32_t count = b->src_count * layer->in;
    const struct gnn_mat x = {toy_reals(&f->rng, count, -1, 1), b->src_count, layer->in};
    const struct gnn_mat dx = {toy_reals(&f->rng, count, 7, 9), b->src_count, layer->in};
    gnn_real *r = toy_reals(&f->rng, (uint64_t)b->dst_count * layer->out, -1, 1);
    (void)layer_value(f, layer, b, x, r);
    gnn_real *dz = malloc(((uint64_t)b->dst_count * layer->out + 1) * sizeof *dz);
    assert_non_null(dz);
    memcpy(dz, r, (uint64_t)b->dst_count * layer->out * sizeof *dz);
    layer->kind->backward(f->tensor, layer, b, x, (struct gnn_mat){dz, b->dst_count, layer->out}, dx);
    for (uint32_t k = 0; k < count; k++) {
        const double value = x.data[k];
        x.data[k] = value + step;
        const double above = layer_value(f, layer, b, x, r);
        x.data[k] = value - step;
        const double below = layer_value(f, layer, b, x, r);
        x.data[k] = value;
        check_close(name, layer->last ? "last layer's input" : "hidden layer's input", k, dx.data[k],
                    (above - below) / (2 * step));
    }
    free(x.data);
    free(dx.data);
    free(r);
    free(dz);
}

static void test_input_gradients(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < MODELS; c++)
        for (uint32_t index = 1; index < 3; index++) {
            struct fixture f;
            fixture_open(&f, &models[c].config, (struct toy_degree){0, 3});
            check_layer_input(&f, models[c].name, index);
            fixture_close(&f);
        }
}

/* The epilogue's two directions: ReLU and ELU with bias and dropout. */
static void test_activation_gradients(void **state)
{
    (void)state;
    static const enum gnn_activation acts[] = {GNN_ACT_NONE, GNN_ACT_RELU, GNN_ACT_ELU};
    struct toy_memory memory = {0};
    struct gnn_tensor *t = toy_tensor_open(&gnn_tensor_ref, &memory, 1);
    struct gnn_rng rng = gnn_rng_at(seed);
    enum { ROWS = 6, COLS = 7, COUNT = ROWS * COLS };
    gnn_real *z = toy_reals(&rng, COUNT, -2, 2), *bias = toy_reals(&rng, COLS, -1, 1),
             *r = toy_reals(&rng, COUNT, -1, 1);
    gnn_real y[COUNT], dz[COUNT], moved[COUNT];
    for (uint32_t a = 0; a < 3; a++) {
        const struct gnn_dropout drop = {.rate = 0.3, .key = 77};
        memcpy(y, z, sizeof y);
        memcpy(dz, r, sizeof dz);
        t->ops->activate(t, acts[a], (struct gnn_mat){y, ROWS, COLS}, bias, &drop);
        t->ops->activate_back(t, acts[a], (struct gnn_mat){dz, ROWS, COLS}, (struct gnn_mat){y, ROWS, COLS}, &drop);
        for (uint32_t k = 0; k < COUNT; k++) {
            double value[2];
            for (int side = 0; side < 2; side++) {
                memcpy(moved, z, sizeof moved);
                moved[k] += side == 0 ? step : -step;
                t->ops->activate(t, acts[a], (struct gnn_mat){moved, ROWS, COLS}, bias, &drop);
                value[side] = moved[k] * r[k];
            }
            check_close("epilogue", "z", k, dz[k], (value[0] - value[1]) / (2 * step));
        }
    }
    free(z);
    free(bias);
    free(r);
    t->ops->close(t);
}

/* ---- closed forms (checks 2 to 4) ---- */

static double param_dot(const struct gnn_param *w, uint32_t row, const gnn_real *x)
{
    double sum = 0;
    for (uint32_t c = 0; c < w->cols; c++)
        sum += w->value[row * w->cols + c] * x[c];
    return sum;
}

static const struct gnn_param *find_param(const struct gnn_layer *layer, const char *suffix)
{
    for (uint32_t p = 0; p < layer->kind->param_count; p++)
        if (strcmp(strchr(layer->param[p].name, '.') + 1, suffix) == 0)
            return &layer->param[p];
    fail_msg("no parameter %s", suffix);
    return NULL;
}

/* What a target without sampled neighbours gives, per model. */
static double isolated_value(const struct gnn_layer *layer, const gnn_real *x, uint32_t c)
{
    if (layer->kind == &gnn_layer_sage)
        return param_dot(find_param(layer, "w_r"), c, x) + find_param(layer, "b")->value[c];
    if (layer->kind == &gnn_layer_gcn)
        return find_param(layer, "b")->value[c];
    double u = 0;
    for (uint32_t h = 0; layer->last && h < layer->heads; h++)
        u += param_dot(find_param(layer, "w"), h * layer->channels + c, x) / layer->heads;
    if (!layer->last)
        u = param_dot(find_param(layer, "w"), c, x);
    return u + find_param(layer, "b")->value[c] + param_dot(find_param(layer, "skip_w"), c, x) +
           find_param(layer, "skip_b")->value[c];
}

static void check_isolated(struct fixture *f, const char *name, uint32_t layers)
{
    assert_int_equal(f->batch.blocks[0].edge_count, 0);
    const uint32_t seeds = f->batch.seed_count, classes = 3;
    gnn_real logits[64];
    assert_true(seeds * classes <= 64 && layers == 1);
    assert_int_equal(gnn_model_logits(f->model, &f->batch, f->x, logits, NULL), GNN_OK);
    for (uint32_t i = 0; i < seeds; i++)
        for (uint32_t c = 0; c < classes; c++)
            check_close(name, "logit of an isolated target", i * classes + c, logits[i * classes + c],
                        isolated_value(gnn_model_layer(f->model, 0), f->x + (uint64_t)i * 5, c));
}

static void test_isolated_targets(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < MODELS; c++) {
        struct gnn_model_config config = models[c].config;
        config.layers = 1;
        struct fixture f;
        fixture_open(&f, &config, (struct toy_degree){0, 0});
        check_isolated(&f, models[c].name, config.layers);
        fixture_close(&f);
    }
}

static void check_attention_row(const struct gnn_attention *att, const struct gnn_block *b, uint32_t i, uint32_t h)
{
    const uint64_t first = (uint64_t)b->row_start[i] + i;
    const uint32_t edges = b->row_start[i + 1] - b->row_start[i];
    double sum = 0;
    for (uint32_t k = 0; k <= edges; k++) {
        const double alpha = att->alpha[(first + k) * att->heads + h];
        const bool own_edge = k < edges && b->col[b->row_start[i] + k] == i;
        assert_true(own_edge ? alpha == 0 : alpha > 0);
        sum += alpha;
    }
    assert_true(fabs(sum - 1) < 1e-6);
}

/* Attention sums to one per target and head; the self-loop is there exactly once, sampled or not. */
static void test_attention_sums(void **state)
{
    (void)state;
    struct toy_memory memory = {0};
    struct gnn_tensor *t = toy_tensor_open(&gnn_tensor_ref, &memory, 1);
    struct gnn_rng rng = gnn_rng_at(seed);
    struct gnn_block b = toy_block(&rng, 12, 20, (struct toy_degree){0, 9});
    enum { HEADS = 3, CHANNELS = 4 };
    uint32_t own_edges = 0;
    for (uint32_t i = 0; i < b.dst_count; i++)
        for (uint32_t e = b.row_start[i]; e < b.row_start[i + 1]; e++)
            own_edges += b.col[e] == i;
    assert_true(own_edges > 0 && own_edges < b.dst_count); /* both kinds of rows are in */
    gnn_real *a = toy_reals(&rng, HEADS * CHANNELS * 2, -3, 3);
    const struct gnn_attention att = {
        .heads = HEADS,
        .slope = 0.2,
        .a_src = a,
        .a_dst = a + HEADS * CHANNELS,
        .u = {toy_reals(&rng, 20 * HEADS * CHANNELS, -2, 2), 20, HEADS * CHANNELS},
        .s = {toy_reals(&rng, 20 * HEADS, 0, 1), 20, HEADS},
        .d = {toy_reals(&rng, 12 * HEADS, 0, 1), 12, HEADS},
        .alpha = toy_reals(&rng, (b.edge_count + 12ull) * HEADS, 5, 6),
    };
    t->ops->gat_scores(t, &att);
    t->ops->gat_softmax(t, &att, &b);
    for (uint32_t i = 0; i < b.dst_count; i++)
        for (uint32_t h = 0; h < HEADS; h++)
            check_attention_row(&att, &b, i, h);
    free(a);
    free(att.u.data);
    free(att.s.data);
    free(att.d.data);
    free(att.alpha);
    toy_block_free(&b);
    t->ops->close(t);
}

/* The linear map commutes with the sum: both orders of GCN are the same model. */
static void test_gcn_orders_agree(void **state)
{
    (void)state;
    struct gnn_model_config config = {.kind = GNN_MODEL_GCN, BASE_CONFIG};
    double losses[2];
    for (int maps = 0; maps < 2; maps++) {
        struct fixture f;
        config.gcn_maps_sources = maps == 1;
        fixture_open(&f, &config, (struct toy_degree){0, 3});
        losses[maps] = loss_of(&f);
        fixture_close(&f);
    }
    assert_true(losses[0] > 0.1);
    assert_true(fabs(losses[0] - losses[1]) < 1e-12);
}

/* Ring: target i draws from sources i .. i + a - 1 (mod n), so every row and every column has a edges. */
static void test_gcn_regular_block(void **state)
{
    (void)state;
    enum { N = 9, A = 4 };
    uint32_t row_start[N + 1], col[N * A];
    for (uint32_t i = 0; i <= N; i++)
        row_start[i] = i * A;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t e = i * A;
        for (uint32_t j = 0; j < N; j++)
            if ((j + N - i) % N < A)
                col[e++] = j;
    }
    const struct gnn_block b = {N, N, N * A, row_start, col};
    struct toy_memory memory = {0};
    struct gnn_tensor *t = toy_tensor_open(&gnn_tensor_ref, &memory, 1);
    gnn_real released[N * A], standard[N * A], sum[N];
    t->ops->gcn_weights(t, GNN_GCN_NORM_RELEASED, released, sum, &b);
    t->ops->gcn_weights(t, GNN_GCN_NORM_STANDARD, standard, sum, &b);
    for (uint32_t e = 0; e < N * A; e++) {
        assert_true(fabs(standard[e] - 1.0 / A) < 1e-12);
        assert_true(fabs(released[e] - pow(A, -0.5) * pow(A * pow(A, -0.5), -0.5)) < 1e-12);
        assert_true(fabs(released[e] - standard[e] * pow(A, 0.25)) < 1e-12);
    }
    t->ops->close(t);
}

/* Released weights by the definition, on a block with rows and columns of many degrees. */
static void test_gcn_irregular_block(void **state)
{
    (void)state;
    struct gnn_rng rng = gnn_rng_at(seed + 1);
    struct gnn_block b = toy_block(&rng, 15, 25, (struct toy_degree){0, 6});
    struct toy_memory memory = {0};
    struct gnn_tensor *t = toy_tensor_open(&gnn_tensor_ref, &memory, 1);
    gnn_real weight[15 * 6], sum[25];
    t->ops->gcn_weights(t, GNN_GCN_NORM_RELEASED, weight, sum, &b);
    double p[15], q[25] = {0};
    for (uint32_t i = 0; i < 15; i++) {
        p[i] = pow(b.row_start[i + 1] - b.row_start[i], -0.5);
        for (uint32_t e = b.row_start[i]; e < b.row_start[i + 1]; e++)
            q[b.col[e]] += p[i];
    }
    for (uint32_t i = 0; i < 15; i++)
        for (uint32_t e = b.row_start[i]; e < b.row_start[i + 1]; e++)
            assert_true(fabs(weight[e] - p[i] * pow(q[b.col[e]], -0.5)) < 1e-12);
    toy_block_free(&b);
    t->ops->close(t);
}

int main(void)
{
    (void)printf("seed %llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameter_gradients),  cmocka_unit_test(test_input_gradients),
        cmocka_unit_test(test_activation_gradients), cmocka_unit_test(test_isolated_targets),
        cmocka_unit_test(test_attention_sums),       cmocka_unit_test(test_gcn_regular_block),
        cmocka_unit_test(test_gcn_irregular_block),  cmocka_unit_test(test_gcn_orders_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
