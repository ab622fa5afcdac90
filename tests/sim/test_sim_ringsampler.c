/* SPDX-License-Identifier: MIT */
/* RingSampler in the simulated world: the blocks of the measured one, the same nanosecond twice, and device bytes to
 * the page and the sector (docs/invariants.md, RingSampler: 4, 8). */
#include "harness/world/simulated/simulated.h"
#include "tests/support/fixture.h"
#include "tests/support/hang.h"
#include "tests/support/sim_profile.h"
#include "tests/support/sim_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { TRAIN = 150, SECTOR_BYTES = 512 }; /* the profile's */

static const struct train_graph_config usual = {
    .nodes = 2000, .mean_degree = 12, .dim = 8, .classes = 5, .train = TRAIN, .seed = 11};

static const char *const cases[][6] = {
    {"io=buffered"},
    {"io=buffered-random", "polling=false", "threads=3"},
    {"io=mapped", "threads=4"},
    {"io=direct", "coalesce=none"},
    {"io=direct", "coalesce=sector", "order=drain-first", "ring=9"},
    {"io=direct", "coalesce=adjacent", "threads=5"},
    {"io=sorted", "bundle=4"},
    {"io=sorted", "cache=64K", "frontier=all", "threads=1"},
};
enum { CASES = sizeof cases / sizeof *cases, FIRST_DIRECT = 3 };

struct outcome {
    struct gnn_sample_counters sample;
    uint64_t end_ns, device_bytes, requested_bytes, requested_ios;
};

static void run_one(struct gnn_world *world, const struct train_graph *g, const char *const *options, bool simulated,
                    struct outcome *out)
{
    struct train_run run;
    struct gnn_simulated_counts before = {0}, after = {0};
    train_run_init(&run, world, "ringsampler");
    run.options = options;
    run.workload.sample_only = true;
    must_run(train_run_open(&run, g), &run);
    if (simulated)
        gnn_world_simulated_counts(world, &before);
    must_run(train_run_epoch(&run, 0), &run);
    if (simulated)
        gnn_world_simulated_counts(world, &after);
    *out = (struct outcome){.sample = run.result.counters.sample,
                            .end_ns = gnn_now_ns(world),
                            .device_bytes = after.device_read_bytes - before.device_read_bytes,
                            .requested_bytes = run.result.counters.requested_bytes,
                            .requested_ios = run.result.counters.requested_ios};
    train_run_close(&run);
}

static void run_simulated(const struct train_graph *g, const char *const *options, struct outcome *out)
{
    struct fixture f;
    fixture_open(&f, .simulated = true);
    run_one(f.world, g, options, true, out);
    fixture_close(&f);
}

static void test_both_worlds_draw_the_same_blocks(void **state)
{
    (void)state;
    struct fixture measured;
    struct outcome first;
    fixture_open(&measured, .graph = &usual);
    const struct train_graph *const g = &measured.graph;
    run_simulated(g, cases[0], &first);
    for (size_t c = 0; c < CASES; c++) {
        struct outcome simulated, again, real;
        run_simulated(g, cases[c], &simulated);
        run_simulated(g, cases[c], &again);
        assert_memory_equal(&simulated, &again, sizeof again); /* the same nanosecond */
        assert_memory_equal(&simulated.sample, &first.sample, sizeof first.sample);
        if (!measured.direct && c >= FIRST_DIRECT)
            continue;
        run_one(measured.world, g, cases[c], false, &real);
        assert_memory_equal(&real.sample, &first.sample, sizeof first.sample);
    }
    fixture_close(&measured);
}

/* Whole lists of one hop: which pages and sectors the samples touch can be counted by hand. */
static uint64_t distinct(const struct train_graph *g, uint64_t granule)
{
    uint64_t count = 0, last = UINT64_MAX;
    for (uint32_t i = 0; i < TRAIN; i++) { /* train nodes ascend, and so do their lists */
        const gnn_node v = g->dataset.train.nodes[i];
        for (uint64_t e = g->dataset.indptr[v]; e < g->dataset.indptr[v + 1]; e++) {
            count += e * sizeof(gnn_node) / granule != last;
            last = e * sizeof(gnn_node) / granule;
        }
    }
    return count;
}

