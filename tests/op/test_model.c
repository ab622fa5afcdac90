/* SPDX-License-Identifier: MIT */
/* The training step as its callers see it: it learns, it allocates at warm-up only, it repeats bit for bit,
 * and both back-ends agree on it. */
#include "harness/tensor/cpu/kernels.h"
#include "harness/tensor/cpu/state.h"
#include "tests/support/model_cases.h"
#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const uint64_t seed = 31;

struct toy_data {
    struct gnn_rng rng;
    struct gnn_batch_view batch;
    gnn_real *x;
    int32_t *labels;
};

/* learnable: a seed's label is written into its own features and those of its sampled neighbourhood; else the
 * two are independent. */
static struct toy_data data_open(const struct gnn_model_config *config, uint32_t seeds, bool learnable, uint64_t key)
{
    struct toy_data data = {.rng = gnn_rng_at(key)};
    data.batch = toy_batch(&data.rng, config->layers, seeds, 1, (struct toy_degree){0, 4});
    data.x = toy_reals(&data.rng, (uint64_t)data.batch.node_count * config->in_dim, -0.5, 0.5);
    data.labels = toy_labels(&data.rng, seeds, config->classes);
    for (uint32_t i = 0; learnable && i < data.batch.node_count; i++)
        data.x[(uint64_t)i * config->in_dim + (uint32_t)data.labels[i % seeds]] += 1;
    for (uint32_t k = 0; learnable && k < data.batch.layer_count; k++) {
        /* rewire in place: target i draws from sources that carry its seed's label */
        const struct gnn_block *b = &data.batch.blocks[k];
        uint32_t *row_start = (uint32_t *)(uintptr_t)b->row_start, *col = (uint32_t *)(uintptr_t)b->col;
        uint32_t edges = 0;
        for (uint32_t i = 0; i < b->dst_count; i++) {
            const uint32_t end = edges + 2 < b->edge_count ? edges + 2 : edges;
            row_start[i] = edges;
            for (uint32_t j = i % seeds; j < b->src_count && edges < end; j += seeds)
                col[edges++] = j;
        }
        row_start[b->dst_count] = edges;
        data.batch.blocks[k].edge_count = edges;
    }
    return data;
}

static void data_close(struct toy_data *data)
{
    toy_batch_free(&data->batch);
    free(data->x);
    free(data->labels);
}

static struct gnn_step_result train(struct gnn_model *model, const struct toy_data *data)
{
    struct gnn_step_result result;
    assert_int_equal(gnn_model_train(model, &data->batch, data->x, data->labels, &result, NULL), GNN_OK);
    return result;
}

/* All parameters, one after the other; the caller frees them. */
static gnn_real *copy_parameters(const struct gnn_model *model, uint64_t *count)
{
    gnn_real *all = NULL;
    *count = 0;
    for (uint32_t p = 0; p < gnn_model_param_count(model); p++) {
        const struct gnn_param param = gnn_model_param(model, p);
        const uint64_t more = (uint64_t)param.rows * param.cols;
        all = realloc(all, (*count + more) * sizeof *all);
        assert_non_null(all);
        memcpy(all + *count, param.value, more * sizeof *all);
        *count += more;
    }
    return all;
}

static const struct gnn_tensor_ops *const backends[] = {&gnn_tensor_ref, &gnn_tensor_cpu};

static void test_loss_falls(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < GNN_MODEL_KINDS; kind++) {
        const struct gnn_model_config config = toy_model_config((enum gnn_model_kind)kind);
        struct toy_memory memory = {0};
        struct gnn_tensor *t = toy_tensor_open(&gnn_tensor_cpu, &memory, 1);
        struct gnn_model *model = NULL;
        assert_int_equal(gnn_model_open(t, &config, &model, NULL), GNN_OK);
        struct toy_data data = data_open(&config, 100, true, seed);
        struct gnn_step_result before, after;
        assert_int_equal(gnn_model_evaluate(model, &data.batch, data.x, data.labels, &before, NULL, NULL), GNN_OK);
        double last = before.loss;
        for (uint32_t round = 0; round < 4; round++) {
            for (uint32_t s = 0; s < 15; s++) {
                data.batch.batch = round * 15 + s;
                (void)train(model, &data);
            }
            assert_int_equal(gnn_model_evaluate(model, &data.batch, data.x, data.labels, &after, NULL, NULL), GNN_OK);
            assert_true(after.loss < last);
            last = after.loss;
        }
        (void)printf("%s: loss %.3f -> %.3f, correct %u -> %u of 100\n", gnn_model_names[kind], before.loss, after.loss,
                     before.correct, after.correct);
        assert_true(after.correct >= 90 && before.correct < 60);
        data_close(&data);
        gnn_model_close(model);
        t->ops->close(t);
    }
}

