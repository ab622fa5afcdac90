/* SPDX-License-Identifier: MIT */
/* The CUDA back-end's kernels and its ops, run on the host by the test suite's launcher: every op over the whole table
 * against the reference, the same bits on a second run, models trained as on the CPU, no allocation in steady state, a
 * device that is full. What a launcher cannot show stands in tests/support/cuda_host.h. */
#include "harness/tensor/cuda/backend.h"
#include "tests/support/golden_cases.h"
#include "tests/support/half_cases.h"
#include "tests/support/model_cases.h"
#include "tests/support/op_cases.h"
#include "tests/support/toy_block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern uint64_t cuda_host_capacity_bytes; /* tests/support/cuda_host.cc: of devices opened next */

static void test_every_op_against_the_reference(void **state)
{
    (void)state;
    const bool contracted = getenv("OOCGNN_CUDA_PTX") != NULL; /* nvcc's code: tests/support/cuda_host_ptx.h */
    op_cases_against_reference(&gnn_tensor_cuda, contracted ? OP_ROUNDING_FUSED : OP_ROUNDING_TWICE);
}

static void test_a_second_run_gives_the_same_bits(void **state)
{
    (void)state;
    op_cases_same_bits(&gnn_tensor_cuda, false);
}

static void test_activations_hide_no_nan(void **state)
{
    (void)state;
    op_cases_pass_nan_on(&gnn_tensor_cuda);
}

static void test_every_half_is_widened(void **state)
{
    (void)state;
    half_cases_gather(&gnn_tensor_cuda);
    half_cases_placed(&gnn_tensor_cuda);
}

static void test_models_are_those_of_pytorch(void **state)
{
    (void)state;
    golden_cases_against_pytorch(&gnn_tensor_cuda);
}

static void test_losses_are_those_of_the_cpu(void **state)
{
    (void)state;
    model_cases_against_cpu(&gnn_tensor_cuda, gnn_cuda_allocations);
}

static void test_a_full_device_is_a_result(void **state)
{
    (void)state;
    uint32_t failed = 0, finished = 0;
    for (uint64_t capacity = 1 << 10; finished == 0; capacity *= 2) {
        struct toy_memory memory = {0};
        struct gnn_err err = {0};
        cuda_host_capacity_bytes = capacity;
        struct gnn_tensor *t = toy_tensor_open(&gnn_tensor_cuda, &memory, 1);
        const enum gnn_status status = model_case_step(t, &err);
        assert_true(status == GNN_OK || status == GNN_EGPU);
        assert_true(status == GNN_OK || strstr(err.message, "full") != NULL);
        failed += status != GNN_OK;
        finished += status == GNN_OK;
        t->ops->close(t);
    }
    cuda_host_capacity_bytes = UINT64_MAX;
    assert_true(failed > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_op_against_the_reference), cmocka_unit_test(test_a_second_run_gives_the_same_bits),
        cmocka_unit_test(test_activations_hide_no_nan),        cmocka_unit_test(test_every_half_is_widened),
        cmocka_unit_test(test_models_are_those_of_pytorch),    cmocka_unit_test(test_losses_are_those_of_the_cpu),
        cmocka_unit_test(test_a_full_device_is_a_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
