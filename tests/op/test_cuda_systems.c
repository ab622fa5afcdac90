/* Every system on the CUDA back-end, which the test suite's launcher runs in host memory: extraction into its memory,
 * inputs staged ahead or copied by the trainer, steps as graphs. The losses are those of the CPU back-end. */
#include "harness/tensor/cuda/backend.h"
#include "tests/support/fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { BATCHES = 4 };

static void train(struct fixture *f, struct train_run *run, enum gnn_model_kind kind, double *losses)
{
    run->model_config.kind = kind;
    run->workload.max_batches = BATCHES;
    must_run(train_run_open(run, &f->graph), run);
    must_run(train_run_epoch(run, 0), run);
    assert_int_equal(run->step_count, BATCHES);
    for (uint32_t k = 0; k < BATCHES; k++)
        losses[k] = run->loss[k];
}

static void test_losses_of_every_system_are_the_cpus(void **state)
{
    (void)state;
    const struct {
        const char *system;
        const char *const *options;
    } cases[] = {
        {"pygplus", OPTIONS("workers=2", "gather_threads=3")},
        {"pygplus", OPTIONS("workers=2", "gather_threads=3", "transfer=ahead")},
        {"gnndrive", OPTIONS("io=buffered", "samplers=2", "extractors=2", "in_order=true")},
        {"gnndrive", OPTIONS("io=buffered", "extractors=2", "in_order=true", "staging=7", "transfer=gather")},
        {"ginex", OPTIONS("io=buffered", "superbatch=3", "feature_cache=20K", "transfer=ahead")},
        {"ringsampler", OPTIONS("threads=2", "feature_io=buffered")},
        {"agnes", OPTIONS("io=buffered", "block=4K", "hyperbatch=3", "feature_cache=4K")},
    };
    static const struct train_graph_config graph = {
        .nodes = 400, .mean_degree = 5, .dim = 16, .classes = 5, .train = 80, .seed = 3};
    struct fixture f;
    fixture_open(&f, .graph = &graph);
    for (enum gnn_model_kind kind = GNN_MODEL_SAGE; kind < GNN_MODEL_KINDS; kind++) {
        double cpu[BATCHES], here[BATCHES];
        struct train_run run;
        train_run_init(&run, f.world, "pygplus");
        run.cpu = true;
        train(&f, &run, kind, cpu);
        train_run_close(&run);
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            train_run_init(&run, f.world, cases[c].system);
            run.options = cases[c].options;
            run.backend = &gnn_tensor_cuda;
            train(&f, &run, kind, here);
            struct gnn_device_times times;
            run.env.tensor->ops->take_times(run.env.tensor, &times);
            assert_true(times.launches > 0);
            train_run_close(&run); /* the launcher fails the test when anything of the device is left */
            for (uint32_t k = 0; k < BATCHES; k++)
                if (!(fabs(here[k] - cpu[k]) <= 1e-4 * fabs(cpu[k])))
                    fail_msg("case %zu, %s, batch %u: %.9g, on the CPU %.9g", c, gnn_model_names[kind], k, here[k],
                             cpu[k]);
        }
    }
    fixture_close(&f);
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
    (void)printf("skipped: the launcher's coroutines are unknown to the sanitizer\n[  SKIPPED ] 1 test(s)\n");
    return 0;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses_of_every_system_are_the_cpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
