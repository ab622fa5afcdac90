/* SPDX-License-Identifier: MIT */
/* What caches catch, against plain statements of the same: a list in the order of use for LRU; every choice of what to
 * keep for Belady; a table for the sort. */
#include "harness/stats/curves.h"

#include "harness/base/rng.h"
#include "tests/support/measured_world.h"
#include "tests/support/must.h"
#include "tests/support/seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIZES = 6, LONG = 4000, SHORT = 11 };
static const uint64_t sizes[SIZES] = {0, 1, 2, 5, 40, 1000};

/* Low IDs more often. */
static void draw_accesses(struct gnn_rng *rng, gnn_node *rows, uint64_t count, uint32_t nodes)
{
    for (uint64_t i = 0; i < count; i++) {
        const double u = gnn_rng_unit(rng);
        rows[i] = (gnn_node)(u * u * nodes);
    }
}

/* A list with the latest row first. */
static uint64_t plain_lru(const gnn_node *rows, uint64_t count, uint64_t size)
{
    gnn_node *const list = calloc(size + 1, sizeof *list);
    uint64_t held = 0, hits = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = 0;
        while (at < held && list[at] != rows[i])
            at++;
        hits += at < held;
        if (at == held && held < size)
            held++;
        if (size == 0)
            continue;
        for (uint64_t k = at < size ? at : size - 1; k > 0; k--)
            list[k] = list[k - 1];
        list[0] = rows[i];
    }
    free(list);
    return hits;
}

static void test_lru(void **state)
{
    struct gnn_world *const world = *state;
    struct gnn_err err = {0};
    struct gnn_rng rng = gnn_rng_at(test_seed());
    static const uint32_t nodes[] = {1, 7, 60, 1200};
    gnn_node *const rows = calloc(LONG, sizeof *rows);
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++)
        for (uint64_t count = LONG; count > 0; count = count == LONG ? 511 : count == 511 ? 64 : count == 64 ? 1 : 0) {
            uint64_t hits[SIZES];
            draw_accesses(&rng, rows, count, nodes[i]);
            const struct gnn_accesses accesses = {.rows = rows, .count = count, .node_count = nodes[i]};
            must(gnn_lru_hits(world, &accesses, sizes, SIZES, hits, &err), &err);
            for (int s = 0; s < SIZES; s++)
                assert_int_equal(hits[s], plain_lru(rows, count, sizes[s]));
        }
    free(rows);
}

/* The most hits of any choice: after each access any row but those of the cache and the one that was used may be
 * dropped; rows as a set of bits. */
static unsigned best_choice(const gnn_node *rows, unsigned count, unsigned at, unsigned held, unsigned size)
{
    if (at == count)
        return 0;
    const unsigned row = 1u << rows[at], with = held | row;
    const unsigned hit = (held & row) != 0;
    unsigned best = 0;
    for (unsigned kept = with;; kept = (kept - 1) & with) { /* every part of what could be kept */
        if ((unsigned)__builtin_popcount(kept) <= size) {
            const unsigned more = best_choice(rows, count, at + 1, kept, size);
            best = more > best ? more : best;
        }
        if (kept == 0)
            break;
    }
    return best + hit;
}

static void test_belady_is_the_best(void **state)
{
    struct gnn_world *const world = *state;
    struct gnn_err err = {0};
    struct gnn_rng rng = gnn_rng_at(test_seed() + 1);
    static const uint64_t few[] = {1, 2, 3};
    for (int trial = 0; trial < 60; trial++) {
        gnn_node rows[SHORT];
        uint64_t hits[3];
        draw_accesses(&rng, rows, SHORT, 5);
        const struct gnn_accesses accesses = {.rows = rows, .count = SHORT, .node_count = 5};
        must(gnn_belady_hits(world, &accesses, few, 3, hits, &err), &err);
        for (int s = 0; s < 3; s++)
            assert_int_equal(hits[s], best_choice(rows, SHORT, 0, 0, (unsigned)few[s]));
    }
}

/* The rule in words, by looking ahead. */
static uint64_t plain_belady(const gnn_node *rows, uint64_t count, uint64_t size)
{
    gnn_node *const list = calloc(size + 1, sizeof *list);
    uint64_t held = 0, hits = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = 0, worst = 0, worst_next = 0;
        while (at < held && list[at] != rows[i])
            at++;
        hits += at < held;
        if (at == held)
            list[held++] = rows[i];
        if (held <= size)
            continue;
        for (uint64_t k = 0; k < held; k++) {
            uint64_t next = i + 1;
            while (next < count && rows[next] != list[k])
                next++;
            if (next > worst_next) {
                worst = k;
                worst_next = next;
            }
        }
        list[worst] = list[--held];
    }
    free(list);
    return hits;
}

