/* SPDX-License-Identifier: MIT */
/* Training steps of a GraphSAGE whose layers are computed a few rows at a time (harness/tensor/sage.h): to the bit what
 * the same back-end computes op by op, on any number of threads, and near the reference. */
#include "harness/tensor/cpu/kernels.h"
#include "harness/tensor/cpu/state.h"
#include "harness/tensor/sage.h"
#include "tests/support/toy_training.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { SEED = 23, LAYERS = 3 };

/* How often the ops did a layer, and how often they left it to the caller. */
static uint32_t forward_done, forward_left, backward_done, backward_left;

static bool count_forward(struct gnn_tensor *t, const struct gnn_sage *s, const struct gnn_block *b)
{
    const bool done = gnn_tensor_cpu.sage->forward(t, s, b);
    ++*(done ? &forward_done : &forward_left);
    return done;
}

static bool count_backward(struct gnn_tensor *t, const struct gnn_sage *s, const struct gnn_sage_grad *grad,
                           const struct gnn_block *b)
{
    const bool done = gnn_tensor_cpu.sage->backward(t, s, grad, b);
    ++*(done ? &backward_done : &backward_left);
    return done;
}

static const struct gnn_sage_ops counted = {.forward = count_forward, .backward = count_backward};

static void need_kernels(void)
{
    if (gnn_narrow_kernels() == NULL) {
        print_message("this build has no libxsmm, or this processor no AVX2: layers go op by op\n");
        skip();
    }
}

