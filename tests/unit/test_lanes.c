/* SPDX-License-Identifier: MIT */
/* Inner products of two rows at a time are those of one, to the bit. */
#include "harness/tensor/cpu/lanes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { HEADS = 9, COUNT = 40, STEP = COUNT + 3 };

static void fill(float *out, uint64_t count, uint64_t salt)
{
    for (uint64_t k = 0; k < count; k++)
        out[k] = (float)((k * 7919 + salt) % 1009) / 1009 - 0.5f;
}

static void test_two_rows_are_two_single_ones(void **state)
{
    (void)state;
    float a[HEADS * STEP], rows[2][HEADS * STEP], two[2][HEADS], one[HEADS];
    fill(a, HEADS * STEP, 1);
    fill(rows[0], HEADS * STEP, 2);
    fill(rows[1], HEADS * STEP, 3);
    const float *const b[2] = {rows[0], rows[1]};
    float *const out[2] = {two[0], two[1]};
    for (uint64_t heads = 1; heads <= HEADS; heads++)
        for (uint64_t count = 1; count <= COUNT; count++)
            for (uint64_t step = 0; step <= STEP; step += STEP) { /* rows that all heads share, or a part each */
                gnn_lane_dots_of_two(out, a, STEP, b, step, heads, count);
                for (uint32_t r = 0; r < 2; r++) {
                    gnn_lane_dots(one, a, STEP, rows[r], step, heads, count);
                    assert_memory_equal(two[r], one, heads * sizeof *one);
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_rows_are_two_single_ones)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
