/* SPDX-License-Identifier: MIT */
/* Mutual lists against their own statement: who stands in whose list, how often, how far neighbours are neighbours of
 * each other, and that an entry depends on nothing but the seed and its place. Seeds are fixed, the tolerances are
 * several standard deviations of the sample. */
#include "harness/graph/mutual.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 6000, TRAIN = 600, CLASSES = 4 };

/* Lists of a graph and who made them. */
struct lists {
    struct gnn_degree_law law, train_law;
    struct gnn_mutual *mutual;
};

static const struct gnn_rank_law falling = {6, {0.001, 0.01, 0.1, 0.4, 0.8, 1}, {150, 40, 14.3, 5.5, 2, 0.6}};
static const struct gnn_rank_law of_training = {2, {0.25, 1}, {12, 3}};

static void open_law(const struct gnn_rank_law *read, struct gnn_degree_law *law)
{
    struct gnn_err err = {0};
    const struct gnn_degree_config config = {.read = read};
    must(gnn_degree_law_open(&config, law, &err), &err);
}

static struct gnn_mutual_config config_of(const struct lists *l, double clique_share)
{
    return (struct gnn_mutual_config){.seed = 5,
                                      .count = COUNT,
                                      .train_count = TRAIN,
                                      .class_count = CLASSES,
                                      .homophily = 0.7,
                                      .clique_share = clique_share,
                                      .lists = &l->law,
                                      .train_lists = &l->train_law};
}

static struct lists *open_lists(const struct gnn_rank_law *law, double clique_share)
{
    struct lists *const l = calloc(1, sizeof *l);
    struct gnn_err err = {0};
    assert_non_null(l);
    open_law(law, &l->law);
    open_law(&of_training, &l->train_law);
    const struct gnn_mutual_config config = config_of(l, clique_share);
    must(gnn_mutual_open(&config, &l->mutual, &err), &err);
    return l;
}

static void close_lists(struct lists *l)
{
    gnn_mutual_close(l->mutual);
    gnn_degree_law_close(&l->law);
    gnn_degree_law_close(&l->train_law);
    free(l);
}

static void expect_near(double got, double want, double tolerance, const char *what)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%s: %g, expected %g +- %g", what, got, want, tolerance);
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Entries as pairs (who, whom) and as (whom, who), ascending; returns how many there are. */
static uint64_t pairs_of(const struct gnn_mutual *m, uint64_t **there, uint64_t **back)
{
    uint64_t edges = 0, at = 0;
    for (uint32_t v = 0; v < COUNT; v++)
        edges += gnn_mutual_degree(m, v);
    *there = calloc(edges, sizeof **there);
    *back = calloc(edges, sizeof **back);
    for (uint32_t v = 0; v < COUNT; v++)
        for (uint32_t i = 0; i < gnn_mutual_degree(m, v); i++) {
            const uint32_t u = gnn_mutual_neighbour(m, v, i);
            assert_true(u < COUNT && u != v);
            (*there)[at] = (uint64_t)v * COUNT + u;
            (*back)[at++] = (uint64_t)u * COUNT + v;
        }
    qsort(*there, edges, sizeof **there, ascending);
    qsort(*back, edges, sizeof **back, ascending);
    return edges;
}

/* u stands in v's list as often as v in u's, but for those that met themselves; so a node is a neighbour as often as
 * its list is long. */
static void test_mutual(void **state)
{
    (void)state;
    static const double shares[] = {0, 0.5, 1};
    for (size_t s = 0; s < sizeof shares / sizeof shares[0]; s++) {
        struct lists *const l = open_lists(&falling, shares[s]);
        uint64_t *there, *back, alone = 0, i = 0, k = 0;
        const uint64_t edges = pairs_of(l->mutual, &there, &back);
        while (i < edges && k < edges) {
            const bool same = there[i] == back[k];
            alone += !same;
            const bool step_there = same || there[i] < back[k], step_back = same || there[i] > back[k];
            i += step_there;
            k += step_back;
        }
        expect_near((double)alone / (double)edges, 0, 0.02, "entries without their counterpart");
        free(there);
        free(back);
        close_lists(l);
    }
}

/* Lists have the lengths of their law, training nodes of their own; classes are alike, edges stay in them as stated. */
static void test_lengths_and_classes(void **state)
{
    (void)state;
    struct lists *const l = open_lists(&falling, 0.5);
    double train = 0, others = 0, same = 0;
    uint32_t members[CLASSES] = {0};
    for (uint32_t v = 0; v < COUNT; v++) {
        const uint32_t degree = gnn_mutual_degree(l->mutual, v), class = gnn_mutual_class(l->mutual, v);
        *(v < TRAIN ? &train : &others) += degree;
        members[class]++;
        for (uint32_t i = 0; i < degree; i++)
            same += gnn_mutual_class(l->mutual, gnn_mutual_neighbour(l->mutual, v, i)) == class;
    }
    expect_near(train / TRAIN, gnn_rank_law_mean(&of_training), 1e-9, "a training node's list");
    expect_near(others / (COUNT - TRAIN), gnn_rank_law_mean(&falling), 0.05, "another node's list");
    expect_near(same / (train + others), 0.7, 0.02, "edges inside a class");
    for (int c = 0; c < CLASSES; c++)
        expect_near(members[c], COUNT / (double)CLASSES, 1, "members of a class");
    close_lists(l);
}

