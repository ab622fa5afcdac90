/* SPDX-License-Identifier: MIT */
/* Comma-separated values: quotes, ends of lines, what is refused with file:line, and what is written can be read. */
#include "harness/base/csv.h"

#include "tests/support/must.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum gnn_status open_text(const char *dir, const char *text, struct gnn_csv *csv, struct gnn_err *err)
{
    char path[1200];
    process_write_file(dir, "t.csv", 0644, "%s", text);
    (void)snprintf(path, sizeof path, "%s/t.csv", dir);
    return gnn_csv_open(path, csv, err);
}

static void fields_are_found(void **state)
{
    static const char *const texts[] = {"name,value\n\"a, \"\"b\"\"\",1\n,\n",
                                        "name,value\r\n\"a, \"\"b\"\"\",1\r\n,\r\n",
                                        "name,value\n\"a, \"\"b\"\"\",1\n,"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct gnn_csv csv;
        struct gnn_err err = {0};
        must(open_text(*state, texts[i], &csv, &err), &err);
        assert_int_equal(csv.columns, 2);
        assert_int_equal(csv.rows, 2);
        assert_int_equal(gnn_csv_column(&csv, "value"), 1);
        assert_int_equal(gnn_csv_column(&csv, "val"), 2);
        assert_string_equal(gnn_csv_field(&csv, 0, 0), "a, \"b\"");
        assert_string_equal(gnn_csv_field(&csv, 0, 1), "1");
        assert_string_equal(gnn_csv_field(&csv, 1, 0), "");
        assert_string_equal(gnn_csv_field(&csv, 1, 1), "");
        gnn_csv_close(&csv);
    }
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *text, *part;
    } cases[] = {{"", "t.csv: it is empty"},
                 {"a,b\n1\n", "t.csv:2: 1 fields, the heading has 2"},
                 {"a,b\n1,2\n1,2,3\n", "t.csv:3: 3 fields, the heading has 2"},
                 {"a,b\n\"1,2\n", "t.csv:2: a quote is not closed"},
                 {"a,b\n\"1\"x,2\n", "t.csv:2: a quote is not closed"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_csv csv;
        struct gnn_err err = {0};
        assert_int_equal(open_text(*state, cases[i].text, &csv, &err), GNN_EFORMAT);
        if (strstr(err.message, cases[i].part) == NULL)
            fail_msg("case %zu: \"%s\" lacks \"%s\"", i, err.message, cases[i].part);
        assert_null(csv.text);
    }
    struct gnn_csv csv;
    struct gnn_err err = {0};
    assert_int_equal(gnn_csv_open("/nonexistent/t.csv", &csv, &err), GNN_ENOENT);
    gnn_csv_close(&csv);
}

static void what_is_written_is_read(void **state)
{
    static const char *const fields[] = {"plain", "a,b", "\"", "", "it's", "x\"y\",z"};
    enum { COUNT = sizeof fields / sizeof *fields };
    char *text = NULL;
    size_t bytes = 0;
    struct gnn_csv csv;
    struct gnn_err err = {0};
    FILE *const out = open_memstream(&text, &bytes);
    assert_non_null(out);
    for (int row = 0; row < 2; row++)
        for (int i = 0; i < COUNT; i++)
            gnn_csv_put(fields[i], i + 1 < COUNT ? ',' : '\n', out);
    assert_int_equal(fclose(out), 0);
    must(open_text(*state, text, &csv, &err), &err);
    assert_int_equal(csv.rows, 1);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_string_equal(gnn_csv_field(&csv, 0, i), fields[i]);
    gnn_csv_close(&csv);
    free(text);
}

static int make_dir(void **state)
{
    *state = process_temp_dir();
    return *state == NULL;
}

static int remove_dir(void **state)
{
    process_remove_tree(*state);
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields_are_found), cmocka_unit_test(mistakes_are_named),
                                       cmocka_unit_test(what_is_written_is_read)};
    return cmocka_run_group_tests_name("csv", tests, make_dir, remove_dir);
}
