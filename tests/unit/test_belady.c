/* SPDX-License-Identifier: MIT */
/* Belady's replacement at mini-batch granularity against exhaustive search and against a naive rule
 * (docs/invariants.md, Ginex: 1, 2, 3, 4, 8). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "systems/ginex/belady.h"
#include "tests/support/hang.h"
#include "tests/support/measured_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES_MAX = 400, BATCHES_MAX = 64, TRACES = 3000 };

static struct gnn_world *world;
static uint64_t seed;

/* ---- traces ---- */

struct trace {
    uint32_t nodes, batches;
    uint32_t count[BATCHES_MAX];
    gnn_node node[BATCHES_MAX][NODES_MAX];
    uint64_t accesses;
    uint32_t largest;
};

static void shuffle(struct gnn_rng *rng, gnn_node *list, uint32_t count)
{
    for (uint32_t left = count; left > 1; left--) {
        const uint32_t pick = (uint32_t)gnn_rng_below(rng, left);
        const gnn_node moved = list[pick];
        list[pick] = list[left - 1];
        list[left - 1] = moved;
    }
}

/* Distinct nodes in any order; low IDs more often. */
static void draw_trace(struct gnn_rng *rng, uint32_t nodes, uint32_t batches, uint32_t batch_max, struct trace *t)
{
    *t = (struct trace){.nodes = nodes, .batches = batches};
    for (uint32_t b = 0; b < batches; b++) {
        const uint32_t wanted = 1 + (uint32_t)gnn_rng_below(rng, batch_max);
        for (uint32_t i = 0; i < wanted; i++) {
            const double u = gnn_rng_unit(rng);
            const gnn_node v = (gnn_node)((gnn_rng_below(rng, 2) == 0 ? u : u * u) * nodes);
            bool there = false;
            for (uint32_t k = 0; k < t->count[b]; k++)
                there = there || t->node[b][k] == v;
            if (!there)
                t->node[b][t->count[b]++] = v;
        }
        shuffle(rng, t->node[b], t->count[b]);
        t->accesses += t->count[b];
        t->largest = t->count[b] > t->largest ? t->count[b] : t->largest;
    }
}

/* The next access after batch b, or `batches`. */
static uint32_t next_access(const struct trace *t, gnn_node v, uint32_t b)
{
    for (uint32_t later = b + 1; later < t->batches; later++)
        for (uint32_t i = 0; i < t->count[later]; i++)
            if (t->node[later][i] == v)
                return later;
    return t->batches;
}

/* ---- a run of the module ---- */

struct run {
    struct ginex_belady *b;
    gnn_node initial[NODES_MAX];
    uint32_t initial_count;
    uint64_t misses;
    uint32_t slot_of[NODES_MAX]; /* what an executor would hold: slot + 1 */
    uint32_t cached;
};

static void start(const struct trace *t, uint32_t cache_rows, enum ginex_replacement policy, const gnn_node *initial,
                  uint32_t initial_count, struct run *r)
{
    struct gnn_err err = {0};
    const struct ginex_belady_config config = {.node_count = t->nodes,
                                               .cache_rows = cache_rows,
                                               .batches = t->batches,
                                               .accesses = t->accesses,
                                               .batch_nodes_max = t->largest,
                                               .policy = policy};
    memset(r, 0, sizeof *r);
    assert_int_equal(ginex_belady_open(world, &config, &r->b, &err), GNN_OK);
    for (uint32_t b = 0; b < t->batches; b++)
        ginex_belady_count(r->b, t->node[b], t->count[b], initial == NULL ? r->initial : NULL, &r->initial_count);
    ginex_belady_lay_out(r->b);
    for (uint32_t b = 0; b < t->batches; b++)
        ginex_belady_place(r->b, b, t->node[b], t->count[b]);
    if (initial != NULL) {
        memcpy(r->initial, initial, initial_count * sizeof *initial);
        r->initial_count = initial_count;
    } else {
        const uint32_t distinct = ginex_belady_distinct(r->b);
        assert_int_equal(r->initial_count, distinct < cache_rows ? distinct : cache_rows);
    }
    ginex_belady_begin(r->b, r->initial, r->initial_count);
    for (uint32_t i = 0; i < r->initial_count; i++)
        r->slot_of[r->initial[i]] = i + 1;
    r->cached = r->initial_count;
}

static bool in_batch(const struct trace *t, uint32_t b, gnn_node v, uint32_t *row)
{
    for (uint32_t i = 0; i < t->count[b]; i++)
        if (t->node[b][i] == v) {
            *row = i;
            return true;
        }
    return false;
}

