/* SPDX-License-Identifier: MIT */
/* What a batch's way to a GPU costs, in virtual time: copies ahead hide behind training, rows that arrive together move
 * in one launch, and the memory of both sides is in the plan. */
#include "tests/support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A bus as slow as the rest together, at one rate: what is gained is overlap alone. */
static void slow_bus(struct gnn_profile *profile)
{
    profile->bus.pinned_bytes_per_s = profile->bus.pageable_bytes_per_s = UINT64_C(30000000);
}

/* The second epoch's time, and of that the work of one stage's threads. */
static uint64_t epoch_ns(struct fixture *f, const char *system, const char *const *options, const char *stage,
                         uint64_t *work_ns)
{
    struct train_run run;
    train_run_init(&run, f->world, system);
    run.options = options;
    run.modelled = &f->profile;
    run.device = true;
    must_run(train_run_open(&run, &f->graph), &run);
    must_run(train_run_epoch(&run, 0), &run);
    const uint64_t start_ns = gnn_now_ns(f->world);
    must_run(train_run_epoch(&run, 1), &run); /* buffers have grown */
    const uint64_t end_ns = gnn_now_ns(f->world);
    struct gnn_device_times times;
    run.env.tensor->ops->take_times(run.env.tensor, &times);
    assert_true(times.kernel_ns > 0);
    assert_true(times.uploaded_bytes >= run.result.seeds * 4);
    *work_ns = 0;
    for (uint32_t i = 0; i < run.result.stage_count; i++)
        if (strcmp(run.result.stages[i].stage, stage) == 0)
            *work_ns = run.result.stages[i].work_ns;
    assert_true(*work_ns > 0);
    train_run_close(&run);
    return end_ns - start_ns;
}

static const struct train_graph_config graph = {
    .nodes = 3000, .mean_degree = 6, .dim = 32, .classes = 5, .train = 400, .seed = 3};

static void test_copies_ahead_hide_behind_training(void **state)
{
    (void)state;
    const struct {
        const char *system;
        const char *const *blocking, *const *ahead;
    } cases[] = {
        {"pygplus", OPTIONS("transfer=blocking"), OPTIONS("transfer=ahead")},
        {"ginex", OPTIONS("transfer=blocking", "io=buffered"), OPTIONS("transfer=ahead", "io=buffered")},
        {"agnes", OPTIONS("transfer=blocking", "io=buffered"), OPTIONS("transfer=ahead", "io=buffered")},
        {"diskgnn", OPTIONS("assembly=kernel", "transfer=blocking", "io=buffered"),
         OPTIONS("assembly=stream", "transfer=ahead", "io=buffered")},
        {"presort", OPTIONS("transfer=blocking", "io=buffered"), OPTIONS("transfer=ahead", "io=buffered")},
        {"mariusgnn", OPTIONS("transfer=blocking", "partitions=20", "capacity=9"),
         OPTIONS("transfer=ahead", "partitions=20", "capacity=9")},
        {"ringsampler", OPTIONS("transfer=blocking", "io=mapped", "feature_io=buffered"),
         OPTIONS("transfer=ahead", "io=mapped", "feature_io=buffered")},
    };
    struct fixture f;
    fixture_open(&f, .graph = &graph, .simulated = true);
    slow_bus(&f.profile);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        uint64_t work_ns;
        const uint64_t blocking_ns = epoch_ns(&f, cases[c].system, cases[c].blocking, "train", &work_ns);
        const uint64_t ahead_ns = epoch_ns(&f, cases[c].system, cases[c].ahead, "train", &work_ns);
        print_message("%s: %.3f ms blocking, %.3f ms ahead\n", cases[c].system, (double)blocking_ns / 1e6,
                      (double)ahead_ns / 1e6);
        assert_true(ahead_ns < blocking_ns * 95 / 100);
    }
    fixture_close(&f);
}

static void test_rows_that_arrive_together_move_together(void **state)
{
    (void)state;
    struct fixture f;
    struct train_graph_config wide = graph;
    wide.dim = 128; /* a row a sector, more rows than slots */
    fixture_open(&f, .graph = &wide, .simulated = true);
    f.profile.gpu.launch_ns = 50000; /* of a copy or a kernel alike */
    uint64_t copies_ns, gather_ns;
    (void)epoch_ns(&f, "gnndrive", OPTIONS("transfer=copies", "batch_nodes=400"), "extract", &copies_ns);
    (void)epoch_ns(&f, "gnndrive", OPTIONS("transfer=gather", "batch_nodes=400"), "extract", &gather_ns);
    print_message("extractors' work: %.3f ms by copies, %.3f ms by gathers\n", (double)copies_ns / 1e6,
                  (double)gather_ns / 1e6);
    assert_true(gather_ns < copies_ns / 2);
    fixture_close(&f);
}

/* A GPU that is too small is told before anything is read, with the largest part and the option that helps. */
static void test_a_gpu_that_is_too_small_is_told(void **state)
{
    (void)state;
    const char *const systems[] = {"pygplus", "gnndrive",  "ginex",   "agnes",    "ringsampler",
                                   "diskgnn", "mariusgnn", "presort", "graphbolt"};
    struct fixture f;
    fixture_open(&f, .graph = &graph, .simulated = true);
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        struct train_run run;
        struct gnn_memory_plan plan;
        struct gnn_tensor device = {.memory_bytes = 4096};
        train_run_init(&run, f.world, systems[i]);
        run.options = i == 1 ? OPTIONS("batch_nodes=1000") : NULL;
        run.plan_on = &device;
        assert_int_equal(train_run_plan(&run, &f.graph, &plan), GNN_EGPU);
        assert_non_null(strstr(run.err.message, "the GPU has 4.00 KiB"));
        assert_non_null(strstr(run.err.message, i == 1 ? "gnndrive.buffer_mult" : "--batch"));
        train_run_close(&run);
        device.memory_bytes = 0; /* a device that does not say */
        train_run_init(&run, f.world, systems[i]);
        run.options = i == 1 ? OPTIONS("batch_nodes=1000") : NULL;
        run.plan_on = &device;
        assert_int_equal(train_run_plan(&run, &f.graph, &plan), GNN_OK);
        assert_true(gnn_plan_device_bytes(&plan) > 4096);
        train_run_close(&run);
    }
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_ahead_hide_behind_training),
        cmocka_unit_test(test_rows_that_arrive_together_move_together),
        cmocka_unit_test(test_a_gpu_that_is_too_small_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
