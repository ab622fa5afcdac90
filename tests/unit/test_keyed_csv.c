/* SPDX-License-Identifier: MIT */
/* Rows with a key: replaced, kept, sorted by number, and refused with file, line and remedy. */
#include "harness/base/keyed_csv.h"
#include "harness/base/text_file.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const names[] = {"figure", "method", "value"};
static const uint32_t keys[] = {0, 1};
static const struct gnn_csv_form form = {
    .what = "a file of values", .names = names, .columns = 3, .keys = keys, .key_count = 2, .sort_count = 1};
#define HEADING "figure,method,value\n"

static enum gnn_status update(const char *path, const char *text, struct gnn_err *err)
{
    char *const own = strdup(text);
    assert_non_null(own);
    return gnn_keyed_csv_update(path, &form, own, "name another file", err);
}

static void rows_are_replaced_and_sorted(void **state)
{
    static const struct {
        const char *rows, *file;
    } steps[] = {
        {HEADING "fig10,b,1\nfig2,b,2\n", HEADING "fig2,b,2\nfig10,b,1\n"},
        {HEADING "fig2,a,3\n", HEADING "fig2,b,2\nfig2,a,3\nfig10,b,1\n"}, /* methods stay in their order */
        {HEADING "fig2,b,\"4, or 5\"\n", HEADING "fig2,b,\"4, or 5\"\nfig2,a,3\nfig10,b,1\n"},
        {HEADING "fig2,c,6\nfig2,c,7\n", HEADING "fig2,b,\"4, or 5\"\nfig2,a,3\nfig2,c,7\nfig10,b,1\n"},
        {HEADING, HEADING "fig2,b,\"4, or 5\"\nfig2,a,3\nfig2,c,7\nfig10,b,1\n"},
    };
    char path[1200], text[1000];
    struct gnn_err err = {0};
    (void)snprintf(path, sizeof path, "%s/v.csv", (const char *)*state);
    must(update(path, HEADING, &err), &err);
    assert_int_not_equal(gnn_text_file_read(path, text, sizeof text), 0); /* no rows make no file */
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        must(update(path, steps[i].rows, &err), &err);
        assert_int_equal(gnn_text_file_read(path, text, sizeof text), 0);
        assert_string_equal(text, steps[i].file);
    }
}

static void other_files_are_refused(void **state)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"figure,method\n", "o.csv:1: a file of values has 3 columns, and column 1 is \"figure\"; name another file"},
        {"figure,way,value\n", "o.csv:1: a file of values has 3 columns, and column 2 is \"method\"; name another"},
        {HEADING "fig2,b\n", "o.csv:2: 2 fields, the heading has 3; name another file"},
    };
    char path[1200], text[100];
    (void)snprintf(path, sizeof path, "%s/o.csv", (const char *)*state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_err err = {0};
        process_write_file(*state, "o.csv", 0644, "%s", cases[i].text);
        assert_int_equal(update(path, HEADING "fig2,b,1\n", &err), GNN_EFORMAT);
        must_show(err.message, cases[i].part);
        assert_int_equal(gnn_text_file_read(path, text, sizeof text), 0);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_replaced_and_sorted, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(other_files_are_refused, process_dir_set_up, process_dir_tear_down),
    };
    return cmocka_run_group_tests_name("keyed csv", tests, NULL, NULL);
}
