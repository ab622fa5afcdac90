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

/* Each training node is drawn equally often for entries of its class, and never for its own list. */
static void test_each_training_node_alike(void **state)
{
    (void)state;
    struct gnn_procedural_config config = base;
    config.reach.train_share = 0.24;
    struct gnn_procedural *const graph = open_graph(&config);
    struct gnn_reach *const reach = open_reach(&config);
    bool *const train = training_nodes(graph, &config);
    enum { DRAWS = 400 }; /* for a training node */
    const uint32_t count = gnn_reach_count(reach);
    uint32_t *const drawn = calloc(count, sizeof *drawn), of_class[20] = {0};
    struct gnn_rng rng = gnn_rng_at(11);
    for (uint32_t i = 0; i < count; i++)
        of_class[gnn_reach_class(reach, i)] += train[gnn_reach_node(reach, i)];
    for (uint32_t class = 0; class < config.class_count; class ++)
        for (uint32_t i = 0; i < DRAWS * of_class[class]; i++) {
            const uint32_t bits = (uint32_t)gnn_rng_next(&rng);
            const uint32_t index = gnn_reach_train_source(reach, GNN_NODE_NONE, class, bits);
            const uint32_t other = gnn_reach_train_source(reach, index, class, bits);
            assert_int_equal(gnn_reach_class(reach, index), class);
            assert_int_equal(gnn_reach_class(reach, other), class);
            assert_int_not_equal(other, index);
            assert_true(train[gnn_reach_node(reach, index)]);
            assert_true(train[gnn_reach_node(reach, other)]);
            drawn[index]++;
        }
    for (uint32_t i = 0; i < count; i++)
        if (train[gnn_reach_node(reach, i)])
            expect_near(drawn[i], DRAWS, 5 * sqrt(DRAWS), "draws of a training node");
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
        cmocka_unit_test(test_each_training_node_alike),
        cmocka_unit_test(test_classes_without_training_nodes),
    };
    return cmocka_run_group_tests_name("community", tests, NULL, NULL);
}