/* One batch: the change set is sound, and applying it gives the cache the module believes in. */
static void step(const struct trace *t, uint32_t b, uint32_t cache_rows, struct run *r)
{
    struct ginex_changes c;
    ginex_belady_step(r->b, b, t->node[b], t->count[b], &c);
    uint32_t missing = 0;
    for (uint32_t i = 0; i < t->count[b]; i++)
        missing += r->slot_of[t->node[b][i]] == 0;
    assert_int_equal(c.misses, missing);
    assert_in_range(c.count, 0, missing);
    r->misses += missing;
    for (uint32_t k = 0; k < c.count; k++) {
        uint32_t row;
        assert_true(in_batch(t, b, c.in_node[k], &row));
        assert_int_equal(c.in_row[k], row);
        assert_int_equal(r->slot_of[c.in_node[k]], 0);
        assert_true(r->slot_of[c.out_node[k]] > 0);
        r->slot_of[c.in_node[k]] = r->slot_of[c.out_node[k]];
        r->slot_of[c.out_node[k]] = 0;
    }
    bool taken[NODES_MAX + 1] = {false};
    uint32_t cached = 0;
    for (gnn_node v = 0; v < t->nodes; v++) {
        const uint32_t slot = r->slot_of[v];
        assert_int_equal(slot > 0, ginex_belady_cached(r->b, v));
        assert_in_range(slot, 0, cache_rows);
        assert_true(slot == 0 || !taken[slot]);
        taken[slot] = true;
        cached += slot > 0;
    }
    assert_int_equal(cached, r->initial_count);
}

static uint64_t misses_of(const struct trace *t, uint32_t cache_rows, enum ginex_replacement policy,
                          const gnn_node *initial, uint32_t initial_count)
{
    struct run r;
    start(t, cache_rows, policy, initial, initial_count, &r);
    for (uint32_t b = 0; b < t->batches; b++)
        step(t, b, cache_rows, &r);
    ginex_belady_close(r.b);
    return r.misses;
}

/* ---- exhaustive search ---- */

enum { SETS = 1 << 8, NEVER = 1 << 20 };

/* Least misses from every cache of exactly `rows` nodes, if the next one may be any such subset of cache and batch. */
static void exhaust(const struct trace *t, uint32_t rows, uint32_t best[SETS])
{
    uint32_t after[SETS];
    memset(best, 0, SETS * sizeof *best);
    for (uint32_t b = t->batches; b-- > 0;) {
        uint32_t batch = 0;
        memcpy(after, best, sizeof after);
        for (uint32_t i = 0; i < t->count[b]; i++)
            batch |= 1u << t->node[b][i];
        for (uint32_t cache = 0; cache < 1u << t->nodes; cache++) {
            best[cache] = NEVER;
            if ((uint32_t)__builtin_popcount(cache) != rows)
                continue;
            uint32_t least = NEVER;
            const uint32_t all = cache | batch;
            for (uint32_t next = all;; next = (next - 1) & all) {
                if ((uint32_t)__builtin_popcount(next) == rows && after[next] < least)
                    least = after[next];
                if (next == 0)
                    break;
            }
            best[cache] = least + (uint32_t)__builtin_popcount(batch & ~cache);
        }
    }
}

static void test_misses_are_the_least_possible(void **state)
{
    (void)state;
    uint32_t missing_traces = 0;
    for (seed = 1; seed <= TRACES; seed++) {
        struct gnn_rng rng = gnn_rng_at(gnn_rng_fork(seed, "belady"));
        struct trace t;
        struct run r;
        uint32_t best[SETS], least = NEVER, initial = 0;
        draw_trace(&rng, 2 + (uint32_t)gnn_rng_below(&rng, 7), 1 + (uint32_t)gnn_rng_below(&rng, 6), 6, &t);
        const uint32_t rows = 1 + (uint32_t)gnn_rng_below(&rng, 4);
        start(&t, rows, GINEX_REPLACE_BELADY, NULL, 0, &r);
        for (uint32_t i = 0; i < r.initial_count; i++)
            initial |= 1u << r.initial[i];
        for (uint32_t b = 0; b < t.batches; b++)
            step(&t, b, rows, &r);
        exhaust(&t, r.initial_count, best);
        for (uint32_t cache = 0; cache < 1u << t.nodes; cache++)
            least = best[cache] < least ? best[cache] : least;
        if (r.misses != best[initial] || r.misses != least)
            fail_msg("seed %lu: %lu misses, least %u from this cache, %u from any", (unsigned long)seed,
                     (unsigned long)r.misses, best[initial], least);
        missing_traces += r.misses > 0;
        ginex_belady_close(r.b);
    }
    assert_in_range(missing_traces, TRACES / 2, TRACES); /* the traces say something */
}