static void test_belady(void **state)
{
    struct gnn_world *const world = *state;
    struct gnn_err err = {0};
    struct gnn_rng rng = gnn_rng_at(test_seed() + 2);
    enum { COUNT = 700 }; /* more than a word of words */
    static const uint32_t nodes[] = {1, 9, 100};
    gnn_node rows[COUNT];
    uint64_t hits[SIZES], lru[SIZES];
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        draw_accesses(&rng, rows, COUNT, nodes[i]);
        const struct gnn_accesses accesses = {.rows = rows, .count = COUNT, .node_count = nodes[i]};
        must(gnn_belady_hits(world, &accesses, sizes, SIZES, hits, &err), &err);
        must(gnn_lru_hits(world, &accesses, sizes, SIZES, lru, &err), &err);
        for (int s = 0; s < SIZES; s++) {
            assert_int_equal(hits[s], plain_belady(rows, COUNT, sizes[s]));
            assert_true(hits[s] >= lru[s]);
        }
    }
    const struct gnn_accesses none = {.rows = rows, .count = 0, .node_count = 1};
    must(gnn_belady_hits(world, &none, sizes, SIZES, hits, &err), &err);
    assert_int_equal(hits[SIZES - 1], 0);
}

/* The rule in words once more, counting where rows come in. */
static void plain_misses(const gnn_node *rows, const uint64_t *ends, uint32_t parts, uint64_t size, uint64_t *misses)
{
    for (uint32_t p = 0; p < parts; p++) {
        const uint64_t before = p == 0 ? 0 : ends[p - 1];
        misses[p] = ends[p] - before;
    }
    gnn_node held[64];
    uint64_t count = 0;
    for (uint32_t p = 0; p < parts; p++)
        for (uint64_t i = p == 0 ? 0 : ends[p - 1]; i < ends[p]; i++) {
            uint64_t at = 0, worst = 0, worst_next = 0;
            while (at < count && held[at] != rows[i])
                at++;
            misses[p] -= at < count;
            if (at == count)
                held[count++] = rows[i];
            for (uint64_t k = 0; k < count; k++) {
                uint64_t next = i + 1;
                while (next < ends[parts - 1] && rows[next] != held[k])
                    next++;
                worst = next > worst_next ? k : worst;
                worst_next = next > worst_next ? next : worst_next;
            }
            if (count > size)
                held[worst] = held[--count];
        }
}

static void test_misses_by_part(void **state)
{
    struct gnn_world *const world = *state;
    struct gnn_err err = {0};
    struct gnn_rng rng = gnn_rng_at(test_seed() + 4);
    enum { COUNT = 600, PARTS = 5 };
    static const uint64_t few[] = {0, 3, 17}, ends[PARTS] = {0, 200, 200, 590, COUNT}; /* two parts are empty */
    gnn_node rows[COUNT];
    uint64_t misses[3 * PARTS], plain[PARTS], hits[3];
    draw_accesses(&rng, rows, COUNT, 40);
    const struct gnn_accesses accesses = {.rows = rows, .count = COUNT, .node_count = 40};
    must(gnn_belady_misses(world, &accesses, few, 3, ends, PARTS, misses, &err), &err);
    must(gnn_belady_hits(world, &accesses, few, 3, hits, &err), &err);
    for (int s = 0; s < 3; s++) {
        uint64_t sum = 0;
        plain_misses(rows, ends, PARTS, few[s], plain);
        for (int p = 0; p < PARTS; p++) {
            assert_int_equal(misses[s * PARTS + p], plain[p]);
            sum += misses[s * PARTS + p];
        }
        assert_int_equal(sum, COUNT - hits[s]);
    }
}

static int falling(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void test_sort(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    uint32_t values[COUNT], expected[COUNT], scratch[COUNT];
    struct gnn_rng rng = gnn_rng_at(test_seed() + 3);
    for (int i = 0; i < COUNT; i++)
        values[i] = expected[i] = (uint32_t)gnn_rng_next(&rng) >> gnn_rng_below(&rng, 32);
    values[5] = expected[5] = UINT32_MAX;
    qsort(expected, COUNT, sizeof *expected, falling);
    gnn_sort_falling(values, scratch, COUNT);
    assert_memory_equal(values, expected, sizeof values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lru),    cmocka_unit_test(test_belady_is_the_best),
        cmocka_unit_test(test_belady), cmocka_unit_test(test_misses_by_part),
        cmocka_unit_test(test_sort),
    };
    return cmocka_run_group_tests_name("curves", tests, measured_world_open, measured_world_close);
}
