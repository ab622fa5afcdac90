/* SPDX-License-Identifier: MIT */
/* The test suite's launcher under ThreadSanitizer: threads of a block are in parallel, and ordered by what orders them
 * on a device. So a kernel that lacks a barrier is reported, whatever comes out of it here, and one that has them is
 * not. Without that sanitizer the values alone are looked at. */
#include "tests/op/cuda_races.h"
#include "tests/support/hang.h"
#include "tests/support/sanitizers.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { IN_WARP = 1, NEXT_WARP = 32, WRONG_VALUES = 3 };

static bool values_are_right(const struct races_case *c, const uint64_t *sums)
{
    for (uint32_t i = 0; i < RACES_BLOCKS * RACES_THREADS; i++)
        if (sums[i] != (uint64_t)c->rounds * ((i % RACES_THREADS) ^ c->apart) + c->rounds * (c->rounds - 1) / 2)
            return false;
    return true;
}

/* A process of its own, whose exit status the sanitizer changes when it has reported something. */
static int status_of(const struct races_case *c, bool ordered)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        static uint64_t sums[RACES_BLOCKS * RACES_THREADS];
        const int nowhere = open("/dev/null", O_WRONLY);
        if (!ordered)
            (void)dup2(nowhere, STDERR_FILENO); /* what it says of it is meant to be said */
        end_a_hang();
        races_run(c, sums);
        _exit(ordered && !values_are_right(c, sums) ? WRONG_VALUES : 0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void expect_ordered(const struct races_case *cases, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        const int status = status_of(&cases[k], true);
        if (status != 0)
            fail_msg("case %zu ended with %x", k, (unsigned)status);
    }
}

static void expect_race(const struct races_case *cases, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        const int status = status_of(&cases[k], false);
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0) != SANITIZERS_THREAD)
            fail_msg("case %zu ended with %x", k, (unsigned)status);
    }
}

#define COUNT(cases) (sizeof(cases) / sizeof *(cases))

static void test_barriers_order(void **state)
{
    (void)state;
    static const struct races_case cases[] = {
        {IN_WARP, 1, RACES_WARP, RACES_NOTHING},    {IN_WARP, 3, RACES_WARP, RACES_WARP},
        {NEXT_WARP, 1, RACES_BLOCK, RACES_NOTHING}, {NEXT_WARP, 3, RACES_BLOCK, RACES_BLOCK},
        {IN_WARP, 3, RACES_BLOCK, RACES_WARP},      {0, 3, RACES_NOTHING, RACES_NOTHING},
        {0, 3, RACES_SHUFFLE, RACES_SHUFFLE},
    };
    expect_ordered(cases, COUNT(cases));
}

static void test_a_missing_barrier_is_a_race(void **state)
{
    (void)state;
    static const struct races_case cases[] = {
        {IN_WARP, 1, RACES_NOTHING, RACES_NOTHING},
        {NEXT_WARP, 1, RACES_NOTHING, RACES_NOTHING},
    };
    expect_race(cases, COUNT(cases));
}

/* A word is written again while another thread may not have read it. */
static void test_a_missing_second_barrier_is_a_race(void **state)
{
    (void)state;
    static const struct races_case cases[] = {
        {IN_WARP, 2, RACES_WARP, RACES_NOTHING},
        {NEXT_WARP, 2, RACES_BLOCK, RACES_NOTHING},
    };
    expect_race(cases, COUNT(cases));
}

static void test_a_warps_barrier_orders_no_other_warp(void **state)
{
    (void)state;
    static const struct races_case cases[] = {
        {NEXT_WARP, 1, RACES_WARP, RACES_NOTHING},
        {NEXT_WARP, 2, RACES_BLOCK, RACES_WARP},
    };
    expect_race(cases, COUNT(cases));
}

/* CUDA's guide: a shuffle implies no memory barrier. */
static void test_a_shuffle_orders_no_memory(void **state)
{
    (void)state;
    static const struct races_case cases[] = {
        {IN_WARP, 1, RACES_SHUFFLE, RACES_NOTHING},
        {IN_WARP, 2, RACES_WARP, RACES_SHUFFLE},
    };
    expect_race(cases, COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barriers_order),
        cmocka_unit_test(test_a_missing_barrier_is_a_race),
        cmocka_unit_test(test_a_missing_second_barrier_is_a_race),
        cmocka_unit_test(test_a_warps_barrier_orders_no_other_warp),
        cmocka_unit_test(test_a_shuffle_orders_no_memory),
    };
    return cmocka_run_group_tests_name("cuda races", tests, NULL, NULL);
}
