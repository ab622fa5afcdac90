/* SPDX-License-Identifier: MIT */
/* The CPU back-end against the reference over the whole table of ops, and the oracle itself by hand. */
#include "harness/tensor/dropout.h"
#include "tests/support/device_tensor.h"
#include "tests/support/half_cases.h"
#include "tests/support/op_cases.h"
#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void test_against_reference(void **state)
{
    (void)state;
    op_cases_against_reference(&gnn_tensor_cpu, OP_ROUNDING_TWICE);
}

/* Memory that faults when it is dereferenced: what the table does to pass on a GPU, it does here. */
static void test_a_memory_of_its_own(void **state)
{
    (void)state;
    op_cases_against_reference(&device_tensor, OP_ROUNDING_TWICE);
}

static void test_same_bits(void **state)
{
    (void)state;
    op_cases_same_bits(&gnn_tensor_cpu, true);
}

static void test_activations_hide_no_nan(void **state)
{
    (void)state;
    op_cases_pass_nan_on(&gnn_tensor_ref);
    op_cases_pass_nan_on(&gnn_tensor_cpu);
}

static void test_every_half_is_widened(void **state)
{
    (void)state;
    half_cases_gather(&gnn_tensor_ref);
    half_cases_placed(&gnn_tensor_ref);
    half_cases_gather(&gnn_tensor_cpu);
    half_cases_placed(&gnn_tensor_cpu);
    half_cases_gather(&device_tensor);
    half_cases_placed(&device_tensor);
}

/* ---- the oracle itself, by hand ---- */

static void test_reductions_by_hand(void **state)
{
    (void)state;
    const uint32_t row_start[] = {0, 2, 2, 3}, col[] = {0, 3, 2};
    const struct gnn_block b = {3, 4, 3, row_start, col};
    gnn_real x[] = {1, 8, 20, 30, 5, 6, 3, 4};
    static const gnn_real want[3][6] = {{2, 6, 0, 0, 5, 6}, {4, 12, 0, 0, 5, 6}, {3, 8, 0, 0, 5, 6}};
    static const uint32_t winner[] = {3, 0, GNN_NODE_NONE, GNN_NODE_NONE, 2, 2};
    for (uint32_t kind = GNN_REDUCE_MEAN; kind <= GNN_REDUCE_MAX; kind++) {
        gnn_real out[6];
        uint32_t argmax[6];
        gnn_tensor_ref.segment_reduce(NULL, (enum gnn_reduce)kind, (struct gnn_mat){out, 3, 2}, &b,
                                      (struct gnn_mat){x, 4, 2}, argmax);
        for (uint32_t k = 0; k < 6; k++) {
            assert_true(out[k] == want[kind][k]);
            assert_true(kind != GNN_REDUCE_MAX || argmax[k] == winner[k]);
        }
    }
}

static void test_softmax_by_hand(void **state)
{
    (void)state;
    gnn_real logits[] = {0, 0, 0, 0, 1, 1, -1, 0};
    const int32_t labels[] = {0, 1};
    double loss;
    uint32_t correct;
    gnn_tensor_ref.softmax_nll(NULL, (struct gnn_mat){logits, 2, 4}, labels, &loss, &correct);
    const double sum = 2 * exp(1) + exp(-1) + 1;
    assert_true(fabs(loss - (log(4) + log(sum) - 1) / 2) < 1e-12);
    assert_int_equal(correct, 1); /* ties go to the lowest class: row 0 is right, row 1 says 0 */
    assert_true(fabsf(logits[0] - (0.25f - 1) / 2) < 1e-7f);
    assert_true(fabsf(logits[1] - 0.25f / 2) < 1e-7f);
    assert_true(fabs((double)logits[5] - (exp(1) / sum - 1) / 2) < 1e-7);
}

/* torch.optim.Adam's first step is lr * sign(gradient), whatever the gradient's size. */
static void test_adam_by_hand(void **state)
{
    (void)state;
    gnn_real param[] = {1, 1, 1}, grad[] = {100, -0.01f, 0}, m[3] = {0}, v[3] = {0};
    const struct gnn_adam adam = {.lr = 0.003, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .step = 1};
    gnn_tensor_ref.adam(NULL, param, grad, m, v, 3, &adam);
    assert_true(fabsf(param[0] - 0.997f) < 1e-6f && fabsf(param[1] - 1.003f) < 1e-6f && param[2] == 1);
    assert_true(fabsf(m[0] - 10) < 1e-5f && fabsf(v[0] - 10) < 1e-4f);
}

static void test_dropout_statistics(void **state)
{
    (void)state;
    static const double rates[] = {0.5, 0.2, 0.9};
    enum { ROWS = 500, COLS = 201, COUNT = ROWS * COLS };
    gnn_real *z = malloc(COUNT * sizeof *z), *other = malloc(COUNT * sizeof *other);
    assert_true(z != NULL && other != NULL);
    for (uint32_t r = 0; r < 3; r++) {
        uint32_t dropped = 0, same = 0;
        for (uint32_t k = 0; k < COUNT; k++)
            z[k] = other[k] = 1;
        gnn_tensor_cpu.activate(NULL, GNN_ACT_NONE, (struct gnn_mat){z, ROWS, COLS}, NULL,
                                &(struct gnn_dropout){rates[r], 41});
        gnn_tensor_cpu.activate(NULL, GNN_ACT_NONE, (struct gnn_mat){other, ROWS, COLS}, NULL,
                                &(struct gnn_dropout){rates[r], 42});
        for (uint32_t k = 0; k < COUNT; k++) {
            dropped += z[k] == 0;
            same += z[k] == other[k];
            assert_true(z[k] == 0 || fabs((double)z[k] - 1 / (1 - rates[r])) < 1e-5);
        }
        const double agree = rates[r] * rates[r] + (1 - rates[r]) * (1 - rates[r]);
        assert_true(fabs(dropped / (double)COUNT - rates[r]) < 0.008);
        assert_true(fabs(same / (double)COUNT - agree) < 0.008);
    }
    free(z);
    free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_reference),
        cmocka_unit_test(test_a_memory_of_its_own),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_activations_hide_no_nan),
        cmocka_unit_test(test_every_half_is_widened),

        cmocka_unit_test(test_reductions_by_hand),
        cmocka_unit_test(test_softmax_by_hand),
        cmocka_unit_test(test_adam_by_hand),
        cmocka_unit_test(test_dropout_statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