/* An untrained model knows nothing: ln(classes), a little more for the spread of its logits. */
static void test_random_labels_start_at_ln_classes(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < GNN_MODEL_KINDS; kind++) {
        struct gnn_model_config config = toy_model_config((enum gnn_model_kind)kind);
        config.classes = 50;
        struct toy_memory memory = {0};
        struct gnn_tensor *t = toy_tensor_open(&gnn_tensor_cpu, &memory, 1);
        struct gnn_model *model = NULL;
        assert_int_equal(gnn_model_open(t, &config, &model, NULL), GNN_OK);
        struct toy_data data = data_open(&config, 400, false, seed);
        const struct gnn_step_result first = train(model, &data);
        (void)printf("%s: first loss %.3f, ln(50) = %.3f\n", gnn_model_names[kind], first.loss, log(50));
        assert_true(fabs(first.loss - log(50)) < 0.25);
        data_close(&data);
        gnn_model_close(model);
        t->ops->close(t);
    }
}

/* Both back-ends, dropout on: the same masks, hence the same losses; and a second model repeats the first's
 * bits. */
static void test_backends_and_repeats_agree(void **state)
{
    (void)state;
    enum { STEPS = 4 };
    for (uint32_t kind = 0; kind < GNN_MODEL_KINDS; kind++) {
        const struct gnn_model_config config = toy_model_config((enum gnn_model_kind)kind);
        struct toy_data data = data_open(&config, 60, false, seed + kind);
        double loss[3][STEPS];
        for (uint32_t r = 0; r < 3; r++) {
            struct toy_memory memory = {0};
            struct gnn_tensor *t = toy_tensor_open(backends[r > 0], &memory, 1);
            struct gnn_model *model = NULL;
            assert_int_equal(gnn_model_open(t, &config, &model, NULL), GNN_OK);
            for (uint32_t s = 0; s < STEPS; s++) {
                data.batch.batch = s;
                loss[r][s] = train(model, &data).loss;
            }
            gnn_model_close(model);
            t->ops->close(t);
            assert_int_equal(memory.current_bytes, 0);
        }
        for (uint32_t s = 0; s < STEPS; s++) {
            assert_true(fabs(loss[0][s] - loss[1][s]) < 1e-4 * loss[0][s]);
            assert_true(loss[1][s] == loss[2][s]);
        }
        data_close(&data);
    }
}

/* Steps of a mini-batch so large that every kind of loop and product is shared: the same losses and parameters on any
 * number of threads, to the bit. */
static void test_threads_change_no_bit_of_a_step(void **state)
{
    (void)state;
    enum { STEPS = 3, SEEDS = 2300, COUNTS = 4 };
    static const uint32_t threads[COUNTS] = {1, 2, 3, 5};
    struct gnn_model_config config = toy_model_config(GNN_MODEL_SAGE);
    config.layers = 2;
    struct toy_data data = data_open(&config, SEEDS, false, seed);
    assert_true(data.batch.blocks[0].dst_count >= 4096); /* sums of gradients are cut, too (cpu/gemm.h) */
    for (uint32_t kind = 0; kind < GNN_MODEL_KINDS; kind++) {
        gnn_real *first = NULL;
        double loss[COUNTS][STEPS];
        config.kind = (enum gnn_model_kind)kind;
        for (uint32_t n = 0; n < COUNTS; n++) {
            struct toy_memory memory = {0};
            struct gnn_tensor *const t = toy_tensor_open(&gnn_tensor_cpu, &memory, threads[n]);
            struct gnn_model *model = NULL;
            assert_int_equal(gnn_model_open(t, &config, &model, NULL), GNN_OK);
            for (uint32_t s = 0; s < STEPS; s++) {
                data.batch.batch = s;
                loss[n][s] = train(model, &data).loss;
            }
            uint64_t count;
            gnn_real *const all = copy_parameters(model, &count);
            if (memcmp(loss[0], loss[n], sizeof loss[0]) != 0 ||
                (n > 0 && memcmp(first, all, count * sizeof *all) != 0))
                fail_msg("%s: %u threads train other bits than one", gnn_model_names[kind], threads[n]);
            if (n == 0)
                first = all;
            else
                free(all);
            gnn_model_close(model);
            t->ops->close(t);
            assert_int_equal(memory.current_bytes, 0);
        }
        assert_true(loss[0][0] != loss[0][STEPS - 1]); /* it moves */
        free(first);
    }
    data_close(&data);
}

