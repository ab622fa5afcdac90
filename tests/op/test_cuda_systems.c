/* SPDX-License-Identifier: MIT */
/* Every system on the CUDA back-end, which the test suite's launcher runs in host memory: extraction into its memory,
 * inputs staged ahead or copied by the trainer, steps as graphs. The losses are those of the CPU back-end. */
#include "harness/tensor/cuda/backend.h"
#include "tests/support/fixture.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { BATCHES = 4 };

extern uint32_t cuda_host_refuse_pin, cuda_host_read_ranges; /* of the launcher */
extern uint64_t cuda_host_order;

static void train(struct fixture *f, struct train_run *run, enum gnn_model_kind kind, double *losses)
{
    run->model_config.kind = kind;
    run->workload.max_batches = BATCHES;
    struct gnn_device_times times;
    must_run(train_run_open(run, &f->graph), run);
    run->env.tensor->ops->take_times(run->env.tensor, &times); /* what opening copied is not the epoch's */
    must_run(train_run_epoch(run, 0), run);
    assert_int_equal(run->step_count, BATCHES);
    for (uint32_t k = 0; k < BATCHES; k++)
        losses[k] = run->loss[k];
}

static const struct variant {
    const char *system;
    const char *const *options;
} variants[] = {
    {"pygplus", OPTIONS("workers=2", "gather_threads=3")},
    {"pygplus", OPTIONS("workers=2", "gather_threads=3", "transfer=ahead")},
    {"gnndrive", OPTIONS("io=buffered", "samplers=2", "extractors=2", "in_order=true")},
    {"gnndrive", OPTIONS("io=buffered", "extractors=2", "in_order=true", "staging=7", "transfer=gather")},
    {"ginex", OPTIONS("io=buffered", "superbatch=3", "feature_cache=20K", "transfer=ahead")},
    {"ringsampler", OPTIONS("threads=2", "feature_io=buffered")},
    {"agnes", OPTIONS("io=buffered", "block=4K", "hyperbatch=3", "feature_cache=4K")},
    {"diskgnn", OPTIONS("io=buffered", "segment=3", "disk_rows=30")},
    {"diskgnn", OPTIONS("io=buffered", "segment=3", "disk_rows=30", "assembly=kernel")},
    {"diskgnn", OPTIONS("io=buffered", "segment=3", "disk_rows=30", "assembly=scatter", "transfer=blocking")},
    {"presort", OPTIONS("io=buffered", "row_memory=20K", "hyperbatch=3")},
    {"graphbolt", OPTIONS("io=buffered", "cache=10K", "rings=2")},
    {"graphbolt", OPTIONS("io=buffered", "cache=10K", "rings=2", "gpu_cache=4K")},
    {"mariusgnn", OPTIONS("io=buffered", "partitions=20", "capacity=9", "loaders=2")},
    {"mariusgnn", OPTIONS("io=buffered", "partitions=20", "capacity=9", "transfer=blocking")},
    {"mariusgnn", OPTIONS("io=buffered", "partitions=20", "capacity=8", "policy=replace")},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* Rows that cross the bus in a kernel are not timed by their bytes on the launcher. */
static bool by_kernel(const struct variant *v)
{
    bool gather = strcmp(v->system, "diskgnn") == 0 || strcmp(v->system, "graphbolt") == 0;
    for (const char *const *o = v->options; *o != NULL; o++)
        gather = gather || strcmp(*o, "transfer=gather") == 0;
    return gather;
}

static const struct train_graph_config graph = {
    .nodes = 400, .mean_degree = 5, .dim = 16, .classes = 5, .train = 80, .seed = 3};

static bool has_own_samples(const char *name)
{
    const struct gnn_system *const *s = gnn_systems;
    while (strcmp((*s)->name, name) != 0)
        s++;
    return ((*s)->variants & GNN_VARIANT_OWN_SAMPLES) != 0;
}

/* A system of its own samples is compared with itself on the CPU, all others with the exact losses. */
static const double *on_the_cpu(struct fixture *f, const char *system, const char *const *options,
                                enum gnn_model_kind kind, const double *exact, double *own)
{
    struct train_run run;
    if (!has_own_samples(system))
        return exact;
    train_run_init(&run, f->world, system);
    run.options = options;
    run.cpu = true;
    train(f, &run, kind, own);
    train_run_close(&run);
    return own;
}

/* The profiler's time line shows when a system reads, copies and trains; the device times what crosses the bus. */
static void compare_with_the_cpu(enum gnn_feature_type type, enum gnn_model_kind kinds)
{
    struct train_graph_config config = graph;
    struct fixture f;
    config.feature_type = type;
    fixture_open(&f, .graph = &config);
    for (enum gnn_model_kind kind = GNN_MODEL_SAGE; kind < kinds; kind++) {
        double exact[BATCHES], own[BATCHES], here[BATCHES];
        struct train_run run;
        train_run_init(&run, f.world, "pygplus");
        run.cpu = true;
        train(&f, &run, kind, exact);
        train_run_close(&run);
        for (size_t c = 0; c < VARIANTS; c++) {
            const double *const cpu = on_the_cpu(&f, variants[c].system, variants[c].options, kind, exact, own);
            train_run_init(&run, f.world, variants[c].system);
            run.options = variants[c].options;
            run.backend = &gnn_tensor_cuda;
            cuda_host_read_ranges = 0;
            train(&f, &run, kind, here);
            assert_true(cuda_host_read_ranges >= 1);
            struct gnn_device_times times;
            run.env.tensor->ops->take_times(run.env.tensor, &times);
            assert_true(times.launches > 0);
            assert_true(times.uploaded_bytes > 0);
            assert_true(times.copy_ns > 0);
            if (!by_kernel(&variants[c]) && times.copy_ns < times.uploaded_bytes) /* a nanosecond a byte */
                fail_msg("variant %zu: %" PRIu64 " of %" PRIu64 " bytes were timed", c, times.copy_ns,
                         times.uploaded_bytes);
            train_run_close(&run); /* the launcher fails the test when anything of the device is left */
            for (uint32_t k = 0; k < BATCHES; k++)
                if (!(fabs(here[k] - cpu[k]) <= 1e-4 * fabs(cpu[k])))
                    fail_msg("variant %zu, %s, batch %u: %.9g, on the CPU %.9g", c, gnn_model_names[kind], k, here[k],
                             cpu[k]);
        }
    }
    fixture_close(&f);
}

static void test_losses_of_every_system_are_the_cpus(void **state)
{
    (void)state;
    compare_with_the_cpu(GNN_F32, GNN_MODEL_KINDS);
}

/* All late, one kind of stream ahead of the other, all early, and by seeds: a missing wait shows in one of them. */
static void test_no_order_of_the_streams_changes_losses(void **state)
{
    enum { ORDERS = 6 };
    (void)state;
    const uint64_t order = cuda_host_order;
    for (cuda_host_order = 0; cuda_host_order < ORDERS; cuda_host_order++)
        compare_with_the_cpu(GNN_F32, GNN_MODEL_SAGE + 1);
    cuda_host_order = order;
}

static void test_losses_on_float16_are_the_cpus(void **state)
{
    (void)state;
    compare_with_the_cpu(GNN_F16, GNN_MODEL_SAGE + 1);
}

/* Trains an epoch's first mini-batches while the nth pin is refused. Returns whether there was an nth; the run then
 * ended with what was refused, and closing it leaves nothing. */
static bool refuse_pin(struct fixture *f, const struct variant *variant, uint32_t nth)
{
    struct train_run run;
    train_run_init(&run, f->world, variant->system);
    run.options = variant->options;
    run.backend = &gnn_tensor_cuda;
    run.workload.max_batches = BATCHES;
    cuda_host_refuse_pin = nth;
    enum gnn_status status = train_run_open(&run, &f->graph);
    GNN_NEXT(status, train_run_epoch(&run, 0));
    const bool refused = cuda_host_refuse_pin == 0;
    cuda_host_refuse_pin = 0;
    if (refused && (status != GNN_ENOMEM || strstr(run.err.message, "refuses to pin") == NULL))
        fail_msg("%s, pin %u: %s (%s)", variant->system, nth, gnn_status_name(status), run.err.message);
    if (!refused)
        must_run(status, &run);
    train_run_close(&run);
    return refused;
}

/* Also when work of the streams runs late: what was queued before the refusal must have run when its memory goes. */
static void test_a_refused_pin_ends_every_system(void **state)
{
    (void)state;
    const uint64_t order = cuda_host_order;
    struct fixture f;
    fixture_open(&f, .graph = &graph);
    for (size_t c = 0; c < VARIANTS; c++)
        for (cuda_host_order = 0; cuda_host_order <= 1; cuda_host_order++) {
            uint32_t pins = 0;
            while (refuse_pin(&f, &variants[c], pins + 1))
                assert_true(++pins < 200);
            assert_true(pins > 0);
        }
    cuda_host_order = order;
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses_of_every_system_are_the_cpus),
        cmocka_unit_test(test_no_order_of_the_streams_changes_losses),
        cmocka_unit_test(test_losses_on_float16_are_the_cpus),
        cmocka_unit_test(test_a_refused_pin_ends_every_system),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
