/* SPDX-License-Identifier: MIT */
/* GraphBolt's disk mode in whole epochs: what its cache finds, what it reads, and dependent mini-batches
 * (docs/invariants.md, GraphBolt: 1, 5 to 10). The policies are in test_graphbolt_policy.c; batches, losses and rows
 * against the other systems in tests/differential. */
#include "systems/graphbolt/graphbolt.h"
#include "tests/support/fixture.h"
#include "tests/support/hang.h"
#include "tests/support/memory_source.h"
#include "tests/support/system_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TRAIN = 160, EPOCHS = 2, NODES = 900, SIZE = 20, BATCHES = TRAIN / SIZE, ROW_BYTES = 256 };

static const struct train_graph_config usual = {
    .nodes = NODES, .mean_degree = 6, .dim = ROW_BYTES / 4, .classes = 5, .train = TRAIN, .seed = 11};

static void open_run(struct train_run *run, const struct fixture *f, const char *const *options)
{
    train_run_init(run, f->world, "graphbolt");
    run->options = options;
    run->workload.batch_size = SIZE;
    run->modelled = f->config.simulated ? &f->profile : NULL;
    must_run(train_run_open(run, &f->graph), run);
}

/* ---- what is found ---- */

/* Draws the mini-batches of an epoch again, and replays the lookups with the uses of a mini-batch ending `in_flight`
 * lookups later. Returns the misses. */
struct replay {
    struct graphbolt_part part;
    struct graphbolt_entry entry[NODES];
    uint32_t where[NODES];
    gnn_node ghosts[NODES];
    uint64_t not_inserted;
};

struct taken {
    uint32_t *of[BATCHES]; /* results of each mini-batch */
    uint32_t count[BATCHES];
};

static uint64_t look_up(struct replay *r, const struct gnn_batch_view *view, struct taken *taken, uint32_t k)
{
    uint64_t misses = 0;
    taken->count[k] = view->node_count;
    taken->of[k] = calloc(view->node_count, sizeof(uint32_t));
    assert_non_null(taken->of[k]);
    for (uint32_t i = 0; i < view->node_count; i++) {
        const uint32_t result = taken->of[k][i] = graphbolt_part_take(&r->part, view->nodes[i]);
        misses += (result & GRAPHBOLT_MISSED) != 0;
        r->not_inserted += result == (GRAPHBOLT_MISSED | GRAPHBOLT_NO_SLOT);
    }
    return misses;
}

static void end_uses(struct replay *r, struct taken *taken, uint32_t k)
{
    for (uint32_t i = 0; i < taken->count[k]; i++)
        graphbolt_part_complete(&r->part, taken->of[k][i]);
    free(taken->of[k]);
}

static uint64_t replay_epoch(struct replay *r, const struct fixture *f, const struct gnn_workload *load, uint64_t epoch,
                             uint32_t in_flight)
{
    const struct gnn_sampler_config config = {
        .seed = load->seed, .layers = load->layers, .fanout = {load->fanout[0], load->fanout[1]}};
    const struct gnn_dataset *const d = &f->graph.dataset;
    struct gnn_neighbour_source *source;
    struct gnn_sampler *sampler;
    struct gnn_batch *batch;
    struct gnn_err err = {0};
    struct taken taken;
    gnn_node order[TRAIN];
    uint64_t misses = 0;
    must(gnn_source_memory(f->world, f->graph.indices, d->edge_count, &source, &err), &err);
    must(gnn_sampler_open(f->world, &config, d, source, &sampler, &err), &err);
    must(gnn_batch_open(f->world, &batch, &err), &err);
    gnn_epoch_order(load->seed, epoch, d->train.nodes, TRAIN, order);
    for (uint32_t k = 0; k < BATCHES; k++) {
        must(gnn_sampler_sample(sampler, epoch, k, order + (size_t)k * SIZE, SIZE, batch, &err), &err);
        if (k >= in_flight)
            end_uses(r, &taken, k - in_flight);
        misses += look_up(r, gnn_batch_view(batch), &taken, k);
    }
    for (uint32_t k = BATCHES - gnn_min_u32(in_flight, BATCHES); k < BATCHES; k++)
        end_uses(r, &taken, k);
    gnn_batch_close(f->world, batch);
    gnn_sampler_close(sampler);
    gnn_source_close(source);
    return misses;
}

