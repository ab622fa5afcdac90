/* SPDX-License-Identifier: MIT */
/* MariusGNN's orders of partitions (sections 5 and 6): which are resident when, which state trains what, and the
 * numbers that the paper's formulas give. */
#include "systems/mariusgnn/policy.h"
#include "tests/support/measured_world.h"
#include "tests/support/must.h"
#include "tests/support/seed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fresh {
    struct gnn_world *world;
    struct gnn_rng rng;
    struct gnn_err err;
};

static void fresh_open(struct fresh *f, void **state, uint64_t number)
{
    *f = (struct fresh){.world = *state, .rng = gnn_rng_at(gnn_rng_fold(test_seed(), number))};
}

static void fresh_close(struct fresh *f)
{
    struct gnn_mem_usage usage;
    gnn_mem_usage(f->world, &usage);
    assert_int_equal(usage.current_bytes, 0);
}

/* Every physical partition is in one slot of a state at most, and every slot but those of a short last group holds
 * one. */
static void check_states(const struct marius_order *order)
{
    const uint32_t slots = marius_order_slots(order);
    uint32_t *const seen = calloc(order->partitions, sizeof *seen);
    assert_non_null(seen);
    for (uint32_t s = 0; s < order->states; s++) {
        uint32_t filled = 0;
        for (uint32_t i = 0; i < slots; i++) {
            const uint32_t partition = marius_order_partition(order, s, i);
            if (partition == MARIUS_NONE)
                continue;
            assert_true(partition < order->partitions);
            assert_true(seen[partition] != s + 1);
            seen[partition] = s + 1;
            filled++;
        }
        assert_true(filled > slots - order->group);
        if (order->partitions % order->group == 0)
            assert_int_equal(filled, slots);
    }
    free(seen);
}

/* Consecutive states differ in one logical partition, which brings other physical ones than it takes away. */
static void check_one_swap(const struct marius_order *order)
{
    for (uint32_t s = 0; s + 1 < order->states; s++) {
        const uint32_t place = marius_order_swapped(order, s);
        for (uint32_t i = 0; i < order->places; i++) {
            const uint64_t at = (uint64_t)s * order->places + i;
            assert_true((order->resident[at] == order->resident[at + order->places]) == (i != place));
        }
    }
}

static void check_pairs_meet(const struct marius_order *order)
{
    const uint32_t p = order->partitions, slots = marius_order_slots(order);
    bool *const met = calloc((size_t)p * p, sizeof *met);
    assert_non_null(met);
    for (uint32_t s = 0; s < order->states; s++)
        for (uint32_t i = 0; i < slots; i++)
            for (uint32_t j = 0; j < slots; j++) {
                const uint32_t a = marius_order_partition(order, s, i), b = marius_order_partition(order, s, j);
                if (a != MARIUS_NONE && b != MARIUS_NONE)
                    met[(size_t)a * p + b] = true;
            }
    for (size_t i = 0; i < (size_t)p * p; i++)
        assert_true(met[i]);
    free(met);
}

/* Formula, bound and these numbers are stated apart from each other: swaps of the generator and the least possible. */
static void test_one_swap_sequences_have_the_stated_lengths(void **state)
{
    static const struct {
        uint32_t units, places, swaps, bound;
    } cases[] = {{4, 2, 5, 5},    {8, 2, 27, 27},     {16, 4, 42, 38}, {16, 8, 17, 14},
                 {32, 8, 78, 67}, {64, 16, 150, 127}, {5, 5, 0, 0},    {3, 2, 2, 2}};
    struct fresh f;
    fresh_open(&f, state, 1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct marius_order order;
        assert_int_equal(marius_one_swap_states(cases[c].units, cases[c].places), cases[c].swaps + 1);
        assert_int_equal(marius_one_swap_bound(cases[c].units, cases[c].places), cases[c].bound);
        must(marius_order_beta(f.world, &f.rng, cases[c].units, cases[c].places, &order, &f.err), &f.err);
        assert_int_equal(order.states, cases[c].swaps + 1);
        check_states(&order);
        check_one_swap(&order);
        check_pairs_meet(&order);
        marius_order_close(f.world, &order);
    }
    fresh_close(&f);
}

