/* SPDX-License-Identifier: MIT */
/* RingSampler's own reads of the edge file, on storage that fails (docs/invariants.md, RingSampler: 12): a failed or
 * short read ends the run with its position in the message and nothing in flight, and the next epoch is right; what the
 * kernel asks to repeat is repeated; allocations that fail are undone. */
#include "tests/support/fixture.h"
#include "tests/support/hang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { TRAIN = 90 };

static const struct train_graph_config usual = {
    .nodes = 700, .mean_degree = 6, .dim = 8, .classes = 4, .train = TRAIN, .seed = 5};

enum { CASES = 7, FIRST_DIRECT = 3 };
static const char *const cases[CASES][8] = {
    {"io=buffered", "ring=16"},
    {"io=buffered", "ring=16", "order=drain-first", "threads=3", "polling=false"},
    {"io=buffered-random", "frontier=neighbours", "ring=8", "replace=true"},
    {"io=direct", "coalesce=none", "ring=16"},
    {"io=direct", "coalesce=adjacent", "ring=16"},
    {"io=sorted", "bundle=3", "ring=4", "gap=0", "extent=4K", "read_buffer=64K"},
    {"io=sorted", "cache=8K", "ring=8", "extent=4K", "read_buffer=64K"},
};

static bool left_out(const struct fixture *f, int c)
{
    return c >= FIRST_DIRECT && !f->direct;
}

static void init_run(struct train_run *run, const struct fixture *f, int c)
{
    train_run_init(run, f->world, "ringsampler");
    run->options = cases[c];
    run->workload.sample_only = true;
    run->workload.batch_size = 9;
}

/* What the same batches are without faults. */
static struct gnn_sample_counters right(int c, uint64_t epoch)
{
    struct fixture f;
    struct train_run run;
    fixture_open(&f, .graph = &usual, .faults = &(struct gnn_fault_plan){.seed = 1});
    init_run(&run, &f, c);
    assert_int_equal(train_run_open(&run, &f.graph), GNN_OK);
    assert_int_equal(train_run_epoch(&run, epoch), GNN_OK);
    const struct gnn_sample_counters counters = run.result.counters.sample;
    train_run_close(&run);
    fixture_close(&f);
    return counters;
}

static void expect_good_epoch(struct train_run *run, uint64_t epoch, const struct gnn_sample_counters *expected)
{
    must_run(train_run_epoch(run, epoch), run);
    assert_memory_equal(&run->result.counters.sample, expected, sizeof *expected);
}

static void check_position(const struct train_run *run)
{
    const char *const at = strstr(run->err.message, "(edge ");
    if (at == NULL || strstr(run->err.message, "indices") == NULL)
        fail_msg("no position in: %s", run->err.message);
    const unsigned long long edge = strtoull(at + strlen("(edge "), NULL, 10);
    assert_true(edge < run->env.dataset->edge_count);
}

static void test_a_failed_read_ends_the_run_with_its_position(void **state)
{
    (void)state;
    static const uint64_t at[] = {1, 2, 5, 17, 40, 160, 700};
    for (int c = 0; c < CASES; c++) {
        const struct gnn_sample_counters expected = right(c, 1);
        for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
            struct fixture f;
            fixture_open(&f, .graph = &usual, .faults = &(struct gnn_fault_plan){.seed = 1, .read_eio_at = at[i]});
            if (!left_out(&f, c)) {
                struct train_run run;
                struct gnn_fault_counts counts;
                init_run(&run, &f, c);
                assert_int_equal(train_run_open(&run, &f.graph), GNN_OK);
                const enum gnn_status status = train_run_epoch(&run, 0);
                gnn_world_faulty_counts(f.world, &counts);
                assert_int_equal(status, counts.eio > 0 ? GNN_EIO : GNN_OK);
                assert_true(counts.eio == 1 || counts.reads < at[i]);
                if (status != GNN_OK) {
                    check_position(&run);
                    expect_good_epoch(&run, 1, &expected);
                }
                train_run_close(&run);
            }
            fixture_close(&f);
        }
    }
}

static void test_a_short_read_ends_the_run_with_its_position(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            struct fixture f;
            fixture_open(&f, .graph = &usual,
                         .faults = &(struct gnn_fault_plan){.seed = seed, .read_short_probability = 0.3});
            if (!left_out(&f, c)) {
                struct train_run run;
                struct gnn_fault_counts counts;
                init_run(&run, &f, c);
                assert_int_equal(train_run_open(&run, &f.graph), GNN_OK);
                const enum gnn_status status = train_run_epoch(&run, 0);
                gnn_world_faulty_counts(f.world, &counts);
                /* A read of one sector cannot be cut: alignment units arrive whole. */
                assert_int_equal(status, counts.shortened > 0 ? GNN_ESHORT : GNN_OK);
                if (status != GNN_OK)
                    check_position(&run);
                assert_true(c >= FIRST_DIRECT || status == GNN_ESHORT);
                train_run_close(&run);
            }
            fixture_close(&f);
        }
}

