/* SPDX-License-Identifier: MIT */
/* Link prediction on the back-ends: loss and gradient against the formulas, masks, steps of the optimisers by hand,
 * a planted graph that is learned, ranks with ties. */
#include "harness/model/ranking.h"
#include "tests/support/device_tensor.h"
#include "tests/support/link_cases.h"
#include "tests/support/must.h"
#include "tests/support/seed.h"
#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 40, EDGES = 53, CHUNKS = 4, NEGATIVES = 37, RELATIONS = 5, DIM = 22 };

#define assert_near(found, expected, apart) assert_true(fabs((double)(found) - (expected)) <= (apart))

static const struct gnn_tensor_ops *const backends[] = {&gnn_tensor_ref, &gnn_tensor_cpu};

static void randomise_relations(struct gnn_link *link, struct gnn_rng *rng)
{
    for (uint32_t t = 0; t < 2; t++) {
        const struct gnn_link_table table = gnn_link_relations(link, t);
        for (uint64_t k = 0; k < (uint64_t)table.rows * table.cols; k++)
            table.value[k] = (gnn_real)(gnn_rng_unit(rng) * 1.6 - 0.8);
    }
}

/* One step of a back-end: loss, gradient of the vectors. */
static double step_of(const struct gnn_tensor_ops *ops, enum gnn_decoder decoder, bool all, gnn_real *dh)
{
    struct toy_memory memory = {0};
    struct gnn_tensor *const t = toy_tensor_open(ops, &memory, 1);
    struct gnn_rng rng = gnn_rng_at(test_seed());
    const struct gnn_link_config config = {
        .decoder = decoder, .optimizer = GNN_OPTIMIZER_ADAGRAD, .dim = DIM, .relations = RELATIONS, .lr = 0.1};
    struct link_case c;
    struct gnn_link *link = NULL;
    struct gnn_err err = {0};
    if (all)
        link_case_open_all(&c, &rng, &config, NODES, EDGES, CHUNKS);
    else
        link_case_open(&c, &rng, &config, NODES, EDGES, CHUNKS, NEGATIVES);
    must(gnn_link_open(t, &config, &link, &err), &err);
    randomise_relations(link, &rng);
    gnn_real *const h = toy_reals(&rng, NODES * DIM, -1, 1);
    const gnn_real *const relations[2] = {gnn_link_relations(link, 0).value, gnn_link_relations(link, 1).value};
    const double expected = link_loss(&c, h, relations);
    double loss = 0;
    bool finite = false;
    must(gnn_link_train(link, &c.view, h, dh, &loss, &finite, &err), &err);
    assert_true(finite);
    if (fabs(loss - expected) > 1e-5 * expected)
        fail_msg("%s %s: loss %.9g, by the formulas %.9g", ops->name, gnn_decoder_words[decoder], loss, expected);
    free(h);
    link_case_close(&c);
    gnn_link_close(link);
    t->ops->close(t);
    assert_int_equal(memory.current_bytes, 0);
    return loss;
}

/* The gradient itself is checked by finite differences in double (tests/double). */
static void test_backends_agree(void **state)
{
    (void)state;
    for (int run = 0; run < 2 * GNN_DECODER_KINDS; run++) {
        gnn_real plain[NODES * DIM], fast[NODES * DIM];
        double largest = 0, apart = 0;
        const int decoder = run / 2;
        (void)step_of(&gnn_tensor_ref, (enum gnn_decoder)decoder, run % 2 == 1, plain);
        (void)step_of(&gnn_tensor_cpu, (enum gnn_decoder)decoder, run % 2 == 1, fast);
        for (int k = 0; k < NODES * DIM; k++) {
            largest = fmax(largest, fabs((double)plain[k]));
            apart = fmax(apart, fabs((double)plain[k] - (double)fast[k]));
        }
        if (!(apart <= 2e-5 * largest) || largest == 0)
            fail_msg("%s: gradients up to %g are %g apart", gnn_decoder_words[decoder], largest, apart);
    }
}

/* A candidate that is an end of the very edge is not compared with it: its score does not matter. */
static void test_an_edge_is_no_negative_of_itself(void **state)
{
    (void)state;
    static const uint32_t own[3] = {1, GNN_NODE_NONE, 0};
    for (size_t b = 0; b < 2; b++) {
        struct toy_memory memory = {0};
        struct gnn_tensor *const t = toy_tensor_open(backends[b], &memory, 1);
        gnn_real scores[6] = {1, 2, 1e30f, /**/ 1e30f, 0, 1}, positive[2] = {1, 0};
        double loss = 0;
        t->ops->link->loss(t, (struct gnn_mat){scores, 2, 3}, positive, own, &loss);
        const double first = 2 * exp(1) + exp(2), second = 2 + exp(1);
        assert_near(loss, log(first) - 1 + log(second), 1e-5);
        const double expected[6] = {exp(1) / first, exp(2) / first, 0, /**/ 0, 1 / second, exp(1) / second};
        for (int k = 0; k < 6; k++)
            assert_near(scores[k], expected[k], 1e-6);
        assert_near(positive[0], exp(1) / first - 1, 1e-6);
        assert_near(positive[1], 1 / second - 1, 1e-6);
        t->ops->close(t);
    }
}