/* With two places every pair of units is together in one state and no other. */
static void test_two_places_bring_each_pair_together_once(void **state)
{
    struct fresh f;
    struct marius_order order;
    uint32_t met[9][9] = {{0}};
    fresh_open(&f, state, 2);
    must(marius_order_beta(f.world, &f.rng, 9, 2, &order, &f.err), &f.err);
    for (uint32_t s = 0; s < order.states; s++) {
        const uint32_t a = order.resident[2 * s], b = order.resident[2 * s + 1];
        met[a][b]++;
        met[b][a]++;
    }
    for (uint32_t a = 0; a < 9; a++)
        for (uint32_t b = 0; b < 9; b++)
            assert_int_equal(met[a][b], a != b);
    marius_order_close(f.world, &order);
    fresh_close(&f);
}

static void test_comet_swaps_groups_and_meets_all_pairs(void **state)
{
    static const uint32_t cases[][3] = {{32, 4, 2}, {32, 2, 4}, {16, 8, 2},
                                        {30, 4, 3}, {7, 3, 2},  {8, 1, 8}}; /* p g c_l */
    struct fresh f;
    fresh_open(&f, state, 3);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct marius_order order;
        must(marius_order_comet(f.world, &f.rng, cases[c][0], cases[c][1], cases[c][2], &order, &f.err), &f.err);
        assert_int_equal(order.units, (cases[c][0] + cases[c][1] - 1) / cases[c][1]);
        assert_int_equal(order.states, marius_one_swap_states(order.units, cases[c][2]));
        check_states(&order);
        check_one_swap(&order);
        check_pairs_meet(&order);
        marius_order_close(f.world, &order);
    }
    fresh_close(&f);
}

/* Groups and sequences are drawn anew, and the same draw gives the same order. */
static void test_orders_are_random_and_repeat(void **state)
{
    struct fresh f;
    struct marius_order a, b, c;
    fresh_open(&f, state, 4);
    struct gnn_rng again = f.rng;
    must(marius_order_comet(f.world, &f.rng, 64, 4, 4, &a, &f.err), &f.err);
    must(marius_order_comet(f.world, &f.rng, 64, 4, 4, &b, &f.err), &f.err);
    must(marius_order_comet(f.world, &again, 64, 4, 4, &c, &f.err), &f.err);
    const size_t members = 64 * sizeof *a.members, resident = (size_t)a.states * 4 * sizeof *a.resident;
    assert_memory_equal(a.members, c.members, members);
    assert_memory_equal(a.resident, c.resident, resident);
    assert_memory_not_equal(a.members, b.members, members);
    assert_memory_not_equal(a.resident, b.resident, resident);
    marius_order_close(f.world, &a);
    marius_order_close(f.world, &b);
    marius_order_close(f.world, &c);
    fresh_close(&f);
}

/* The place through which the units outside pass first is drawn: each of three as often as the others, to five standard
 * deviations. */
static void test_any_place_rotates_first(void **state)
{
    enum { UNITS = 9, PLACES = 3, DRAWS = 1200 }; /* a third of 1200 in the mean, sd 16 */
    struct fresh f;
    uint32_t rotated[PLACES] = {0};
    fresh_open(&f, state, 21);
    for (uint32_t d = 0; d < DRAWS; d++) {
        struct marius_order order;
        must(marius_order_beta(f.world, &f.rng, UNITS, PLACES, &order, &f.err), &f.err);
        rotated[marius_order_swapped(&order, 0)]++;
        marius_order_close(f.world, &order);
    }
    for (uint32_t i = 0; i < PLACES; i++)
        assert_in_range(rotated[i], 400 - 80, 400 + 80);
    fresh_close(&f);
}

