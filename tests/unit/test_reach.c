/* SPDX-License-Identifier: MIT */
/* The closed reach of a generated graph against its own statement: who belongs to it, what its lists hold, how long
 * they are, who is popular, and that none of it depends on the size of the graph. Seeds are fixed, the tolerances are
 * several standard deviations of the sample. */
#include "harness/base/rng.h"
#include "harness/graph/permute.h"
#include "harness/graph/reach.h"
#include "tests/support/must.h"
#include "tests/support/neighbours.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

static void test_permute_back(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1, 2, 3, 17, 1000, 65537};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (uint32_t j = 0; j < counts[i]; j += 1 + counts[i] / 500)
            assert_int_equal(gnn_permute_back(42, counts[i], gnn_permute(42, counts[i], j)), j);
}

/* Members ascend, are found again, and no other node is taken for one. */
static void test_members(void **state)
{
    (void)state;
    static const struct {
        double share;
        const char *order;
    } cases[] = {{0.25, "even"}, {0.25, "0.4:1+0.6:0"}, {0.25, "0.25:1+0.75:0"},
                 {1, "even"},    {0.9999, "even"},      {0.25, "0.1:0+0.2:0.8+0.5:0+0.2:0.2"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_procedural_config config = base;
        struct gnn_err err = {0};
        config.reach.share = cases[i].share;
        must(gnn_node_order_parse(cases[i].order, &config.reach.order, &err), &err);
        struct gnn_reach *const reach = open_reach(&config);
        const uint32_t count = gnn_reach_count(reach);
        assert_int_equal(count, (uint32_t)(cases[i].share * config.node_count + 0.5));
        uint32_t index = 0;
        for (gnn_node v = 0; v < config.node_count; v++) {
            assert_int_equal(gnn_reach_from(reach, v), index);
            const bool member = index < count && gnn_reach_node(reach, index) == v;
            assert_int_equal(gnn_reach_index(reach, v), member ? index : GNN_NODE_NONE);
            index += member;
        }
        assert_int_equal(index, count);
        gnn_reach_close(reach);
    }
}

/* No list of a member holds another node, or its own; the splits are members; what is computed for many at once is what
 * single calls give. */
static void expect_closed(const struct gnn_procedural_config *config)
{
    struct gnn_procedural *const graph = open_graph(config);
    struct gnn_reach *const reach = open_reach(config);
    uint32_t *const degrees = calloc(base.node_count, sizeof *degrees);
    uint32_t *const labels = calloc(base.node_count, sizeof *labels);
    gnn_procedural_degrees(graph, 0, base.node_count, degrees);
    for (gnn_node first = 0, count = 1; first < base.node_count; first += count, count = 3 * count) {
        count = gnn_min_u32(count, base.node_count - first);
        gnn_procedural_labels(graph, first, count, labels + first);
    }
    for (gnn_node v = 0; v < base.node_count; v++) {
        assert_int_equal(degrees[v], gnn_procedural_degree(graph, v));
        assert_int_equal(labels[v], gnn_procedural_label(graph, v));
        assert_true(degrees[v] <= gnn_procedural_degree_max(graph));
        const uint32_t index = gnn_reach_index(reach, v);
        if (index == GNN_NODE_NONE && v % 16 != 0)
            continue;
        for (uint32_t k = 0; k < degrees[v]; k++) {
            const gnn_node source = gnn_procedural_neighbour(graph, v, degrees[v], k);
            const uint64_t offset = UINT64_C(5000000000) + k;
            gnn_node again;
            assert_true(source < base.node_count);
            assert_int_not_equal(source, v);
            assert_true(index == GNN_NODE_NONE || gnn_reach_index(reach, source) != GNN_NODE_NONE);
            draw_neighbours(graph, v, degrees[v], UINT64_C(5000000000), &offset, 1, &again);
            assert_int_equal(again, source);
        }
    }
    assert_int_equal(gnn_procedural_reach_count(graph), gnn_reach_count(reach));
    for (uint32_t i = 0; i < base.reach.split_count; i++)
        assert_int_not_equal(gnn_reach_index(reach, gnn_procedural_split_node(graph, i)), GNN_NODE_NONE);
    free(labels);
    free(degrees);
    gnn_reach_close(reach);
    gnn_procedural_close(graph);
}

static void test_closed(void **state)
{
    (void)state;
    struct gnn_procedural_config config = base;
    expect_closed(&config);
    config.reach.train_share = 0.5;
    expect_closed(&config);
}

static void expect_near(double value, double wanted, double tolerance, const char *what)
{
    if (fabs(value - wanted) > tolerance)
        fail_msg("%s: %g, expected %g to within %g", what, value, wanted, tolerance);
}

/* Training nodes have lists of their own, the reach's others theirs, and the whole graph the edges it was given. */
static void test_lengths(void **state)
{
    (void)state;
    struct gnn_procedural *const graph = open_graph(&base);
    struct gnn_reach *const reach = open_reach(&base);
    bool *const train = calloc(base.node_count, sizeof *train);
    double sum[2] = {0}, empty[2] = {0}, count[2] = {0}, all = 0;
    for (uint32_t i = 0; i < base.reach.train_count; i++)
        train[gnn_procedural_split_node(graph, i)] = true;
    for (gnn_node v = 0; v < base.node_count; v++) {
        const uint32_t d = gnn_procedural_degree(graph, v);
        all += d;
        if (gnn_reach_index(reach, v) == GNN_NODE_NONE)
            continue;
        sum[train[v]] += d;
        empty[train[v]] += d == 0;
        count[train[v]]++;
    }
    assert_int_equal(count[1], base.reach.train_count);
    expect_near(empty[0] / count[0], 0.33, 0.005, "empty lists");
    expect_near(empty[1] / count[1], 0.05, 0.015, "empty training lists");
    expect_near(sum[0] / (count[0] - empty[0]), 13.5, 0.4, "list mean");
    expect_near(sum[1] / (count[1] - empty[1]), 30, 3, "training list mean");
    expect_near(all / base.node_count, base.mean_degree, 0.02 * base.mean_degree, "mean of all lists");
    expect_near((sum[0] + sum[1]) / gnn_reach_edges(reach), 1, 0.02, "entries of the reach");
    free(train);
    gnn_reach_close(reach);
    gnn_procedural_close(graph);
}

/* The class that has most of the clarity of the first entries, by sums over all classes; own for an empty list. */
static uint32_t plain_vote(const struct gnn_procedural *graph, gnn_node v, uint32_t votes)
{
    double sums[20] = {0};
    const uint32_t d = gnn_procedural_degree(graph, v);
    uint32_t best = gnn_procedural_class(graph, v);
    for (uint32_t k = 0; k < d && k < votes; k++) {
        const gnn_node source = gnn_procedural_neighbour(graph, v, d, k);
        sums[gnn_procedural_class(graph, source)] += gnn_procedural_clarity(graph, source);
    }
    for (uint32_t c = 0; c < 20; c++)
        best = sums[c] > sums[best] ? c : best;
    return best;
}

/* Labels of the splits are what their lists show, those of all others their classes. */
static void test_labels_are_what_lists_show(void **state)
{
    (void)state;
    static const uint32_t votes[] = {0, 1, 16};
    for (size_t i = 0; i < sizeof votes / sizeof votes[0]; i++) {
        struct gnn_procedural_config config = base;
        config.reach.train_share = 0.24;
        config.label_noise = 0;
        config.reach.votes = votes[i];
        struct gnn_procedural *const graph = open_graph(&config);
        bool *const in_split = calloc(config.node_count, sizeof *in_split);
        uint32_t others = 0;
        for (uint32_t s = 0; s < config.reach.split_count; s++)
            in_split[gnn_procedural_split_node(graph, s)] = true;
        for (gnn_node v = 0; v < config.node_count; v++) {
            const uint32_t class = gnn_procedural_class(graph, v), label = gnn_procedural_label(graph, v);
            assert_int_equal(label, in_split[v] ? plain_vote(graph, v, votes[i]) : class);
            others += label != class;
        }
        if (votes[i] == 0)
            assert_int_equal(others, 0);
        if (votes[i] == 1) /* the first entry's, of another class in 30 %; 5 and 33 % have none */
            expect_near(others, 0.3 * (0.95 * 4000 + 0.67 * 2000), 120, "labels of another class");
        free(in_split);
        gnn_procedural_close(graph);
    }
}

/* Uniform in 0 to 2. */
static void test_clarity(void **state)
{
    (void)state;
    struct gnn_procedural *const graph = open_graph(&base);
    double sum = 0, squares = 0, least = 2, most = 0;
    for (gnn_node v = 0; v < base.node_count; v++) {
        const double clarity = gnn_procedural_clarity(graph, v);
        sum += clarity;
        squares += clarity * clarity;
        least = fmin(least, clarity);
        most = fmax(most, clarity);
    }
    expect_near(sum / base.node_count, 1, 0.005, "mean");
    expect_near(squares / base.node_count, 4.0 / 3, 0.01, "mean square");
    assert_true(least > 0 && least < 0.001 && most > 1.999 && most <= 2);
    gnn_procedural_close(graph);
}

static int falling(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Shares of the draws that the first 0.1, 1, 10 and 50 % of the members have, by drawing for lists of such a
 * length. */
static void drawn_shares(const struct gnn_procedural_config *config, uint32_t degree, double out[4])
{
    static const double parts[] = {0.001, 0.01, 0.1, 0.5};
    struct gnn_reach *const reach = open_reach(config);
    const uint32_t count = gnn_reach_count(reach), draws = 40 * count;
    uint32_t *const drawn = calloc(count, sizeof *drawn);
    struct gnn_rng rng = gnn_rng_at(3);
    for (uint32_t i = 0; i < draws; i++) {
        const uint32_t class = (uint32_t)gnn_rng_below(&rng, config->class_count);
        const double place = gnn_rng_unit(&rng);
        const uint32_t index =
            gnn_reach_source(reach, GNN_NODE_NONE, class, degree, place, (uint32_t)gnn_rng_next(&rng));
        assert_true(index < count);
        assert_int_equal(gnn_reach_class(reach, index), class);
        drawn[index]++;
    }
    qsort(drawn, count, sizeof *drawn, falling);
    uint64_t sum = 0;
    uint32_t at = 0;
    for (int i = 0; i < 4; i++) {
        for (; at < parts[i] * count; at++)
            sum += drawn[at];
        out[i] = (double)sum / draws;
    }
    free(drawn);
    gnn_reach_close(reach);
}

/* The stated law, integrated: the share of (x + q)^-s below x. */
static double law_share(double x, double s, double q)
{
    return (pow(x + q, 1 - s) - pow(q, 1 - s)) / (pow(1 + q, 1 - s) - pow(q, 1 - s));
}

static void test_popularity_at_any_size(void **state)
{
    (void)state;
    static const uint32_t nodes[] = {8000, 80000, 1600000};
    static const double parts[] = {0.001, 0.01, 0.1, 0.5};
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        struct gnn_procedural_config config = base;
        double got[4];
        config.node_count = nodes[i];
        config.reach.train_count = config.reach.split_count = 10;
        drawn_shares(&config, 1, got);
        for (int p = nodes[i] * 0.25 * parts[0] < 20 ? 1 : 0; p < 4; p++) /* 2 nodes are no share */
            expect_near(got[p], law_share(parts[p], 1.3, 0.002), 0.02, "share of the most popular");
    }
}

/* A law that was read off a graph is drawn as it was read: the first 10 % have half of all, the last 50 % a tenth. */
static void test_laws_that_were_read(void **state)
{
    (void)state;
    static const struct gnn_rank_law popularity = {.count = 3, .upto = {0.1, 0.5, 1}, .mean = {5, 1, 0.2}};
    static const struct gnn_rank_law degrees = {.count = 4, .upto = {0.01, 0.2, 0.7, 1}, .mean = {300, 20.25, 3, 0}};
    struct gnn_procedural_config config = base;
    double got[4];
    config.reach.popularity = &popularity;
    config.reach.degrees = &degrees;
    config.reach.train_mean = 0;
    config.reach.list_mean = 0;
    drawn_shares(&config, 1, got);
    expect_near(got[2], 0.5, 0.02, "share of the first tenth");
    expect_near(got[3], 0.9, 0.02, "share of the first half");
    struct gnn_reach *const reach = open_reach(&config);
    double sum = 0, zeros = 0, longest = 0;
    const uint32_t count = gnn_reach_count(reach);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t d = gnn_reach_degree(reach, i);
        sum += d;
        zeros += d == 0;
        longest += d >= 300;
    }
    expect_near(gnn_rank_law_mean(&degrees), 3 + 0.19 * 20.25 + 1.5, 1e-9, "mean of the law");
    expect_near(sum / count, gnn_rank_law_mean(&degrees), 0.05, "mean");
    expect_near(zeros / count, 0.3, 0.002, "zeros");
    expect_near(longest / count, 0.01, 0.001, "longest");
    gnn_reach_close(reach);
}

