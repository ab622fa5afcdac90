/* SPDX-License-Identifier: MIT */
/* The procedural graph against its own statement: degrees, lists, homophily, popularity, labels. Seeds are
 * fixed, the tolerances are several standard deviations of the sample. */
#include "harness/graph/permute.h"
#include "harness/graph/procedural.h"
#include "tests/support/must.h"
#include "tests/support/neighbours.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct gnn_procedural_config base = {.seed = 7,
                                                  .node_count = 50000,
                                                  .mean_degree = 12,
                                                  .degree_exponent = 2.5,
                                                  .class_count = 20,
                                                  .homophily = 0.7,
                                                  .popularity = 1,
                                                  .label_noise = 0.1};

static struct gnn_procedural *open_graph(const struct gnn_procedural_config *config)
{
    struct gnn_procedural *graph = NULL;
    struct gnn_err err = {0};
    must(gnn_procedural_open(config, &graph, &err), &err);
    return graph;
}

static void test_permute(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1, 2, 3, 16, 17, 1000, 65536, 65537};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        bool *hit = calloc(counts[i], sizeof *hit);
        uint32_t fixed = 0;
        for (uint32_t j = 0; j < counts[i]; j++) {
            const uint32_t to = gnn_permute(42, counts[i], j);
            assert_true(to < counts[i]);
            assert_false(hit[to]);
            hit[to] = true;
            fixed += to == j;
        }
        assert_true(counts[i] < 100 || fixed < 20);
        free(hit);
    }
    assert_true(gnn_permute(1, UINT32_MAX, UINT32_MAX - 1) < UINT32_MAX);
    assert_int_not_equal(gnn_permute(1, 1u << 30, 5), gnn_permute(2, 1u << 30, 5));
}

/* The sum is the stated one for any seed; the tail falls as d^-(alpha-1): the share of nodes above d is
 * compared with the sum of (d + d0)^-alpha, d0 found here by a plain search over the plain sum. */
static double plain_mean(double shift, double alpha, uint32_t max, uint32_t above, double *share)
{
    double mass = 0, sum = 0, tail = 0;
    for (uint32_t d = 1; d <= max; d++) {
        const double p = pow(d + shift, -alpha);
        mass += p;
        sum += p * d;
        tail += d > above ? p : 0;
    }
    *share = tail / mass;
    return sum / mass;
}

static void test_degrees(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct gnn_procedural_config config = base;
        config.seed = seed;
        struct gnn_procedural *graph = open_graph(&config);
        const uint32_t max = gnn_procedural_degree_max(graph);
        uint64_t sum = 0, above[3] = {0};
        static const uint32_t limits[3] = {5, 30, 200};
        for (uint32_t v = 0; v < config.node_count; v++) {
            const uint32_t d = gnn_procedural_degree(graph, v);
            assert_true(d >= 1 && d <= max);
            sum += d;
            for (int i = 0; i < 3; i++)
                above[i] += d > limits[i];
        }
        assert_true(fabs((double)sum / config.node_count - config.mean_degree) < 0.01 * config.mean_degree);
        double low = 0, high = 100, share = 0;
        while (high - low > 1e-9)
            *(plain_mean((low + high) / 2, 2.5, max, 0, &share) < config.mean_degree ? &low : &high) = (low + high) / 2;
        for (int i = 0; i < 3; i++) {
            (void)plain_mean(low, 2.5, max, limits[i], &share);
            assert_true(fabs((double)above[i] / config.node_count - share) < 0.01 * share + 1e-4);
        }
        gnn_procedural_close(graph);
    }
}

/* Every `step`-th entry of a list, drawn together, is what single draws give. */
static void check_together(const struct gnn_procedural *graph, gnn_node node, uint32_t degree, uint32_t step)
{
    enum { ENTRIES_MAX = 1000 };
    uint64_t offsets[ENTRIES_MAX] = {0};
    gnn_node got[ENTRIES_MAX];
    uint32_t count = 0;
    for (uint32_t k = 0; k < degree && count < ENTRIES_MAX; k += step)
        offsets[count++] = k;
    draw_neighbours(graph, node, degree, 0, offsets, count, got);
    for (uint32_t i = 0; i < count; i++)
        if (got[i] != gnn_procedural_neighbour(graph, node, degree, (uint32_t)offsets[i]))
            fail_msg("node %u, position %u of %u: %u alone, %u together", node, (uint32_t)offsets[i], degree,
                     gnn_procedural_neighbour(graph, node, degree, (uint32_t)offsets[i]), got[i]);
}