/* Orders of recorded runs: the states of five units in two places, as one seed gives them. */
static void test_a_seed_keeps_its_order(void **state)
{
    static const uint32_t expected[][2] = {{1, 0}, {2, 0}, {4, 0}, {3, 0}, {3, 1},
                                           {3, 2}, {3, 4}, {1, 4}, {1, 2}, {4, 2}};
    struct fresh f;
    struct marius_order order;
    fresh_open(&f, state, 22);
    f.rng = gnn_rng_at(7);
    must(marius_order_beta(f.world, &f.rng, 5, 2, &order, &f.err), &f.err);
    assert_int_equal(order.states, sizeof expected / sizeof *expected);
    for (uint32_t s = 0; s < order.states; s++)
        for (uint32_t i = 0; i < 2; i++)
            assert_int_equal(marius_order_partition(&order, s, i), expected[s][i]);
    marius_order_close(f.world, &order);
    fresh_close(&f);
}

/* Whether the partition is resident in the state. */
static bool holds(const struct marius_order *order, uint32_t state, uint32_t partition)
{
    bool held = false;
    for (uint32_t i = 0; i < marius_order_slots(order); i++)
        held |= marius_order_partition(order, state, i) == partition;
    return held;
}

/* What the states bring in that the one before did not have: partitions, and buckets between partitions. */
static void count_entering(const struct marius_order *order, uint64_t *partitions, uint64_t *buckets)
{
    const uint32_t slots = marius_order_slots(order);
    *partitions = *buckets = 0;
    for (uint32_t s = 0; s < order->states; s++)
        for (uint32_t i = 0; i < slots; i++) {
            const bool stayed = s > 0 && holds(order, s - 1, marius_order_partition(order, s, i));
            *partitions += !stayed;
            for (uint32_t j = 0; j < slots; j++)
                *buckets += !stayed || !holds(order, s - 1, marius_order_partition(order, s, j));
        }
}

/* The IO of section 6: c + g (|S| - 1) partitions of vectors and c^2 + g (2c - g)(|S| - 1) buckets. By hand, in groups
 * and in buckets between groups: of l = 4 groups 7 come in, 7/4 of the vectors, and 19 of 16. */
static void test_states_bring_in_what_the_volume_says(void **state)
{
    static const struct {
        uint32_t units, places, partitions, buckets;
    } cases[] = {{4, 2, 7, 19}, {8, 2, 29, 85}, {16, 4, 46, 310}};
    struct fresh f;
    fresh_open(&f, state, 12);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (uint32_t group = 1; group <= 3; group++) {
            struct marius_order order;
            uint64_t partitions, buckets;
            must(marius_order_comet(f.world, &f.rng, cases[c].units * group, group, cases[c].places, &order, &f.err),
                 &f.err);
            count_entering(&order, &partitions, &buckets);
            assert_int_equal(partitions, cases[c].partitions * group);
            assert_int_equal(buckets, cases[c].buckets * group * group);
            marius_order_close(f.world, &order);
        }
    fresh_close(&f);
}

/* ---- buckets ---- */

/* Each bucket is given to one state that holds both of its ends; returns the sizes of all X_i. */
static uint32_t *check_assignment(const struct marius_order *order, const uint32_t *state_of)
{
    const uint32_t p = order->partitions, slots = marius_order_slots(order);
    uint32_t *const size = calloc(order->states, sizeof *size), *const held = calloc(p, sizeof *held);
    assert_true(size != NULL && held != NULL);
    for (uint32_t s = 0; s < order->states; s++) {
        for (uint32_t i = 0; i < slots; i++)
            if (marius_order_partition(order, s, i) != MARIUS_NONE)
                held[marius_order_partition(order, s, i)] = s + 1;
        for (uint32_t i = 0; i < p; i++)
            for (uint32_t j = 0; j < p; j++)
                if (state_of[(size_t)i * p + j] == s) {
                    assert_int_equal(held[i], s + 1);
                    assert_int_equal(held[j], s + 1);
                    size[s]++;
                }
    }
    free(held);
    return size;
}

