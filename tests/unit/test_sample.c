/* SPDX-License-Identifier: MIT */
/* The sampler against a plain one written from the specification, and the specification's invariants 2 to 5. */
#include "harness/base/rng.h"
#include "harness/sample/batch.h"
#include "harness/sample/digest.h"
#include "harness/sample/draw_lanes.h"
#include "harness/sample/sample.h"
#include "harness/sample/sort_row.h"
#include "harness/world/measured/measured.h"
#include "tests/support/measured_world.h"
#include "tests/support/memory_source.h"
#include "tests/support/must.h"
#include "tests/support/seed.h"
#include "tests/support/small_graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NODES_MAX = 400 };

struct rig {
    struct gnn_world *world;
    struct small_graph graph;
    struct gnn_neighbour_source *source;
    struct gnn_sampler *sampler;
    struct gnn_batch *batch;
};

static void rig_open(struct rig *rig, struct gnn_world *world, uint64_t graph_seed, uint32_t node_count,
                     const struct gnn_sampler_config *config)
{
    struct gnn_err err = {0};
    *rig = (struct rig){.world = world};
    small_graph_open(&rig->graph, graph_seed, node_count);
    assert_int_equal(gnn_source_memory(world, rig->graph.indices, rig->graph.dataset.edge_count, &rig->source, &err),
                     GNN_OK);
    assert_int_equal(gnn_sampler_open(world, config, &rig->graph.dataset, rig->source, &rig->sampler, &err), GNN_OK);
    assert_int_equal(gnn_batch_open(world, &rig->batch, &err), GNN_OK);
}

static void rig_close(struct rig *rig)
{
    gnn_batch_close(rig->world, rig->batch);
    gnn_sampler_close(rig->sampler);
    gnn_source_close(rig->source);
    small_graph_close(&rig->graph);
}

static const struct gnn_batch_view *rig_sample(struct rig *rig, uint64_t epoch, uint64_t batch, const gnn_node *seeds,
                                               uint32_t seed_count)
{
    struct gnn_err err = {0};
    must(gnn_sampler_sample(rig->sampler, epoch, batch, seeds, seed_count, rig->batch, &err), &err);
    return gnn_batch_view(rig->batch);
}

static uint32_t random_seeds(struct gnn_rng *rng, uint32_t node_count, gnn_node *seeds)
{
    const uint32_t count = 1 + (uint32_t)gnn_rng_below(rng, node_count < 20 ? node_count : 20);
    gnn_node all[NODES_MAX];
    for (uint32_t v = 0; v < node_count; v++)
        all[v] = v;
    gnn_epoch_order(gnn_rng_next(rng), 0, all, node_count, all);
    memcpy(seeds, all, count * sizeof *seeds);
    return count;
}

/* ---- the plain sampler ---- */

struct plain_hop {
    uint32_t dst_count;
    uint32_t row_len[NODES_MAX];
    uint32_t row[NODES_MAX][GNN_FANOUT_MAX]; /* columns, ascending */
};

struct plain {
    uint32_t node_count;
    gnn_node nodes[NODES_MAX];
    struct plain_hop hops[GNN_LAYERS_MAX]; /* [0]: the seeds' */
};

