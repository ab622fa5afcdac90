/* The CUDA back-end's kernels and its ops, run on the host by the test suite's launcher: every op over the whole table
 * against the reference, the same bits on a second run, models trained as on the CPU, no allocation in steady state, a
 * device that is full. What a launcher cannot show stands in tests/support/cuda_host.h. */
#include "harness/model/model.h"
#include "harness/tensor/cuda/backend.h"
#include "tests/support/op_cases.h"
#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

extern uint64_t cuda_host_capacity_bytes; /* tests/support/cuda_host.cc: of devices opened next */

static void test_every_op_against_the_reference(void **state)
{
    (void)state;
    op_cases_against_reference(&gnn_tensor_cuda, OP_ROUNDING_TWICE);
}

static void test_a_second_run_gives_the_same_bits(void **state)
{
    (void)state;
    op_cases_same_bits(&gnn_tensor_cuda);
}

static void test_activations_hide_no_nan(void **state)
{
    (void)state;
    op_cases_pass_nan_on(&gnn_tensor_cuda);
}

/* ---- models ---- */

enum { STEPS = 6, SEEDS = 24 };

static struct gnn_model_config config_of(enum gnn_model_kind kind)
{
    return (struct gnn_model_config){.kind = kind,
                                     .layers = 3,
                                     .in_dim = 12,
                                     .hidden = 32,
                                     .heads = 4,
                                     .classes = 7,
                                     .dropout = 0.5,
                                     .lr = 0.003,
                                     .gat_width_total = true,
                                     .seed = 5};
}

/* Trains on one mini-batch after another; losses (STEPS). *allocations: made in the last step. */
static void train(const struct gnn_tensor_ops *table, enum gnn_model_kind kind, double *losses, uint64_t *allocations)
{
    const struct gnn_model_config config = config_of(kind);
    struct toy_memory memory = {0};
    struct gnn_tensor *t = toy_tensor_open(table, &memory, 1);
    struct gnn_model *model = NULL;
    assert_int_equal(gnn_model_open(t, &config, &model, NULL), GNN_OK);
    void *input = NULL;
    uint64_t before = 0;
    for (uint32_t step = 0; step < STEPS; step++) {
        struct gnn_rng rng = gnn_rng_at(100 + (uint64_t)(step % 3));
        struct gnn_batch_view batch = toy_batch(&rng, config.layers, SEEDS, 1, (struct toy_degree){0, 4});
        gnn_real *x = toy_reals(&rng, (uint64_t)batch.node_count * config.in_dim, -1, 1);
        int32_t *labels = toy_labels(&rng, SEEDS, config.classes);
        const uint64_t bytes = (uint64_t)batch.node_count * config.in_dim * sizeof *x;
        struct gnn_step_result result;
        before = table == &gnn_tensor_cuda ? gnn_cuda_allocations(t) : 0;
        assert_int_equal(t->ops->alloc(t, "input", bytes, &input, NULL), GNN_OK);
        t->ops->upload(t, input, x, bytes);
        assert_int_equal(gnn_model_train(model, &batch, input, labels, &result, NULL), GNN_OK);
        t->ops->free(t, input);
        losses[step] = result.loss;
        free(labels);
        free(x);
        toy_batch_free(&batch);
    }
    *allocations = table == &gnn_tensor_cuda ? gnn_cuda_allocations(t) - before : 0;
    gnn_model_close(model);
    t->ops->close(t);
}

static void test_losses_are_those_of_the_cpu(void **state)
{
    (void)state;
    for (enum gnn_model_kind kind = GNN_MODEL_SAGE; kind < GNN_MODEL_KINDS; kind++) {
        double here[STEPS], cpu[STEPS];
        uint64_t allocations, none;
        train(&gnn_tensor_cuda, kind, here, &allocations);
        train(&gnn_tensor_cpu, kind, cpu, &none);
        for (uint32_t step = 0; step < STEPS; step++)
            if (!(fabs(here[step] - cpu[step]) <= 1e-4 * fabs(cpu[step])))
                fail_msg("%s, step %u: %.9g, on the CPU %.9g", gnn_model_names[kind], step, here[step], cpu[step]);
        assert_int_equal(allocations, 0); /* mini-batches like those before allocate nothing */
    }
}

/* ---- a device that is full ---- */

static void test_a_full_device_is_a_result(void **state)
{
    (void)state;
    const struct gnn_model_config config = config_of(GNN_MODEL_SAGE);
    uint32_t failed = 0, finished = 0;
    for (uint64_t capacity = 1 << 10; finished == 0; capacity *= 2) {
        struct toy_memory memory = {0};
        struct gnn_err err = {0};
        struct gnn_rng rng = gnn_rng_at(7);
        cuda_host_capacity_bytes = capacity;
        struct gnn_tensor *t = toy_tensor_open(&gnn_tensor_cuda, &memory, 1);
        struct gnn_batch_view batch = toy_batch(&rng, config.layers, SEEDS, 1, (struct toy_degree){0, 4});
        int32_t *labels = toy_labels(&rng, SEEDS, config.classes);
        gnn_real *x = toy_reals(&rng, (uint64_t)batch.node_count * config.in_dim, -1, 1);
        const uint64_t bytes = (uint64_t)batch.node_count * config.in_dim * sizeof *x;
        struct gnn_model *model = NULL;
        void *input = NULL;
        struct gnn_step_result result;
        enum gnn_status status = gnn_model_open(t, &config, &model, &err);
        if (status == GNN_OK)
            status = t->ops->alloc(t, "input", bytes, &input, &err);
        if (status == GNN_OK) {
            t->ops->upload(t, input, x, bytes);
            status = gnn_model_train(model, &batch, input, labels, &result, &err);
        }
        assert_true(status == GNN_OK || status == GNN_EGPU);
        assert_true(status == GNN_OK || strstr(err.message, "full") != NULL);
        failed += status != GNN_OK;
        finished += status == GNN_OK;
        t->ops->free(t, input);
        gnn_model_close(model);
        t->ops->close(t);
        free(x);
        free(labels);
        toy_batch_free(&batch);
    }
    cuda_host_capacity_bytes = UINT64_MAX;
    assert_true(failed > 3);
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
    (void)printf("skipped: the launcher is one thread\n[  SKIPPED ] 5 test(s)\n");
    return 0;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_op_against_the_reference), cmocka_unit_test(test_a_second_run_gives_the_same_bits),
        cmocka_unit_test(test_activations_hide_no_nan),        cmocka_unit_test(test_losses_are_those_of_the_cpu),
        cmocka_unit_test(test_a_full_device_is_a_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