/* Dropout masks are keyed by epoch and batch: a repeated batch of another epoch gives another loss. */
static void test_dropout_key(void **state)
{
    (void)state;
    struct gnn_model_config config = toy_model_config(GNN_MODEL_SAGE);
    config.lr = 0;
    struct toy_memory memory = {0};
    struct gnn_tensor *t = toy_tensor_open(&gnn_tensor_cpu, &memory, 1);
    struct gnn_model *model = NULL;
    assert_int_equal(gnn_model_open(t, &config, &model, NULL), GNN_OK);
    struct toy_data data = data_open(&config, 60, false, seed);
    const double loss = train(model, &data).loss;
    assert_true(train(model, &data).loss == loss);
    data.batch.epoch++;
    const double other_epoch = train(model, &data).loss;
    data.batch.batch++;
    assert_true(other_epoch != loss && train(model, &data).loss != other_epoch);
    data_close(&data);
    gnn_model_close(model);
    t->ops->close(t);
}

static void test_memory(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < GNN_MODEL_KINDS; kind++) {
        const struct gnn_model_config config = toy_model_config((enum gnn_model_kind)kind);
        struct toy_memory memory = {0};
        struct gnn_tensor *t = toy_tensor_open(&gnn_tensor_cpu, &memory, 1);
        struct gnn_model *model = NULL;
        assert_int_equal(gnn_model_open(t, &config, &model, NULL), GNN_OK);
        struct toy_data large = data_open(&config, 60, false, seed), small = data_open(&config, 41, false, seed);
        (void)train(model, &small);
        (void)train(model, &large);
        const uint64_t warm = memory.allocations;
        (void)train(model, &small);
        (void)train(model, &large);
        assert_int_equal(memory.allocations, warm);
        const uint32_t nodes[] = {60, 120, 240, 480};
        assert_true(memory.peak_bytes <= gnn_model_bytes(&config, nodes));
        assert_true(gnn_model_bytes(&config, nodes) <
                    12 * memory.peak_bytes); /* edges are bounded by the largest fan-out */
        data_close(&large);
        data_close(&small);
        gnn_model_close(model);
        t->ops->close(t);
        assert_int_equal(memory.current_bytes, 0);
    }
}

/* Whatever allocation fails, the status says so, nothing leaks, and the model can still be closed. */
static void test_out_of_memory(void **state)
{
    (void)state;
    const struct gnn_model_config config = toy_model_config(GNN_MODEL_GAT);
    struct toy_data data = data_open(&config, 10, false, seed);
    bool passed = false;
    for (uint64_t fail = 1; !passed; fail++) {
        struct toy_memory memory = {.fail_after = fail};
        struct gnn_tensor *t = toy_tensor_open(&gnn_tensor_cpu, &memory, 1);
        struct gnn_model *model = NULL;
        struct gnn_err err = {0};
        struct gnn_step_result result;
        enum gnn_status status = gnn_model_open(t, &config, &model, &err);
        if (status == GNN_OK)
            status = gnn_model_train(model, &data.batch, data.x, data.labels, &result, &err);
        passed = memory.allocations < fail;
        assert_int_equal(status, passed ? GNN_OK : GNN_ENOMEM);
        assert_int_equal(err.status, status);
        gnn_model_close(model);
        t->ops->close(t);
        assert_int_equal(memory.current_bytes, 0);
        assert_true(fail < 100);
    }
    data_close(&data);
}