static int compare_u32(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool plain_has(const uint32_t *set, uint32_t count, uint32_t value)
{
    for (uint32_t i = 0; i < count; i++)
        if (set[i] == value)
            return true;
    return false;
}

/* Section 3 step 2 with section 7's correction: list positions, ascending. */
static uint32_t plain_positions(const struct gnn_sampler_config *config, uint64_t epoch, uint64_t batch, uint32_t hop,
                                gnn_node v, uint32_t degree, uint32_t *positions)
{
    const uint32_t fanout = config->fanout[hop - 1];
    uint32_t count = 0;
    if (degree <= fanout) {
        for (; count < degree; count++)
            positions[count] = count;
        return count;
    }
    uint64_t key = gnn_rng_fork(config->seed, "sample");
    const uint64_t words[] = {epoch, batch, hop, v};
    for (int i = 0; i < 4; i++)
        key = gnn_rng_fold(key, words[i]);
    struct gnn_rng rng = gnn_rng_at(key);
    for (uint32_t j = degree - fanout; j < degree; j++) {
        const uint32_t t = (uint32_t)gnn_rng_below(&rng, config->floyd_biased ? j : j + 1);
        positions[count] = plain_has(positions, count, t) ? j : t;
        count++;
    }
    qsort(positions, count, sizeof *positions, compare_u32);
    return count;
}

static uint32_t plain_local(struct plain *plain, gnn_node v)
{
    for (uint32_t i = 0; i < plain->node_count; i++)
        if (plain->nodes[i] == v)
            return i;
    plain->nodes[plain->node_count] = v;
    return plain->node_count++;
}

static void plain_sample(struct plain *plain, const struct small_graph *graph, const struct gnn_sampler_config *config,
                         uint64_t epoch, uint64_t batch, const gnn_node *seeds, uint32_t seed_count)
{
    plain->node_count = seed_count;
    memcpy(plain->nodes, seeds, seed_count * sizeof *seeds);
    for (uint32_t hop = 1; hop <= config->layers; hop++) {
        struct plain_hop *const out = &plain->hops[hop - 1];
        out->dst_count = plain->node_count;
        for (uint32_t i = 0; i < out->dst_count; i++) {
            const gnn_node v = plain->nodes[i];
            const gnn_node *const list = graph->indices + graph->indptr[v];
            const uint32_t degree = (uint32_t)(graph->indptr[v + 1] - graph->indptr[v]);
            uint32_t positions[GNN_FANOUT_MAX];
            out->row_len[i] = plain_positions(config, epoch, batch, hop, v, degree, positions);
            for (uint32_t p = 0; p < out->row_len[i]; p++)
                out->row[i][p] = plain_local(plain, list[positions[p]]);
            qsort(out->row[i], out->row_len[i], sizeof *out->row[i], compare_u32);
        }
    }
}

static void compare_with_plain(const struct plain *plain, const struct gnn_batch_view *view)
{
    assert_int_equal(view->node_count, plain->node_count);
    assert_memory_equal(view->nodes, plain->nodes, plain->node_count * sizeof *plain->nodes);
    for (uint32_t hop = 1; hop <= view->layer_count; hop++) {
        const struct plain_hop *const expected = &plain->hops[hop - 1];
        const struct gnn_block *const block = &view->blocks[view->layer_count - hop];
        assert_int_equal(block->dst_count, expected->dst_count);
        for (uint32_t i = 0; i < block->dst_count; i++) {
            assert_int_equal(block->row_start[i + 1] - block->row_start[i], expected->row_len[i]);
            if (expected->row_len[i] > 0)
                assert_memory_equal(block->col + block->row_start[i], expected->row[i],
                                    expected->row_len[i] * sizeof(uint32_t));
        }
    }
}

/* ---- invariants 3 and 4, checked without knowing the draws ---- */

static void check_row(const struct small_graph *graph, const struct gnn_batch_view *view, const struct gnn_block *block,
                      uint32_t dst, uint32_t fanout)
{
    const gnn_node v = view->nodes[dst];
    const uint64_t degree = graph->indptr[v + 1] - graph->indptr[v];
    const uint32_t length = block->row_start[dst + 1] - block->row_start[dst];
    assert_int_equal(length, degree < fanout ? degree : fanout);
    for (uint32_t e = block->row_start[dst]; e < block->row_start[dst + 1]; e++) {
        assert_true(block->col[e] < block->src_count);
        if (e > block->row_start[dst])
            assert_true(block->col[e] > block->col[e - 1]);
        const gnn_node source = view->nodes[block->col[e]];
        assert_non_null(bsearch(&source, graph->indices + graph->indptr[v], degree, sizeof source, compare_u32));
    }
}

static void check_blocks(const struct small_graph *graph, const struct gnn_sampler_config *config,
                         const struct gnn_batch_view *view, const gnn_node *seeds, uint32_t seed_count)
{
    uint32_t bounds[GNN_LAYERS_MAX + 1];
    assert_int_equal(view->layer_count, config->layers);
    assert_int_equal(view->seed_count, seed_count);
    assert_memory_equal(view->nodes, seeds, seed_count * sizeof *seeds);
    assert_int_equal(view->blocks[config->layers - 1].dst_count, seed_count);
    assert_int_equal(view->blocks[0].src_count, view->node_count);
    const uint64_t bound =
        gnn_sample_node_bound(graph->dataset.node_count, seed_count, config->fanout, config->layers, bounds);
    assert_int_equal(bound, bounds[config->layers]);
    for (uint32_t b = 0; b < config->layers; b++) {
        const struct gnn_block *const block = &view->blocks[b];
        const uint32_t hop = config->layers - b;
        assert_true(block->src_count >= block->dst_count && block->src_count <= bounds[hop]);
        if (b > 0) /* the frontier of the next hop outward is every node known here */
            assert_int_equal(view->blocks[b - 1].dst_count, block->src_count);
        assert_int_equal(block->row_start[0], 0);
        assert_int_equal(block->row_start[block->dst_count], block->edge_count);
        for (uint32_t dst = 0; dst < block->dst_count; dst++)
            check_row(graph, view, block, dst, config->fanout[hop - 1]);
    }
    gnn_node sorted[NODES_MAX];
    memcpy(sorted, view->nodes, view->node_count * sizeof *sorted);
    qsort(sorted, view->node_count, sizeof *sorted, compare_u32);
    for (uint32_t i = 1; i < view->node_count; i++)
        assert_true(sorted[i - 1] < sorted[i]);
}

static void fuzz_against_plain(void **state)
{
    static struct plain plain;
    struct gnn_rng rng = gnn_rng_at(test_seed());
    for (int round = 0; round < 150; round++) {
        const uint32_t node_count = 1 + (uint32_t)gnn_rng_below(&rng, round % 3 == 0 ? 12 : NODES_MAX);
        struct gnn_sampler_config config = {.seed = gnn_rng_next(&rng), .floyd_biased = gnn_rng_below(&rng, 4) == 0};
        config.layers = 1 + (uint32_t)gnn_rng_below(&rng, 4);
        for (uint32_t l = 0; l < config.layers; l++)
            config.fanout[l] = 1 + (uint32_t)gnn_rng_below(&rng, l % 2 == 0 ? 12 : GNN_FANOUT_MAX);
        struct rig rig;
        rig_open(&rig, *state, gnn_rng_next(&rng), node_count, &config);
        uint64_t digest = 0;
        struct gnn_sample_counters counters;
        for (int k = 0; k < 4; k++) {
            gnn_node seeds[20];
            const uint32_t seed_count = random_seeds(&rng, node_count, seeds);
            const uint64_t epoch = gnn_rng_below(&rng, 3);
            const uint64_t batch = gnn_rng_below(&rng, 1000);
            const struct gnn_batch_view *const view = rig_sample(&rig, epoch, batch, seeds, seed_count);
            plain_sample(&plain, &rig.graph, &config, epoch, batch, seeds, seed_count);
            compare_with_plain(&plain, view);
            check_blocks(&rig.graph, &config, view, seeds, seed_count);
            digest += gnn_batch_digest(view, NULL);
        }
        gnn_sampler_counters(rig.sampler, &counters);
        assert_int_equal(counters.batches, 4);
        assert_true(counters.batch_digest == digest);
        rig_close(&rig);
    }
}

/* ---- nodes without neighbours ---- */

/* The digest of a mini-batch of two layers without an edge, whose only node this is. */
static uint64_t digest_of_lonely(uint64_t epoch, uint64_t batch, gnn_node node, const gnn_node *original_id)
{
    uint32_t row_start[] = {0, 0}, col[] = {0};
    struct gnn_batch_view view = {
        .epoch = epoch, .batch = batch, .layer_count = 2, .seed_count = 1, .node_count = 1, .nodes = &node};
    for (uint32_t l = 0; l < 2; l++)
        view.blocks[l] = (struct gnn_block){.dst_count = 1, .src_count = 1, .row_start = row_start, .col = col};
    return gnn_batch_digest(&view, original_id);
}

/* A seed without neighbours counts by its original ID, in every layer, and adds to what the others count. */
static void isolated_seeds_change_the_digest(void **state)
{
    (void)state;
    static const gnn_node renamed[] = {7, 3};
    const uint64_t digest = digest_of_lonely(1, 2, 7, NULL);
    uint64_t by_hand = 0;
    for (uint64_t layer = 0; layer < 2; layer++)
        by_hand +=
            gnn_splitmix64_at(gnn_rng_fold(gnn_rng_fold(gnn_rng_fold(gnn_rng_fold(0, 1), 2), layer), 7), UINT32_MAX);
    assert_true(digest == by_hand);
    assert_true(digest != 0);
    assert_true(digest != digest_of_lonely(1, 2, 8, NULL));
    assert_true(digest != digest_of_lonely(1, 3, 7, NULL));
    assert_true(digest != digest_of_lonely(2, 2, 7, NULL));
    assert_true(digest == digest_of_lonely(1, 2, 0, renamed));
    uint32_t row_start[] = {0, 1, 1}, col[] = {1};
    gnn_node nodes[] = {5, 6}, other[] = {5, 9};
    struct gnn_batch_view view = {.layer_count = 1, .seed_count = 2, .node_count = 2, .nodes = nodes};
    view.blocks[0] =
        (struct gnn_block){.dst_count = 2, .src_count = 2, .edge_count = 1, .row_start = row_start, .col = col};
    const uint64_t first = gnn_batch_digest(&view, NULL);
    const uint64_t layer_key = gnn_digest_layer_key(0, 0, 0);
    assert_true(first == gnn_digest_edge(gnn_digest_row_key(layer_key, 5), 6) +
                             gnn_digest_lonely(gnn_digest_row_key(layer_key, 6)));
    view.nodes = other;
    assert_true(gnn_batch_digest(&view, NULL) != first);
}

/* ---- fixed for ever ---- */

/* These numbers are the project's contract: a changed draw, key or digest changes every record. */
static void golden_digest(void **state)
{
    static const struct {
        bool biased;
        uint64_t digest, nodes, edges;
    } cases[] = {
        {false, UINT64_C(0xb86e82d45b322dc2), 174, 519},
        {true, UINT64_C(0x0b232acfabe4c32b), 176, 496},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct gnn_sampler_config config = {
            .seed = 7, .layers = 3, .fanout = {10, 5, 3}, .floyd_biased = cases[i].biased};
        struct rig rig;
        struct gnn_sample_counters counters;
        rig_open(&rig, *state, 42, 50, &config);
        const gnn_node seeds[] = {3, 1, 4, 15, 9, 26};
        for (uint64_t epoch = 0; epoch < 2; epoch++)
            for (uint64_t batch = 0; batch < 2; batch++)
                (void)rig_sample(&rig, epoch, batch, seeds + 3 * batch, 3);
        gnn_sampler_counters(rig.sampler, &counters);
        if (counters.batch_digest != cases[i].digest || counters.sampled_nodes != cases[i].nodes ||
            counters.sampled_edges != cases[i].edges)
            fail_msg("case %zu: digest 0x%016llx, %llu nodes, %llu edges", i, (unsigned long long)counters.batch_digest,
                     (unsigned long long)counters.sampled_nodes, (unsigned long long)counters.sampled_edges);
        rig_close(&rig);
    }
}

/* ---- invariant 5: how often a position is drawn ---- */

enum { DRAWS = 40000, DEGREE_MAX = 512 };

static void count_inclusion(uint32_t degree, uint32_t fanout, bool biased, uint32_t *hits)
{
    memset(hits, 0, degree * sizeof *hits);
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        uint64_t out[GNN_FANOUT_MAX];
        const uint64_t key = gnn_rng_fold(gnn_draw_hop_key(11, 0, draw, 1), degree);
        assert_int_equal(gnn_draw(key, 1000, degree, fanout, biased, out), fanout);
        for (uint32_t i = 0; i < fanout; i++) {
            assert_in_range(out[i], 1000, 1000 + degree - 1);
            assert_true(i == 0 || out[i] > out[i - 1]);
            hits[out[i] - 1000]++;
        }
    }
}

