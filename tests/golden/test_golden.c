/* SPDX-License-Identifier: MIT */
/* The models on every back-end of the program against what PyTorch computed. */
#include "tests/support/device_tensor.h"
#include "tests/support/golden_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void test_models_against_pytorch(void **state)
{
    (void)state;
    golden_cases_against_pytorch(&gnn_tensor_ref);
    golden_cases_against_pytorch(&gnn_tensor_cpu);
}

static void test_a_memory_of_its_own(void **state)
{
    (void)state;
    golden_cases_against_pytorch(&device_tensor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models_against_pytorch),
        cmocka_unit_test(test_a_memory_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
