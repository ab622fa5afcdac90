/* Training steps of a GAT whose layers all aggregate before they multiply, on the CPU: against the same model on the
 * same back-end without ops for it, against the reference, on any number of threads, and against the memory plan. */
#include "harness/model/gat.h"
#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { SEED = 19, STEPS = 3, SEEDS = 600, LAYERS = 2 };

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

struct data {
    struct gnn_batch_view batch;
    gnn_real *x;
    int32_t *labels;
};

static struct data open_data(void)
{
    struct gnn_rng rng = gnn_rng_at(SEED);
    struct data data = {.batch = toy_batch(&rng, LAYERS, SEEDS, 8, (struct toy_degree){0, 10})};
    data.x = toy_reals(&rng, (uint64_t)data.batch.node_count * config.in_dim, -1, 1);
    data.labels = toy_labels(&rng, SEEDS, config.classes);
    return data;
}

static void close_data(struct data *data)
{
    toy_batch_free(&data->batch);
    free(data->x);
    free(data->labels);
}

/* The losses of the steps, the gradients of the first and the values after the last. */
struct outcome {
    double loss[STEPS];
    uint64_t count;
    gnn_real *gradient, *value;
    uint64_t peak_bytes;
};

static uint64_t count_params(const struct gnn_model *model)
{
    uint64_t count = 0;
    for (uint32_t p = 0; p < gnn_model_param_count(model); p++)
        count += (uint64_t)gnn_model_param(model, p).rows * gnn_model_param(model, p).cols;
    return count;
}

static void copy_params(const struct gnn_model *model, bool gradients, gnn_real *out)
{
    for (uint32_t p = 0; p < gnn_model_param_count(model); p++) {
        const struct gnn_param param = gnn_model_param(model, p);
        const uint64_t count = (uint64_t)param.rows * param.cols;
        memcpy(out, gradients ? param.grad : param.value, count * sizeof *out);
        out += count;
    }
}

/* rows: with the back-end's ops for it. */
static struct outcome train(const struct gnn_tensor_ops *table, bool rows, uint32_t threads, struct data *data)
{
    struct toy_memory memory = {0};
    struct gnn_tensor *const t = toy_tensor_open(table, &memory, threads);
    struct gnn_tensor_ops ops = *t->ops;
    struct gnn_model *model = NULL;
    struct outcome out = {0};
    ops.gat_rows = rows ? ops.gat_rows : NULL;
    t->ops = &ops;
    assert_int_equal(gnn_model_open(t, &config, &model, NULL), GNN_OK);
    out.count = count_params(model);
    out.gradient = calloc(out.count + 1, sizeof *out.gradient);
    out.value = calloc(out.count + 1, sizeof *out.value);
    assert_true(out.gradient != NULL && out.value != NULL);
    for (uint32_t s = 0; s < STEPS; s++) {
        struct gnn_step_result result;
        data->batch.batch = s;
        assert_int_equal(gnn_model_train(model, &data->batch, data->x, data->labels, &result, NULL), GNN_OK);
        assert_true(result.finite);
        out.loss[s] = result.loss;
        if (s == 0)
            copy_params(model, true, out.gradient);
    }
    copy_params(model, false, out.value);
    gnn_model_close(model);
    t->ops->close(t);
    assert_int_equal(memory.current_bytes, 0);
    out.peak_bytes = memory.peak_bytes;
    return out;
}

static void free_outcome(struct outcome *out)
{
    free(out->gradient);
    free(out->value);
}

static void check_all_rows_first(const struct data *data)
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

static void check_close(const char *what, const struct outcome *got, const struct outcome *want)
{
    double scale = 0;
    assert_int_equal(got->count, want->count);
    for (uint64_t k = 0; k < want->count; k++)
        scale = fmax(scale, fabs((double)want->gradient[k]));
    for (uint64_t k = 0; k < want->count; k++)
        if (!(fabs((double)got->gradient[k] - (double)want->gradient[k]) <= 2e-5 * scale))
            fail_msg("%s: gradient %llu is %.9g instead of %.9g, the largest %.3g", what, (unsigned long long)k,
                     (double)got->gradient[k], (double)want->gradient[k], scale);
    for (uint32_t s = 0; s < STEPS; s++)
        if (!(fabs(got->loss[s] - want->loss[s]) <= 1e-5 * want->loss[s]))
            fail_msg("%s: loss %u is %.9g instead of %.9g", what, s, got->loss[s], want->loss[s]);
}

static bool same_bits(const struct outcome *a, const struct outcome *b)
{
    const uint64_t bytes = a->count * sizeof *a->value;
    return memcmp(a->loss, b->loss, sizeof a->loss) == 0 && memcmp(a->gradient, b->gradient, bytes) == 0 &&
           memcmp(a->value, b->value, bytes) == 0;
}

static void test_steps_agree(void **state)
{
    (void)state;
    struct data data = open_data();
    check_all_rows_first(&data);
    struct outcome cpu = train(&gnn_tensor_cpu, true, 1, &data), mapped = train(&gnn_tensor_cpu, false, 1, &data);
    struct outcome ref = train(&gnn_tensor_ref, true, 1, &data);
    check_close("rows first against mapped first", &cpu, &mapped);
    check_close("the CPU against the reference", &cpu, &ref);
    assert_false(same_bits(&cpu, &mapped)); /* it did go the other way */
    const uint32_t nodes[LAYERS + 1] = {SEEDS, data.batch.blocks[0].dst_count, data.batch.node_count};
    assert_true(cpu.peak_bytes <= mapped.peak_bytes);
    assert_true(mapped.peak_bytes <= gnn_model_bytes(&config, nodes));
    free_outcome(&cpu);
    free_outcome(&mapped);
    free_outcome(&ref);
    close_data(&data);
}

static void test_threads_change_no_bit(void **state)
{
    (void)state;
    static const uint32_t threads[] = {2, 3, 5};
    struct data data = open_data();
    struct outcome one = train(&gnn_tensor_cpu, true, 1, &data);
    for (uint32_t n = 0; n < 3; n++) {
        struct outcome more = train(&gnn_tensor_cpu, true, threads[n], &data);
        if (!same_bits(&one, &more))
            fail_msg("%u threads train other bits than one", threads[n]);
        free_outcome(&more);
    }
    free_outcome(&one);
    close_data(&data);
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