/* Upper quantile of chi-square at 4.75 sigma (one in a million), Wilson and Hilferty's approximation. */
static double chi_square_limit(double freedom)
{
    const double a = 2.0 / (9.0 * freedom);
    return freedom * pow(1.0 - a + 4.75 * sqrt(a), 3.0);
}

static void inclusion_is_uniform(void **state)
{
    (void)state;
    static const struct {
        uint32_t degree, fanout;
    } cases[] = {{2, 1}, {3, 2}, {11, 10}, {20, 10}, {64, 10}, {65, 10}, {65, 64}, {100, 1}, {500, 64}};
    static uint32_t hits[DEGREE_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double g = cases[i].degree;
        const double p = cases[i].fanout / g;
        count_inclusion(cases[i].degree, cases[i].fanout, false, hits);
        double chi = 0; /* counts have variance n p (1 - p) and sum to n s: g - 1 degrees of freedom */
        for (uint32_t v = 0; v < cases[i].degree; v++)
            chi += pow(hits[v] - DRAWS * p, 2) / (DRAWS * p * (1 - p)) * (g - 1) / g;
        if (chi > chi_square_limit(g - 1))
            fail_msg("s=%u of g=%u: chi-square %.1f over %.0f", cases[i].fanout, cases[i].degree, chi,
                     chi_square_limit(g - 1));
    }
}

