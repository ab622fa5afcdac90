/* SPDX-License-Identifier: MIT */
/* Errors: what a message says of memory and descriptors, which of two errors stays, and what is too long for it. */
#include "harness/oocgnn.h"
#include "tests/support/must.h"
#include "tests/support/sanitizers.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_no_memory_is_said_once_and_first(void **state)
{
    (void)state;
    struct gnn_err err = {0};
    assert_int_equal(gnn_fail(&err, GNN_ENOMEM, "feature buffer (%d bytes)", 4096), GNN_ENOMEM);
    assert_string_equal(err.message, "out of memory: feature buffer (4096 bytes)");
    assert_int_equal(gnn_fail(NULL, GNN_ENOMEM, "nothing to write to"), GNN_ENOMEM);
}

static void test_other_errors_are_said_as_they_are(void **state)
{
    (void)state;
    for (int status = GNN_OK + 1; status < GNN_STATUS_COUNT; status++) {
        struct gnn_err err = {0};
        assert_int_equal(gnn_fail(&err, (enum gnn_status)status, "option %s", "memory"), status);
        assert_int_equal(err.status, status);
        if (status != GNN_ENOMEM && status != GNN_EFILES)
            assert_string_equal(err.message, "option memory");
    }
}

static void test_no_descriptor_is_said_with_the_remedy_once(void **state)
{
    (void)state;
    static const char wanted[] = "pipe: Too many open files; close other files or raise the limit: ulimit -n";
    struct gnn_err err = {0}, forwarded = {0}, cut = {0};
    assert_int_equal(gnn_errno_status(EMFILE, GNN_EIO), GNN_EFILES);
    assert_int_equal(gnn_errno_status(ENFILE, GNN_EIO), GNN_EFILES);
    assert_int_equal(gnn_errno_status(EIO, GNN_EIO), GNN_EIO);
    assert_int_equal(gnn_errno_status(0, GNN_ENOMEM), GNN_ENOMEM);
    assert_int_equal(gnn_fail(&err, GNN_EFILES, "pipe: Too many open files"), GNN_EFILES);
    assert_string_equal(err.message, wanted);
    assert_int_equal(gnn_fail(&forwarded, err.status, "%s", err.message), GNN_EFILES);
    assert_string_equal(forwarded.message, wanted);
    char name[2 * GNN_ERR_MAX];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(gnn_fail(&cut, GNN_EFILES, "%s", name), GNN_EFILES); /* the remedy is not what is cut */
    assert_int_equal(strlen(cut.message), GNN_ERR_MAX - 1);
    assert_string_equal(cut.message + GNN_ERR_MAX - 1 - strlen("x; close other files or raise the limit: ulimit -n"),
                        "x; close other files or raise the limit: ulimit -n");
}

static void test_the_first_error_stays(void **state)
{
    (void)state;
    struct gnn_err err = {0};
    assert_int_equal(gnn_fail(&err, GNN_EIO, "first"), GNN_EIO);
    assert_int_equal(gnn_fail(&err, GNN_ENOMEM, "second"), GNN_ENOMEM); /* what the caller returns is its own */
    assert_int_equal(err.status, GNN_EIO);
    assert_string_equal(err.message, "first");
}

static void test_a_long_message_is_cut(void **state)
{
    (void)state;
    struct gnn_err err = {0};
    char name[2 * GNN_ERR_MAX];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(gnn_fail(&err, GNN_ENOMEM, "%s", name), GNN_ENOMEM);
    assert_int_equal(strlen(err.message), GNN_ERR_MAX - 1);
    assert_memory_equal(err.message, "out of memory: x", 16);
}

static enum gnn_status make_table(size_t count, uint64_t **out, struct gnn_err *err)
{
    GNN_NEW(*out, count, err, "a table of %zu", count);
    return GNN_OK;
}

static void test_bookkeeping_is_zeroed_or_named(void **state)
{
    (void)state;
    struct gnn_err err = {0};
    uint64_t *table = NULL;
    must(make_table(3, &table, &err), &err);
    assert_true(table[0] == 0 && table[1] == 0 && table[2] == 0);
    free(table);
    if (SANITIZERS_SHADOW_PERCENT > 0)
        skip_test("a sanitizer ends the program where the allocator would say no");
    const volatile size_t too_many = SIZE_MAX / 16; /* more than an address space holds; no constant to warn about */
    assert_int_equal(make_table(too_many, &table, &err), GNN_ENOMEM);
    assert_null(table);
    assert_non_null(strstr(err.message, "out of memory: a table of "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_memory_is_said_once_and_first),
        cmocka_unit_test(test_other_errors_are_said_as_they_are),
        cmocka_unit_test(test_no_descriptor_is_said_with_the_remedy_once),
        cmocka_unit_test(test_the_first_error_stays),
        cmocka_unit_test(test_a_long_message_is_cut),
        cmocka_unit_test(test_bookkeeping_is_zeroed_or_named),
    };
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