/* Lists ascend strictly (hence no duplicate), hold no self-loop and stay inside the graph, whatever the parameters and
 * however many entries are drawn together. */
static void test_lists(void **state)
{
    (void)state;
    static const struct {
        uint32_t nodes, classes;
        double mean, popularity, locality, homophily;
    } cases[] = {
        {50000, 20, 12, 1, 0, 0.7},    {50000, 20, 12, 0.5, 0.9, 0.7}, {50000, 1, 12, 1, 0, 0.7},
        {4000, 1000, 40, 1, 0.5, 0.9}, {400, 7, 10, 0, 1, 0},          {100, 100, 5, 1, 0.3, 1},
        {1000, 3, 100, 1, 0, 0.5},     {1000, 3, 100, 1, 1, 0.5},      {8, 2, 1.3, 1, 0.5, 0.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_procedural_config config = base;
        config.node_count = cases[i].nodes;
        config.class_count = cases[i].classes;
        config.mean_degree = cases[i].mean;
        config.popularity = cases[i].popularity;
        config.locality = cases[i].locality;
        config.homophily = cases[i].homophily;
        struct gnn_procedural *graph = open_graph(&config);
        for (uint32_t v = 0; v < config.node_count; v++) {
            const uint32_t d = gnn_procedural_degree(graph, v);
            gnn_node previous = 0;
            for (uint32_t k = 0; k < d; k++) {
                const gnn_node source = gnn_procedural_neighbour(graph, v, d, k);
                if (source >= config.node_count || source == v || (k > 0 && source <= previous))
                    fail_msg("case %zu: node %u, position %u of %u: %u after %u", i, v, k, d, source, previous);
                previous = source;
            }
            check_together(graph, v, d, 1 + v % 3);
        }
        gnn_procedural_close(graph);
    }
}

/* What is computed for many at once is what single calls give, any start and length, with and without locality. */
static void test_many_at_once(void **state)
{
    (void)state;
    enum { COUNT = 700 };
    for (int local = 0; local < 2; local++) {
        struct gnn_procedural_config config = base;
        config.locality = local ? 0.4 : 0;
        config.node_count = 40000 + (uint32_t)local * 3571;
        struct gnn_procedural *graph = open_graph(&config);
        for (uint32_t first = 0; first + COUNT < config.node_count; first += 3989) {
            uint32_t degrees[COUNT];
            gnn_procedural_degrees(graph, first, COUNT - first % 97, degrees);
            for (uint32_t i = 0; i < COUNT - first % 97; i++)
                assert_int_equal(degrees[i], gnn_procedural_degree(graph, first + i));
            uint64_t offsets[COUNT];
            gnn_node got[COUNT];
            const uint64_t begin = UINT64_C(5000000000) + first; /* offsets beyond 32 bits */
            const uint32_t degree = degrees[0], count = degree < COUNT ? degree : COUNT;
            for (uint32_t i = 0; i < count; i++)
                offsets[i] = begin + (degree - 1 - i); /* in any order */
            draw_neighbours(graph, first, degree, begin, offsets, count, got);
            for (uint32_t i = 0; i < count; i++)
                assert_int_equal(got[i], gnn_procedural_neighbour(graph, first, degree, degree - 1 - i));
        }
        gnn_procedural_degrees(graph, config.node_count, 0, NULL);
        gnn_procedural_close(graph);
    }
}

static double same_class_rate(const struct gnn_procedural *graph, uint32_t nodes)
{
    uint64_t same = 0, all = 0;
    for (uint32_t v = 0; v < nodes; v++) {
        const uint32_t d = gnn_procedural_degree(graph, v), class = gnn_procedural_class(graph, v);
        for (uint32_t k = 0; k < d; k++)
            same += gnn_procedural_class(graph, gnn_procedural_neighbour(graph, v, d, k)) == class;
        all += d;
    }
    return (double)same / (double)all;
}

static void test_homophily(void **state)
{
    (void)state;
    static const double rates[] = {0, 0.3, 0.7, 1};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct gnn_procedural_config config = base;
        config.homophily = rates[i];
        struct gnn_procedural *graph = open_graph(&config);
        assert_true(fabs(same_class_rate(graph, config.node_count) - rates[i]) < 0.01);
        gnn_procedural_close(graph);
    }
}