static void test_many_failures_at_once(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            struct fixture f;
            fixture_open(&f, .graph = &usual,
                         .faults = &(struct gnn_fault_plan){.seed = seed,
                                                            .read_eio_probability = 0.4,
                                                            .read_slow_probability = 0.2,
                                                            .slow_ns = 200000,
                                                            .shuffle = true});
            if (!left_out(&f, c)) {
                struct train_run run;
                init_run(&run, &f, c);
                assert_int_equal(train_run_open(&run, &f.graph), GNN_OK);
                for (uint64_t epoch = 0; epoch < 3; epoch++)
                    assert_int_equal(train_run_epoch(&run, epoch), GNN_EIO);
                train_run_close(&run);
            }
            fixture_close(&f);
        }
}

/* Delays, EAGAIN and EINTR, completions out of order: the same blocks. */
static void test_slow_and_repeated_reads_change_nothing(void **state)
{
    (void)state;
    static const struct gnn_fault_plan plans[] = {
        {.seed = 3, .read_slow_probability = 0.05, .slow_ns = 200000, .shuffle = true},
        {.seed = 5, .read_again_probability = 0.4},
        {.seed = 6, .read_again_probability = 0.2, .read_slow_probability = 0.03, .slow_ns = 200000, .shuffle = true},
    };
    for (int c = 0; c < CASES; c++) {
        const struct gnn_sample_counters expected[2] = {right(c, 0), right(c, 1)};
        for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
            struct fixture f;
            fixture_open(&f, .graph = &usual, .faults = &plans[i]);
            if (!left_out(&f, c)) {
                struct train_run run;
                init_run(&run, &f, c);
                assert_int_equal(train_run_open(&run, &f.graph), GNN_OK);
                expect_good_epoch(&run, 0, &expected[0]);
                expect_good_epoch(&run, 1, &expected[1]);
                train_run_close(&run);
            }
            fixture_close(&f);
        }
    }
}

/* A device that never takes a read ends the run, with the position, rather than repeating for ever. */
static void test_endless_repeats_end_the_run(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        struct fixture f;
        fixture_open(&f, .graph = &usual, .faults = &(struct gnn_fault_plan){.seed = 7, .read_again_probability = 1});
        if (!left_out(&f, c)) {
            struct train_run run;
            init_run(&run, &f, c);
            assert_int_equal(train_run_open(&run, &f.graph), GNN_OK);
            assert_int_equal(train_run_epoch(&run, 0), GNN_EIO);
            check_position(&run);
            train_run_close(&run);
        }
        fixture_close(&f);
    }
}

/* Every allocation in turn fails. */
static void test_every_failed_allocation_is_reported_and_undone(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        bool refused = true;
        for (uint64_t at = 1; refused; at++) {
            struct fixture f;
            fixture_open(&f, .graph = &usual, .faults = &(struct gnn_fault_plan){.seed = 1, .alloc_fail_at = at});
            refused = false;
            if (!left_out(&f, c)) {
                struct train_run run;
                struct gnn_fault_counts counts;
                init_run(&run, &f, c);
                enum gnn_status status = train_run_open(&run, &f.graph);
                if (status == GNN_OK)
                    status = train_run_epoch(&run, 0);
                gnn_world_faulty_counts(f.world, &counts);
                refused = counts.allocs_refused > 0;
                assert_int_equal(status, refused ? GNN_ENOMEM : GNN_OK);
                assert_null(strstr(run.err.message, ": : ")); /* the memory has a name */
                train_run_close(&run);
            }
            fixture_close(&f);
        }
    }
}

static void test_a_cut_edge_file_is_refused(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        struct fixture f;
        fixture_open(&f, .graph = &usual, .faults = &(struct gnn_fault_plan){.seed = 1});
        if (!left_out(&f, c)) {
            struct train_run run;
            assert_int_equal(truncate(f.graph.dataset.indices_path, 4096), 0);
            init_run(&run, &f, c);
            assert_int_equal(train_run_open(&run, &f.graph), GNN_EFORMAT);
            assert_non_null(strstr(run.err.message, "indices"));
            train_run_close(&run);
        }
        fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_failed_read_ends_the_run_with_its_position),
        cmocka_unit_test(test_a_short_read_ends_the_run_with_its_position),
        cmocka_unit_test(test_many_failures_at_once),
        cmocka_unit_test(test_slow_and_repeated_reads_change_nothing),
        cmocka_unit_test(test_endless_repeats_end_the_run),
        cmocka_unit_test(test_every_failed_allocation_is_reported_and_undone),
        cmocka_unit_test(test_a_cut_edge_file_is_refused),
    };
    end_a_hang();
    return cmocka_run_group_tests_name("ringsampler_faults", tests, NULL, NULL);
}