static void test_device_bytes_are_the_pages_or_sectors(void **state)
{
    (void)state;
    const struct {
        const char *options[6];
        uint64_t granule; /* 0: every read is a sector */
    } table[] = {
        {{"io=buffered-random", "threads=1", "ring=64"}, 4096},
        {{"io=buffered-random", "threads=3", "ring=64"}, 4096},
        {{"io=sorted", "gap=0", "threads=1", "bundle=1"}, SECTOR_BYTES},
        {{"io=direct", "coalesce=none", "ring=64"}, 0},
        {{"io=direct", "coalesce=sector", "ring=64"}, 0},
    };
    struct train_graph g;
    train_graph_open(&usual, &g);
    const uint64_t file_bytes = g.dataset.edge_count * sizeof(gnn_node);
    for (size_t c = 0; c < sizeof table / sizeof *table; c++) {
        struct fixture f;
        fixture_open(&f, .simulated = true);
        struct train_run run;
        struct gnn_simulated_counts counts;
        train_run_init(&run, f.world, "ringsampler");
        run.options = table[c].options;
        run.workload = (struct gnn_workload){
            .seed = 3, .batch_size = TRAIN, .layers = 1, .fanout = {64}, .epochs = 1, .sample_only = true};
        assert_int_equal(train_run_open(&run, &g), GNN_OK);
        assert_int_equal(train_run_epoch(&run, 0), GNN_OK);
        gnn_world_simulated_counts(f.world, &counts);
        const uint64_t reads = run.result.counters.requested_ios;
        const uint64_t wanted =
            table[c].granule == 0 ? reads * SECTOR_BYTES : distinct(&g, table[c].granule) * table[c].granule;
        /* The file's last page or sector may be cut. */
        assert_in_range(counts.device_read_bytes, wanted - (4096 - file_bytes % 4096), wanted);
        assert_true(reads <= run.result.counters.sample.sampled_edges);
        train_run_close(&run);
        fixture_close(&f);
    }
    train_graph_close(&g);
}

/* A thread that polls holds its core while it waits, one that sleeps does not; what they draw is the same. */
static void test_polling_costs_cores_and_saves_wakes(void **state)
{
    (void)state;
    static const char *const words[2][4] = {{"io=direct", "polling=true"}, {"io=direct", "polling=false"}};
    uint64_t busy_ns[2], end_ns[2];
    struct train_graph g;
    train_graph_open(&usual, &g);
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        struct outcome out;
        struct gnn_simulated_counts counts;
        fixture_open(&f, .simulated = true);
        run_one(f.world, &g, words[i], true, &out);
        gnn_world_simulated_counts(f.world, &counts);
        busy_ns[i] = counts.cpu_busy_ns;
        end_ns[i] = out.end_ns;
        fixture_close(&f);
    }
    assert_true(busy_ns[0] > busy_ns[1]);
    assert_true(end_ns[0] <= end_ns[1]); /* four cores, two threads: nobody is in the way */
    train_graph_close(&g);
}

/* The costs measured on a machine: a hash map takes an ID in little more than a short list's sort takes a key, but the
 * sort passes over its keys three times. Threads' CPU time measured: 26 ns a sample by hash, 47 by sort. */
static void test_the_sort_costs_its_passes(void **state)
{
    (void)state;
    static const char *const words[2][4] = {{"io=mapped", "dedupe=hash"}, {"io=mapped", "dedupe=sort"}};
    uint64_t busy_ns[2], samples = 0;
    struct train_graph g;
    train_graph_open(&usual, &g);
    for (int i = 0; i < 2; i++) {
        struct outcome out;
        struct gnn_profile profile;
        struct gnn_simulated_counts counts;
        sim_profile_fill(&profile);
        profile.cpu.work_ps[GNN_WORK_HASHED_ID] = 8000;
        profile.cpu.work_ps[GNN_WORK_SORTED_KEY] = 5800;
        struct gnn_world *const world = sim_world_of(&profile, 0);
        run_one(world, &g, words[i], true, &out);
        gnn_world_simulated_counts(world, &counts);
        busy_ns[i] = counts.cpu_busy_ns;
        samples = out.sample.sampled_edges;
        gnn_world_simulated_close(world);
    }
    assert_true(busy_ns[1] > busy_ns[0] + samples * 5);
    assert_true(busy_ns[1] < busy_ns[0] + samples * 40);
    train_graph_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_worlds_draw_the_same_blocks),
        cmocka_unit_test(test_device_bytes_are_the_pages_or_sectors),
        cmocka_unit_test(test_polling_costs_cores_and_saves_wakes),
        cmocka_unit_test(test_the_sort_costs_its_passes),
    };
    end_a_hang();
    return cmocka_run_group_tests_name("sim_ringsampler", tests, NULL, NULL);
}