/* Whatever the number of threads and the world: what is found is what the policy finds in the order of mini-batches. */
static void test_what_is_found_depends_on_the_order_alone(void **state)
{
    (void)state;
    const struct {
        const char *const *options;
        enum graphbolt_policy_kind policy;
        uint32_t rows, in_flight;
    } cases[] = {
        {OPTIONS("io=buffered", "parts=1", "cache=64K", "policy=lru", "in_flight=1"), GRAPHBOLT_LRU, 256, 1},
        {OPTIONS("io=buffered", "parts=1", "cache=64K", "policy=clock", "in_flight=2", "rings=3", "group=5"),
         GRAPHBOLT_CLOCK, 256, 2},
        {OPTIONS("io=buffered", "parts=1", "cache=64K", "samplers=3"), GRAPHBOLT_SIEVE, 256, 4},
        {OPTIONS("io=buffered", "parts=1", "cache=32K", "policy=s3-fifo", "copy_threads=3"), GRAPHBOLT_S3_FIFO, 128, 4},
        {OPTIONS("io=buffered", "parts=1", "cache=225K", "in_flight=7"), GRAPHBOLT_SIEVE, NODES, 7},
    };
    for (int simulated = 0; simulated < 2; simulated++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            static struct replay r;
            struct fixture f;
            struct train_run run;
            memset(&r, 0, sizeof r);
            fixture_open(&f, .graph = &usual, .simulated = simulated != 0);
            graphbolt_part_init(&r.part, cases[c].policy, cases[c].rows, r.entry, r.where, r.ghosts);
            open_run(&run, &f, cases[c].options);
            for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                r.not_inserted = 0;
                const uint64_t expected = replay_epoch(&r, &f, &run.workload, epoch, cases[c].in_flight);
                must_run(train_run_epoch(&run, epoch), &run);
                assert_int_equal(run.result.counters.cache_misses, expected);
                assert_int_equal(system_figure(&run.result, "not_inserted_rows"), r.not_inserted);
                assert_int_equal(system_figure(&run.result, "cache_rows"), cases[c].rows);
            }
            assert_int_equal(system_figure(&run.result, "looked_up_so_far") > run.result.counters.rows_asked, 1);
            train_run_close(&run);
            fixture_close(&f);
        }
}

/* ---- what is read ---- */

static void test_reads_are_the_misses(void **state)
{
    (void)state;
    const struct {
        const char *const *options;
        uint64_t read_bytes; /* of a miss */
    } cases[] = {
        {OPTIONS("io=buffered", "cache=20K"), ROW_BYTES},
        {OPTIONS("cache=20K", "rings=2", "group=3"), 4096},
        {OPTIONS("cache=20K", "block=8K"), 8192},
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t c = 0; c < sizeof cases / sizeof *cases && (c == 0 || f.direct); c++) {
        struct train_run run;
        uint64_t missed = 0, asked = 0;
        open_run(&run, &f, cases[c].options);
        for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
            must_run(train_run_epoch(&run, epoch), &run);
            const struct gnn_counters *const n = &run.result.counters;
            assert_int_equal(n->requested_ios, n->cache_misses);
            assert_int_equal(n->requested_bytes, n->cache_misses * cases[c].read_bytes);
            assert_int_equal(n->rows_read, n->cache_misses);
            assert_int_equal(n->cache_hits + n->cache_misses, n->sample.sampled_nodes);
            missed += n->cache_misses;
            asked += n->rows_asked;
            assert_int_equal(system_figure(&run.result, "missed_so_far"), missed);
            assert_int_equal(system_figure(&run.result, "looked_up_so_far"), asked);
        }
        train_run_close(&run);
    }
    fixture_close(&f);
}