/* Widths of whole vectors and others; rows of a few panels and a rest of any size; targets without a source. */
struct shape {
    uint32_t seeds, growth, in_dim, hidden, classes;
    double dropout;
};
static const struct shape shapes[] = {
    {150, 9, 20, 24, 9, 0.3},
    {401, 3, 33, 47, 172, 0},
    {227, 5, 128, 64, 2, 0.5},
    {700, 1, 16, 256, 40, 0.5},
    /* The last layer whole; so narrow that gradients are scattered. */
    {1300, 1, 12, 8, 5, 0.3},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

struct data {
    struct gnn_model_config config;
    struct toy_data toy;
};

/* What the shapes train on, made once, as drawing it takes longer than the steps. */
static struct data data_of[SHAPES];

static int open_data(void **state)
{
    (void)state;
    for (size_t k = 0; k < SHAPES; k++) {
        const struct shape *const shape = &shapes[k];
        data_of[k].config = (struct gnn_model_config){.kind = GNN_MODEL_SAGE,
                                                      .layers = LAYERS,
                                                      .in_dim = shape->in_dim,
                                                      .hidden = shape->hidden,
                                                      .classes = shape->classes,
                                                      .dropout = shape->dropout,
                                                      .lr = 0.003,
                                                      .seed = 5};
        data_of[k].toy = toy_data_open(SEED, &data_of[k].config, shape->seeds, shape->growth);
    }
    return 0;
}

static int close_data(void **state)
{
    (void)state;
    for (size_t k = 0; k < SHAPES; k++)
        toy_data_close(&data_of[k].toy);
    return 0;
}

/* How a model trains: sage: the ops for whole layers; NULL: op by op. */
struct way {
    const struct gnn_sage_ops *sage;
    uint32_t threads;
    bool without_kernels, one_product;
    uint64_t fail_after; /* the allocation with this number, from the first step on, fails; 0: none does */
};

/* An open model and what it stands on, none of which may move. */
struct bed {
    struct toy_memory memory;
    struct gnn_tensor *t;
    struct gnn_tensor_ops ops;
    struct gnn_model *model;
};

static void open_bed(const struct gnn_tensor_ops *table, const struct way *way, const struct data *data,
                     struct bed *bed)
{
    *bed = (struct bed){.memory = {0}};
    bed->t = toy_tensor_open(table, &bed->memory, way->threads);
    bed->ops = *bed->t->ops;
    bed->ops.sage = way->sage;
    bed->t->ops = &bed->ops;
    if (way->without_kernels)
        gnn_cpu_state(bed->t)->kernels.refused = true;
    if (way->one_product)
        gnn_cpu_state(bed->t)->one_product = true;
    assert_int_equal(gnn_model_open(bed->t, &data->config, &bed->model, NULL), GNN_OK);
    bed->memory.fail_after = way->fail_after == 0 ? 0 : bed->memory.allocations + way->fail_after;
}

static void close_bed(struct bed *bed)
{
    gnn_model_close(bed->model);
    bed->t->ops->close(bed->t);
    assert_int_equal(bed->memory.current_bytes, 0);
}

static struct toy_outcome train_way(const struct gnn_tensor_ops *table, const struct way *way, struct data *data)
{
    struct bed bed;
    struct toy_outcome out;
    open_bed(table, way, data, &bed);
    assert_int_equal(toy_train(bed.model, &data->toy, &out), GNN_OK);
    out.peak_bytes = bed.memory.peak_bytes;
    close_bed(&bed);
    return out;
}

static struct toy_outcome train(const struct gnn_tensor_ops *table, const struct gnn_sage_ops *sage, uint32_t threads,
                                struct data *data)
{
    return train_way(table, &(struct way){.sage = sage, .threads = threads}, data);
}

static void check_close(const struct toy_outcome *got, const struct toy_outcome *want)
{
    double scale = 0;
    assert_int_equal(got->count, want->count);
    for (uint64_t k = 0; k < want->count; k++)
        scale = fmax(scale, fabs((double)want->gradient[k]));
    for (uint64_t k = 0; k < want->count; k++)
        if (!(fabs((double)got->gradient[k] - (double)want->gradient[k]) <= 1e-4 * scale))
            fail_msg("gradient %llu is %.9g, the reference's %.9g, the largest %.3g", (unsigned long long)k,
                     (double)got->gradient[k], (double)want->gradient[k], scale);
    for (uint32_t s = 0; s < TOY_STEPS; s++)
        if (!(fabs(got->loss[s] - want->loss[s]) <= 1e-5 * want->loss[s]))
            fail_msg("loss %u is %.9g, the reference's %.9g", s, got->loss[s], want->loss[s]);
}

static void test_as_op_by_op(void **state)
{
    (void)state;
    need_kernels();
    for (size_t k = 0; k < SHAPES; k++) {
        struct data *const data = &data_of[k];
        struct toy_outcome one = train(&gnn_tensor_cpu, NULL, 1, data);
        struct toy_outcome ref = train(&gnn_tensor_ref, NULL, 1, data);
        for (uint32_t threads = 1; threads <= 3; threads++) {
            struct toy_outcome whole = train(&gnn_tensor_cpu, &counted, threads, data);
            if (!toy_same_bits(&whole, &one))
                fail_msg("shape %zu, %u threads: other bits than op by op on one", k, threads);
            if (threads == 1)
                check_close(&whole, &ref);
            toy_outcome_free(&whole);
        }
        toy_outcome_free(&one);
        toy_outcome_free(&ref);
    }
}

/* Where there are no kernels layers go op by op; where BLAS has one buffer they are done whole all the same. Both give
 * the bits of one thread; whether two calls of BLAS meet is not seen here. */
static void test_without_kernels_and_buffers(void **state)
{
    (void)state;
    struct data *const data = &data_of[0];
    static const struct way ways[][2] = {
        {{.sage = &counted, .threads = 2, .without_kernels = true}, {.threads = 1, .without_kernels = true}},
        {{.sage = &counted, .threads = 2, .one_product = true}, {.threads = 1}},
    };
    for (uint32_t k = 0; k < 2; k++) {
        forward_done = backward_done = 0;
        struct toy_outcome whole = train_way(&gnn_tensor_cpu, &ways[k][0], data),
                           single = train_way(&gnn_tensor_cpu, &ways[k][1], data);
        assert_int_equal(forward_done + backward_done, k == 0 || gnn_narrow_kernels() == NULL ? 0 : 4 * TOY_STEPS);
        assert_true(toy_same_bits(&whole, &single));
        toy_outcome_free(&whole);
        toy_outcome_free(&single);
    }
}

/* Refuses each allocation of the steps in turn: the step fails, or does without, to the same bits. */
static void test_memory_refused(void **state)
{
    (void)state;
    struct data *const data = &data_of[0];
    struct toy_outcome one = train(&gnn_tensor_cpu, NULL, 1, data);
    uint32_t done_without = 0;
    bool more = true;
    for (uint64_t nth = 1; more; nth++) {
        struct bed bed;
        struct toy_outcome out;
        open_bed(&gnn_tensor_cpu, &(struct way){.sage = &counted, .threads = 1, .fail_after = nth}, data, &bed);
        const enum gnn_status status = toy_train(bed.model, &data->toy, &out);
        more = bed.memory.allocations >= bed.memory.fail_after;
        assert_true(status == GNN_OK || (status == GNN_ENOMEM && more));
        assert_true(status != GNN_OK || toy_same_bits(&out, &one));
        done_without += status == GNN_OK && more;
        toy_outcome_free(&out);
        close_bed(&bed);
    }
    /* a transpose, and sums of columns in two layers */
    assert_int_equal(done_without, gnn_narrow_kernels() == NULL ? 1 : 3);
    toy_outcome_free(&one);
}

/* Layers of many rows are done whole, both the first one and one whose input has a gradient; small ones are not. Three
 * threads outnumber the middle layer's two parts: its way back goes op by op. */
static void test_which_layers(void **state)
{
    (void)state;
    need_kernels();
    struct data *const data = &data_of[0];
    assert_int_equal(data->toy.batch.blocks[2].dst_count, 150);
    assert_int_equal(data->toy.batch.blocks[1].dst_count, 1500);
    for (uint32_t threads = 2; threads <= 3; threads++) {
        const uint32_t whole_back = threads == 2 ? 2 : 1;
        forward_done = forward_left = backward_done = backward_left = 0;
        struct toy_outcome out = train(&gnn_tensor_cpu, &counted, threads, data);
        assert_int_equal(forward_done, 2 * TOY_STEPS);
        assert_int_equal(forward_left, TOY_STEPS);
        assert_int_equal(backward_done, whole_back * TOY_STEPS);
        assert_int_equal(backward_left, (LAYERS - whole_back) * TOY_STEPS);
        toy_outcome_free(&out);
    }
}

/* What whole layers take beside single ops on one thread: the sums of each 64 rows, which those keep on two. */
static void test_memory(void **state)
{
    (void)state;
    for (size_t k = 0; k < SHAPES; k++) {
        struct data *const data = &data_of[k];
        struct toy_outcome whole = train(&gnn_tensor_cpu, gnn_tensor_cpu.sage, 1, data),
                           single = train(&gnn_tensor_cpu, NULL, 1, data);
        const uint64_t widest = gnn_max_u64(shapes[k].hidden, shapes[k].classes),
                       sums = gnn_div_up(data->toy.batch.blocks[0].dst_count, 64) * widest * sizeof(gnn_real);
        assert_true(whole.peak_bytes <= single.peak_bytes + sums + sums / 8); /* memory is kept with some slack */
        toy_outcome_free(&whole);
        toy_outcome_free(&single);
    }
}

int main(void)
{
    (void)printf("seed %d\n", SEED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_op_by_op),    cmocka_unit_test(test_without_kernels_and_buffers),
        cmocka_unit_test(test_memory_refused), cmocka_unit_test(test_which_layers),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, open_data, close_data);
}
