/* SPDX-License-Identifier: MIT */
/* The stages systems share: which seeds belong to which batch, what a mini-batch is expected to weigh, memory
 * for rows that grows, and a label that is missing. */
#include "harness/system/epoch.h"
#include "harness/system/sampling.h"
#include "harness/system/training.h"
#include "tests/support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct train_graph_config usual = {
    .nodes = 1000, .mean_degree = 8, .dim = 4, .classes = 3, .train = 203, .seed = 21};

static void open_batches(struct fixture *f, uint32_t batch_size, uint32_t max_batches)
{
    fixture_open(f, .graph = &usual);
    f->workload = (struct gnn_workload){
        .seed = 3, .batch_size = batch_size, .layers = 2, .fanout = {5, 4}, .max_batches = max_batches};
}

/* Batches cover the training nodes once, none is larger than asked or empty, and each worker's range holds
 * its own. */
static void test_batches_partition_the_training_nodes(void **state)
{
    (void)state;
    static const struct {
        uint32_t workers, batch_size, max_batches;
        bool segments;
        uint32_t batches, seeds;
    } cases[] = {
        {1, 20, 0, false, 11, 203}, {3, 20, 0, false, 11, 203}, {3, 203, 0, false, 1, 203},
        {3, 500, 0, false, 1, 203}, {3, 20, 4, false, 4, 80},   {4, 20, 0, true, 12, 203},
        {3, 20, 0, true, 12, 203},  {3, 20, 5, true, 5, 87}, /* 67 in four batches, then 20 */
        {7, 1, 0, true, 203, 203},  {5, 203, 0, true, 5, 203},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct fixture f;
        struct gnn_sampling *s;
        open_batches(&f, cases[c].batch_size, cases[c].max_batches);
        const struct gnn_sampling_config config = {.workers = cases[c].workers, .segments = cases[c].segments};
        assert_int_equal(gnn_sampling_open(&f.env, &config, &s, &f.err), GNN_OK);
        assert_int_equal(gnn_sampling_batches(s), cases[c].batches);
        uint32_t next = 0, seen[1000] = {0}, seeds = 0;
        gnn_sampling_begin(s, 0);
        for (uint32_t w = 0; w < cases[c].workers; w++) {
            uint32_t first, end;
            gnn_sampling_range(s, w, &first, &end);
            assert_int_equal(first, cases[c].segments ? next : 0);
            next = end;
        }
        assert_int_equal(next, cases[c].batches);
        for (uint32_t k = 0; k < cases[c].batches; k++) {
            uint32_t count;
            const gnn_node *nodes = gnn_sampling_seeds(s, k, &count);
            assert_in_range(count, 1, cases[c].batch_size);
            for (uint32_t i = 0; i < count; i++)
                seen[nodes[i]]++;
            seeds += count;
        }
        assert_int_equal(seeds, cases[c].seeds);
        for (uint32_t i = 0; i < 203 && cases[c].max_batches == 0; i++)
            assert_int_equal(seen[f.graph.dataset.train.nodes[i]], 1);
        gnn_sampling_close(s);
        fixture_close(&f);
    }
}

static void test_expected_sizes_are_near_what_is_sampled(void **state)
{
    (void)state;
    for (uint32_t batch_size = 5; batch_size <= 160; batch_size *= 2) {
        struct fixture f;
        struct gnn_sampling *s;
        struct gnn_batch *batch;
        struct gnn_batch_size expected;
        struct gnn_sample_counters n;
        open_batches(&f, batch_size, 1);
        const struct gnn_sampling_config config = {.workers = 1};
        assert_int_equal(gnn_sampling_open(&f.env, &config, &s, &f.err), GNN_OK);
        assert_int_equal(gnn_batch_open(f.world, &batch, &f.err), GNN_OK);
        for (uint64_t epoch = 0; epoch < 10; epoch++) {
            gnn_sampling_begin(s, epoch);
            assert_int_equal(gnn_sampling_draw(s, 0, 0, batch, &f.err), GNN_OK);
        }
        gnn_sampling_counters(s, &n); /* of the last epoch alone */
        gnn_batch_expect(&f.graph.dataset, &f.workload, &expected);
        assert_int_equal(n.batches, 1);
        assert_int_equal(expected.nodes[0], batch_size);
        assert_in_range(n.sampled_nodes * 100 / expected.nodes[2], 40, 160);
        assert_in_range(n.sampled_edges * 100 / expected.edges, 40, 160);
        assert_true(expected.nodes[2] <= gnn_sample_node_bound(1000, batch_size, f.workload.fanout, 2, NULL));
        /* IDs, two row_start arrays and the edges, four bytes each */
        assert_int_equal(gnn_batch_bytes(&expected, 2),
                         4 * (expected.nodes[2] + expected.nodes[0] + 1 + expected.nodes[1] + 1 + expected.edges));
        gnn_batch_close(f.world, batch);
        gnn_sampling_close(s);
        fixture_close(&f);
    }
}