/* Floyd's method as it is written: numbers one after another, and a list of what is taken. */
static void draw_plainly(uint64_t key, uint32_t degree, uint32_t fanout, bool biased, uint64_t *out)
{
    struct gnn_rng rng = gnn_rng_at(key);
    bool taken[DEGREE_MAX] = {false};
    for (uint32_t j = degree - fanout; j < degree; j++) {
        const uint64_t t = gnn_rng_below(&rng, (uint64_t)j + !biased);
        taken[taken[t] ? j : t] = true;
    }
    for (uint32_t i = 0, at = 0; i < degree; i++)
        if (taken[i])
            out[at++] = 1000 + i;
}

/* Keys at random, and such as make one of the numbers 0, which is thrown away where the bound is no power of two:
 * splitmix64 gives 0 where the key and the counter's step cancel. */
static void a_draw_is_what_floyds_method_says(void **state)
{
    (void)state;
    for (uint32_t degree = 2; degree <= 80; degree++)
        for (uint32_t fanout = 1; fanout < degree && fanout <= GNN_FANOUT_MAX; fanout++)
            for (uint64_t k = 0; k < 40; k++) {
                uint64_t out[GNN_FANOUT_MAX], wanted[GNN_FANOUT_MAX];
                const uint64_t key = k % 2 == 0 ? gnn_rng_fold(13, k) : 0 - (1 + k % (fanout + 2)) * GNN_RNG_GOLDEN;
                const bool biased = k % 4 < 2;
                assert_int_equal(gnn_draw(key, 1000, degree, fanout, biased, out), fanout);
                draw_plainly(key, degree, fanout, biased, wanted);
                if (memcmp(out, wanted, fanout * sizeof *out) != 0)
                    fail_msg("%u of %u, key %llx, biased %d", fanout, degree, (unsigned long long)key, biased);
            }
}

/* The word of which gnn_mix64() makes x. */
static uint64_t unmix(uint64_t x)
{
    x = (x ^ (x >> 31) ^ (x >> 62)) * UINT64_C(0x319642b2d24d8ec3);
    x = (x ^ (x >> 27) ^ (x >> 54)) * UINT64_C(0x96de1b173f119089);
    return x ^ (x >> 30) ^ (x >> 60);
}

/* A hop's key of which node makes a row's key that gives 0, which is thrown away, as its number `index`. */
static uint64_t key_of_a_zero(gnn_node node, uint64_t index)
{
    const uint64_t row_key = 0 - (index + 1) * GNN_RNG_GOLDEN;
    const uint64_t key = (unmix(row_key) - GNN_RNG_GOLDEN) ^ gnn_mix64(node + GNN_RNG_GOLDEN);
    assert_true(gnn_splitmix64_at(gnn_rng_fold(key, node), index) == 0);
    return key;
}

/* Rows of any degree in as many lanes as there are or fewer, apart and in no order in memory. All of out is compared:
 * nothing beside the rows may be touched. In every fifth group a number is thrown away. */