/* Short lists have two thirds of their entries from the first tenth and none from the second half; long ones a quarter
 * of each. Together they have what the law says. */
static void test_short_and_long_lists_name_others(void **state)
{
    (void)state;
    static const struct gnn_rank_law popularity = {.count = 3, .upto = {0.1, 0.5, 1}, .mean = {5, 1, 0.2}};
    static const struct gnn_mixing mixing = {
        .groups = 2, .upto = {4, UINT32_MAX}, .share = {{0.8, 0.5, 0}, {0.2, 0.5, 1}}};
    struct gnn_procedural_config config = base;
    double got[4];
    config.reach.popularity = &popularity;
    config.reach.mixing = &mixing;
    for (uint32_t degree = 1; degree <= 4; degree += 3) {
        drawn_shares(&config, degree, got);
        expect_near(got[2], 0.4 / 0.6, 0.02, "short lists: share of the first tenth");
        expect_near(got[3], 1, 0.002, "short lists: share of the first half");
    }
    for (uint32_t degree = 5; degree <= 5000; degree += 4995) {
        drawn_shares(&config, degree, got);
        expect_near(got[2], 0.1 / 0.4, 0.02, "long lists: share of the first tenth");
        expect_near(got[3], 0.3 / 0.4, 0.02, "long lists: share of the first half");
    }
}