/* state + g^2, then lr g / (sqrt(state) + eps); twice. A gradient of 0 moves nothing, one of eps goes half the way. */
static void test_adagrad_by_hand(void **state)
{
    (void)state;
    for (size_t b = 0; b < 2; b++) {
        struct toy_memory memory = {0};
        struct gnn_tensor *const t = toy_tensor_open(backends[b], &memory, 1);
        gnn_real value[4] = {1, 1, 1, 1}, sums[4] = {0, 9, 0, 0};
        static const gnn_real grad[4] = {2, -4, 0, 1e-10f};
        gnn_optimizer_step(t, GNN_OPTIMIZER_ADAGRAD, 0.1, 1, value, grad, sums, 4);
        assert_near(value[0], 0.9, 1e-6);  /* 1 - 0.1 * 2 / 2 */
        assert_near(value[1], 1.08, 1e-6); /* 1 + 0.1 * 4 / 5 */
        assert_near(value[2], 1, 0);
        assert_near(value[3], 0.95, 1e-6);
        gnn_optimizer_step(t, GNN_OPTIMIZER_ADAGRAD, 0.1, 2, value, grad, sums, 4);
        assert_near(value[0], 0.9 - 0.2 / sqrt(8), 1e-6);
        assert_near(sums[1], 41, 1e-5);
        assert_near(sums[2], 0, 0);
        t->ops->close(t);
    }
}

/* 3 weight |x| x is added; with ComplEx |x| is the length of (3, 4), and of (0, -2). */
static void test_cubes_by_hand(void **state)
{
    (void)state;
    static const struct {
        enum gnn_decoder decoder;
        gnn_real expected[4];
    } cases[] = {{GNN_DECODER_DISTMULT, {10 + 0.5f * 9, 10, 10 + 0.5f * 16, 10 - 0.5f * 4}},
                 {GNN_DECODER_COMPLEX, {10 + 0.5f * 15, 10, 10 + 0.5f * 20, 10 - 0.5f * 4}},
                 {GNN_DECODER_TRANSE, {10 + 0.5f * 9, 10, 10 + 0.5f * 16, 10 - 0.5f * 4}}};
    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct toy_memory memory = {0};
            struct gnn_tensor *const t = toy_tensor_open(backends[b], &memory, 1);
            gnn_real x[4] = {3, 0, 4, -2}, dx[4] = {10, 10, 10, 10};
            t->ops->link->cubes_back(t, cases[i].decoder, (struct gnn_mat){dx, 1, 4}, 0.5 / 3,
                                     (struct gnn_mat){x, 1, 4});
            for (int k = 0; k < 4; k++)
                assert_near(dx[k], cases[i].expected[k], 1e-5);
            t->ops->close(t);
        }
}

/* The first step of Adam is lr in the gradient's direction, for a gradient of eps half of that; 0 moves nothing. */
static void test_adam_by_hand(void **state)
{
    (void)state;
    for (size_t b = 0; b < 2; b++) {
        struct toy_memory memory = {0};
        struct gnn_tensor *const t = toy_tensor_open(backends[b], &memory, 1);
        gnn_real value[4] = {1, 1, 1, 1}, moments[8] = {0};
        static const gnn_real grad[4] = {3, -0.5f, 0, 1e-8f};
        gnn_optimizer_step(t, GNN_OPTIMIZER_ADAM, 0.01, 1, value, grad, moments, 4);
        assert_near(value[0], 0.99, 1e-5);
        assert_near(value[1], 1.01, 1e-5);
        assert_near(value[2], 1, 0);
        assert_near(value[3], 0.995, 1e-5);
        assert_near(moments[0], 0.3, 1e-6);
        assert_near(moments[4], 0.009, 1e-6);
        t->ops->close(t);
    }
}

