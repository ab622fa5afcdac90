/* SPDX-License-Identifier: MIT */
/* The bound against every schedule that there is on small sequences, against a plain recount of the mini-batches, and a
 * device's costs by hand. */
#include "harness/stats/bound.h"

#include "harness/base/rng.h"
#include "harness/stats/curves.h"
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

/* ---- any schedule ---- */

enum { ROWS = 6, SETS = 1 << ROWS, BATCHES = 5, FAR = 1000 };

static unsigned size_of(unsigned set)
{
    return (unsigned)__builtin_popcount(set);
}

/* The fewest loads of any system whose memory holds `slots` rows, all of a mini-batch's among them while it trains:
 * every choice of what stays from one to the next, and of what is loaded early. */
static unsigned fewest_loads(const unsigned *batches, unsigned slots)
{
    unsigned cost[SETS], next[SETS]; /* by what memory holds */
    for (unsigned held = 0; held < SETS; held++)
        cost[held] = held == 0 ? 0 : FAR;
    for (int k = 0; k < BATCHES; k++) {
        for (unsigned now = 0; now < SETS; now++) {
            next[now] = FAR;
            for (unsigned held = 0; held < SETS && (now & batches[k]) == batches[k] && size_of(now) <= slots; held++) {
                const unsigned loads = cost[held] + size_of(now & ~held);
                next[now] = loads < next[now] ? loads : next[now];
            }
        }
        memcpy(cost, next, sizeof cost);
    }
    unsigned least = FAR;
    for (unsigned held = 0; held < SETS; held++)
        least = cost[held] < least ? cost[held] : least;
    return least;
}

/* Writes the rows of a set in a random order; returns their number. */
static uint64_t shuffle_rows(struct gnn_rng *rng, unsigned set, gnn_node *rows)
{
    uint64_t count = 0;
    for (uint32_t row = 0; row < ROWS; row++) {
        if ((set >> row & 1) == 0)
            continue;
        const uint64_t at = gnn_rng_below(rng, count + 1);
        rows[count++] = rows[at];
        rows[at] = row;
    }
    return count;
}

/* In whatever order the rows of a mini-batch are used. */
static void no_schedule_loads_less(void **state)
{
    struct gnn_world *const world = *state;
    struct gnn_err err = {0};
    struct gnn_rng rng = gnn_rng_at(test_seed());
    unsigned met = 0, tried = 0;
    for (int trial = 0; trial < 400; trial++) {
        unsigned batches[BATCHES], largest = 0;
        gnn_node rows[BATCHES * ROWS];
        uint64_t count = 0, ends[BATCHES];
        for (int k = 0; k < BATCHES; k++) {
            batches[k] = 1 + (unsigned)gnn_rng_below(&rng, SETS - 1);
            batches[k] &= trial % 2 == 0 ? SETS - 1 : 11; /* large ones, small ones */
            count += shuffle_rows(&rng, batches[k], rows + count);
            ends[k] = count;
            largest = size_of(batches[k]) > largest ? size_of(batches[k]) : largest;
        }
        uint64_t before = UINT64_MAX;
        for (uint64_t slots = largest; slots <= ROWS; slots++, tried++) {
            const struct gnn_accesses accesses = {.rows = rows, .count = count, .node_count = ROWS};
            uint64_t misses[BATCHES], sum = 0;
            must(gnn_belady_misses(world, &accesses, &slots, 1, ends, BATCHES, misses, &err), &err);
            for (int k = 0; k < BATCHES; k++)
                sum += misses[k];
            const unsigned least = fewest_loads(batches, (unsigned)slots);
            assert_true(sum <= least);
            assert_true(sum <= before);
            before = sum;
            met += sum == least;
        }
        assert_int_equal(before, size_of(batches[0] | batches[1] | batches[2] | batches[3] | batches[4])); /* all fit */
    }
    assert_true(met > tried / 2); /* and it is no empty promise */
}

