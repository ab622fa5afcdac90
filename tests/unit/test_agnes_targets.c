/* SPDX-License-Identifier: MIT */
/* AGNES with agnes.visits=target: the nodes of each target, the rows of few positions, and what an epoch visits and
 * reads. That mini-batches and losses are the same is in tests/differential. */
#include "harness/base/rng.h"
#include "harness/sample/sample.h"
#include "systems/agnes/bucket.h"
#include "systems/agnes/targets.h"
#include "tests/support/fixture.h"
#include "tests/support/seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 600, TRAIN = 90, BATCH = 20, ROWS = 10 /* of a feature block */ };

static const struct train_graph_config usual = {
    .nodes = NODES, .mean_degree = 3, .dim = 100, .classes = 5, .train = TRAIN, .seed = 11};

/* ---- positions of a target ---- */

/* Two mini-batches, of two seeds and of one; two hops. The second seed of the first reaches node 2 twice. */
static void targets_grow_by_neighbours(void **state)
{
    (void)state;
    static const uint32_t seeds[] = {2, 1};
    static const uint32_t rows[2][4] = {{0, 1, 3, 3}, {0, 2, 2, 2}};
    static const uint32_t cols[2][4] = {{2, 0, 2, 0}, {1, 2, 0, 0}};
    static const uint32_t later_rows[4] = {0, 0, 1, 2}, later_cols[2] = {2, 1};
    uint32_t marks[2][8] = {{0}}, stamp[2] = {0};
    struct agnes_targets targets;
    struct gnn_err err = {0};
    struct fixture f;
    fixture_open(&f, .graph = NULL);
    agnes_targets_open(f.world, &targets);
    must(agnes_targets_begin(&targets, seeds, 2, &err), &err);
    assert_int_equal(targets.count, 3);
    assert_int_equal(agnes_targets_at(&targets, 2)->batch, 1);
    assert_int_equal(agnes_targets_positions(&targets, 1)[0], 1);
    assert_int_equal(agnes_targets_positions(&targets, 2)[0], 0);
    must(agnes_targets_reserve(&targets, 2, &err), &err);
    assert_int_equal(agnes_targets_grow(&targets, 0, 2, rows[0], cols[0], marks[0], &stamp[0]), 3);
    assert_int_equal(agnes_targets_grow(&targets, 2, 3, rows[1], cols[1], marks[1], &stamp[1]), 2);
    agnes_targets_turn(&targets);
    static const uint32_t hop1[3][4] = {{2, 0, 2}, {3, 1, 0, 2}, {3, 0, 1, 2}}; /* count, positions */
    for (uint64_t t = 0; t < 3; t++) {
        assert_int_equal(agnes_targets_at(&targets, t)->count, hop1[t][0]);
        assert_memory_equal(agnes_targets_positions(&targets, t), hop1[t] + 1, hop1[t][0] * sizeof(uint32_t));
    }
    must(agnes_targets_reserve(&targets, 1, &err), &err);
    assert_int_equal(agnes_targets_grow(&targets, 0, 2, later_rows, later_cols, marks[0], &stamp[0]), 3);
    agnes_targets_turn(&targets);
    assert_int_equal(agnes_targets_at(&targets, 0)->count, 3); /* 0, 2, and 1 by 2 */
    assert_int_equal(agnes_targets_positions(&targets, 0)[2], 1);
    assert_int_equal(agnes_targets_at(&targets, 1)->count, 3);
    agnes_targets_close(&targets);
    agnes_targets_close(&targets);
    fixture_close(&f);
}

/* ---- rows of few positions ---- */

enum { BLOCKS = 50, POSITIONS = 60 };

/* Zero, one or two blocks, by a hash. */
static uint32_t hashed_blocks(void *ctx, uint32_t batch, uint32_t position, uint32_t *out)
{
    const uint64_t hash = gnn_splitmix64_at(*(const uint64_t *)ctx + batch, position);
    const uint32_t count = (uint32_t)(hash % 3);
    for (uint32_t i = 0; i < count; i++)
        out[i] = (uint32_t)((hash >> 8) % (BLOCKS - 1)) + i;
    return count;
}