/* The greedy assignment: no state before the bucket's own holds both of its ends. */
static void check_first(const struct marius_order *order, const uint32_t *state_of)
{
    const uint32_t p = order->partitions, slots = marius_order_slots(order);
    for (uint32_t s = 0; s < order->states; s++)
        for (uint32_t i = 0; i < slots; i++)
            for (uint32_t j = 0; j < slots; j++) {
                const uint32_t from = marius_order_partition(order, s, i), to = marius_order_partition(order, s, j);
                if (from != MARIUS_NONE && to != MARIUS_NONE)
                    assert_true(state_of[(size_t)from * p + to] <= s);
            }
}

static double bias_of(struct fresh *f, uint32_t partitions, uint32_t group, uint32_t places,
                      enum marius_assignment assignment, uint32_t *least, uint32_t *most)
{
    struct marius_order order;
    double bias;
    must(marius_order_comet(f->world, &f->rng, partitions, group, places, &order, &f->err), &f->err);
    uint32_t *const state_of = malloc((size_t)partitions * partitions * sizeof *state_of);
    assert_non_null(state_of);
    memset(state_of, 0xff, (size_t)partitions * partitions * sizeof *state_of);
    must(marius_assign_buckets(&order, assignment, &f->rng, state_of, &f->err), &f->err);
    uint32_t *const size = check_assignment(&order, state_of);
    if (assignment == MARIUS_ASSIGN_GREEDY)
        check_first(&order, state_of);
    uint64_t all = 0;
    *least = UINT32_MAX;
    *most = 0;
    for (uint32_t s = 0; s < order.states; s++) {
        all += size[s];
        *least = size[s] < *least ? size[s] : *least;
        *most = size[s] > *most ? size[s] : *most;
    }
    assert_int_equal(all, (uint64_t)partitions * partitions);
    must(marius_bias(&order, state_of, &bias, &f->err), &f->err);
    free(size);
    free(state_of);
    marius_order_close(f->world, &order);
    return bias;
}

/* Section 5.1: deferred assignment balances the X_i, the greedy one gives the first twice what the others get. */
static void test_deferred_assignment_balances_the_examples(void **state)
{
    struct fresh f;
    uint32_t least, most;
    fresh_open(&f, state, 5);
    (void)bias_of(&f, 1024, 128, 2, MARIUS_ASSIGN_RANDOM, &least, &most);
    const double mean = 1024.0 * 1024 / 28; /* l = 8: 28 states; a sixth of a per cent is one standard deviation */
    assert_true(least > 0.99 * mean);
    assert_true(most < 1.01 * mean);
    (void)bias_of(&f, 256, 32, 2, MARIUS_ASSIGN_GREEDY, &least, &most);
    assert_int_equal(most, 4 * 32 * 32);
    assert_int_equal(least, 2 * 32 * 32);
    fresh_close(&f);
}

/* By hand: with p = 16, c = 4 the greedy order has finished a partition (1) when another has seen itself alone in
 * nothing; section 6's definition gives 15/16. The others are the values of the same definition. */
static void test_bias_has_the_values_of_its_definition(void **state)
{
    struct fresh f;
    uint32_t least, most;
    fresh_open(&f, state, 6);
    const double beta = bias_of(&f, 16, 1, 4, MARIUS_ASSIGN_GREEDY, &least, &most);
    const double comet = bias_of(&f, 32, 4, 2, MARIUS_ASSIGN_RANDOM, &least, &most);
    const double fine = bias_of(&f, 1024, 256, 2, MARIUS_ASSIGN_RANDOM, &least, &most);
    assert_true(beta == 15.0 / 16);
    assert_true(fabs(comet - 0.875) <= 1.0 / 64);
    assert_true(fabs(fine - 0.68) < 0.01);
    assert_true(comet < beta);
    fresh_close(&f);
}

/* One state holds everything: all buckets at once, so no partition is ahead of another. */
static void test_a_single_state_has_no_bias(void **state)
{
    struct fresh f;
    uint32_t least, most;
    fresh_open(&f, state, 7);
    assert_true(bias_of(&f, 6, 1, 6, MARIUS_ASSIGN_RANDOM, &least, &most) == 0);
    assert_int_equal(least, 36);
    fresh_close(&f);
}