static void draws_side_by_side_are_those_one_by_one(void **state)
{
    (void)state;
    enum { ROOM = (GNN_LANES + 1) * (GNN_FANOUT_MAX + 3) };
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(test_seed(), 15));
    for (uint32_t trial = 0; trial < 6000; trial++) {
        const uint32_t fanout = 1 + (uint32_t)gnn_rng_below(&rng, GNN_FANOUT_MAX);
        const uint64_t reach = trial % 3 == 0 ? 4 : trial % 3 == 1 ? 200 : 0x7fffffff - 64;
        const bool biased = trial % 2 == 0;
        uint64_t out[ROOM], wanted[ROOM];
        struct gnn_draw_lanes lanes;
        memset(&lanes, 0xff, sizeof lanes);
        memset(out, 0xee, sizeof out);
        memset(wanted, 0xee, sizeof wanted);
        lanes.count = (uint32_t)gnn_rng_below(&rng, GNN_LANES + 1);
        const gnn_node last = (gnn_node)gnn_rng_next(&rng);
        const uint64_t key = trial % 5 == 0 ? key_of_a_zero(last, trial % fanout) : gnn_rng_next(&rng);
        for (uint32_t lane = 0; lane < lanes.count; lane++) {
            lanes.node[lane] = lane + 1 == lanes.count ? last : (gnn_node)gnn_rng_next(&rng);
            lanes.degree[lane] = fanout + 1 + (uint32_t)gnn_rng_below(&rng, reach);
            lanes.begin[lane] = gnn_rng_next(&rng) >> 20;
            lanes.at[lane] = (lane * 5 % GNN_LANES) * (GNN_FANOUT_MAX + 3) + 2;
            (void)gnn_draw(gnn_rng_fold(key, lanes.node[lane]), lanes.begin[lane], lanes.degree[lane], fanout, biased,
                           wanted + lanes.at[lane]);
        }
        gnn_draw_lanes(&lanes, key, fanout, biased, out);
        if (memcmp(out, wanted, sizeof out) != 0)
            fail_msg("trial %u: %u rows of %u", trial, lanes.count, fanout);
    }
}

static int by_value(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Rows of every length, with repeats and without, alone at the end of their memory and with others behind them. */
static void a_row_is_sorted_and_nothing_beside_it(void **state)
{
    (void)state;
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(test_seed(), 14));
    for (uint32_t count = 0; count <= GNN_FANOUT_MAX; count++)
        for (uint32_t trial = 0; trial < 20; trial++) {
            const uint32_t behind = trial % 5 == 0 ? 0 : (uint32_t)gnn_rng_below(&rng, 40);
            const uint64_t values = trial % 2 == 0 ? 8 : UINT32_MAX;
            uint32_t *const row = malloc((count + behind + 1) * sizeof *row); /* one before it */
            uint32_t *const wanted = malloc((count + behind + 1) * sizeof *wanted);
            assert_true(row != NULL && wanted != NULL);
            for (uint32_t i = 0; i < count + behind + 1; i++)
                wanted[i] = row[i] = (uint32_t)gnn_rng_below(&rng, values);
            qsort(wanted + 1, count, sizeof *wanted, by_value);
            gnn_sort_row(row + 1, count, count + behind);
            assert_memory_equal(row, wanted, (count + behind + 1) * sizeof *row);
            free(row);
            free(wanted);
        }
}

/* Many rows of every length, as rows of one hop are and in any mixture, in place and to another place, at the end of
 * their memory and with others behind them. Memory begins before the rows, whose starts do not count from 0. */
static void rows_are_sorted_and_nothing_beside_them(void **state)
{
    (void)state;
    enum { ROWS = 40, COLUMNS = ROWS * GNN_FANOUT_MAX };
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(test_seed(), 16));
    for (uint32_t trial = 0; trial < 2000; trial++) {
        uint32_t row_start[ROWS + 1] = {(uint32_t)gnn_rng_below(&rng, 1000)};
        const uint32_t rows = (uint32_t)gnn_rng_below(&rng, ROWS + 1);
        const uint32_t longest = 1 + (uint32_t)gnn_rng_below(&rng, GNN_FANOUT_MAX);
        for (uint32_t i = 0; i < rows; i++)
            row_start[i + 1] =
                row_start[i] + (trial % 3 == 0 ? longest : (uint32_t)gnn_rng_below(&rng, (uint64_t)longest + 1));
        const uint32_t count = row_start[rows] - row_start[0], behind = trial % 4 * GNN_FANOUT_MAX / 3;
        const uint64_t values = trial % 2 == 0 ? 8 : UINT32_MAX;
        uint32_t *const in =
            malloc((count + behind + 1) * sizeof *in); /* no byte more: a sanitiser sees reads behind */
        uint32_t out[COLUMNS + 2], wanted[COLUMNS + 2];
        assert_non_null(in);
        for (uint32_t i = 0; i < count + behind; i++)
            in[i] = (uint32_t)gnn_rng_below(&rng, values);
        memset(out, 0xee, sizeof out);
        memset(wanted, 0xee, sizeof wanted);
        memcpy(wanted + 1, in, count * sizeof *in);
        for (uint32_t i = 0; i < rows; i++)
            qsort(wanted + 1 + (row_start[i] - row_start[0]), row_start[i + 1] - row_start[i], sizeof *in, by_value);
        if (trial % 5 == 0)
            memcpy(out + 1, in, count * sizeof *in);
        gnn_sort_rows(trial % 5 == 0 ? out + 1 : in, row_start, rows, trial % 5 == 0 ? count : count + behind, out + 1);
        if (memcmp(out, wanted, sizeof out) != 0)
            fail_msg("trial %u: %u rows of at most %u", trial, rows, longest);
        free(in);
    }
}

