/* SPDX-License-Identifier: MIT */
/* Training steps of a GAT whose layers all aggregate before they multiply, on the CPU: against the same model on the
 * same back-end without ops for it, against the reference, on any number of threads, and against the memory plan. */
#include "harness/model/gat.h"
#include "tests/support/toy_training.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { SEED = 19, SEEDS = 600, LAYERS = 2 };

/* Wider heads than rows, and many sources a target. */
static const struct gnn_model_config config = {.kind = GNN_MODEL_GAT,
                                               .layers = LAYERS,
                                               .in_dim = 20,
                                               .hidden = 24,
                                               .heads = 3,
                                               .classes = 90,
                                               .dropout = 0.3,
                                               .lr = 0.003,
                                               .seed = 5};

/* rows: with the back-end's ops for it. */
static struct toy_outcome train(const struct gnn_tensor_ops *table, bool rows, uint32_t threads, struct toy_data *data)
{
    struct toy_memory memory = {0};
    struct gnn_tensor *const t = toy_tensor_open(table, &memory, threads);
    struct gnn_tensor_ops ops = *t->ops;
    struct gnn_model *model = NULL;
    struct toy_outcome out;
    ops.gat_rows = rows ? ops.gat_rows : NULL;
    t->ops = &ops;
    assert_int_equal(gnn_model_open(t, &config, &model, NULL), GNN_OK);
    assert_int_equal(toy_train(model, data, &out), GNN_OK);
    gnn_model_close(model);
    t->ops->close(t);
    assert_int_equal(memory.current_bytes, 0);
    out.peak_bytes = memory.peak_bytes;
    return out;
}

static void check_all_rows_first(const struct toy_data *data)
{
    for (uint32_t k = 0; k < LAYERS; k++) {
        const struct gnn_block *const b = &data->batch.blocks[k];
        const struct gnn_layer layer = {.index = k,
                                        .in = k == 0 ? config.in_dim : config.hidden * config.heads,
                                        .heads = config.heads,
                                        .channels = k + 1 == LAYERS ? config.classes : config.hidden};
        assert_true(gnn_gat_rows_pay(&layer, &(struct gnn_layer_size){b->dst_count, b->src_count, b->edge_count}));
    }
    assert_true(data->batch.blocks[0].dst_count >= 4096); /* sums of gradients are cut (cpu/gemm.h) */
}

static void check_close(const char *what, const struct toy_outcome *got, const struct toy_outcome *want)
{
    double scale = 0;
    assert_int_equal(got->count, want->count);
    for (uint64_t k = 0; k < want->count; k++)
        scale = fmax(scale, fabs((double)want->gradient[k]));
    for (uint64_t k = 0; k < want->count; k++)
        if (!(fabs((double)got->gradient[k] - (double)want->gradient[k]) <= 2e-5 * scale))
            fail_msg("%s: gradient %llu is %.9g instead of %.9g, the largest %.3g", what, (unsigned long long)k,
                     (double)got->gradient[k], (double)want->gradient[k], scale);
    for (uint32_t s = 0; s < TOY_STEPS; s++)
        if (!(fabs(got->loss[s] - want->loss[s]) <= 1e-5 * want->loss[s]))
            fail_msg("%s: loss %u is %.9g instead of %.9g", what, s, got->loss[s], want->loss[s]);
}

static void test_steps_agree(void **state)
{
    (void)state;
    struct toy_data data = toy_data_open(SEED, &config, SEEDS, 8);
    check_all_rows_first(&data);
    struct toy_outcome cpu = train(&gnn_tensor_cpu, true, 1, &data), mapped = train(&gnn_tensor_cpu, false, 1, &data);
    struct toy_outcome ref = train(&gnn_tensor_ref, true, 1, &data);
    check_close("rows first against mapped first", &cpu, &mapped);
    check_close("the CPU against the reference", &cpu, &ref);
    assert_false(toy_same_bits(&cpu, &mapped)); /* it did go the other way */
    const uint32_t nodes[LAYERS + 1] = {SEEDS, data.batch.blocks[0].dst_count, data.batch.node_count};
    assert_true(cpu.peak_bytes <= mapped.peak_bytes);
    assert_true(mapped.peak_bytes <= gnn_model_bytes(&config, nodes));
    toy_outcome_free(&cpu);
    toy_outcome_free(&mapped);
    toy_outcome_free(&ref);
    toy_data_close(&data);
}

static void test_threads_change_no_bit(void **state)
{
    (void)state;
    static const uint32_t threads[] = {2, 3, 5};
    struct toy_data data = toy_data_open(SEED, &config, SEEDS, 8);
    struct toy_outcome one = train(&gnn_tensor_cpu, true, 1, &data);
    for (uint32_t n = 0; n < 3; n++) {
        struct toy_outcome more = train(&gnn_tensor_cpu, true, threads[n], &data);
        if (!toy_same_bits(&one, &more))
            fail_msg("%u threads train other bits than one", threads[n]);
        toy_outcome_free(&more);
    }
    toy_outcome_free(&one);
    toy_data_close(&data);
}

int main(void)
{
    (void)printf("seed %d\n", SEED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_agree),
        cmocka_unit_test(test_threads_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
