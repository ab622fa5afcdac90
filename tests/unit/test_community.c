/* SPDX-License-Identifier: MIT */
/* The training nodes of a reachable set as a community: how often their lists name training nodes, which ones, and what
 * stays as it is without a community. Seeds are fixed, the tolerances are several standard deviations of the sample. */
#include "harness/base/rng.h"
#include "harness/graph/reach.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct gnn_procedural_config base = {.seed = 7,
                                                  .node_count = 200000,
                                                  .mean_degree = 12,
                                                  .degree_exponent = 2.5,
                                                  .class_count = 20,
                                                  .homophily = 0.7,
                                                  .popularity = 1.3,
                                                  .label_noise = 0.1,
                                                  .reach = {.share = 0.25,
                                                            .empty = 0.33,
                                                            .list_mean = 13.5,
                                                            .train_empty = 0.05,
                                                            .train_mean = 30,
                                                            .train_count = 4000,
                                                            .split_count = 6000,
                                                            .hub_shift = 0.002}};

static struct gnn_procedural *open_graph(const struct gnn_procedural_config *config)
{
    struct gnn_procedural *graph = NULL;
    struct gnn_err err = {0};
    must(gnn_procedural_open(config, &graph, &err), &err);
    return graph;
}

static struct gnn_reach *open_reach(const struct gnn_procedural_config *config)
{
    struct gnn_reach *reach = NULL;
    struct gnn_err err = {0};
    must(gnn_reach_open(config, &reach, &err), &err);
    return reach;
}

static void expect_near(double value, double wanted, double tolerance, const char *what)
{
    if (fabs(value - wanted) > tolerance)
        fail_msg("%s: %g, expected %g to within %g", what, value, wanted, tolerance);
}

static int falling(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Returns the share of (x + q)^-s below x, integrated. */
static double law_share(double x, double s, double q)
{
    return (pow(x + q, 1 - s) - pow(q, 1 - s)) / (pow(1 + q, 1 - s) - pow(q, 1 - s));
}

/* Marks the training nodes. The caller frees the marks. */
static bool *training_nodes(const struct gnn_procedural *graph, const struct gnn_procedural_config *config)
{
    bool *const train = calloc(config->node_count, sizeof *train);
    for (uint32_t i = 0; i < config->reach.train_count; i++)
        train[gnn_procedural_split_node(graph, i)] = true;
    return train;
}

/* Training nodes have the stated share of the entries of training nodes. All other lists are what they are without a
 * community. Entries keep their classes, list lengths and classes of nodes too. */
static void test_training_nodes_name_each_other(void **state)
{
    (void)state;
    static const double shares[] = {0.24, 0.6};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        struct gnn_procedural_config config = base;
        config.reach.train_share = shares[i];
        struct gnn_procedural *const graph = open_graph(&config), *const apart = open_graph(&base);
        bool *const train = training_nodes(graph, &config);
        double named = 0, all = 0, by_chance = 0;
        for (gnn_node v = 0; v < config.node_count; v++) {
            const uint32_t d = gnn_procedural_degree(graph, v);
            assert_int_equal(d, gnn_procedural_degree(apart, v));
            for (uint32_t k = 0; k < d && (train[v] || v % 8 == 0); k++) {
                const gnn_node u = gnn_procedural_neighbour(graph, v, d, k),
                               w = gnn_procedural_neighbour(apart, v, d, k);
                assert_int_equal(gnn_procedural_class(graph, u), gnn_procedural_class(apart, w));
                if (!train[v])
                    assert_int_equal(u, w);
                named += train[v] && train[u];
                by_chance += train[v] && train[w];
                all += train[v];
            }
        }
        expect_near(named / all, shares[i], 0.01, "training nodes in lists of training nodes");
        expect_near(by_chance / all, 0.08, 0.02, "the same without a community");
        free(train);
        gnn_procedural_close(apart);
        gnn_procedural_close(graph);
    }
}