static uint64_t distinct(const struct train_run *run, const uint32_t *before)
{
    uint64_t count = 0;
    for (uint32_t v = 0; v < NODES; v++)
        count += run->needed[v] > 0 && before[v] == 0;
    return count;
}

/* One mini-batch at a time, and room for all rows: each is read once in a run. */
static void test_what_fits_is_read_once(void **state)
{
    (void)state;
    struct fixture f;
    struct train_run run;
    uint32_t before[NODES] = {0};
    fixture_open(&f, .graph = &usual);
    open_run(&run, &f, OPTIONS("io=buffered", "cache=1G", "in_flight=1"));
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        must_run(train_run_epoch(&run, epoch), &run);
        assert_int_equal(run.result.counters.cache_misses, distinct(&run, before));
        assert_int_equal(run.result.counters.cache_evictions, 0);
        assert_int_equal(system_figure(&run.result, "not_inserted_rows"), 0);
        for (uint32_t v = 0; v < NODES; v++)
            before[v] += run.needed[v];
    }
    train_run_close(&run);
    fixture_close(&f);
}

/* A row of the GPU's cache costs the host nothing. With room for all rows there, all of them are found in it. */
static void test_the_gpu_is_searched_first(void **state)
{
    (void)state;
    struct fixture f;
    struct train_run run;
    fixture_open(&f, .graph = &usual);
    train_run_init(&run, f.world, "graphbolt");
    run.options = OPTIONS("io=buffered", "cache=3K", "gpu_cache=1G", "in_flight=1");
    run.workload.batch_size = SIZE;
    run.device = run.check_rows = true;
    must_run(train_run_open(&run, &f.graph), &run);
    uint32_t before[NODES] = {0};
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        must_run(train_run_epoch(&run, epoch), &run);
        const uint64_t once = distinct(&run, before);
        assert_int_equal(run.result.counters.cache_misses, once);
        assert_int_equal(system_figure(&run.result, "gpu_hits"), run.result.counters.rows_asked - once);
        assert_int_equal(run.wrong_values, 0);
        for (uint32_t v = 0; v < NODES; v++)
            before[v] += run.needed[v];
    }
    assert_int_equal(system_figure(&run.result, "gpu_cache_rows"), NODES);
    train_run_close(&run);
    fixture_close(&f);
}

/* ---- partitions ---- */

static void test_partitions_share_slots_and_nodes(void **state)
{
    (void)state;
    const struct graphbolt_cache_config config = {
        .policy = GRAPHBOLT_S3_FIFO, .node_count = NODES, .rows = 101, .parts = 7};
    struct fixture f;
    struct graphbolt_cache *cache = NULL;
    uint32_t nodes[7] = {0};
    fixture_open(&f, .scratch = true);
    must(graphbolt_cache_open(f.world, &config, &cache, &f.err), &f.err);
    assert_int_equal(graphbolt_first_slot(&config, 7), 101);
    for (gnn_node v = 0; v < NODES; v++) {
        const uint32_t part = graphbolt_part_of(7, v);
        assert_true(part < 7);
        nodes[part]++;
        const uint32_t taken = graphbolt_cache_take(cache, part, v), slot = taken & ~GRAPHBOLT_MISSED;
        assert_true(slot >= graphbolt_first_slot(&config, part));
        assert_true(slot < graphbolt_first_slot(&config, part + 1));
        for (uint32_t p = 0; p < 7; p++)
            graphbolt_cache_complete(cache, p, taken);
        assert_int_equal(graphbolt_cache_busy(cache), 0);
    }
    for (uint32_t p = 0; p < 7; p++)
        assert_in_range(nodes[p], NODES / 7 - 45, NODES / 7 + 45); /* four standard deviations */
    graphbolt_cache_close(cache);
    fixture_close(&f);
}

/* ---- dependent mini-batches ---- */

enum { LIST = 12, DRAWN = 4 };