/* Relations begin as what changes nothing: every decoder scores by the vectors alone. */
static void test_relations_begin_neutral(void **state)
{
    (void)state;
    for (int decoder = 0; decoder < GNN_DECODER_KINDS; decoder++) {
        struct toy_memory memory = {0};
        struct gnn_tensor *const t = toy_tensor_open(&gnn_tensor_cpu, &memory, 1);
        const struct gnn_link_config config = {.decoder = (enum gnn_decoder)decoder, .dim = 4, .relations = 2};
        static const uint32_t end[1] = {0}, relation[1] = {1};
        struct gnn_link *link = NULL;
        struct gnn_err err = {0};
        gnn_real h[4] = {1, -2, 3, 4}, q[4] = {0};
        must(gnn_link_open(t, &config, &link, &err), &err);
        for (uint32_t side = 0; side < 2; side++) {
            must(gnn_link_queries(link, side, h, end, relation, 1, (struct gnn_mat){q, 1, 4}, &err), &err);
            assert_memory_equal(q, h, sizeof h);
        }
        gnn_link_close(link);
        t->ops->close(t);
        assert_int_equal(memory.current_bytes, 0);
    }
}

/* Both tables are uniform in [-1, 1), and depend on the seed. */
static void test_relations_begin_at_random(void **state)
{
    (void)state;
    enum { REALS = 400 };
    gnn_real first[2 * REALS] = {0}, found[REALS];
    for (uint64_t seed = 5; seed < 8; seed++) {
        struct toy_memory memory = {0};
        struct gnn_tensor *const t = toy_tensor_open(&device_tensor, &memory, 1);
        const struct gnn_link_config config = {
            .start = GNN_RELATIONS_RANDOM, .seed = seed < 7 ? seed : 5, .dim = 40, .relations = 10};
        struct gnn_link *link = NULL;
        struct gnn_err err = {0};
        must(gnn_link_open(t, &config, &link, &err), &err);
        for (uint32_t k = 0; k < 2; k++) {
            double sum = 0, squares = 0;
            t->ops->download(t, found, gnn_link_relations(link, k).value, sizeof found);
            for (int i = 0; i < REALS; i++) {
                assert_true(found[i] >= -1 && found[i] < 1);
                sum += (double)found[i];
                squares += (double)found[i] * (double)found[i];
            }
            assert_near(sum / REALS, 0, 0.1);
            assert_near(squares / REALS, 1.0 / 3, 0.06);
            if (seed == 5)
                memcpy(first + (size_t)k * REALS, found, sizeof found);
            assert_true((memcmp(first + (size_t)k * REALS, found, sizeof found) == 0) == (seed != 6));
        }
        assert_memory_not_equal(first, first + REALS, sizeof found);
        gnn_link_close(link);
        t->ops->close(t);
        assert_int_equal(memory.current_bytes, 0);
    }
}

static void test_what_cannot_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        struct gnn_link_config config;
        const char *message;
    } cases[] = {
        {{.dim = 0, .relations = 1}, "dimension 0"},
        {{.dim = 5, .relations = 1, .decoder = GNN_DECODER_COMPLEX}, "5: complex takes an even one"},
        {{.dim = 4, .relations = 0}, "no relations"},
        {{.dim = 4, .relations = 1, .lr = -1}, "learning rate -1"},
        {{.dim = 4, .relations = 1, .n3 = -0.1}, "penalty on long vectors -0.1"},
        {{.dim = 4, .relations = 1, .decoder = GNN_DECODER_KINDS}, "use distmult, complex or transe"},
        {{.dim = 4, .relations = 1, .optimizer = GNN_OPTIMIZERS}, "use adam or adagrad"},
    };
    struct toy_memory memory = {0};
    struct gnn_tensor *const t = toy_tensor_open(&gnn_tensor_ref, &memory, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_link *link = NULL;
        struct gnn_err err = {0};
        assert_int_equal(gnn_link_open(t, &cases[i].config, &link, &err), GNN_EUSAGE);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: %s", i, err.message);
    }
    t->ops->close(t);
    assert_int_equal(memory.current_bytes, 0);
}

/* A back-end may lack the penalty's op. Without a penalty it is not needed. */
static void test_a_back_end_without_the_penalty(void **state)
{
    (void)state;
    struct toy_memory memory = {0};
    struct gnn_tensor *const t = toy_tensor_open(&gnn_tensor_ref, &memory, 1);
    struct gnn_link_ops lacking = *t->ops->link;
    struct gnn_tensor_ops table = *t->ops;
    const struct gnn_tensor_ops *const own = t->ops;
    struct gnn_link_config config = {.dim = 4, .relations = 1};
    struct gnn_link *link = NULL;
    struct gnn_err err = {0};
    lacking.cubes_back = NULL;
    table.link = &lacking;
    t->ops = &table;
    must(gnn_link_open(t, &config, &link, &err), &err);
    gnn_link_close(link);
    config.n3 = 0.1;
    assert_int_equal(gnn_link_open(t, &config, &link, &err), GNN_ENOTSUP);
    assert_non_null(strstr(err.message, "has no penalty on long vectors; use --compute cpu"));
    t->ops = own;
    t->ops->close(t);
    assert_int_equal(memory.current_bytes, 0);
}