/* Two partitions, then a third swapped in, by hand: X_1 = the four buckets of {0, 1}. After it 0 and 1 have seen 4 of
 * their 6 ends (each bucket counts at both), 2 none: B = 4/6. */
static void test_bias_by_hand(void **state)
{
    (void)state;
    struct gnn_err err = {0};
    uint32_t members[] = {0, 1, 2}, resident[] = {0, 1, 0, 2, 1, 2};
    const struct marius_order order = {
        .partitions = 3, .group = 1, .units = 3, .places = 2, .states = 3, .members = members, .resident = resident};
    const uint32_t state_of[9] = {0, 0, 1, 0, 0, 2, 1, 2, 1};
    double bias;
    must(marius_bias(&order, state_of, &bias, &err), &err);
    assert_true(fabs(bias - 4.0 / 6) < 1e-12);
}

/* ---- node classification ---- */

static void test_training_partitions_come_first_and_others_change(void **state)
{
    enum { P = 20, K = 4, C = 9, EPOCHS = 60 };
    struct fresh f;
    uint32_t before[C], times[P] = {0}, kept = 0;
    fresh_open(&f, state, 8);
    for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
        struct marius_order order;
        must(marius_order_training_first(f.world, &f.rng, P, K, C, epoch > 0 ? before : NULL, &order, &f.err), &f.err);
        assert_int_equal(order.states, 1);
        assert_int_equal(marius_order_slots(&order), C);
        check_states(&order);
        uint32_t places_kept = 0, both = 0;
        for (uint32_t i = 0; i < C; i++) {
            const uint32_t partition = marius_order_partition(&order, 0, i);
            assert_true(i < K ? partition == i : partition >= K);
            times[partition]++;
            for (uint32_t j = K; epoch > 0 && i >= K && j < C; j++)
                both += before[j] == partition;
            places_kept += epoch > 0 && i >= K && before[i] == partition;
        }
        assert_int_equal(places_kept, both); /* what stays resident stays where it is */
        kept += both;
        memcpy(before, order.resident, sizeof before);
        marius_order_close(f.world, &order);
    }
    /* C - K of P - K each time: 5/16 of 60 = 18.75 expected, and as large a share of what was there before */
    for (uint32_t i = K; i < P; i++)
        assert_true(times[i] > 5 && times[i] < 36);
    assert_true(kept > EPOCHS / 2 && kept < EPOCHS * 3);
    fresh_close(&f);
}

static void test_with_room_for_all_nothing_is_left_out(void **state)
{
    struct fresh f;
    struct marius_order order;
    fresh_open(&f, state, 9);
    must(marius_order_training_first(f.world, &f.rng, 7, 7, 7, NULL, &order, &f.err), &f.err);
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(marius_order_partition(&order, 0, i), i);
    marius_order_close(f.world, &order);
    fresh_close(&f);
}

/* Section 5.2: until all partitions have appeared, and none twice. */
static void test_the_fallback_shows_every_partition_once(void **state)
{
    static const uint32_t cases[][3] = {{16, 2, 2}, {16, 1, 5}, {13, 3, 2},
                                        {8, 8, 1},  {6, 1, 1},  {5, 1, 5}}; /* p g c_l */
    struct fresh f;
    fresh_open(&f, state, 10);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct marius_order order;
        must(marius_order_replace(f.world, &f.rng, cases[c][0], cases[c][1], cases[c][2], &order, &f.err), &f.err);
        assert_int_equal(order.states, order.units - cases[c][2] + 1);
        check_states(&order);
        check_one_swap(&order);
        for (uint32_t p = 0; p < cases[c][0]; p++) {
            uint32_t stays = 0;
            bool resident = false;
            for (uint32_t s = 0; s < order.states; s++) {
                bool now = false;
                for (uint32_t i = 0; i < marius_order_slots(&order); i++)
                    now |= marius_order_partition(&order, s, i) == p;
                stays += now && !resident;
                resident = now;
            }
            assert_int_equal(stays, 1);
        }
        marius_order_close(f.world, &order);
    }
    fresh_close(&f);
}

