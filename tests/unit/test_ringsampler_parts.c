/* SPDX-License-Identifier: MIT */
/* RingSampler's parts by themselves: the sort and the joining of reads, the cache, the histogram, the draws
 * (docs/invariants.md, RingSampler: 1, 13). */
#include "harness/base/histogram.h"
#include "harness/base/id_width.h"
#include "harness/world/measured/measured.h"
#include "systems/ringsampler/extents.h"
#include "systems/ringsampler/offsets.h"
#include "systems/ringsampler/sector_cache.h"
#include "tests/support/seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* ---- the sort ---- */

static void test_sort_is_a_sort(void **state)
{
    (void)state;
    static const struct {
        uint64_t count;
        uint32_t bits;
    } cases[] = {{0, 8}, {1, 8}, {2, 1}, {31, 20}, {32, 64}, {33, 3}, {500, 9}, {5000, 8}, {5000, 37}, {20000, 64}};
    struct gnn_rng rng = gnn_rng_at(test_seed());
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const uint64_t n = cases[c].count;
        uint64_t *keys = calloc(n + 1, sizeof *keys), *expected = calloc(n + 1, sizeof *expected);
        assert_true(keys != NULL && expected != NULL);
        for (uint64_t i = 0; i < n; i++)
            keys[i] = expected[i] = gnn_rng_next(&rng) >> (64 - cases[c].bits);
        keys[n] = 42; /* a neighbour that is not ours */
        qsort(expected, n, sizeof *expected, ascending);
        gnn_sort_keys(keys, n, 0, cases[c].bits);
        assert_memory_equal(keys, expected, n * sizeof *keys);
        assert_int_equal(keys[n], 42);
        free(expected);
        free(keys);
    }
}

static void test_sort_down_to_a_bit(void **state)
{
    (void)state;
    enum { COUNT = 3000, LOW = 12, HIGH = 33 };
    struct gnn_rng rng = gnn_rng_at(test_seed());
    static uint64_t keys[COUNT];
    uint64_t sum = 0, sorted_sum = 0;
    for (uint64_t i = 0; i < COUNT; i++)
        sum += keys[i] = gnn_rng_next(&rng) >> (64 - HIGH);
    gnn_sort_keys(keys, COUNT, LOW, HIGH);
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_true(i == 0 || keys[i - 1] >> LOW <= keys[i] >> LOW);
        sorted_sum += keys[i];
    }
    assert_true(sum == sorted_sum);
}

/* ---- joining reads ---- */