/* Mean length of the list of the node of an entry, over that of any node. */
static double met_length(double coupling)
{
    struct gnn_procedural_config config = base;
    config.reach.coupling = coupling;
    config.reach.train_mean = 0;
    config.popularity = 0.6;
    struct gnn_reach *const reach = open_reach(&config);
    struct gnn_rng rng = gnn_rng_at(5);
    const uint32_t count = gnn_reach_count(reach);
    double met = 0, mean = 0;
    for (uint32_t i = 0; i < count; i++)
        mean += gnn_reach_degree(reach, i);
    for (uint32_t i = 0; i < 4 * count; i++) {
        const uint32_t class = (uint32_t)gnn_rng_below(&rng, config.class_count);
        const double place = gnn_rng_unit(&rng);
        const uint32_t index = gnn_reach_source(reach, GNN_NODE_NONE, class, 1, place, (uint32_t)gnn_rng_next(&rng));
        met += gnn_reach_degree(reach, index) / 4.0;
    }
    gnn_reach_close(reach);
    return met / mean;
}

static void test_coupling(void **state)
{
    (void)state;
    const double together = met_length(1), half = met_length(0.5), none = met_length(0), apart = met_length(-1);
    expect_near(none, 1, 0.1, "independent");
    assert_true(together > 2);
    assert_true(apart < 0.6);
    expect_near(half, (together + none) / 2, 0.15 * together, "half");
}