/* Not only each position, each subset: 3 of 6. */
static void subsets_are_uniform(void **state)
{
    (void)state;
    uint32_t hits[64] = {0};
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        uint64_t out[3];
        (void)gnn_draw(gnn_draw_hop_key(12, 0, draw, 1), 0, 6, 3, false, out);
        hits[1 << out[0] | 1 << out[1] | 1 << out[2]]++;
    }
    double chi = 0;
    uint32_t subsets = 0;
    for (unsigned set = 0; set < 64; set++) {
        if (__builtin_popcount(set) != 3) {
            assert_int_equal(hits[set], 0);
            continue;
        }
        subsets++;
        chi += pow(hits[set] - DRAWS / 20.0, 2) / (DRAWS / 20.0);
    }
    assert_int_equal(subsets, 20);
    assert_true(chi < chi_square_limit(19));
}

/* s / (g - 1) for the first g - s positions, (s - 1) / (g - 1) for the last s. */
static double biased_inclusion(uint32_t degree, uint32_t fanout, uint32_t position)
{
    const double numerator = position < degree - fanout ? fanout : fanout - 1.0;
    return numerator / (degree - 1.0);
}

static double worst_deviation(const uint32_t *hits, uint32_t degree, uint32_t fanout)
{
    double worst = 0;
    for (uint32_t v = 0; v < degree; v++) {
        const double p = biased_inclusion(degree, fanout, v);
        const double sigma = sqrt(DRAWS * p * (1 - p));
        const double deviation = fabs(hits[v] - DRAWS * p) / (sigma > 0 ? sigma : 1);
        worst = deviation > worst ? deviation : worst;
    }
    return worst;
}

static void biased_inclusion_formula(void **state)
{
    (void)state;
    static const struct {
        uint32_t degree, fanout;
    } cases[] = {{2, 1}, {11, 10}, {20, 10}, {64, 10}, {65, 10}, {100, 1}};
    static uint32_t hits[DEGREE_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t degree = cases[i].degree;
        const uint32_t fanout = cases[i].fanout;
        count_inclusion(degree, fanout, true, hits);
        if (worst_deviation(hits, degree, fanout) > 5.5)
            fail_msg("s=%u of g=%u: %.1f sigma off", fanout, degree, worst_deviation(hits, degree, fanout));
        if (fanout == 1)
            assert_int_equal(hits[degree - 1], 0); /* the last neighbour is never chosen */
        count_inclusion(degree, fanout, false, hits);
        assert_true(worst_deviation(hits, degree, fanout) > 5.5); /* the test can tell the two apart */
    }
}

/* ---- invariant 2: the order of an epoch ---- */

static void epoch_orders(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    static gnn_node nodes[COUNT], first[COUNT], second[COUNT], again[COUNT], sorted[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        nodes[i] = 7 * i + 3;
    gnn_epoch_order(5, 0, nodes, COUNT, first);
    gnn_epoch_order(5, 1, nodes, COUNT, second);
    gnn_epoch_order(5, 0, nodes, COUNT, again);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, second, sizeof first);
    gnn_epoch_order(6, 0, nodes, COUNT, again);
    assert_memory_not_equal(first, again, sizeof first);
    memcpy(sorted, second, sizeof sorted);
    qsort(sorted, COUNT, sizeof *sorted, compare_u32);
    assert_memory_equal(sorted, nodes, sizeof sorted);
    gnn_epoch_order(5, 0, nodes, 0, again);
}

/* Each of the 24 orders of four nodes comes equally often. */
static void epoch_order_is_uniform(void **state)
{
    (void)state;
    static const gnn_node nodes[4] = {0, 1, 2, 3};
    uint32_t hits[256] = {0};
    for (uint64_t epoch = 0; epoch < 24000; epoch++) {
        gnn_node order[4];
        gnn_epoch_order(3, epoch, nodes, 4, order);
        hits[order[0] << 6 | order[1] << 4 | order[2] << 2 | order[3]]++;
    }
    double chi = 0;
    uint32_t orders = 0;
    for (uint32_t i = 0; i < 256; i++)
        if (hits[i] > 0) {
            chi += pow(hits[i] - 1000.0, 2) / 1000.0;
            orders++;
        }
    assert_int_equal(orders, 24);
    assert_true(chi < chi_square_limit(23));
}

/* ---- edges of the domain ---- */