static void test_bad_configs(void **state)
{
    (void)state;
    static const struct {
        const char *word; /* the message names the option */
        struct gnn_model_config config;
    } cases[] = {
/* kind, layers, in_dim, hidden, heads, classes, dropout, lr, weight_decay, gat_width_total, gcn_norm, ... */
#define GAT GNN_MODEL_GAT
        {"layers 0", {GAT, 0, 8, 8, 4, 3, 0, 0, 0, false, GNN_GCN_NORM_RELEASED, false, 0, 0, 0}},
        {"layers 9", {GAT, 9, 8, 8, 4, 3, 0, 0, 0, false, GNN_GCN_NORM_RELEASED, false, 0, 0, 0}},
        {"dimension 0", {GAT, 3, 0, 8, 4, 3, 0, 0, 0, false, GNN_GCN_NORM_RELEASED, false, 0, 0, 0}},
        {"dimension 16385", {GAT, 3, 16385, 8, 4, 3, 0, 0, 0, false, GNN_GCN_NORM_RELEASED, false, 0, 0, 0}},
        {"hidden width 0", {GAT, 3, 8, 0, 4, 3, 0, 0, 0, false, GNN_GCN_NORM_RELEASED, false, 0, 0, 0}},
        {"classes 0", {GAT, 3, 8, 8, 4, 0, 0, 0, 0, false, GNN_GCN_NORM_RELEASED, false, 0, 0, 0}},
        {"heads 0", {GAT, 3, 8, 8, 0, 3, 0, 0, 0, false, GNN_GCN_NORM_RELEASED, false, 0, 0, 0}},
        {"multiple of 3 heads", {GAT, 3, 8, 8, 3, 3, 0, 0, 0, true, GNN_GCN_NORM_RELEASED, false, 0, 0, 0}},
        {"4 heads of 5000", {GAT, 3, 8, 5000, 4, 3, 0, 0, 0, false, GNN_GCN_NORM_RELEASED, false, 0, 0, 0}},
        {"dropout 1", {GAT, 3, 8, 8, 4, 3, 1, 0, 0, false, GNN_GCN_NORM_RELEASED, false, 0, 0, 0}},
        {"dropout -0.1", {GAT, 3, 8, 8, 4, 3, -0.1, 0, 0, false, GNN_GCN_NORM_RELEASED, false, 0, 0, 0}},
        {"rate -1", {GAT, 3, 8, 8, 4, 3, 0, -1, 0, false, GNN_GCN_NORM_RELEASED, false, 0, 0, 0}},
        {"decay -1", {GAT, 3, 8, 8, 4, 3, 0, 0, -1, false, GNN_GCN_NORM_RELEASED, false, 0, 0, 0}},
        {"kind 3", {GNN_MODEL_KINDS, 3, 8, 8, 4, 3, 0, 0, 0, false, GNN_GCN_NORM_RELEASED, false, 0, 0, 0}},
#undef GAT
    };
    struct toy_memory memory = {0};
    struct gnn_tensor *t = toy_tensor_open(&gnn_tensor_ref, &memory, 1);
    for (uint32_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct gnn_model *model = NULL;
        struct gnn_err err = {0};
        assert_int_equal(gnn_model_open(t, &cases[c].config, &model, &err), GNN_EUSAGE);
        assert_null(model);
        if (strstr(err.message, cases[c].word) == NULL)
            fail_msg("\"%s\" does not name \"%s\"", err.message, cases[c].word);
    }
    gnn_model_close(NULL);
    t->ops->close(t);
}