/* Three rows of memory and a mini-batch of four. A system that passes rows through one more buffer loads 5, 0, 2, 3,
 * then 4 and 1 while 0 is there, and keeps 5, 3 and 4 for the rest: six loads, and the count is seven. */
static void below_the_largest_mini_batch_it_is_no_bound(void **state)
{
    static const gnn_node rows[] = {5, 0, 2, 3, 4, 1, 0, 5, 3, 5, 4};
    const struct gnn_accesses accesses = {.rows = rows, .count = 11, .node_count = ROWS};
    const uint64_t slots[] = {3, 4}, end = 11;
    uint64_t misses[2];
    struct gnn_err err = {0};
    must(gnn_belady_misses(*state, &accesses, slots, 2, &end, 1, misses, &err), &err);
    assert_int_equal(misses[0], 7);
    assert_int_equal(misses[1], 6);
}

/* ---- the mini-batches ---- */

enum { EPOCHS = 3, DIM = 8, ACCESSES = 20000 };

static void open_small(struct gnn_world *world, struct gnn_lists **lists)
{
    const struct gnn_registry_entry *entry;
    struct gnn_generate_options options;
    struct gnn_err err = {0};
    must(gnn_registry_find("papers100m", &entry, &err), &err);
    gnn_option_defaults(gnn_generate_table, &options);
    options.dim = DIM;
    must(gnn_lists_open_computed(world, entry, &options, 50000, lists, &err), &err);
}

static const struct gnn_row_trace_config usual = {
    .seed = 3, .batch_size = 5, .fanout = {2, {4, 3}}, .epochs = EPOCHS, .accesses_max = ACCESSES};

/* The rows of the epochs, drawn by the sampler as a run draws them. */
static uint64_t draw_plainly(struct gnn_world *world, struct gnn_lists *lists, gnn_node *rows, uint64_t ends[EPOCHS],
                             uint64_t digests[EPOCHS], uint64_t *largest)
{
    const struct gnn_dataset *const d = gnn_lists_dataset(lists);
    const struct gnn_sampler_config config = {.seed = 3, .layers = 2, .fanout = {4, 3}};
    struct gnn_sampler *sampler;
    struct gnn_batch *batch;
    struct gnn_err err = {0};
    gnn_node order[64];
    uint64_t count = 0;
    *largest = 0;
    assert_in_range(d->train.count, 6, 64);
    must(gnn_sampler_open(world, &config, d, gnn_lists_source(lists), &sampler, &err), &err);
    must(gnn_batch_open(world, &batch, &err), &err);
    for (uint32_t e = 0; e < EPOCHS; e++) {
        gnn_epoch_order(3, e, d->train.nodes, d->train.count, order);
        digests[e] = 0;
        for (uint32_t k = 0; k * 5 < d->train.count; k++) {
            must(gnn_sampler_sample(sampler, e, k, order + k * 5, gnn_min_u32(5, d->train.count - k * 5), batch, &err),
                 &err);
            const struct gnn_batch_view *const view = gnn_batch_view(batch);
            memcpy(rows + count, view->nodes, view->node_count * sizeof *rows);
            count += view->node_count;
            *largest = gnn_max_u64(*largest, view->node_count);
            digests[e] += gnn_batch_digest(view, NULL);
        }
        ends[e] = count;
    }
    gnn_batch_close(world, batch);
    gnn_sampler_close(sampler);
    return count;
}

/* Compares the minimum with Belady's cache of as many rows, from the largest mini-batch on. */
static void compare_least(struct gnn_world *world, const struct gnn_row_trace *trace,
                          const struct gnn_accesses *accesses, const uint64_t *ends)
{
    struct gnn_err err = {0};
    uint64_t least[3 * EPOCHS], misses[3 * EPOCHS];
    uint32_t epochs;
    const struct gnn_row_trace_epoch *const of = gnn_row_trace_epochs(trace, &epochs);
    const uint64_t batch = gnn_row_trace_largest_batch(trace);
    /* bytes of memory are whole rows; a mini-batch, some more, all */
    const uint64_t memory[] = {batch * 32, (batch + 9) * 32 + 31, UINT64_MAX};
    const uint64_t slots[] = {batch, batch + 9, UINT64_MAX / 32};
    must(gnn_row_trace_least(trace, memory, 3, least, &err), &err);
    must(gnn_belady_misses(world, accesses, slots, 3, ends, EPOCHS, misses, &err), &err);
    assert_memory_equal(least, misses, sizeof least);
    for (uint32_t e = 0; e < EPOCHS; e++)
        assert_int_equal(least[2 * EPOCHS + e], of[e].rows_new);
}