static void test_extents_cover_every_entry_once(void **state)
{
    (void)state;
    enum { POSITIONS = 4096, ENTRIES = 300, SLOT_BITS = 12 };
    static const struct {
        uint64_t gap, most;
        uint32_t shift;
        bool one_each;
    } cases[] = {{0, 1, 3, true},  {0, 1, 3, false},    {0, 4, 3, false},
                 {2, 8, 3, false}, {9, 1000, 2, false}, {0, 1, 0, false}};
    struct gnn_rng rng = gnn_rng_at(test_seed());
    static uint32_t file[POSITIONS], out[ENTRIES];
    static uint64_t wide_file[POSITIONS];
    for (uint32_t i = 0; i < POSITIONS; i++)
        wide_file[i] = file[i] = 7 * i + 1;
    enum { CASES = sizeof cases / sizeof *cases };
    for (size_t round = 0; round < (size_t)2 * CASES; round++) { /* every case with values of 4 bytes, then of 8 */
        const size_t c = round % CASES;
        const uint32_t id_bytes = round < CASES ? 4 : 8;
        const unsigned char *const bytes = (const unsigned char *)(round < CASES ? (void *)file : (void *)wide_file);
        uint64_t entries[ENTRIES], wanted[ENTRIES];
        const struct rs_extent_rules rules = {.slot_bits = SLOT_BITS,
                                              .unit_shift = cases[c].shift,
                                              .gap_units = cases[c].gap,
                                              .units_max = cases[c].most,
                                              .index_mask = UINT64_MAX,
                                              .one_each = cases[c].one_each,
                                              .id_bytes = id_bytes};
        for (uint32_t i = 0; i < ENTRIES; i++) {
            wanted[i] = gnn_rng_below(&rng, POSITIONS);
            entries[i] = wanted[i] << SLOT_BITS | i;
        }
        if (!cases[c].one_each)
            gnn_sort_keys(entries, ENTRIES, 0, 24);
        memset(out, 0, sizeof out);
        uint64_t next = 0, reads = 0, last_end = 0;
        while (next < ENTRIES) {
            const struct rs_extent x = rs_extent_at(&rules, entries, next, ENTRIES);
            assert_int_equal(x.begin, next);
            assert_true(x.end > x.begin && x.units >= 1 && x.units <= cases[c].most);
            assert_true(cases[c].one_each || reads == 0 || x.first_unit >= last_end);
            /* It ended for a reason: the next entry is beyond the gap or the longest read. */
            if (x.end < ENTRIES && !cases[c].one_each) {
                const uint64_t unit = entries[x.end] >> SLOT_BITS >> cases[c].shift;
                assert_true(unit > x.first_unit + x.units + cases[c].gap || unit - x.first_unit >= cases[c].most);
            }
            rs_extent_scatter(&rules, entries, &x, bytes + (x.first_unit << cases[c].shift) * id_bytes, out);
            last_end = x.first_unit + x.units;
            next = x.end;
            reads++;
        }
        assert_true(!cases[c].one_each || reads == ENTRIES);
        for (uint32_t i = 0; i < ENTRIES; i++)
            assert_int_equal(out[i], file[wanted[i]]);
    }
}

/* ---- the cache ---- */

static void keep_the_first_blocks(uint32_t id_bytes)
{
    enum { BLOCKS = 5, SLOTS = 3, BLOCK_BYTES = 4096, CUT = 100 };
    const uint64_t block_edges = BLOCK_BYTES / id_bytes, edges = BLOCKS * block_edges - CUT;
    struct gnn_world *world;
    struct rs_cache *cache = NULL;
    static uint64_t memory[BLOCKS * BLOCK_BYTES / sizeof(uint64_t)];
    unsigned char *const file = (unsigned char *)memory;
    for (uint32_t i = 0; i < BLOCKS * block_edges; i++)
        gnn_ids_store(&(gnn_node){i ^ 0x5a5a}, 1, id_bytes, file + (size_t)i * id_bytes);
    assert_int_equal(gnn_world_measured_open(NULL, &world, NULL), GNN_OK);
    assert_int_equal(rs_cache_open(world, edges, id_bytes, SLOTS * 4096 + 4095, &cache, NULL), GNN_OK);
    assert_int_equal(rs_cache_bytes(edges, id_bytes, SLOTS * 4096 + 4095), SLOTS * 4096 + BLOCKS * 4);
    assert_int_equal(rs_cache_bytes(edges, id_bytes, UINT64_MAX), BLOCKS * 4096 + BLOCKS * 4);
    assert_int_equal(rs_cache_bytes(edges, id_bytes, 4095), 0);
    static const uint64_t order[] = {4, 1, 4, 0, 2, 3};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const uint64_t bytes = order[i] == 4 ? BLOCK_BYTES - CUT * id_bytes : BLOCK_BYTES;
        rs_cache_offer(cache, order[i], file + order[i] * BLOCK_BYTES, bytes);
    }
    for (uint64_t p = 0; p < edges; p++) {
        const uint64_t block = p / block_edges;
        const void *const found = rs_cache_find(cache, id_bytes, p);
        assert_true((found != NULL) == (block == 4 || block == 1 || block == 0));
        if (found != NULL)
            assert_int_equal(gnn_id_at(found, id_bytes, 0), p ^ 0x5a5a);
    }
    rs_cache_close(cache);
    rs_cache_close(NULL);
    gnn_world_measured_close(world);
}