/* Share of the pairs of a node's neighbours that are neighbours, on average over nodes. */
static double clustering(const struct gnn_mutual *m)
{
    uint64_t *there, *back;
    const uint64_t edges = pairs_of(m, &there, &back);
    double sum = 0;
    for (uint32_t v = 0; v < COUNT; v++) {
        const uint32_t degree = gnn_mutual_degree(m, v);
        uint32_t closed = 0, list[18];
        assert_in_range(degree, 0, 18);
        for (uint32_t i = 0; i < degree; i++)
            list[i] = gnn_mutual_neighbour(m, v, i);
        for (uint32_t i = 0; i < degree; i++)
            for (uint32_t k = 0; k < degree; k++) {
                const uint64_t pair = (uint64_t)list[i] * COUNT + list[k];
                closed += i != k && bsearch(&pair, there, edges, sizeof pair, ascending) != NULL;
            }
        sum += degree > 1 ? closed / (degree * (degree - 1.0)) : 0;
    }
    free(there);
    free(back);
    return sum / COUNT;
}

/* Lists of 18 with half of their entries from cliques have one place among ten: 9 x 8 of 18 x 17 pairs are closed. */
static void test_cliques(void **state)
{
    (void)state;
    static const struct gnn_rank_law eighteen = {1, {1}, {18}};
    static const struct {
        double share, closed;
    } cases[] = {{0, 0}, {0.25, 0.5 * 72 / 306.0}, {0.5, 72 / 306.0}, {1, 2 * 72 / 306.0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lists l = {.mutual = NULL};
        struct gnn_err err = {0};
        open_law(&eighteen, &l.law);
        struct gnn_mutual_config config = config_of(&l, cases[i].share);
        config.train_count = 0;
        must(gnn_mutual_open(&config, &l.mutual, &err), &err);
        expect_near(clustering(l.mutual), cases[i].closed, 0.02, "pairs of neighbours that are neighbours");
        gnn_mutual_close(l.mutual);
        gnn_degree_law_close(&l.law);
    }
}

/* An entry is a pure function of the seed and its place: in any order, from any handle; another seed, another graph. */
static void test_pure(void **state)
{
    (void)state;
    struct lists *const l = open_lists(&falling, 0.6), *const again = open_lists(&falling, 0.6);
    struct gnn_mutual_config other_config = config_of(l, 0.6);
    struct gnn_mutual *other;
    struct gnn_err err = {0};
    uint64_t same = 0, all = 0;
    other_config.seed = 6;
    must(gnn_mutual_open(&other_config, &other, &err), &err);
    for (uint32_t v = COUNT; v-- > 0;)
        for (uint32_t i = gnn_mutual_degree(again->mutual, v); i-- > 0; all++) {
            const uint32_t u = gnn_mutual_neighbour(l->mutual, v, i);
            assert_int_equal(u, gnn_mutual_neighbour(again->mutual, v, i));
            same += i < gnn_mutual_degree(other, v) && u == gnn_mutual_neighbour(other, v, i);
        }
    expect_near((double)same / (double)all, 0, 0.01, "entries that another seed has, too");
    gnn_mutual_close(other);
    close_lists(again);
    close_lists(l);
}

/* Graphs with few nodes, long lists in them, two nodes a class: whatever is drawn is a member and another one. */
static void test_small(void **state)
{
    (void)state;
    static const struct gnn_rank_law steep = {3, {0.1, 0.5, 1}, {30, 4, 1}};
    struct gnn_degree_law law;
    open_law(&steep, &law);
    for (uint32_t count = 8; count < 80; count += 3)
        for (uint32_t classes = 1; classes <= 4; classes++) {
            const struct gnn_mutual_config config = {.seed = count,
                                                     .count = count,
                                                     .train_count = count / 5,
                                                     .class_count = classes,
                                                     .homophily = 0.9,
                                                     .clique_share = 1,
                                                     .lists = &law,
                                                     .train_lists = &law};
            struct gnn_mutual *m;
            struct gnn_err err = {0};
            must(gnn_mutual_open(&config, &m, &err), &err);
            for (uint32_t v = 0; v < count; v++)
                for (uint32_t i = 0; i < gnn_mutual_degree(m, v); i++) {
                    const uint32_t u = gnn_mutual_neighbour(m, v, i);
                    assert_true(u < count && u != v);
                }
            gnn_mutual_close(m);
        }
    gnn_degree_law_close(&law);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct gnn_rank_law long_lists = {1, {1}, {5000}};
    static const struct {
        uint32_t classes;
        double homophily;
        const char *message;
    } cases[] = {{1, 1, "entries a class"}, {10, 0, "entries between classes"}};
    struct gnn_degree_law law;
    open_law(&long_lists, &law);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct gnn_mutual_config config = {.seed = 1,
                                                 .count = 1000000,
                                                 .class_count = cases[i].classes,
                                                 .homophily = cases[i].homophily,
                                                 .lists = &law,
                                                 .train_lists = &law};
        struct gnn_mutual *m = NULL;
        struct gnn_err err = {0};
        assert_int_equal(gnn_mutual_open(&config, &m, &err), GNN_EUSAGE);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: '%s'", i, err.message);
    }
    gnn_degree_law_close(&law);
    gnn_mutual_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutual),  cmocka_unit_test(test_lengths_and_classes),
                                       cmocka_unit_test(test_cliques), cmocka_unit_test(test_pure),
                                       cmocka_unit_test(test_small),   cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests_name("mutual", tests, NULL, NULL);
}