/* No mini-batch of forty epochs passes what plans count for the largest, and what one reserves is its bound. */
static void test_no_mini_batch_passes_the_largest(void **state)
{
    (void)state;
    for (uint32_t batch_size = 1; batch_size <= 64; batch_size *= 4) {
        struct fixture f;
        struct gnn_sampling *s;
        struct gnn_batch *batch;
        struct gnn_batch_size expected, largest;
        struct gnn_mem_usage before, after;
        uint32_t nodes = 0;
        uint64_t edges = 0;
        open_batches(&f, batch_size, 0);
        const struct gnn_sampling_config config = {.workers = 1};
        assert_int_equal(gnn_sampling_open(&f.env, &config, &s, &f.err), GNN_OK);
        gnn_mem_usage(f.world, &before);
        assert_int_equal(gnn_batch_open(f.world, &batch, &f.err), GNN_OK);
        for (uint64_t epoch = 0; epoch < 40; epoch++) {
            gnn_sampling_begin(s, epoch);
            for (uint32_t k = 0; k < gnn_sampling_batches(s) && k < 50; k++) {
                assert_int_equal(gnn_sampling_draw(s, 0, k, batch, &f.err), GNN_OK);
                const struct gnn_batch_view *const view = gnn_batch_view(batch);
                nodes = gnn_max_u32(nodes, view->node_count);
                edges = gnn_max_u64(edges, view->blocks[0].edge_count + view->blocks[1].edge_count);
            }
        }
        gnn_batch_expect(&f.graph.dataset, &f.workload, &expected);
        gnn_batch_largest(&f.graph.dataset, &f.workload, &largest);
        assert_in_range(nodes, 1, largest.nodes[2]);
        assert_in_range(edges, 1, largest.edges);
        assert_true(largest.nodes[2] >= expected.nodes[2]);
        assert_true(largest.nodes[2] <= 2 * nodes + 16); /* and is of use */
        gnn_mem_usage(f.world, &after);
        assert_int_equal(after.current_bytes - before.current_bytes,
                         gnn_batch_reserved_bytes(&f.graph.dataset, &f.workload) + gnn_sampling_bytes(&f.env, 1) -
                             gnn_sampling_bytes(&f.env, 0));
        gnn_batch_close(f.world, batch);
        gnn_sampling_close(s);
        fixture_close(&f);
    }
}

static void test_rows_grow_and_never_shrink(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_rows rows;
    struct gnn_mem_usage usage;
    open_batches(&f, 5, 0);
    gnn_rows_init(&rows, &f.env, "rows", GNN_ROWS_HOST);
    assert_int_equal(gnn_rows_reserve(&rows, 800, &f.err), GNN_OK);
    assert_int_equal(rows.capacity, 900);
    const gnn_real *first = rows.data;
    assert_int_equal(gnn_rows_reserve(&rows, 900, &f.err), GNN_OK);
    assert_ptr_equal(rows.data, first);
    assert_int_equal(gnn_rows_reserve(&rows, 8000, &f.err), GNN_OK);
    gnn_mem_usage(f.world, &usage);
    assert_in_range(usage.current_bytes, 9000 * 16, 9000 * 16 + 4096);
    assert_int_equal(gnn_rows_reserve(&rows, UINT64_MAX / 4, &f.err), GNN_ENOMEM);
    assert_null(rows.data);
    gnn_rows_close(&rows);
    gnn_rows_close(&rows);
    fixture_close(&f);
}

static void test_stop_flag_and_empty_training_set(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_sampling *s = NULL;
    open_batches(&f, 5, 0);
    atomic_bool stop = false;
    assert_int_equal(gnn_check_stop(&f.env, &f.err), GNN_OK);
    f.env.stop = &stop;
    assert_int_equal(gnn_check_stop(&f.env, &f.err), GNN_OK);
    atomic_store(&stop, true);
    assert_int_equal(gnn_check_stop(&f.env, &f.err), GNN_ECANCELLED);
    const struct gnn_sampling_config config = {.workers = 1};
    f.graph.dataset.train.count = 0;
    f.err = (struct gnn_err){0};
    assert_int_equal(gnn_sampling_open(&f.env, &config, &s, &f.err), GNN_EUSAGE);
    assert_non_null(strstr(f.err.message, "no training nodes"));
    fixture_close(&f);
}