static void test_homophily(void **state)
{
    (void)state;
    struct gnn_procedural *const graph = open_graph(&base);
    struct gnn_reach *const reach = open_reach(&base);
    double same = 0, all = 0;
    uint32_t of_class[20] = {0};
    for (uint32_t i = 0; i < gnn_reach_count(reach); i++) {
        const gnn_node v = gnn_reach_node(reach, i);
        const uint32_t class = gnn_procedural_class(graph, v), d = gnn_procedural_degree(graph, v);
        assert_int_equal(class, gnn_reach_class(reach, i));
        of_class[class]++;
        for (uint32_t k = 0; k < d; k++)
            same += gnn_procedural_class(graph, gnn_procedural_neighbour(graph, v, d, k)) == class;
        all += d;
    }
    expect_near(same / all, 0.7, 0.01, "edges inside a class");
    for (int c = 0; c < 20; c++)
        expect_near(of_class[c], gnn_reach_count(reach) / 20.0, 1, "members of a class");
    gnn_reach_close(reach);
    gnn_procedural_close(graph);
}

/* The graph serves the mutual lists of its reach: a neighbour names the node too, both are of the reach, an entry is
 * the same however it is asked for, and the lists outside are what they were. */
static void test_mutual_lists(void **state)
{
    (void)state;
    struct gnn_procedural_config config = base;
    config.reach.mutual = true;
    config.reach.clique_share = 0.5;
    struct gnn_procedural *const graph = open_graph(&config), *const drawn = open_graph(&base);
    struct gnn_reach *const reach = open_reach(&config);
    uint64_t entries = 0, named = 0;
    for (gnn_node v = 0; v < config.node_count; v += 13) {
        const uint32_t d = gnn_procedural_degree(graph, v);
        const bool inside = gnn_reach_index(reach, v) != GNN_NODE_NONE;
        for (uint32_t k = 0; k < d; k++) {
            const gnn_node u = gnn_procedural_neighbour(graph, v, d, k);
            const uint64_t offset = UINT64_C(5000000000) + k;
            gnn_node again;
            draw_neighbours(graph, v, d, UINT64_C(5000000000), &offset, 1, &again);
            assert_int_equal(u, again);
            if (!inside) {
                assert_int_equal(u, gnn_procedural_neighbour(drawn, v, d, k));
                continue;
            }
            const uint32_t back = gnn_procedural_degree(graph, u);
            assert_true(gnn_reach_index(reach, u) != GNN_NODE_NONE);
            uint32_t at = 0;
            while (at < back && gnn_procedural_neighbour(graph, u, back, at) != v)
                at++;
            named += at < back;
            entries++;
        }
    }
    expect_near((double)named / (double)entries, 1, 0.01, "neighbours that name the node");
    gnn_reach_close(reach);
    gnn_procedural_close(drawn);
    gnn_procedural_close(graph);
}