/* A byte less than the largest mini-batch, among sizes that would do. */
static void too_little_memory_is_refused(const struct gnn_row_trace *trace)
{
    struct gnn_err err = {0};
    char remedy[64];
    uint64_t least[2 * EPOCHS];
    const uint64_t memory[] = {UINT64_MAX, gnn_row_trace_memory_min(trace) - 1};
    (void)snprintf(remedy, sizeof remedy, "Use at least %llu bytes", (unsigned long long)memory[1] + 1);
    assert_int_equal(gnn_row_trace_least(trace, memory, 2, least, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "in memory together"));
    assert_non_null(strstr(err.message, remedy));
}

static void the_mini_batches_are_a_run_s(void **state)
{
    struct gnn_world *const world = *state;
    struct gnn_err err = {0};
    struct gnn_lists *lists;
    struct gnn_row_trace *trace;
    gnn_node *const rows = calloc(ACCESSES, sizeof *rows);
    uint64_t ends[EPOCHS], digests[EPOCHS], largest;
    uint32_t epochs;
    open_small(world, &lists);
    must(gnn_row_trace_open(world, lists, &usual, &trace, &err), &err);
    const uint64_t count = draw_plainly(world, lists, rows, ends, digests, &largest);
    const uint32_t nodes = gnn_lists_dataset(lists)->node_count;
    const struct gnn_row_trace_epoch *const of = gnn_row_trace_epochs(trace, &epochs);
    char *const seen = calloc(nodes, 1);
    uint64_t distinct = 0;
    assert_int_equal(epochs, EPOCHS);
    for (uint32_t e = 0; e < EPOCHS; e++) {
        uint64_t fresh = 0;
        for (uint64_t i = e == 0 ? 0 : ends[e - 1]; i < ends[e]; i++) {
            fresh += seen[rows[i]] == 0;
            seen[rows[i]] = 1;
        }
        distinct += fresh;
        assert_int_equal(of[e].rows_asked, ends[e] - (e == 0 ? 0 : ends[e - 1]));
        assert_int_equal(of[e].rows_new, fresh);
        assert_int_equal(of[e].batch_digest, digests[e]);
    }
    assert_int_equal(gnn_row_trace_distinct(trace), distinct);
    assert_int_equal(gnn_row_trace_row_bytes(trace), DIM * 4);
    assert_int_equal(gnn_row_trace_largest_batch(trace), largest);
    assert_int_equal(gnn_row_trace_memory_min(trace), largest * DIM * 4);
    const struct gnn_accesses accesses = {.rows = rows, .count = count, .node_count = nodes};
    compare_least(world, trace, &accesses, ends);
    too_little_memory_is_refused(trace);
    free(seen);
    free(rows);
    gnn_row_trace_close(trace);
    gnn_lists_close(lists);
}