/* A vector that is no number shows in the loss, whatever the decoder. */
static void test_no_number(void **state)
{
    (void)state;
    for (int decoder = 0; decoder < GNN_DECODER_KINDS; decoder++)
        for (size_t b = 0; b < 2; b++) {
            struct toy_memory memory = {0};
            struct gnn_tensor *const t = toy_tensor_open(backends[b], &memory, 1);
            struct gnn_rng rng = gnn_rng_at(test_seed());
            const struct gnn_link_config config = {
                .decoder = (enum gnn_decoder)decoder, .dim = DIM, .relations = RELATIONS};
            struct link_case c;
            struct gnn_link *link = NULL;
            struct gnn_err err = {0};
            double loss = 0;
            bool finite = true;
            link_case_open(&c, &rng, &config, NODES, EDGES, CHUNKS, NEGATIVES);
            must(gnn_link_open(t, &config, &link, &err), &err);
            gnn_real *const h = toy_reals(&rng, NODES * DIM, -1, 1), *const dh = toy_reals(&rng, NODES * DIM, -1, 1);
            h[c.view.end[0][EDGES - 1] * DIM + 3] = NAN;
            must(gnn_link_train(link, &c.view, h, dh, &loss, &finite, &err), &err);
            assert_false(finite);
            free(h);
            free(dh);
            link_case_close(&c);
            gnn_link_close(link);
            t->ops->close(t);
        }
}

/* Refused at every allocation in turn: an error, and nothing left. */
static void test_no_memory(void **state)
{
    (void)state;
    struct gnn_rng rng = gnn_rng_at(test_seed());
    const struct gnn_link_config config = {
        .decoder = GNN_DECODER_TRANSE, .optimizer = GNN_OPTIMIZER_ADAM, .dim = DIM, .relations = RELATIONS};
    struct link_case c;
    link_case_open(&c, &rng, &config, NODES, EDGES, CHUNKS, NEGATIVES);
    for (uint64_t fails = 1;; fails++) {
        struct toy_memory memory = {.fail_after = fails};
        struct gnn_tensor *const t = toy_tensor_open(&gnn_tensor_cpu, &memory, 1);
        struct gnn_link *link = NULL;
        struct gnn_err err = {0};
        gnn_real *const h = toy_reals(&rng, NODES * DIM, -1, 1), *const dh = toy_reals(&rng, NODES * DIM, -1, 1);
        double loss;
        bool finite;
        enum gnn_status status = gnn_link_open(t, &config, &link, &err);
        GNN_NEXT(status, gnn_link_train(link, &c.view, h, dh, &loss, &finite, &err));
        gnn_link_close(link);
        t->ops->close(t);
        free(h);
        free(dh);
        assert_int_equal(memory.current_bytes, 0);
        if (status == GNN_OK && fails > 5)
            break;
        assert_int_equal(status, GNN_ENOMEM);
    }
    link_case_close(&c);
}

/* ---- ranks ---- */

static void test_ties_count_against(void **state)
{
    (void)state;
    static const gnn_real scores[6] = {0.5f, 2, 1, 1, -3, NAN};
    struct gnn_ranking r = {.queries = 0};
    assert_true(isnan(gnn_ranking_mrr(&r)));
    assert_int_equal(gnn_rank_count(scores, 6, 1), 4); /* 2, both 1 and what is no number */
    assert_int_equal(gnn_rank_count(scores, 5, 3), 0);
    assert_int_equal(gnn_rank_count(scores, 5, NAN), 5);
    static const uint64_t ranks[8] = {1, 2, 3, 4, 5, 10, 11, 20}; /* both sides of 1, 3 and 10 */
    for (size_t i = 0; i < 8; i++)
        gnn_ranking_add(&r, ranks[i]);
    assert_near(gnn_ranking_mrr(&r), (1 + 0.5 + 1.0 / 3 + 0.25 + 0.2 + 0.1 + 1.0 / 11 + 0.05) / 8, 1e-12);
    assert_int_equal(r.queries, 8);
    assert_int_equal(r.hits_1, 1);
    assert_int_equal(r.hits_3, 3);
    assert_int_equal(r.hits_10, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backends_agree),
        cmocka_unit_test(test_an_edge_is_no_negative_of_itself),
        cmocka_unit_test(test_adagrad_by_hand),
        cmocka_unit_test(test_cubes_by_hand),
        cmocka_unit_test(test_adam_by_hand),
        cmocka_unit_test(test_relations_begin_neutral),
        cmocka_unit_test(test_relations_begin_at_random),
        cmocka_unit_test(test_what_cannot_be_is_refused),
        cmocka_unit_test(test_a_back_end_without_the_penalty),
        cmocka_unit_test(test_no_number),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_ties_count_against),
    };
    return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