/* Which place is replaced is drawn: each of three as often as the others, to five standard deviations. */
static void test_the_fallback_replaces_any_place(void **state)
{
    enum { P = 23, PLACES = 3, DRAWS = 60 }; /* 20 swaps each, a third of 1200 in the mean, sd 16 */
    struct fresh f;
    uint32_t replaced[PLACES] = {0};
    fresh_open(&f, state, 13);
    for (uint32_t d = 0; d < DRAWS; d++) {
        struct marius_order order;
        must(marius_order_replace(f.world, &f.rng, P, 1, PLACES, &order, &f.err), &f.err);
        for (uint32_t s = 0; s + 1 < order.states; s++)
            replaced[marius_order_swapped(&order, s)]++;
        marius_order_close(f.world, &order);
    }
    for (uint32_t i = 0; i < PLACES; i++)
        assert_in_range(replaced[i], 400 - 80, 400 + 80);
    fresh_close(&f);
}

static void test_every_training_node_goes_to_a_state_that_holds_it(void **state)
{
    enum { ROWS = 5, P = 12, NODES = P * ROWS };
    struct fresh f;
    struct marius_order order;
    gnn_node nodes[NODES];
    uint32_t state_of[NODES], other[NODES], differing = 0;
    fresh_open(&f, state, 11);
    for (uint32_t i = 0; i < NODES; i++)
        nodes[i] = NODES - 1 - i;
    must(marius_order_replace(f.world, &f.rng, P, 2, 3, &order, &f.err), &f.err);
    must(marius_assign_nodes(&order, 1, nodes, NODES, ROWS, state_of, &f.err), &f.err);
    must(marius_assign_nodes(&order, 2, nodes, NODES, ROWS, other, &f.err), &f.err);
    for (uint32_t n = 0; n < NODES; n++) {
        bool held = false;
        assert_true(state_of[n] < order.states);
        for (uint32_t i = 0; i < marius_order_slots(&order); i++)
            held |= marius_order_partition(&order, state_of[n], i) == nodes[n] / ROWS;
        assert_true(held);
        differing += state_of[n] != other[n];
    }
    assert_true(differing > 0);
    marius_order_close(f.world, &order);
    fresh_close(&f);
}

/* Any of the states that hold a node may train it, each as likely: 6 groups, two of them resident, so that five states
 * follow each other, and those that keep their place to the end are trained in up to five. */
static void test_a_training_node_goes_to_any_state_that_holds_it(void **state)
{
    enum { P = 6, ROWS = 1, DRAWS = 1000 };
    struct fresh f;
    struct marius_order order;
    gnn_node nodes[P];
    uint32_t trained[P][P] = {{0}};
    fresh_open(&f, state, 14);
    for (uint32_t i = 0; i < P; i++)
        nodes[i] = i;
    must(marius_order_replace(f.world, &f.rng, P, 1, 2, &order, &f.err), &f.err);
    for (uint32_t d = 0; d < DRAWS; d++) {
        uint32_t state_of[P];
        must(marius_assign_nodes(&order, d, nodes, P, ROWS, state_of, &f.err), &f.err);
        for (uint32_t n = 0; n < P; n++)
            trained[n][state_of[n]]++;
    }
    for (uint32_t n = 0; n < P; n++) {
        uint32_t states = 0;
        for (uint32_t s = 0; s < order.states; s++)
            states += holds(&order, s, n);
        for (uint32_t s = 0; s < order.states; s++) { /* sd at most 16 */
            const uint32_t expected = holds(&order, s, n) ? DRAWS / states : 0;
            assert_in_range(trained[n][s], expected > 80 ? expected - 80 : 0, expected > 0 ? expected + 80 : 0);
        }
    }
    marius_order_close(f.world, &order);
    fresh_close(&f);
}

/* ---- auto-tuning ---- */

static const struct marius_graph_size fb15k = {14541, 272115, 50 * 4, 12};
static const struct marius_graph_size freebase = {86054151, 304727650, 100 * 4, 12};
static const struct marius_graph_size papers = {111059956, 1615685872, 128 * 4, 8};