/* ---- a naive rule on larger traces ---- */

static const struct trace *sorting;
static uint32_t sorting_after;

/* By next access, then by ID. */
static int earlier(const void *a, const void *b)
{
    const gnn_node x = *(const gnn_node *)a, y = *(const gnn_node *)b;
    const uint32_t nx = next_access(sorting, x, sorting_after), ny = next_access(sorting, y, sorting_after);
    return nx != ny ? (nx > ny) - (nx < ny) : (x > y) - (x < y);
}

static void naive_belady(const struct trace *t, uint32_t b, uint32_t rows, bool *cached)
{
    gnn_node candidates[NODES_MAX];
    uint32_t count = 0, row;
    for (gnn_node v = 0; v < t->nodes; v++)
        if (cached[v] || in_batch(t, b, v, &row))
            candidates[count++] = v;
    sorting = t;
    sorting_after = b;
    qsort(candidates, count, sizeof *candidates, earlier);
    memset(cached, 0, NODES_MAX * sizeof *cached);
    for (uint32_t i = 0; i < count && i < rows; i++)
        cached[candidates[i]] = true;
}

static void test_ties_go_by_id_on_larger_traces(void **state)
{
    (void)state;
    for (seed = 1; seed <= 25; seed++) {
        struct gnn_rng rng = gnn_rng_at(gnn_rng_fork(seed, "ties"));
        static struct trace t;
        struct run r;
        bool cached[NODES_MAX] = {false};
        draw_trace(&rng, 20 + (uint32_t)gnn_rng_below(&rng, 180), 2 + (uint32_t)gnn_rng_below(&rng, 20), 50, &t);
        const uint32_t rows = 1 + (uint32_t)gnn_rng_below(&rng, 60);
        start(&t, rows, GINEX_REPLACE_BELADY, NULL, 0, &r);
        for (uint32_t i = 0; i < r.initial_count; i++)
            cached[r.initial[i]] = true;
        for (uint32_t b = 0; b < t.batches; b++) {
            step(&t, b, rows, &r);
            naive_belady(&t, b, rows, cached);
            for (gnn_node v = 0; v < t.nodes; v++)
                if (cached[v] != ginex_belady_cached(r.b, v))
                    fail_msg("seed %lu batch %u node %u", (unsigned long)seed, b, v);
        }
        ginex_belady_close(r.b);
    }
}

/* ---- least recently used ---- */

static void test_lru_keeps_what_was_used_last(void **state)
{
    (void)state;
    for (seed = 1; seed <= 100; seed++) {
        struct gnn_rng rng = gnn_rng_at(gnn_rng_fork(seed, "lru"));
        static struct trace t;
        struct run r;
        gnn_node order[2 * NODES_MAX]; /* oldest first */
        uint32_t count = 0;
        draw_trace(&rng, 20 + (uint32_t)gnn_rng_below(&rng, 100), 12, 40, &t);
        const uint32_t rows = 1 + (uint32_t)gnn_rng_below(&rng, 40);
        start(&t, rows, GINEX_REPLACE_LRU, NULL, 0, &r);
        for (uint32_t i = 0; i < r.initial_count; i++)
            order[count++] = r.initial[i];
        for (uint32_t b = 0; b < t.batches; b++) {
            for (uint32_t i = 0; i < t.count[b]; i++) {
                for (uint32_t k = 0; k < count; k++)
                    if (order[k] == t.node[b][i]) {
                        memmove(order + k, order + k + 1, (count - k - 1) * sizeof *order);
                        count--;
                        break;
                    }
                order[count++] = t.node[b][i];
            }
            if (count > rows) {
                memmove(order, order + (count - rows), rows * sizeof *order);
                count = rows;
            }
            step(&t, b, rows, &r);
            for (uint32_t k = 0; k < count; k++)
                if (!ginex_belady_cached(r.b, order[k]))
                    fail_msg("seed %lu batch %u node %u", (unsigned long)seed, b, order[k]);
        }
        ginex_belady_close(r.b);
    }
}

/* ---- order among policies and sizes ---- */

