/* SPDX-License-Identifier: MIT */
/* Finite differences in double precision of link prediction: node vectors, relations, and an encoder's input and
 * parameters behind them (docs/invariants-harness.md, Links). */
#include "harness/model/layer.h"
#include "tests/support/link_cases.h"
#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const uint64_t seed = 20231105;
static const double step = 1e-6, tolerance = 2e-7;

enum { NODES = 9, EDGES = 11, CHUNKS = 3, NEGATIVES = 6, RELATIONS = 3, DIM = 6 };

static void check_close(const char *what, uint64_t k, double analytic, double numeric)
{
    if (!(fabs(analytic - numeric) <= tolerance * (1 + fabs(numeric))))
        fail_msg("%s[%u]: gradient %.12g, finite difference %.12g", what, (unsigned)k, analytic, numeric);
}

static double objective(const struct link_case *c, const gnn_real *h, const gnn_real *const relations[2])
{
    return link_loss(c, h, relations) + link_penalty(c, h, relations);
}

/* Differences of loss and penalty over count values against the gradient that came out of a step. */
static void check_all(const struct link_case *c, const char *what, gnn_real *value, const gnn_real *grad,
                      uint64_t count, const gnn_real *h, const gnn_real *const relations[2])
{
    double largest = 0;
    for (uint64_t k = 0; k < count; k++) {
        const double before = value[k];
        value[k] = before + step;
        const double above = objective(c, h, relations);
        value[k] = before - step;
        const double below = objective(c, h, relations);
        value[k] = before;
        check_close(what, k, grad[k], (above - below) / (2 * step));
        largest = fmax(largest, fabs(grad[k]));
    }
    assert_true(largest > 1e-3);
}

static void randomise_relations(struct gnn_link *link, struct gnn_rng *rng)
{
    for (uint32_t t = 0; t < 2; t++) {
        const struct gnn_link_table table = gnn_link_relations(link, t);
        for (uint64_t k = 0; k < (uint64_t)table.rows * table.cols; k++)
            table.value[k] = gnn_rng_unit(rng) * 1.6 - 0.8;
    }
}

/* lr = 0: a training step leaves values alone and gradients behind. */
static void check_decoder(enum gnn_decoder decoder, const char *name, bool all, double n3)
{
    struct toy_memory memory = {0};
    struct gnn_tensor *const t = toy_tensor_open(&gnn_tensor_ref, &memory, 1);
    struct gnn_rng rng = gnn_rng_at(seed);
    const struct gnn_link_config config = {
        .decoder = decoder, .optimizer = GNN_OPTIMIZER_ADAGRAD, .dim = DIM, .relations = RELATIONS, .n3 = n3};
    struct link_case c;
    struct gnn_link *link = NULL;
    if (all)
        link_case_open_all(&c, &rng, &config, NODES, EDGES, CHUNKS);
    else
        link_case_open(&c, &rng, &config, NODES, EDGES, CHUNKS, NEGATIVES);
    assert_int_equal(gnn_link_open(t, &config, &link, NULL), GNN_OK);
    randomise_relations(link, &rng);
    gnn_real *const h = toy_reals(&rng, NODES * DIM, -1, 1), *const dh = toy_reals(&rng, NODES * DIM, 5, 6);
    const gnn_real *const relations[2] = {gnn_link_relations(link, 0).value, gnn_link_relations(link, 1).value};
    double loss = 0;
    bool finite = false;
    assert_int_equal(gnn_link_train(link, &c.view, h, dh, &loss, &finite, NULL), GNN_OK);
    assert_true(finite);
    check_close(name, 0, loss, link_loss(&c, h, relations));
    check_all(&c, name, h, dh, NODES * DIM, h, relations);
    for (uint32_t k = 0; k < 2; k++) {
        const struct gnn_link_table table = gnn_link_relations(link, k);
        check_all(&c, name, table.value, table.grad, RELATIONS * DIM, h, relations);
    }
    free(h);
    free(dh);
    link_case_close(&c);
    gnn_link_close(link);
    t->ops->close(t);
    assert_int_equal(memory.current_bytes, 0);
}

static void test_decoders(void **state)
{
    (void)state;
    for (int decoder = 0; decoder < GNN_DECODER_KINDS; decoder++)
        check_decoder((enum gnn_decoder)decoder, gnn_decoder_words[decoder], false, 0);
}

/* The true end of an edge is among all nodes and must not count twice. */
static void test_all_nodes(void **state)
{
    (void)state;
    for (int decoder = 0; decoder < GNN_DECODER_KINDS; decoder++)
        check_decoder((enum gnn_decoder)decoder, gnn_decoder_words[decoder], true, 0);
}

/* The penalty adds to the gradient, and not to the loss. */
static void test_penalty(void **state)
{
    (void)state;
    for (int decoder = 0; decoder < GNN_DECODER_KINDS; decoder++)
        for (int all = 0; all < 2; all++)
            check_decoder((enum gnn_decoder)decoder, gnn_decoder_words[decoder], all == 1, 0.3);
}