/* Section 6, D = 4096, for the graphs of Table 1. */
static void test_the_rule_gives_the_papers_partitions(void **state)
{
    (void)state;
    assert_true(fabs(marius_rule_partitions(&fb15k, 4096) - 28.2) < 0.1);
    assert_true(fabs(marius_rule_partitions(&freebase, 4096) - 945) < 1);
    assert_true(fabs(marius_rule_partitions(&papers, 4096) - 1776) < 1);
    assert_int_equal(marius_tuned_partitions(&fb15k, 4096), 32);
    assert_int_equal(marius_tuned_partitions(&freebase, 4096), 1024);
    assert_int_equal(marius_tuned_partitions(&papers, 4096), 2048);
    /* A graph of few nodes has no more partitions than rows of vectors in blocks. */
    const struct marius_graph_size narrow = {4096, UINT64_C(1) << 40, 4, 8};
    assert_true(fabs(marius_rule_partitions(&narrow, 4096) - 4) < 1e-9);
    const struct marius_graph_size tiny = {3, 3, 4, 8};
    assert_int_equal(marius_tuned_partitions(&tiny, 4096), 1);
}

static void test_no_partition_is_left_without_rows(void **state)
{
    (void)state;
    assert_true(marius_partitions_fit(10, 5));
    assert_false(marius_partitions_fit(10, 6)); /* P = 2: five partitions hold all */
    assert_true(marius_partitions_fit(10, 10));
    assert_false(marius_partitions_fit(10, 11));
    const struct marius_graph_size dense = {33, UINT64_C(1) << 30, 4096, 8};
    /* 33 by the rule, 32 as a power; 8 of 5 rows leave the last none, too. */
    const uint32_t partitions = marius_tuned_partitions(&dense, 4096);
    assert_int_equal(partitions, 4);
}

/* c PO + 2 c^2 EBO < memory, by hand: p = 4, PO = 1000, EBO = 50. */
static void test_the_rule_fills_the_memory(void **state)
{
    (void)state;
    const struct marius_graph_size size = {1000, 100, 4, 8};
    assert_int_equal(marius_rule_capacity(&size, 4, 1101), 1); /* 1000 + 100 */
    assert_int_equal(marius_rule_capacity(&size, 4, 1100), 0);
    assert_int_equal(marius_rule_capacity(&size, 4, 2401), 2); /* 2000 + 400 */
    assert_int_equal(marius_rule_capacity(&size, 4, 2400), 1);
    assert_int_equal(marius_rule_capacity(&size, 4, UINT64_C(1) << 40), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_swap_sequences_have_the_stated_lengths),
        cmocka_unit_test(test_two_places_bring_each_pair_together_once),
        cmocka_unit_test(test_comet_swaps_groups_and_meets_all_pairs),
        cmocka_unit_test(test_orders_are_random_and_repeat),
        cmocka_unit_test(test_any_place_rotates_first),
        cmocka_unit_test(test_a_seed_keeps_its_order),
        cmocka_unit_test(test_states_bring_in_what_the_volume_says),
        cmocka_unit_test(test_deferred_assignment_balances_the_examples),
        cmocka_unit_test(test_bias_has_the_values_of_its_definition),
        cmocka_unit_test(test_a_single_state_has_no_bias),
        cmocka_unit_test(test_bias_by_hand),
        cmocka_unit_test(test_training_partitions_come_first_and_others_change),
        cmocka_unit_test(test_with_room_for_all_nothing_is_left_out),
        cmocka_unit_test(test_the_fallback_shows_every_partition_once),
        cmocka_unit_test(test_the_fallback_replaces_any_place),
        cmocka_unit_test(test_every_training_node_goes_to_a_state_that_holds_it),
        cmocka_unit_test(test_a_training_node_goes_to_any_state_that_holds_it),
        cmocka_unit_test(test_the_rule_gives_the_papers_partitions),
        cmocka_unit_test(test_no_partition_is_left_without_rows),
        cmocka_unit_test(test_the_rule_fills_the_memory),
    };
    return cmocka_run_group_tests(tests, measured_world_open, measured_world_close);
}