/* A segment has a training node at least. */
static void test_more_segments_than_training_nodes(void **state)
{
    (void)state;
    struct fixture f;
    open_batches(&f, 5, 0);
    const uint32_t train = f.graph.dataset.train.count;
    for (uint32_t more = 0; more < 2; more++) {
        struct gnn_sampling *s = NULL;
        const struct gnn_sampling_config config = {.workers = 1};
        f.err = (struct gnn_err){0};
        f.workload.segments = train + more;
        assert_int_equal(gnn_sampling_open(&f.env, &config, &s, &f.err), more == 0 ? GNN_OK : GNN_EUSAGE);
        gnn_sampling_close(s);
    }
    assert_non_null(strstr(f.err.message, "fewer than --segments"));
    fixture_close(&f);
}

static void test_an_unlabelled_seed_is_named(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_training training;
    open_batches(&f, 5, 0);
    gnn_training_open(&f.env, &training);
    ((int32_t *)(uintptr_t)f.graph.dataset.labels)[17] = -1;
    const gnn_node nodes[] = {17};
    const struct gnn_batch_view view = {.layer_count = 2, .seed_count = 1, .node_count = 1, .nodes = nodes};
    struct gnn_train_input input;
    assert_int_equal(gnn_train_input_open(&f.env, "input", GNN_TRANSFER_BLOCKING, &input, &f.err), GNN_OK);
    assert_int_equal(gnn_training_step(&training, &view, &input, &f.err), GNN_EFORMAT);
    assert_non_null(strstr(f.err.message, "node 17"));
    gnn_train_input_close(&input);
    fixture_close(&f);
}

/* ---- an epoch of several pipelines ---- */

struct phase {
    struct gnn_world *world;
    uint64_t cpu_ns, io_ns, lock_ns;
    uint32_t items;
};

static enum gnn_status work_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    const struct phase *const phase = ctx;
    (void)err;
    gnn_charge(phase->world, GNN_WORK_CPU_NS, phase->cpu_ns);
    gnn_sleep_until(phase->world, gnn_now_ns(phase->world) + phase->io_ns, GNN_WAIT_IO);
    gnn_sleep_until(phase->world, gnn_now_ns(phase->world) + phase->lock_ns, GNN_WAIT_LOCK);
    worker->items += phase->items;
    return GNN_OK;
}

static enum gnn_status add_work(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    return gnn_pipeline_stage(pipeline, "work", 1, work_stage, ctx, err);
}

/* A stage that runs in two pipelines of an epoch has the sum of both in every time, as if each ran alone. The machine
 * is the one of round numbers, so what is charged is the CPU time to the nanosecond. */
static void test_times_of_an_epochs_pipelines_add_up(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .simulated = true);
    struct phase phases[] = {{f.world, 3000000, 500000, 40000, 7}, {f.world, 1000000, 200000, 90000, 4}};
    struct gnn_epoch_result alone[2] = {{.seeds = 0}}, both = {.seeds = 0};
    for (int p = 0; p < 2; p++) {
        must(gnn_epoch_run(&f.env, add_work, &phases[p], &alone[p], &f.err), &f.err);
        must(gnn_epoch_run(&f.env, add_work, &phases[p], &both, &f.err), &f.err);
        assert_int_equal(alone[p].stage_count, 1);
        assert_in_range(alone[p].stages[0].cpu_ns, phases[p].cpu_ns, phases[p].cpu_ns + 50000);
        assert_true(alone[p].stages[0].wait_ns[GNN_WAIT_IO] >= phases[p].io_ns);
        assert_true(alone[p].stages[0].wait_ns[GNN_WAIT_LOCK] >= phases[p].lock_ns);
    }
    const struct gnn_stage_time *const a = &alone[0].stages[0], *const b = &alone[1].stages[0],
                                       *const sum = &both.stages[0];
    assert_int_equal(both.stage_count, 1);
    assert_int_equal(sum->workers, 1);
    assert_int_equal(sum->items, 11);
    assert_int_equal(sum->cpu_ns, a->cpu_ns + b->cpu_ns);
    assert_int_equal(sum->wall_ns, a->wall_ns + b->wall_ns);
    assert_int_equal(sum->work_ns, a->work_ns + b->work_ns);
    assert_int_equal(sum->queued_ns, a->queued_ns + b->queued_ns);
    for (int kind = 0; kind < GNN_WAIT_KINDS; kind++)
        assert_int_equal(sum->wait_ns[kind], a->wait_ns[kind] + b->wait_ns[kind]);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_partition_the_training_nodes),
        cmocka_unit_test(test_expected_sizes_are_near_what_is_sampled),
        cmocka_unit_test(test_no_mini_batch_passes_the_largest),
        cmocka_unit_test(test_rows_grow_and_never_shrink),
        cmocka_unit_test(test_stop_flag_and_empty_training_set),
        cmocka_unit_test(test_more_segments_than_training_nodes),
        cmocka_unit_test(test_an_unlabelled_seed_is_named),
        cmocka_unit_test(test_times_of_an_epochs_pipelines_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