/* Initial values: uniform within the bound, spread over it, another seed gives others. */
static void test_initial_values(void **state)
{
    (void)state;
    static const struct {
        enum gnn_model_kind kind;
        const char *name;
        double bound;
    } cases[] = {
        {GNN_MODEL_SAGE, "layer0.w_l", 0.288675}, /* 1/sqrt(12) */
        {GNN_MODEL_SAGE, "layer1.b", 0.176777},   /* 1/sqrt(32) */
        {GNN_MODEL_GCN, "layer0.w", 0.369274},    /* sqrt(6 / (12 + 32)) */
        {GNN_MODEL_GCN, "layer1.b", 0},
        {GNN_MODEL_GAT, "layer0.w", 0.369274},     /* 4 heads of 8 */
        {GNN_MODEL_GAT, "layer2.w", 0.316228},     /* sqrt(6 / (32 + 28)): 4 heads of 7 */
        {GNN_MODEL_GAT, "layer0.a_src", 0.707107}, /* sqrt(6 / (4 + 8)) */
        {GNN_MODEL_GAT, "layer1.skip_w", 0.176777},
        {GNN_MODEL_GAT, "layer1.b", 0},
    };
    for (uint32_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct gnn_model_config config = toy_model_config(cases[c].kind);
        struct toy_memory memory = {0};
        struct gnn_tensor *t = toy_tensor_open(&gnn_tensor_ref, &memory, 1);
        struct gnn_model *model = NULL;
        assert_int_equal(gnn_model_open(t, &config, &model, NULL), GNN_OK);
        struct gnn_param param = {0};
        for (uint32_t p = 0; p < gnn_model_param_count(model); p++)
            if (strcmp(gnn_model_param(model, p).name, cases[c].name) == 0)
                param = gnn_model_param(model, p);
        assert_non_null(param.name);
        double low = 0, high = 0;
        for (uint32_t k = 0; k < param.rows * param.cols; k++) {
            low = fmin(low, (double)param.value[k]);
            high = fmax(high, (double)param.value[k]);
        }
        const double bound = cases[c].bound;
        assert_true(low >= -bound - 1e-6 && high <= bound + 1e-6);
        assert_true(low <= -0.5 * bound && high >= 0.5 * bound);
        gnn_model_close(model);
        t->ops->close(t);
    }
}

/* A model of three layers leaves places for kernels, whatever the sizes of its mini-batches: once none are left, BLAS
 * does the next products, and nothing tells. */
static void test_kernels_suffice(void **state)
{
    (void)state;
    static const uint32_t seeds[] = {3, 100, 450, 1, 64};
    for (uint32_t kind = 0; kind < GNN_MODEL_KINDS; kind++) {
        const struct gnn_model_config config = {.kind = (enum gnn_model_kind)kind,
                                                .layers = 3,
                                                .in_dim = 100,
                                                .hidden = 256,
                                                .heads = 4,
                                                .gat_width_total = true,
                                                .classes = 47,
                                                .lr = 0.003};
        struct toy_memory memory = {0};
        struct gnn_tensor *t = toy_tensor_open(&gnn_tensor_cpu, &memory, 2);
        struct gnn_model *model = NULL;
        assert_int_equal(gnn_model_open(t, &config, &model, NULL), GNN_OK);
        for (uint32_t n = 0; n < sizeof seeds / sizeof seeds[0]; n++) {
            struct toy_data data = data_open(&config, seeds[n], false, seed + n);
            struct gnn_step_result result;
            (void)train(model, &data);
            assert_int_equal(gnn_model_evaluate(model, &data.batch, data.x, data.labels, &result, NULL, NULL), GNN_OK);
            data_close(&data);
        }
        const uint32_t count = gnn_cpu_state(t)->kernels.count;
        (void)printf("%s: %u kernels of %u\n", gnn_model_names[kind], count, (unsigned)GNN_TILE_KERNELS_MOST);
        assert_true(count <= GNN_TILE_KERNELS_MOST * 3 / 4);
        assert_true(count > 0 || gnn_narrow_kernels() == NULL);
        gnn_model_close(model);
        t->ops->close(t);
    }
}

int main(void)
{
    (void)printf("seed %llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss_falls),
        cmocka_unit_test(test_random_labels_start_at_ln_classes),
        cmocka_unit_test(test_dropout_key),
        cmocka_unit_test(test_backends_and_repeats_agree),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_bad_configs),
        cmocka_unit_test(test_initial_values),
        cmocka_unit_test(test_threads_change_no_bit_of_a_step),
        cmocka_unit_test(test_kernels_suffice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