/* Draws DRAWN neighbours of the first node whose list has LIST different ones. */
struct drawing {
    struct graphbolt_topology *t;
    struct gnn_neighbour_source *source;
    gnn_node node;
    const gnn_node *list;
    uint64_t first;
};

static bool is_list(const struct fixture *f, gnn_node v)
{
    const uint64_t *const indptr = f->graph.dataset.indptr;
    bool good = indptr[v + 1] - indptr[v] == LIST;
    for (uint64_t i = indptr[v]; good && i < indptr[v + 1]; i++)
        for (uint64_t j = indptr[v]; good && j < i; j++)
            good = f->graph.indices[i] != f->graph.indices[j];
    return good;
}

static void open_drawing(struct drawing *d, struct fixture *f, uint32_t dependency)
{
    *d = (struct drawing){.node = 0};
    while (d->node < NODES && !is_list(f, d->node))
        d->node++;
    assert_true(d->node < NODES);
    d->first = f->graph.dataset.indptr[d->node];
    d->list = f->graph.indices + d->first;
    must(graphbolt_topology_open(&f->env, false, dependency, 1, &d->t, &f->err), &f->err);
    must(graphbolt_topology_source(d->t, 0, &d->source, &f->err), &f->err);
}

static void close_drawing(struct drawing *d)
{
    gnn_source_close(d->source);
    graphbolt_topology_close(d->t);
}

/* Returns the places in the list that mini-batch k of epoch 0 draws at its hop `hop`, a bit each. */
static uint32_t draw(struct drawing *d, uint32_t k, uint32_t hop)
{
    const uint32_t row_start[] = {0, DRAWN};
    uint64_t offset[DRAWN];
    gnn_node out[DRAWN];
    struct gnn_err err = {0};
    uint32_t places = 0, last = 0;
    for (uint32_t i = 0; i < DRAWN; i++)
        offset[i] = d->first + i;
    graphbolt_topology_begin_batch(d->t, 0, 0, k, 1 << 20);
    for (uint32_t h = 0; h <= hop; h++)
        must(d->source->ops->fetch_lists(d->source, &d->node, row_start, 1, offset, out, &err), &err);
    for (uint32_t i = 0; i < DRAWN; i++) {
        uint32_t place = 0;
        while (place < LIST && d->list[place] != out[i])
            place++;
        assert_true(place < LIST);
        assert_true(i == 0 || place > last); /* in the order of the list, each once */
        last = place;
        places |= 1U << place;
    }
    return places;
}

/* Every neighbour is as likely as any other, at every part of a turn: chi-square over the places. */
static void test_dependent_draws_are_uniform(void **state)
{
    (void)state;
    enum { DRAWS = 6000 };
    static const uint32_t dependencies[] = {1, 2, 3};
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t i = 0; i < sizeof dependencies / sizeof *dependencies; i++) {
        const uint32_t step = dependencies[i];
        uint32_t times[LIST] = {0};
        struct drawing d;
        double chi2 = 0;
        open_drawing(&d, &f, step);
        for (uint32_t k = 0; k < DRAWS; k++) { /* of independent turns, at another part of each */
            const uint32_t places = draw(&d, 3 * step * k + k % step, k % 2);
            for (uint32_t p = 0; p < LIST; p++)
                times[p] += places >> p & 1;
        }
        for (uint32_t p = 0; p < LIST; p++) {
            const double expected = (double)DRAWS * DRAWN / LIST;
            chi2 += (times[p] - expected) * (times[p] - expected) / (expected * (1 - (double)DRAWN / LIST));
        }
        if (chi2 * (LIST - 1) / LIST > 31.3) /* 0.1 % of 11 degrees of freedom */
            fail_msg("dependency %u: chi-square %g", step, chi2);
        close_drawing(&d);
    }
    fixture_close(&f);
}

enum { TURN = 64 };

/* Returns the share of neighbours that mini-batches have in common which are `distance` apart. The first ones are
 * `step` apart from each other. */
