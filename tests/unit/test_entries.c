/* SPDX-License-Identifier: MIT */
/* Entries of generated lists drawn together (harness/graph/entries.h) against the same ones drawn one by one, to the
 * bit: laws and lists at random, up to the longest list of the largest graph. The seed is fixed. */
#include "harness/base/rng.h"
#include "harness/graph/entries.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { LISTS = 40, ENTRIES_MOST = 300 };

/* A law whose tiers have weights that fall by `fall`, its guide filled as graphs fill theirs. */
static void make_law(uint32_t node_count, uint32_t classes, uint32_t homophily_24bit, double fall,
                     struct gnn_entry_law *law)
{
    *law = (struct gnn_entry_law){.hub_key = 77,
                                  .node_count = node_count,
                                  .homophily_24bit = classes > 1 ? homophily_24bit : 1U << 24,
                                  .groups = gnn_class_groups_of(78, classes)};
    for (unsigned tier = 0; tier < GNN_TIERS; tier++)
        law->tier_cdf[tier + 1] = law->tier_cdf[tier] + pow(fall, tier);
    for (unsigned top = 0; top < GNN_TIERS; top++)
        for (uint32_t slot = 0; slot < 1u << GNN_TIER_GUIDE_BITS; slot++)
            law->tier_guide[top][slot] = (uint8_t)gnn_entry_tier_from(law, 0, top, slot << (32 - GNN_TIER_GUIDE_BITS));
}

/* A list of `degree` entries, a third of them with a window around the node that holds half of the entries. */
static struct gnn_entry_list make_list(const struct gnn_entry_law *law, uint32_t degree, struct gnn_rng *rng)
{
    const uint64_t count = law->node_count;
    struct gnn_entry_list list = {.node = (gnn_node)gnn_rng_below(rng, count),
                                  .index = GNN_NODE_NONE,
                                  .degree = degree,
                                  .class = (uint32_t)gnn_rng_below(rng, law->groups.count),
                                  .key = gnn_rng_next(rng)};
    if (degree < 2 || gnn_rng_below(rng, 3) != 0)
        return list;
    list.inside = degree / 2;
    list.window = gnn_max_u64(count / 8, 2 * list.inside);
    list.start = gnn_min_u64(list.node, count - list.window);
    list.before = (degree - list.inside) * list.start / (count - list.window);
    return list;
}

struct asked {
    struct gnn_entry_list list;
    uint32_t count;
    uint64_t begin, offset[ENTRIES_MOST];
    gnn_node got[ENTRIES_MOST + 1];
};

/* A run of positions, the last ones of the list among them, or some at random. */
static void ask(struct asked *a, struct gnn_rng *rng)
{
    const uint32_t degree = a->list.degree, most = gnn_min_u32(degree, ENTRIES_MOST);
    const bool run = gnn_rng_below(rng, 2) == 0;
    a->count = (uint32_t)gnn_rng_below(rng, most + 1);
    a->begin = gnn_rng_next(rng) >> 8;
    for (uint32_t i = 0; i < a->count; i++)
        a->offset[i] = a->begin + (run ? degree - a->count + i : gnn_rng_below(rng, degree));
    a->got[a->count] = 123456789; /* nothing writes it */
}

static void check_asked(const struct gnn_entry_law *law, const struct asked *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const uint32_t position = (uint32_t)(a->offset[i] - a->begin);
        const gnn_node want = gnn_entry(law, &a->list, position);
        if (a->got[i] != want)
            fail_msg("%u nodes, %u classes, node %u, position %u of %u: %u alone, %u together", law->node_count,
                     law->groups.count, a->list.node, position, a->list.degree, want, a->got[i]);
    }
    assert_int_equal(a->got[a->count], 123456789);
}

static void check_law(const struct gnn_entry_law *law, uint32_t longest, struct gnn_rng *rng)
{
    struct asked *const asked = calloc(LISTS, sizeof *asked);
    struct gnn_entries entries;
    gnn_entries_open(law, &entries);
    gnn_entries_draw(&entries); /* none wait */
    for (uint32_t k = 0; k < LISTS; k++) {
        const uint32_t short_one = 1 + (uint32_t)gnn_rng_below(rng, gnn_min_u32(longest, 30));
        asked[k].list = make_list(law, k % 4 == 0 ? longest : short_one, rng);
        ask(&asked[k], rng);
        gnn_entries_add(&entries, &asked[k].list, asked[k].begin, asked[k].offset, asked[k].count, asked[k].got);
    }
    gnn_entries_draw(&entries);
    for (uint32_t k = 0; k < LISTS; k++)
        check_asked(law, &asked[k]);
    free(asked);
}

static void test_as_alone(void **state)
{
    (void)state;
    static const struct {
        uint32_t nodes, classes, longest;
    } graphs[] = {
        {8, 1, 2},
        {8, 8, 2},
        {400, 7, 100},
        {400, 400, 100},
        {50000, 172, 12000},
        {1000000, 2, 900},
        {111059956, 172, 1 << 20},
        {UINT32_MAX - 1, 50, 1 << 20},
    };
    struct gnn_entry_law *const law = malloc(sizeof *law);
    struct gnn_rng rng = gnn_rng_at(20261128);
    for (size_t g = 0; g < sizeof graphs / sizeof graphs[0]; g++)
        for (uint32_t round = 0; round < 30; round++) {
            static const double falls[] = {0, 0.5, 1};
            make_law(graphs[g].nodes, graphs[g].classes, (round % 3) << 23, falls[round % 5 % 3], law);
            check_law(law, graphs[g].longest, &rng);
        }
    free(law);
}

/* From 2^52 on a quotient of doubles is not always the one of whole numbers: such lists are drawn one by one. */
static void test_longest_lists(void **state)
{
    (void)state;
    struct gnn_entry_law *const law = malloc(sizeof *law);
    struct gnn_rng rng = gnn_rng_at(20261129);
    make_law(UINT32_MAX - 1, 50, 1 << 23, 0.5, law);
    for (uint32_t round = 0; round < 30; round++)
        check_law(law, (UINT32_C(1) << 30) - 1 - round, &rng);
    free(law);
}

/* A list is not kept: what became of it before the draw does not matter. */
static void test_list_is_not_kept(void **state)
{
    (void)state;
    struct gnn_entry_law *const law = malloc(sizeof *law);
    struct gnn_rng rng = gnn_rng_at(20261130);
    make_law(1000, 7, 1 << 23, 0.5, law);
    struct gnn_entry_list list = make_list(law, 3, &rng);
    const struct gnn_entry_list kept = list;
    const uint64_t offset = 2;
    struct gnn_entries entries;
    gnn_node got = 0;
    gnn_entries_open(law, &entries);
    gnn_entries_add(&entries, &list, 0, &offset, 1, &got);
    list = (struct gnn_entry_list){.degree = 1};
    gnn_entries_draw(&entries);
    assert_int_equal(got, gnn_entry(law, &kept, 2));
    free(law);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_alone),
        cmocka_unit_test(test_longest_lists),
        cmocka_unit_test(test_list_is_not_kept),
    };
    return cmocka_run_group_tests_name("entries", tests, NULL, NULL);
}