/* Batches [first, first + count) of a trace as one of their own. */
static void cut(const struct trace *t, uint32_t first, uint32_t count, struct trace *out)
{
    *out = (struct trace){.nodes = t->nodes, .batches = count};
    for (uint32_t b = 0; b < count; b++) {
        out->count[b] = t->count[first + b];
        memcpy(out->node[b], t->node[first + b], out->count[b] * sizeof(gnn_node));
        out->accesses += out->count[b];
        out->largest = out->count[b] > out->largest ? out->count[b] : out->largest;
    }
}

static uint64_t fill_and_misses(const struct trace *t, uint32_t rows)
{
    struct run r;
    start(t, rows, GINEX_REPLACE_BELADY, NULL, 0, &r);
    for (uint32_t b = 0; b < t->batches; b++)
        step(t, b, rows, &r);
    ginex_belady_close(r.b);
    return r.misses + r.initial_count;
}

static void test_more_room_and_more_foresight_never_hurt(void **state)
{
    (void)state;
    uint32_t beats_lru = 0, beats_static = 0;
    for (seed = 1; seed <= 60; seed++) {
        struct gnn_rng rng = gnn_rng_at(gnn_rng_fork(seed, "order"));
        static struct trace t, left, right;
        draw_trace(&rng, 150, 12, 60, &t);
        uint64_t before = UINT64_MAX;
        for (uint32_t rows = 1; rows <= 150; rows += 13) {
            struct run r;
            start(&t, rows, GINEX_REPLACE_BELADY, NULL, 0, &r);
            ginex_belady_close(r.b);
            const uint64_t best = misses_of(&t, rows, GINEX_REPLACE_BELADY, r.initial, r.initial_count);
            const uint64_t lru = misses_of(&t, rows, GINEX_REPLACE_LRU, r.initial, r.initial_count);
            const uint64_t unchanged = misses_of(&t, rows, GINEX_REPLACE_STATIC, r.initial, r.initial_count);
            assert_true(best <= before && best <= lru && best <= unchanged);
            beats_lru += best < lru;
            beats_static += best < unchanged;
            before = best;
            cut(&t, 0, 6, &left);
            cut(&t, 6, 6, &right);
            assert_true(fill_and_misses(&t, rows) <= fill_and_misses(&left, rows) + fill_and_misses(&right, rows));
        }
    }
    assert_true(beats_lru > 100 && beats_static > 100);
}

/* A cache that holds nodes nobody accesses: they go first. */
static void test_strangers_in_the_initial_cache_make_room(void **state)
{
    (void)state;
    struct trace t = {.nodes = 10,
                      .batches = 3,
                      .count = {3, 2, 3},
                      .node = {{5, 1, 7}, {1, 5}, {7, 1, 2}},
                      .accesses = 8,
                      .largest = 3};
    const gnn_node strangers[] = {0, 9, 8};
    struct run r;
    start(&t, 3, GINEX_REPLACE_BELADY, strangers, 3, &r);
    for (uint32_t b = 0; b < 3; b++)
        step(&t, b, 3, &r);
    assert_int_equal(r.misses, 3 + 0 + 1);
    ginex_belady_close(r.b);
}

static void test_what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct gnn_err err = {0};
    struct ginex_belady *b = NULL;
    struct ginex_belady_config config = {
        .node_count = 10, .cache_rows = 1, .batches = 32768, .accesses = 5, .batch_nodes_max = 5};
    assert_int_equal(ginex_belady_open(world, &config, &b, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "ginex.superbatch"));
    config.batches = 32767;
    config.accesses = UINT32_MAX;
    assert_int_equal(ginex_belady_open(world, &config, &b, &err), GNN_EUSAGE);
    config.accesses = 0;
    assert_int_equal(ginex_belady_open(world, &config, &b, &err), GNN_OK);
    ginex_belady_close(b);
    config = (struct ginex_belady_config){
        .node_count = 1000000, .cache_rows = 1, .batches = 100, .accesses = 5000000, .batch_nodes_max = 60000};
    assert_in_range(ginex_belady_bytes(&config), 23000000 + 720000, 23000000 + 720000 + 2000); /* 13 N + 2 A + 12 n */
}

static int open_world(void **state)
{
    const int failed = measured_world_open(state);
    world = *state;
    return failed;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_misses_are_the_least_possible),
        cmocka_unit_test(test_ties_go_by_id_on_larger_traces),
        cmocka_unit_test(test_lru_keeps_what_was_used_last),
        cmocka_unit_test(test_more_room_and_more_foresight_never_hurt),
        cmocka_unit_test(test_strangers_in_the_initial_cache_make_room),
        cmocka_unit_test(test_what_does_not_fit_is_refused),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, open_world, measured_world_close);
}
