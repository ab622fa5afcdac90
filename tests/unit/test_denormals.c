/* SPDX-License-Identifier: MIT */
/* Tests that a thread takes denormal numbers for 0 once it was told to, that those it starts do, and that others do
 * not. */
#include "harness/base/denormals.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct told {
    bool before, after, child;
};

static void *look(void *arg)
{
    *(bool *)arg = gnn_denormals_are_flushed();
    return NULL;
}

static void *flush_and_look(void *arg)
{
    struct told *const told = arg;
    pthread_t child;
    told->before = gnn_denormals_are_flushed();
    gnn_denormals_flush();
    told->after = gnn_denormals_are_flushed();
    told->child = !told->after;
    if (pthread_create(&child, NULL, look, &told->child) == 0)
        (void)pthread_join(child, NULL);
    return NULL;
}

static void test_threads_started_later_do_too(void **state)
{
    struct told told = {.before = true};
    pthread_t thread;
    (void)state;
#if !defined(__x86_64__) && !defined(__aarch64__)
    skip();
#endif
    assert_false(gnn_denormals_are_flushed());
    assert_int_equal(pthread_create(&thread, NULL, flush_and_look, &told), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(told.before);
    assert_true(told.after);
    assert_true(told.child);
    assert_false(gnn_denormals_are_flushed()); /* the other threads are as they were */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads_started_later_do_too)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