static void too_many_accesses_are_refused(void **state)
{
    struct gnn_world *const world = *state;
    struct gnn_lists *lists;
    struct gnn_row_trace *trace = NULL;
    struct gnn_row_trace_config config = usual;
    struct gnn_err err = {0};
    open_small(world, &lists);
    config.accesses_max = 20;
    assert_int_equal(gnn_row_trace_open(world, lists, &config, &trace, &err), GNN_ENOMEM);
    assert_non_null(strstr(err.message, "20 rows"));
    assert_non_null(strstr(err.message, "--accesses"));
    config.accesses_max = 20000;
    config.epochs = 0;
    err = (struct gnn_err){0};
    assert_int_equal(gnn_row_trace_open(world, lists, &config, &trace, &err), GNN_EUSAGE);
    config.epochs = 1;
    config.max_batches = 1; /* a part of the epoch fits where all of it does not */
    config.accesses_max = 5 * 5 * 4;
    err = (struct gnn_err){0};
    must(gnn_row_trace_open(world, lists, &config, &trace, &err), &err);
    uint32_t epochs;
    assert_int_equal(gnn_row_trace_epochs(trace, &epochs)->batches, 1);
    gnn_row_trace_close(trace);
    gnn_lists_close(lists);
}

/* ---- a device ---- */

/* 512 B: 20 us alone, 8 us at depth 4; 4 KiB: 24 and 6; 1 MiB: 2000 and 1000. Two members, 100 MB/s of writes each. */
static const struct gnn_profile_storage disks = {
    .devices = 2,
    .size_count = 3,
    .depth_count = 2,
    .size_bytes = {512, 4096, 1 << 20},
    .depth = {1, 4},
    .read_ps = {{20000000, 8000000}, {24000000, 6000000}, {2000000000, 1000000000}},
    .write_bytes_per_s = 100000000};

static void expect_near(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-9 * fabs(wanted)))
        fail_msg("%.12g, expected %.12g", value, wanted);
}

static void costs_by_hand(void **state)
{
    (void)state;
    struct gnn_row_costs costs;
    gnn_row_costs_of(&disks, 512, &costs);
    expect_near(costs.row_ns, 3000); /* a read of 4 KiB is the faster one and brings the row too */
    expect_near(costs.byte_ns, 1000000.0 / 1048576 / 2);
    expect_near(costs.write_byte_ns, 5);
    gnn_row_costs_of(&disks, 100, &costs); /* below the smallest read */
    expect_near(costs.row_ns, 3000);
    gnn_row_costs_of(&disks, 4096 + (1048576 - 4096) / 2, &costs); /* half-way between two sizes */
    expect_near(costs.row_ns, (6000 + (1000000 - 6000) / 2.0) / 2);
    gnn_row_costs_of(&disks, 3 << 20, &costs); /* beyond the largest: in proportion */
    expect_near(costs.row_ns, 1500000);
}

static void times_by_hand(void **state)
{
    (void)state;
    /* blocks of 8 rows of 1000 bytes: 80 us a row, 10 ns a byte read, 15 ns written */
    const struct gnn_row_costs costs = {.row_ns = 80000, .byte_ns = 10, .write_byte_ns = 15};
    struct gnn_row_times times;
    gnn_row_times_of(&costs, 1000, 2000, 500, 320, &times);
    expect_near(times.bytes_s, 0.02);
    expect_near(times.random_s, 0.16);
    assert_int_equal(times.passes, 1);         /* 40 buckets of 320 rows */
    expect_near(times.sorted_s, 0.005 + 0.05); /* swept once, written and read back once */
    gnn_row_times_of(&costs, 1000, 13000, 500, 320, &times);
    assert_int_equal(times.passes, 2);
    expect_near(times.sorted_s, 0.005 + 2 * 13 * 0.025);
    gnn_row_times_of(&costs, 1000, 100, 500, 320, &times); /* no more is swept than is loaded */
    expect_near(times.sorted_s, 0.001 + 0.0025);
    gnn_row_times_of(&costs, 1000, 100, 500, 15, &times); /* not two blocks fit: there is no sorting */
    assert_true(isinf(times.sorted_s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_schedule_loads_less),
        cmocka_unit_test(below_the_largest_mini_batch_it_is_no_bound),
        cmocka_unit_test(the_mini_batches_are_a_run_s),
        cmocka_unit_test(too_many_accesses_are_refused),
        cmocka_unit_test(costs_by_hand),
        cmocka_unit_test(times_by_hand),
    };
    return cmocka_run_group_tests_name("bound", tests, measured_world_open, measured_world_close);
}