static void test_classes_and_labels(void **state)
{
    (void)state;
    struct gnn_procedural *graph = open_graph(&base);
    uint32_t of_class[20] = {0}, noisy = 0;
    for (uint32_t v = 0; v < base.node_count; v++) {
        const uint32_t class = gnn_procedural_class(graph, v), label = gnn_procedural_label(graph, v);
        uint32_t again;
        gnn_procedural_labels(graph, v, 1, &again);
        assert_int_equal(again, label);
        assert_true(class < 20 && label < 20);
        of_class[class]++;
        noisy += class != label;
    }
    for (int i = 0; i < 20; i++)
        assert_int_equal(of_class[i], base.node_count / 20);
    assert_true(fabs((double)noisy / base.node_count - 0.1) < 0.01);
    gnn_procedural_close(graph);
}

static int descending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Share of the edges that come from the most drawn 1 % of the nodes. */
static double top_share(const struct gnn_procedural_config *config)
{
    struct gnn_procedural *graph = open_graph(config);
    uint32_t *drawn = calloc(config->node_count, sizeof *drawn);
    uint64_t all = 0, top = 0;
    for (uint32_t v = 0; v < config->node_count; v++) {
        const uint32_t d = gnn_procedural_degree(graph, v);
        for (uint32_t k = 0; k < d; k++)
            drawn[gnn_procedural_neighbour(graph, v, d, k)]++;
        all += d;
    }
    qsort(drawn, config->node_count, sizeof *drawn, descending);
    for (uint32_t i = 0; i < config->node_count / 100; i++)
        top += drawn[i];
    free(drawn);
    gnn_procedural_close(graph);
    return (double)top / (double)all;
}

static void test_popularity(void **state)
{
    (void)state;
    struct gnn_procedural_config config = base;
    config.popularity = 0;
    const double flat = top_share(&config);
    config.popularity = 0.5;
    const double half = top_share(&config);
    config.popularity = 1;
    const double zipf = top_share(&config);
    assert_true(flat < 0.025);
    assert_true(half > flat);
    assert_true(zipf > 1.5 * half && zipf > 0.06);
}

static void test_locality(void **state)
{
    (void)state;
    struct gnn_procedural_config config = base;
    config.locality = 0.8;
    struct gnn_procedural *graph = open_graph(&config);
    uint64_t near = 0, all = 0;
    for (uint32_t v = 0; v < config.node_count; v++) {
        const uint32_t d = gnn_procedural_degree(graph, v);
        if (d < 10 || d > 200)
            continue;
        for (uint32_t k = 0; k < d; k++)
            near += (uint64_t)llabs((long long)gnn_procedural_neighbour(graph, v, d, k) - v) <= config.node_count / 100;
        all += d;
    }
    const double rate = (double)near / (double)all; /* floor(0.8 d) of d, so a little less */
    assert_true(rate > 0.72 && rate < 0.82);
    gnn_procedural_close(graph);
}

static void test_refused(void **state)
{
    (void)state;
    struct gnn_procedural *graph = NULL;
    struct {
        struct gnn_procedural_config config;
        const char *message;
    } cases[] = {{base, "homophily"}, {base, "popularity"}, {base, "degree exponent"}, {base, "classes"},
                 {base, "too few"},   {base, "nodes"},      {base, "locality"}};
    cases[0].config.homophily = 1.1;
    cases[1].config.popularity = NAN;
    cases[2].config.degree_exponent = 2;
    cases[3].config.class_count = 0;
    cases[4].config.mean_degree = 20000;
    cases[5].config.node_count = 7;
    cases[6].config.locality = -0.1;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_err err = {0};
        assert_int_equal(gnn_procedural_open(&cases[i].config, &graph, &err), GNN_EUSAGE);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: '%s'", i, err.message);
    }
    gnn_procedural_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_permute),
        cmocka_unit_test(test_degrees),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_homophily),
        cmocka_unit_test(test_popularity),
        cmocka_unit_test(test_classes_and_labels),
        cmocka_unit_test(test_locality),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("procedural", tests, NULL, NULL);
}