/* Among the training nodes, the law of popularity is that of the whole set. */
static void test_popularity_in_the_community(void **state)
{
    (void)state;
    struct gnn_procedural_config config = base;
    config.reach.train_share = 0.24;
    struct gnn_procedural *const graph = open_graph(&config);
    struct gnn_reach *const reach = open_reach(&config);
    bool *const train = training_nodes(graph, &config);
    const uint32_t count = gnn_reach_count(reach), draws = 100 * config.reach.train_count;
    uint32_t *const drawn = calloc(count, sizeof *drawn);
    struct gnn_rng rng = gnn_rng_at(11);
    for (uint32_t i = 0; i < draws; i++) {
        const uint32_t class = (uint32_t)gnn_rng_below(&rng, config.class_count);
        const uint32_t index = gnn_reach_train_source(reach, GNN_NODE_NONE, class, 1, (uint32_t)gnn_rng_next(&rng));
        assert_true(train[gnn_reach_node(reach, index)]);
        assert_int_equal(gnn_reach_class(reach, index), class);
        assert_int_not_equal(gnn_reach_train_source(reach, index, class, 1, (uint32_t)gnn_rng_next(&rng)), index);
        drawn[index]++;
    }
    qsort(drawn, count, sizeof *drawn, falling);
    static const double parts[] = {0.05, 0.1, 0.5};
    uint64_t sum = 0;
    uint32_t at = 0;
    for (int i = 0; i < 3; i++) {
        for (; at < parts[i] * config.reach.train_count; at++)
            sum += drawn[at];
        expect_near((double)sum / draws, law_share(parts[i], 1.3, 0.002), 0.02, "share of the most popular");
    }
    free(drawn);
    free(train);
    gnn_reach_close(reach);
    gnn_procedural_close(graph);
}

/* The members that the set's other lists name most often are those that training lists name most often. */
static void test_popular_in_both(void **state)
{
    (void)state;
    struct gnn_procedural_config config = base;
    config.reach.train_share = 0.24;
    struct gnn_procedural *const graph = open_graph(&config);
    struct gnn_reach *const reach = open_reach(&config);
    bool *const train = training_nodes(graph, &config);
    const uint32_t count = gnn_reach_count(reach);
    uint32_t *const drawn = calloc(2 * (size_t)count, sizeof *drawn);
    struct gnn_rng rng = gnn_rng_at(12);
    for (uint32_t i = 0; i < 100 * count; i++) {
        const uint32_t class = (uint32_t)gnn_rng_below(&rng, config.class_count), bits = (uint32_t)gnn_rng_next(&rng);
        drawn[gnn_reach_source(reach, GNN_NODE_NONE, class, 1, gnn_rng_unit(&rng), bits)]++;
        drawn[count + gnn_reach_train_source(reach, GNN_NODE_NONE, class, 1, bits)]++;
    }
    double of_popular = 0, of_all = 0, popular = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!train[gnn_reach_node(reach, i)])
            continue;
        popular += drawn[i] > 300;
        of_popular += drawn[i] > 300 ? drawn[count + i] : 0;
        of_all += drawn[count + i];
    }
    assert_true(popular > 50 && popular < 0.1 * config.reach.train_count);
    assert_true(of_popular > 0.5 * of_all);
    free(drawn);
    free(train);
    gnn_reach_close(reach);
    gnn_procedural_close(graph);
}

/* A class without training nodes draws from all its members. */
static void test_classes_without_training_nodes(void **state)
{
    (void)state;
    struct gnn_procedural_config config = base;
    config.reach.train_count = config.reach.split_count = 3;
    config.reach.train_share = 0.9;
    struct gnn_procedural *const graph = open_graph(&config);
    bool *const train = training_nodes(graph, &config);
    for (gnn_node v = 0; v < config.node_count; v++) {
        const uint32_t d = train[v] ? gnn_procedural_degree(graph, v) : 0;
        for (uint32_t k = 0; k < d; k++)
            assert_int_not_equal(gnn_procedural_neighbour(graph, v, d, k), v);
    }
    free(train);
    gnn_procedural_close(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training_nodes_name_each_other),
        cmocka_unit_test(test_popularity_in_the_community),
        cmocka_unit_test(test_popular_in_both),
        cmocka_unit_test(test_classes_without_training_nodes),
    };
    return cmocka_run_group_tests_name("community", tests, NULL, NULL);
}