static void node_bounds(void **state)
{
    (void)state;
    static const struct {
        uint32_t nodes, batch, layers, fanout[3];
        uint64_t bound;
    } cases[] = {
        {UINT32_MAX, 1000, 3, {10, 10, 10}, 1331000},
        {UINT32_MAX, 1000, 3, {10, 10, 5}, 726000},
        {1000000, 1000, 3, {10, 10, 10}, 1000000},
        {UINT32_MAX, UINT32_MAX, 3, {64, 64, 64}, UINT32_MAX},
        {10, 20, 1, {1}, 10},
        {100, 7, 1, {2}, 21},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(gnn_sample_node_bound(cases[i].nodes, cases[i].batch, cases[i].fanout, cases[i].layers, NULL),
                         cases[i].bound);
    uint32_t nodes[4];
    (void)gnn_sample_node_bound(500, 10, (const uint32_t[]){4, 9, 9}, 3, nodes);
    assert_int_equal(nodes[0], 10);
    assert_int_equal(nodes[1], 50);
    assert_int_equal(nodes[2], 500);
    assert_int_equal(nodes[3], 500);
}

static void nodes_without_neighbours(void **state)
{
    const uint64_t indptr[] = {0, 0, 0, 2};
    const gnn_node indices[] = {0, 1};
    const struct gnn_dataset dataset = {.node_count = 3, .edge_count = 2, .indptr = indptr};
    const struct gnn_sampler_config config = {.layers = 2, .fanout = {2, 64}};
    struct rig rig = {.world = *state};
    assert_int_equal(gnn_source_memory(rig.world, indices, 2, &rig.source, NULL), GNN_OK);
    assert_int_equal(gnn_sampler_open(rig.world, &config, &dataset, rig.source, &rig.sampler, NULL), GNN_OK);
    assert_int_equal(gnn_batch_open(rig.world, &rig.batch, NULL), GNN_OK);
    const struct gnn_batch_view *view = rig_sample(&rig, 0, 0, (const gnn_node[]){1}, 1);
    assert_int_equal(view->node_count, 1);
    assert_int_equal(view->blocks[0].edge_count, 0);
    assert_int_equal(view->blocks[0].row_start[1], 0);
    view = rig_sample(&rig, 0, 1, (const gnn_node[]){1, 2}, 2);
    assert_int_equal(view->node_count, 3);
    assert_int_equal(view->nodes[2], 0);
    assert_int_equal(view->blocks[1].col[0], 0); /* node 1 came before node 0 */
    assert_int_equal(view->blocks[1].col[1], 2);
    assert_int_equal(view->blocks[0].dst_count, 3);
    rig_close(&rig);
}

static void refused_configurations(void **state)
{
    static const struct gnn_sampler_config cases[] = {
        {.layers = 0}, {.layers = GNN_LAYERS_MAX + 1}, {.layers = 2, .fanout = {10, 0}}, {.layers = 1, .fanout = {65}}};
    const uint64_t indptr[] = {0, 0};
    const struct gnn_dataset dataset = {.node_count = 1, .indptr = indptr};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_sampler *sampler = NULL;
        struct gnn_err err = {0};
        assert_int_equal(gnn_sampler_open(*state, &cases[i], &dataset, NULL, &sampler, &err), GNN_EUSAGE);
        assert_null(sampler);
    }
}

/* A block numbers its edges by 32 bits. */
static void blocks_of_too_many_edges(void **state)
{
    (void)state;
    static const uint32_t fanout[] = {2, 64};
    const struct gnn_dataset dataset = {.node_count = UINT32_MAX - 1, .edge_count = UINT64_C(1) << 40};
    struct gnn_sample_bounds bounds;
    struct gnn_err err = {0};
    /* 3 x 22369621 nodes draw 64 each: 2^32 - 64, and one seed more would be 2^32 + 128. */
    assert_int_equal(gnn_sample_bounds(&dataset, 22369621, fanout, 2, &bounds, &err), GNN_OK);
    assert_int_equal(bounds.edges[2], UINT64_C(4294967232));
    assert_int_equal(gnn_sample_bounds(&dataset, 22369622, fanout, 2, &bounds, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "hop 2 could draw 4294967424 edges"));
    const struct gnn_dataset small = {.node_count = UINT32_MAX - 1, .edge_count = UINT32_MAX};
    assert_int_equal(gnn_sample_bounds(&small, 22369622, fanout, 2, &bounds, &err),
                     GNN_OK); /* no more than there are */
    assert_int_equal(bounds.edges[2], UINT32_MAX);
}

