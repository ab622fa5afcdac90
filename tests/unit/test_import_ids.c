/* SPDX-License-Identifier: MIT */
/* Numbering the IDs that occur, small and of 64 bits, and counting nodes without edges in little memory, both against a
 * plain count; tables of numbers in text. */
#include "harness/base/rng.h"
#include "harness/dataset/csv_numbers.h"
#include "harness/dataset/import_ids.h"
#include "harness/dataset/isolated.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"
#include "tests/support/seed.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* An output whose files are in dir. */
static struct gnn_output output_in(const char *dir)
{
    struct gnn_output output = {.lock_fd = -1};
    (void)snprintf(output.partial, sizeof output.partial, "%s", dir);
    return output;
}

/* ---- numbers of IDs ---- */

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void numbers_of(const char *dir, bool wide, uint64_t limit_bytes)
{
    enum { IDS = 120000 };
    struct gnn_output output = output_in(dir);
    struct gnn_rng rng = gnn_rng_at(test_seed());
    struct gnn_err err = {0};
    struct gnn_ids *ids;
    uint64_t *const all = malloc(IDS * sizeof *all);
    assert_non_null(all);
    must(gnn_ids_open(&output, wide, limit_bytes, &ids, &err), &err);
    for (uint32_t i = 0; i < IDS; i++) { /* a third of them twice or more often */
        all[i] = i % 3 == 2 ? all[gnn_rng_below(&rng, i)] : gnn_rng_below(&rng, wide ? UINT64_MAX : 300000);
        must(gnn_ids_add(ids, all[i], &err), &err);
    }
    must(gnn_ids_number(ids, &err), &err);
    assert_true(gnn_ids_bytes(ids) <= limit_bytes);
    qsort(all, IDS, sizeof *all, by_value);
    uint32_t number = 0;
    for (uint32_t i = 0; i < IDS; i++) {
        number += i > 0 && all[i] != all[i - 1];
        assert_int_equal(gnn_ids_rank(ids, all[i]), number);
    }
    assert_int_equal(gnn_ids_count(ids), number + 1);
    gnn_ids_close(ids);
    free(all);
}

static void test_ids_are_numbered_in_order(void **state)
{
    numbers_of(*state, false, 1 << 20);
    numbers_of(*state, true, 16 << 20);
    numbers_of(*state, true, 2 << 20); /* sorted outside memory */
    struct gnn_output output = output_in(*state);
    struct gnn_err err = {0};
    struct gnn_ids *ids;
    must(gnn_ids_open(&output, true, 1 << 16, &ids, &err), &err);
    for (uint64_t i = 0; i < 5000; i++)
        must(gnn_ids_add(ids, i << 40, &err), &err);
    assert_int_equal(gnn_ids_number(ids, &err), GNN_ECAP);
    must_show(err.message, "raise --memory");
    gnn_ids_close(ids);
}

/* ---- nodes without edges ---- */

static void test_nodes_without_edges(void **state)
{
    enum { NODES = 1000, EDGES = 700 };
    struct gnn_output output = output_in(*state);
    struct gnn_rng rng = gnn_rng_at(test_seed());
    static uint64_t indptr[NODES + 1];
    static gnn_node indices[EDGES];
    static bool has[NODES];
    uint64_t expected = 0;
    for (uint32_t v = 0; v < NODES; v++) /* lists of 700 nodes, of one source each */
        indptr[v + 1] = gnn_min_u64(v < 150 ? 0 : v - 149, EDGES);
    for (uint32_t v = 0; v < NODES; v++)
        for (uint64_t e = indptr[v]; e < indptr[v + 1]; e++) {
            indices[e] = 1 + (gnn_node)gnn_rng_below(&rng, NODES - 1);
            has[v] = has[indices[e]] = true;
        }
    for (uint32_t v = 0; v < NODES; v++)
        expected += !has[v];
    data_write(*state, "indptr", indptr, sizeof indptr);
    data_write(*state, "indices", indices, sizeof indices);
    for (uint64_t memory = 8; memory <= 1024; memory *= 2) { /* 16 windows, 8 ... one */
        struct gnn_isolated *isolated;
        struct gnn_err err = {0};
        uint64_t count = 0;
        bool first = false;
        must(gnn_isolated_open(NODES, memory, &isolated, &err), &err);
        for (uint32_t v = 0; v < NODES; v++)
            for (uint64_t e = indptr[v]; e < indptr[v + 1]; e++)
                gnn_isolated_mark(isolated, indices[e], v);
        must(gnn_isolated_count(isolated, &output, 4, &count, &first, &err), &err);
        assert_int_equal(count, expected);
        assert_true(first);
        gnn_isolated_close(isolated);
    }
    print_message("%" PRIu64 " of %d nodes\n", expected, NODES);
    assert_true(expected > 50);
}