static void few_positions_have_rows_of_their_blocks(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    struct agnes_bucket bucket;
    struct gnn_err err = {0};
    struct fixture f;
    fixture_open(&f, .graph = NULL);
    must(agnes_bucket_open(f.world, BLOCKS, 2, &bucket, &err), &err);
    uint64_t all = 0;
    for (uint32_t round = 0; round < 40; round++) {
        uint32_t positions[POSITIONS], count = 0, needed = 0, blocks[GNN_FANOUT_MAX];
        for (uint32_t p = POSITIONS; p-- > 0;) /* descending, and not all */
            if (gnn_splitmix64_at(seed + round, p) % 4 == 0)
                positions[count++] = p;
        must(agnes_bucket_build_few(&bucket, round, positions, count, hashed_blocks, &seed, &err), &err);
        for (uint32_t b = 0; b < BLOCKS; b++) {
            uint64_t expected = 0, at = bucket.row_begin[b];
            for (uint32_t p = 0; p < POSITIONS; p++) {
                bool among = false;
                for (uint32_t i = 0; i < count; i++)
                    among = among || positions[i] == p;
                const uint32_t n = among ? hashed_blocks(&seed, round, p, blocks) : 0;
                for (uint32_t i = 0; i < n; i++) {
                    if (blocks[i] != b)
                        continue;
                    assert_int_equal(bucket.entries[at].batch, round);
                    assert_int_equal(bucket.entries[at++].position, p);
                    expected++;
                }
            }
            all += expected;
            if (expected == 0)
                continue;
            assert_int_equal(bucket.needed[needed++], b);
            assert_int_equal(bucket.row_begin[b + 1] - bucket.row_begin[b], expected);
        }
        assert_int_equal(bucket.needed_count, needed);
    }
    assert_int_equal(bucket.built_entries, all);
    agnes_bucket_close(&bucket);
    fixture_close(&f);
}

/* ---- epochs ---- */

/* Marks the node and what it reaches in so many hops; all neighbours are drawn. */
static void reach(const struct train_graph *g, gnn_node v, uint32_t hops, bool *reached)
{
    reached[v] = true;
    for (uint64_t e = g->dataset.indptr[v]; hops > 0 && e < g->dataset.indptr[v + 1]; e++)
        reach(g, g->indices[e], hops - 1, reached);
}

static uint64_t count_of(const bool *nodes, uint32_t in_groups_of)
{
    uint64_t count = 0;
    for (uint32_t v = 0, last = UINT32_MAX; v < NODES; v++)
        if (nodes[v] && v / in_groups_of != last) {
            count++;
            last = v / in_groups_of;
        }
    return count;
}

static void open_run(struct train_run *run, struct fixture *f, const char *const *options)
{
    train_run_init(run, f->world, "agnes");
    run->options = options;
    run->check_rows = true;
    run->workload.fanout[0] = run->workload.fanout[1] = GNN_FANOUT_MAX;
    must(train_run_open(run, &f->graph), &run->err);
}

/* Entries and feature blocks are those of each target's own neighbourhood, whatever its mini-batch shares. */
static void every_target_visits_its_own_blocks(void **state)
{
    (void)state;
    struct fixture f;
    struct train_run few, many, together;
    fixture_open(&f, .graph = &usual);
#define TARGETS "io=buffered", "layout=input", "block=4K", "hyperbatch=1", "visits=target", "workers=1", "depth=1"
    open_run(&few, &f, OPTIONS(TARGETS, "feature_cache=1"));
    open_run(&many, &f, OPTIONS(TARGETS, "feature_cache=1M"));
    open_run(&together, &f, OPTIONS("io=buffered", "layout=input", "block=4K", "hyperbatch=1", "feature_cache=1M"));
    gnn_node order[TRAIN];
    uint64_t entries = 0, visits = 0, in_batches = 0;
    gnn_epoch_order(few.workload.seed, 0, f.graph.dataset.train.nodes, TRAIN, order);
    for (uint32_t first = 0; first < TRAIN; first += BATCH) {
        bool batch[NODES] = {false};
        for (uint32_t t = first; t < TRAIN && t < first + BATCH; t++) {
            bool near[NODES] = {false}, far[NODES] = {false};
            reach(&f.graph, order[t], 1, near);
            reach(&f.graph, order[t], 2, far);
            reach(&f.graph, order[t], 2, batch);
            entries += 1 + count_of(near, 1) + count_of(far, 1); /* two hops and the gathering */
            visits += count_of(far, ROWS);
        }
        in_batches += count_of(batch, ROWS);
    }
    must(train_run_epoch(&few, 0), &few.err);
    must(train_run_epoch(&many, 0), &many.err);
    must(train_run_epoch(&together, 0), &together.err);
    assert_int_equal(few.wrong_values + many.wrong_values, 0);
    assert_int_equal(few.trained_digest, together.trained_digest);
    assert_int_equal(train_run_extra(&few, "bucket_entries"), entries);
    assert_int_equal(train_run_extra(&many, "bucket_entries"), entries);
    assert_in_range(train_run_extra(&few, "feature_block_reads"), visits - 2 * TRAIN, visits); /* two frames */
    assert_int_equal(train_run_extra(&many, "feature_block_reads"), in_batches);
    assert_int_equal(train_run_extra(&together, "feature_block_reads"), in_batches);
    assert_true(visits - 2 * TRAIN > in_batches);
    train_run_close(&few);
    train_run_close(&many);
    train_run_close(&together);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_grow_by_neighbours),
        cmocka_unit_test(few_positions_have_rows_of_their_blocks),
        cmocka_unit_test(every_target_visits_its_own_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
