/* SPDX-License-Identifier: MIT */
/* On a GPU, through the plugin: every op over the whole table against the reference, and the same bits on a second
 * run. `test_gpu_ops table`: the table alone, for tools that make it a hundred times as slow. */
#include "tests/gpu/device.h"
#include "tests/support/half_cases.h"
#include "tests/support/op_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct gpu_device gpu;

static void test_every_op_against_the_reference(void **state)
{
    (void)state;
    op_cases_against_reference(gpu.table, gpu.stand_in ? OP_ROUNDING_TWICE : OP_ROUNDING_FUSED);
}

static void test_activations_hide_no_nan(void **state)
{
    (void)state;
    op_cases_pass_nan_on(gpu.table);
}

static void test_every_half_is_widened(void **state)
{
    (void)state;
    half_cases_gather(gpu.table);
    half_cases_placed(gpu.table);
}

static void test_a_second_run_gives_the_same_bits(void **state)
{
    (void)state;
    op_cases_same_bits(gpu.table, false);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest table[] = {cmocka_unit_test(test_every_op_against_the_reference)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_op_against_the_reference),
        cmocka_unit_test(test_activations_hide_no_nan),
        cmocka_unit_test(test_every_half_is_widened),
        cmocka_unit_test(test_a_second_run_gives_the_same_bits),
    };
    if (!gpu_device_find(&gpu)) {
        (void)printf("[  SKIPPED ] 4 test(s)\n");
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "table") == 0)
        return cmocka_run_group_tests(table, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