/* ---- numbers in text ---- */

static void test_tables(void **state)
{
    static const struct {
        const char *text, *nodes; /* nodes: num-node-list, or NULL */
        uint64_t rows, columns;
        double last;
        const char *message; /* of an error */
    } cases[] = {
        {"1,2\n3,4.5\n", NULL, 2, 2, 4.5, NULL},
        {"1 ; -2e3\r\n\r\n 3 ;\t4", "2\n", 2, 2, 4, NULL},
        {"nan\n7\n", NULL, 2, 1, 7, NULL},
        {"1\n2\n", "3\n", 3, 1, 2, NULL}, /* too short: the reader of arrays notices it */
        {"1,2\n3\n", NULL, 0, 0, 0, "t.csv:2: 1 columns, expected the 2 of the first row"},
        {"1,2\n3,4,5\n", NULL, 0, 0, 0, "t.csv:2: 3 columns"},
        {"a,b\n1,2\n", NULL, 1, 2, 2, NULL},
        {"\xEF\xBB\xBF\"a;b\"\r\n\"1\";\"2\"\r\n", NULL, 1, 2, 2, NULL},
        {"\xEF\xBB\xBF"
         "1;\"2\" \n",
         NULL, 1, 2, 2, NULL},
        {"nan,inf\n1,2\n", NULL, 2, 2, 2, NULL},
        {"a,1\n1,2\n", NULL, 0, 0, 0, "t.csv:1: column 1: not a number: 'a'"},
        {"a,b\n", NULL, 0, 0, 0, "holds no numbers"},
        {"1\n\"2\n", NULL, 0, 0, 0, "t.csv:2: column 1: not a number: '\"2'"},
        {"1\n\n\n", NULL, 1, 1, 1, NULL},
        {"1\n\n2\n", NULL, 0, 0, 0, "t.csv:2: an empty line before further rows"},
        {"\n2\n", NULL, 0, 0, 0, "t.csv:1: an empty line before further rows"},
        {"1,,2\n", NULL, 0, 0, 0, "t.csv:1: column 2: an empty field"},
        {"1\n2 3\n", NULL, 0, 0, 0, "t.csv:2: column 1: not a number: '2 3'"},
        {"\n\n", NULL, 0, 0, 0, "holds no numbers"},
        {"1\n2\n", "1\n1\n", 0, 0, 0, "num-node-list.csv: several graphs"},
        {"1\n", "-1\n", 0, 0, 0, "num-node-list.csv: expected one count"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[DATA_PATH];
        struct gnn_csv_numbers *numbers = NULL;
        struct gnn_err err = {0};
        uint64_t rows = 0, columns = 0, got = 0;
        double values[16];
        data_write(*state, "t.csv", cases[i].text, strlen(cases[i].text));
        if (cases[i].nodes != NULL)
            data_write(*state, "num-node-list.csv", cases[i].nodes, strlen(cases[i].nodes));
        else
            (void)remove(data_path(path, *state, "num-node-list.csv"));
        const enum gnn_status status =
            gnn_csv_numbers_open(data_path(path, *state, "t.csv"), &numbers, &rows, &columns, &err);
        if (cases[i].message != NULL) {
            assert_int_equal(status, GNN_EFORMAT);
            must_show(err.message, cases[i].message);
            continue;
        }
        must(status, &err);
        assert_int_equal(rows, cases[i].rows);
        assert_int_equal(columns, cases[i].columns);
        must(gnn_csv_numbers_read(numbers, values, 16, &got, &err), &err);
        assert_true(got > 0 && values[got - 1] == cases[i].last);
        gnn_csv_numbers_close(numbers);
    }
    assert_true(gnn_csv_is_name("a/b.csv") && gnn_csv_is_name("b.csv.gz"));
    assert_false(gnn_csv_is_name("a.csv/b.npy") || gnn_csv_is_name(".csv"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ids_are_numbered_in_order, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_nodes_without_edges, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_tables, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("import_ids", tests, NULL, NULL);
}