static double overlap_from(struct drawing *d, uint32_t first, uint32_t step, uint32_t distance)
{
    enum { PAIRS = 3000 };
    uint32_t common = 0;
    for (uint32_t k = 0; k < PAIRS; k++, first += step)
        common += (uint32_t)__builtin_popcount(draw(d, first, 1) & draw(d, first + distance, 1));
    return (double)common / PAIRS / DRAWN;
}

static double overlap(struct drawing *d, uint32_t distance)
{
    return overlap_from(d, 1000, 7, distance);
}

/* Two mini-batches have neighbours in common as their distance falls: as by chance from two turns on. */
static void test_mini_batches_depend_on_their_neighbours(void **state)
{
    (void)state;
    struct fixture f;
    struct drawing d;
    const double chance = (double)DRAWN / LIST;
    fixture_open(&f, .graph = &usual);
    open_drawing(&d, &f, TURN);
    const double near = overlap(&d, 1), middle = overlap(&d, 16), far = overlap(&d, 64), independent = overlap(&d, 130);
    print_message("in common at distance 1, 16, 64, 130: %.3f %.3f %.3f %.3f\n", near, middle, far, independent);
    assert_true(near > 0.93);
    assert_true(middle < near - 0.1);
    assert_true(middle > far + 0.1);
    assert_true(fabs(independent - chance) < 0.02);
    const double in_turn = overlap_from(&d, 0, TURN, TURN / 2), between = overlap_from(&d, TURN - 1, TURN, 1);
    print_message("in common within half a turn, and where two turns meet: %.3f %.3f\n", in_turn, between);
    assert_true(in_turn < 0.8);
    assert_true(in_turn > chance + 0.1);
    assert_true(between > 0.93); /* a turn begins with the random numbers that the last one ended with */
    close_drawing(&d);
    open_drawing(&d, &f, 1);
    assert_true(fabs(overlap(&d, 1) - chance) < 0.02);
    assert_true(draw(&d, 5, 0) != draw(&d, 5, 1) || draw(&d, 6, 0) != draw(&d, 6, 1)); /* hops differ */
    close_drawing(&d);
    fixture_close(&f);
}

/* Digests depend on the dependency and on the seed, and not on threads; seeds and their order stay. */
static void test_dependent_mini_batches_have_digests_of_their_own(void **state)
{
    (void)state;
    const struct {
        const char *const *options;
        uint64_t seed;
        uint32_t like; /* case with the same digest */
    } cases[] = {
        {OPTIONS("io=buffered"), 1, 0},
        {OPTIONS("io=buffered", "dependency=1"), 1, 1},
        {OPTIONS("io=buffered", "dependency=5"), 1, 2},
        {OPTIONS("io=buffered", "dependency=5", "samplers=3", "in_flight=2", "cache=10K"), 1, 2},
        {OPTIONS("io=buffered", "dependency=5"), 2, 4},
    };
    uint64_t digest[5][EPOCHS];
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct train_run run;
        train_run_init(&run, f.world, "graphbolt");
        run.options = cases[c].options;
        run.workload.seed = cases[c].seed;
        must_run(train_run_open(&run, &f.graph), &run);
        for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
            must_run(train_run_epoch(&run, epoch), &run);
            train_run_each_seed_once(&run);
            digest[c][epoch] = run.result.counters.sample.batch_digest;
            for (size_t other = 0; other < c; other++)
                assert_int_equal(digest[other][epoch] == digest[c][epoch], cases[other].like == cases[c].like);
        }
        train_run_close(&run);
    }
    fixture_close(&f);
}

int main(void)
{
    end_a_hang();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_found_depends_on_the_order_alone),
        cmocka_unit_test(test_reads_are_the_misses),
        cmocka_unit_test(test_what_fits_is_read_once),
        cmocka_unit_test(test_the_gpu_is_searched_first),
        cmocka_unit_test(test_partitions_share_slots_and_nodes),
        cmocka_unit_test(test_dependent_draws_are_uniform),
        cmocka_unit_test(test_mini_batches_depend_on_their_neighbours),
        cmocka_unit_test(test_dependent_mini_batches_have_digests_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