static void test_cache_keeps_the_first_blocks(void **state)
{
    (void)state;
    keep_the_first_blocks(4);
    keep_the_first_blocks(8);
}

/* ---- latencies ---- */

static void test_quantiles_are_close(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    static const double shares[] = {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1};
    struct gnn_rng rng = gnn_rng_at(test_seed());
    static struct gnn_histogram whole, part, sum;
    static uint64_t values[COUNT];
    assert_true(gnn_histogram_quantile(&whole, 0.5) == GNN_UNKNOWN);
    for (uint32_t i = 0; i < COUNT; i++) {
        values[i] = gnn_rng_next(&rng) >> (20 + gnn_rng_below(&rng, 44));
        gnn_histogram_add(&whole, values[i]);
        gnn_histogram_add(i % 3 == 0 ? &part : &sum, values[i]);
    }
    gnn_histogram_merge(&sum, &part);
    assert_memory_equal(&sum, &whole, sizeof sum);
    qsort(values, COUNT, sizeof *values, ascending);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        const uint64_t exact = values[(uint32_t)(shares[i] * COUNT + 0.5) - 1];
        const uint64_t told = gnn_histogram_quantile(&whole, shares[i]);
        assert_true(told >= exact && (double)told <= (double)exact * 1.032 + 1);
    }
    assert_int_equal(gnn_histogram_quantile(&whole, 1), values[COUNT - 1]);
    static struct gnn_histogram ends;
    gnn_histogram_add(&ends, 0);
    gnn_histogram_add(&ends, UINT64_MAX);
    assert_int_equal(gnn_histogram_quantile(&ends, 0.5), 0);
    assert_true(gnn_histogram_quantile(&ends, 1) == UINT64_MAX);
}

/* ---- draws (invariant 13) ---- */

static void test_positions_are_uniform(void **state)
{
    (void)state;
    enum { DEGREE = 1000, FANOUT = 10, DRAWS = 10000 };
    /* 999 degrees of freedom: 99.9 % of chi-square values lie below 1143; p > 0.001. */
    static const double limit = 1143;
    static const uint64_t indptr[] = {0, 17, 17 + DEGREE};
    static const gnn_node target = 1;
    for (int replace = 0; replace < 2; replace++) {
        static uint32_t seen[DEGREE];
        memset(seen, 0, sizeof seen);
        uint32_t repeats = 0;
        for (uint64_t draw = 0; draw < DRAWS; draw++) {
            const struct rs_hop hop = {.targets = &target,
                                       .target_count = 1,
                                       .fanout = FANOUT,
                                       .replace = replace,
                                       .draw_key = gnn_rng_fold(12345, draw),
                                       .indptr = indptr};
            uint64_t positions[GNN_FANOUT_MAX];
            assert_int_equal(rs_draw(&hop, 0, positions), FANOUT);
            for (uint32_t i = 0; i < FANOUT; i++) {
                assert_in_range(positions[i], 17, 17 + DEGREE - 1);
                seen[positions[i] - 17]++;
                for (uint32_t j = 0; j < i; j++)
                    repeats += positions[j] == positions[i];
            }
        }
        double chi_square = 0;
        for (uint32_t i = 0; i < DEGREE; i++) {
            const double expected = (double)DRAWS * FANOUT / DEGREE;
            chi_square += (seen[i] - expected) * (seen[i] - expected) / expected;
        }
        assert_true(chi_square < limit && chi_square > 800);
        assert_true(replace ? repeats > 0 : repeats == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sort_is_a_sort),
        cmocka_unit_test(test_sort_down_to_a_bit),
        cmocka_unit_test(test_extents_cover_every_entry_once),
        cmocka_unit_test(test_cache_keeps_the_first_blocks),
        cmocka_unit_test(test_quantiles_are_close),
        cmocka_unit_test(test_positions_are_uniform),
    };
    return cmocka_run_group_tests_name("ringsampler_parts", tests, NULL, NULL);
}