static void test_refused(void **state)
{
    (void)state;
    struct {
        struct gnn_procedural_config config;
        const char *message;
    } cases[] = {{base, "popularity"},
                 {base, "hub shift"},
                 {base, "piece 2"},
                 {base, "coupling"},
                 {base, "do not fit"},
                 {base, "classes"},
                 {base, "edges"},
                 {base, "locality"},
                 {base, "reach 1.5"},
                 {base, "clique share"},
                 {base, "votes"},
                 {base, "train_share 0.07: 0.08 of the"},
                 {base, "training share 0.5 of a generated graph: expected 0 to 0"}};
    cases[0].config.reach.share = 0;
    cases[1].config.reach.hub_shift = 0;
    cases[2].config.reach.order = (struct gnn_node_order){.count = 2, .ids = {0.8, 0.2}, .members = {0.1, 0.9}};
    cases[3].config.reach.coupling = -1.5;
    cases[4].config.reach.split_count = 50001;
    cases[5].config.class_count = 30000;
    cases[6].config.reach.list_mean = 100;
    cases[7].config.locality = 0.1;
    cases[8].config.reach.share = 1.5;
    cases[9].config.reach.clique_share = 0.1; /* of lists that are not mutual */
    cases[10].config.reach.mutual = true;
    cases[10].config.reach.votes = 16;
    cases[11].config.reach.train_share = 0.07; /* less than by chance */
    cases[12].config.reach.train_share = 0.5;
    cases[12].config.reach.mutual = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_procedural *graph = NULL;
        struct gnn_err err = {0};
        assert_int_equal(gnn_procedural_open(&cases[i].config, &graph, &err), GNN_EUSAGE);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: '%s'", i, err.message);
    }
    gnn_reach_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_permute_back),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_closed),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_labels_are_what_lists_show),
        cmocka_unit_test(test_clarity),
        cmocka_unit_test(test_popularity_at_any_size),
        cmocka_unit_test(test_laws_that_were_read),
        cmocka_unit_test(test_short_and_long_lists_name_others),
        cmocka_unit_test(test_coupling),
        cmocka_unit_test(test_homophily),
        cmocka_unit_test(test_mutual_lists),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}