/* ---- behind an encoder ---- */

struct encoded {
    struct gnn_tensor *tensor;
    struct gnn_model *model;
    struct gnn_link *link;
    struct link_case c;
    struct gnn_batch_view batch;
    gnn_real *x, *dx, *dh;
};

static double encoded_loss(struct encoded *e)
{
    const gnn_real *const relations[2] = {gnn_link_relations(e->link, 0).value, gnn_link_relations(e->link, 1).value};
    const gnn_real *h;
    assert_int_equal(gnn_model_encode(e->model, &e->batch, e->x, true, &h, NULL), GNN_OK);
    return link_loss(&e->c, h, relations);
}

static void check_encoded(struct encoded *e, const char *what, gnn_real *value, const gnn_real *grad, uint64_t count)
{
    for (uint64_t k = 0; k < count; k++) {
        const double before = value[k];
        value[k] = before + step;
        const double above = encoded_loss(e);
        value[k] = before - step;
        const double below = encoded_loss(e);
        value[k] = before;
        check_close(what, k, grad[k], (above - below) / (2 * step));
    }
}

/* Biases that start at zero get values: a target without neighbours would sit on ReLU's kink. */
static void randomise_params(struct gnn_model *model, struct gnn_rng *rng)
{
    for (uint32_t p = 0; p < gnn_model_param_count(model); p++) {
        const struct gnn_param param = gnn_model_param(model, p);
        for (uint64_t k = 0; k < (uint64_t)param.rows * param.cols; k++)
            param.value[k] = gnn_rng_unit(rng) * 1.6 - 0.8;
    }
}

static void check_encoder(enum gnn_model_kind kind, uint32_t layers)
{
    struct toy_memory memory = {0};
    struct gnn_rng rng = gnn_rng_at(seed + kind);
    const struct gnn_link_config config = {.optimizer = GNN_OPTIMIZER_ADAGRAD, .dim = DIM, .relations = RELATIONS};
    const struct gnn_model_config model = {.kind = kind,
                                           .layers = layers,
                                           .in_dim = 5,
                                           .hidden = 4,
                                           .heads = 2,
                                           .classes = DIM,
                                           .optimizer = GNN_OPTIMIZER_ADAGRAD,
                                           .seed = 3};
    struct encoded e = {.tensor = toy_tensor_open(&gnn_tensor_ref, &memory, 1)};
    assert_int_equal(gnn_model_open(e.tensor, &model, &e.model, NULL), GNN_OK);
    assert_int_equal(gnn_link_open(e.tensor, &config, &e.link, NULL), GNN_OK);
    randomise_relations(e.link, &rng);
    randomise_params(e.model, &rng);
    link_case_open(&e.c, &rng, &config, NODES, EDGES, CHUNKS, NEGATIVES);
    e.batch = toy_batch(&rng, layers, NODES, 1, (struct toy_degree){0, 3});
    const uint64_t inputs = (uint64_t)e.batch.node_count * model.in_dim;
    e.x = toy_reals(&rng, inputs, -1, 1);
    e.dx = toy_reals(&rng, inputs, 7, 8);
    e.dh = toy_reals(&rng, NODES * DIM, 7, 8);
    const gnn_real *h;
    double loss;
    bool finite = false;
    assert_int_equal(gnn_model_encode(e.model, &e.batch, e.x, true, &h, NULL), GNN_OK);
    assert_int_equal(gnn_link_train(e.link, &e.c.view, h, e.dh, &loss, &finite, NULL), GNN_OK);
    assert_int_equal(gnn_model_encode_back(e.model, &e.batch, e.x, e.dh, e.dx, &finite, NULL), GNN_OK);
    assert_true(finite);
    check_encoded(&e, "input", e.x, e.dx, inputs);
    for (uint32_t p = 0; p < gnn_model_param_count(e.model); p++) {
        const struct gnn_param param = gnn_model_param(e.model, p);
        check_encoded(&e, param.name, param.value, param.grad, (uint64_t)param.rows * param.cols);
    }
    toy_batch_free(&e.batch);
    free(e.x);
    free(e.dx);
    free(e.dh);
    link_case_close(&e.c);
    gnn_link_close(e.link);
    gnn_model_close(e.model);
    e.tensor->ops->close(e.tensor);
    assert_int_equal(memory.current_bytes, 0);
}

static void test_encoders(void **state)
{
    (void)state;
    for (int kind = 0; kind < GNN_MODEL_KINDS; kind++)
        for (uint32_t layers = 1; layers <= 2; layers++)
            check_encoder((enum gnn_model_kind)kind, layers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoders),
        cmocka_unit_test(test_all_nodes),
        cmocka_unit_test(test_penalty),
        cmocka_unit_test(test_encoders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