static void refused_batches(void **state)
{
    static const struct {
        gnn_node seeds[3];
        uint32_t count;
        enum gnn_status status;
        const char *mentions;
    } cases[] = {
        {{0, 1, 0}, 3, GNN_EFORMAT, "seed node 0 occurs twice"},
        {{0, 4, 1}, 3, GNN_EFORMAT, "seed 4, but there are 4 nodes"},
        {{2, 0, 0}, 1, GNN_EFORMAT, "in the list of node 2, neighbour 4, but there are 4 nodes"},
        {{0, 0, 0}, 0, GNN_EUSAGE, "0 seeds"},
        {{0, 1, 2}, 5, GNN_EUSAGE, "5 seeds"},
        {{3, 0, 0}, 1, GNN_EFORMAT, "edge offset 3 of 3"},
    };
    const uint64_t indptr[] = {0, 1, 2, 3, 4};
    const gnn_node indices[] = {1, 0, 4};
    const struct gnn_dataset dataset = {.name = "bad", .node_count = 4, .edge_count = 4, .indptr = indptr};
    const struct gnn_sampler_config config = {.layers = 1, .fanout = {1}};
    struct rig rig = {.world = *state};
    assert_int_equal(gnn_source_memory(rig.world, indices, 3, &rig.source, NULL), GNN_OK);
    assert_int_equal(gnn_sampler_open(rig.world, &config, &dataset, rig.source, &rig.sampler, NULL), GNN_OK);
    assert_int_equal(gnn_batch_open(rig.world, &rig.batch, NULL), GNN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_err err = {0};
        assert_int_equal(gnn_sampler_sample(rig.sampler, 0, 0, cases[i].seeds, cases[i].count, rig.batch, &err),
                         cases[i].status);
        if (strstr(err.message, cases[i].mentions) == NULL)
            fail_msg("\"%s\" does not mention \"%s\"", err.message, cases[i].mentions);
        if (cases[i].count > 0 && cases[i].count <= 4)
            assert_int_equal(gnn_batch_view(rig.batch)->node_count, 0);
        assert_int_equal(rig_sample(&rig, 0, 0, (const gnn_node[]){0, 1}, 2)->node_count, 2); /* it goes on */
    }
    struct gnn_sample_counters counters;
    gnn_sampler_counters(rig.sampler, &counters);
    assert_int_equal(counters.batches, sizeof cases / sizeof *cases);
    rig_close(&rig);
}

/* ---- memory ---- */

static const struct gnn_world_ops *real_ops;
static uint32_t allocations;

static enum gnn_status counted_alloc(struct gnn_world *w, const char *name, uint64_t bytes, unsigned flags, void **out,
                                     struct gnn_err *err)
{
    allocations++;
    return real_ops->mem_alloc(w, name, bytes, flags, out, err);
}

static void no_allocation_after_warm_up(void **state)
{
    struct gnn_world *const world = *state;
    const struct gnn_sampler_config config = {.layers = 3, .fanout = {10, 10, 10}};
    struct rig rig;
    rig_open(&rig, world, 9, NODES_MAX, &config);
    real_ops = world->ops;
    struct gnn_world_ops counting = *real_ops;
    counting.mem_alloc = counted_alloc;
    world->ops = &counting;
    gnn_node order[NODES_MAX];
    for (uint32_t v = 0; v < NODES_MAX; v++)
        order[v] = v;
    allocations = 0;
    (void)rig_sample(&rig, 0, 0, order, 16);
    assert_in_range(allocations, 1, 3);
    allocations = 0;
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        gnn_epoch_order(1, epoch, order, NODES_MAX, order);
        for (uint32_t at = 0; at < NODES_MAX; at += 16)
            (void)rig_sample(&rig, epoch, at / 16, order + at, at + 16 < NODES_MAX ? 16 : 5);
    }
    assert_int_equal(allocations, 0);
    world->ops = real_ops;
    rig_close(&rig);
    struct gnn_mem_usage usage;
    gnn_mem_usage(world, &usage);
    assert_int_equal(usage.current_bytes, 0);
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    const struct gnn_measured_config limit = {.memory_limit_bytes = 8192};
    const struct gnn_sampler_config config = {.layers = 3, .fanout = {10, 10, 10}};
    struct gnn_world *world = NULL;
    struct gnn_err err = {0};
    assert_int_equal(gnn_world_measured_open(&limit, &world, &err), GNN_OK);
    struct rig rig;
    rig_open(&rig, world, 9, NODES_MAX, &config);
    const gnn_node seeds[] = {1, 2, 3};
    for (int i = 0; i < 2; i++) {
        err = (struct gnn_err){0};
        assert_int_equal(gnn_sampler_sample(rig.sampler, 0, 0, seeds, 3, rig.batch, &err), GNN_ECAP);
    }
    rig_close(&rig);
    gnn_world_measured_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fuzz_against_plain),
        cmocka_unit_test(isolated_seeds_change_the_digest),
        cmocka_unit_test(golden_digest),
        cmocka_unit_test(a_draw_is_what_floyds_method_says),
        cmocka_unit_test(draws_side_by_side_are_those_one_by_one),
        cmocka_unit_test(a_row_is_sorted_and_nothing_beside_it),
        cmocka_unit_test(rows_are_sorted_and_nothing_beside_them),
        cmocka_unit_test(inclusion_is_uniform),
        cmocka_unit_test(subsets_are_uniform),
        cmocka_unit_test(biased_inclusion_formula),
        cmocka_unit_test(epoch_orders),
        cmocka_unit_test(epoch_order_is_uniform),
        cmocka_unit_test(node_bounds),
        cmocka_unit_test(nodes_without_neighbours),
        cmocka_unit_test(refused_configurations),
        cmocka_unit_test(blocks_of_too_many_edges),
        cmocka_unit_test(refused_batches),
        cmocka_unit_test(no_allocation_after_warm_up),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("sample", tests, measured_world_open, measured_world_close);
}
