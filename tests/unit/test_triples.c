/* SPDX-License-Identifier: MIT */
/* Knowledge graphs: lines and names, imports against a second reading of the input, opening, what is known to be true,
 * malformed input, the bound on memory. */
#include "harness/dataset/prepare.h"
#include "harness/dataset/read.h"
#include "harness/dataset/triples.h"
#include "harness/graph/triples.h"
#include "harness/world/measured/measured.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct gnn_import_options defaults(void)
{
    struct gnn_import_options options;
    gnn_option_defaults(gnn_import_table, &options);
    return options;
}

static enum gnn_status import(const char *from, const char *root, const char *out,
                              const struct gnn_import_options *options, struct gnn_err *err)
{
    char to[DATA_PATH];
    const struct gnn_import_source source = {.format = GNN_IMPORT_TRIPLES, .from = from, .name = "kg"};
    const struct gnn_prepare_job job = {.out_dir = data_path(to, root, out)};
    *err = (struct gnn_err){0};
    return gnn_prepare_import(&source, options, &job, err);
}

/* ---- lines and names ---- */

static void test_lines(void **state)
{
    (void)state;
    static const struct {
        const char *line, *field[3], *why;
    } cases[] = {
        {"a\tlikes\tb", {"a", "likes", "b"}, NULL},
        {"/m/1 x\t/r.\t \xc3\xa9", {"/m/1 x", "/r.", " \xc3\xa9"}, NULL},
        {"", {NULL}, NULL},
        {" \t ", {NULL}, NULL},
        {"a\tb", {NULL}, "fewer than three"},
        {"a b c", {NULL}, "fewer than three"},
        {"a\tb\tc\t", {NULL}, "more than three"},
        {"a\tb\tc\td", {NULL}, "more than three"},
        {"a\t\tc", {NULL}, "an empty field"},
        {"\tb\tc", {NULL}, "an empty field"},
        {"a\tb\t", {NULL}, "an empty field"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_triple_line fields;
        const char *why = NULL;
        const enum gnn_triple_kind kind = gnn_triple_parse_line(cases[i].line, GNN_COLUMNS_HRT, &fields, &why);
        if (cases[i].why != NULL) {
            assert_int_equal(kind, GNN_TRIPLE_BAD);
            assert_non_null(strstr(why, cases[i].why));
            continue;
        }
        assert_int_equal(kind, cases[i].field[0] != NULL ? GNN_TRIPLE_FIELDS : GNN_TRIPLE_SKIP);
        for (int f = 0; f < 3 && cases[i].field[0] != NULL; f++) {
            assert_int_equal(fields.length[f], strlen(cases[i].field[f]));
            assert_memory_equal(fields.field[f], cases[i].field[f], fields.length[f]);
        }
    }
}

/* The columns in another order, or two of them; the names of columns. */
static void test_columns(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum gnn_columns columns;
        const char *field[3], *why;
    } cases[] = {
        {"a\tb\tr", GNN_COLUMNS_HTR, {"a", "r", "b"}, NULL},      {"r\ta\tb", GNN_COLUMNS_RHT, {"a", "r", "b"}, NULL},
        {"a\tb", GNN_COLUMNS_HT, {"a", NULL, "b"}, NULL},         {" a  b ", GNN_COLUMNS_HT, {"a", NULL, "b"}, NULL},
        {"a x\tb y", GNN_COLUMNS_HT, {"a x", NULL, "b y"}, NULL}, {"# c", GNN_COLUMNS_HT, {NULL}, NULL},
        {"a b c", GNN_COLUMNS_HT, {NULL}, "more than two"},       {"a", GNN_COLUMNS_HT, {NULL}, "fewer than two"},
        {"a\tb\tc", GNN_COLUMNS_HT, {NULL}, "more than two"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_triple_line fields = {.length = {0}};
        const char *why = NULL;
        const enum gnn_triple_kind kind = gnn_triple_parse_line(cases[i].line, cases[i].columns, &fields, &why);
        assert_int_equal(kind, cases[i].why != NULL        ? GNN_TRIPLE_BAD
                               : cases[i].field[0] == NULL ? GNN_TRIPLE_SKIP
                                                           : GNN_TRIPLE_FIELDS);
        if (cases[i].why != NULL)
            must_show(why, cases[i].why);
        for (int f = 0; f < 3 && kind == GNN_TRIPLE_FIELDS; f++) {
            assert_int_equal(fields.length[f], cases[i].field[f] != NULL ? strlen(cases[i].field[f]) : 0);
            if (cases[i].field[f] != NULL)
                assert_memory_equal(fields.field[f], cases[i].field[f], fields.length[f]);
        }
    }
    int columns = 7;
    assert_true(gnn_triple_heading("head\trelation\ttail", &columns));
    assert_int_equal(columns, GNN_COLUMNS_HRT);
    assert_true(gnn_triple_heading("Subject\tObject\tPredicate", &columns));
    assert_int_equal(columns, GNN_COLUMNS_HTR);
    assert_true(gnn_triple_heading("r\th\tt", &columns));
    assert_int_equal(columns, GNN_COLUMNS_RHT);
    assert_true(gnn_triple_heading("entity_id_1\trel\te2", &columns));
    assert_int_equal(columns, GNN_COLUMNS_HRT);
    assert_true(gnn_triple_heading("t\tr\th", &columns));
    assert_int_equal(columns, -1);
    assert_false(gnn_triple_heading("head\tknows\ttail", &columns));
    assert_false(gnn_triple_heading("head\ttail", &columns));
}

static void test_numbers(void **state)
{
    (void)state;
    uint32_t number = 0;
    assert_true(gnn_triple_number("041x", 3, 42, &number));
    assert_int_equal(number, 41);
    assert_false(gnn_triple_number("42", 2, 42, &number));
    assert_false(gnn_triple_number("99999999999999999999", 20, UINT32_MAX, &number));
    assert_false(gnn_triple_number("-1", 2, 42, &number));
    assert_false(gnn_triple_number("", 0, 42, &number));
}

/* More names than the table begins with, each twice; then a bound that they pass. */
static void test_names_are_numbered_as_they_come(void **state)
{
    (void)state;
    struct gnn_names *names = NULL;
    struct gnn_err err = {0};
    struct gnn_names_memory large = {.limit_bytes = 1 << 20}, small = {.limit_bytes = 40000};
    must(gnn_names_open(&large, &names, &err), &err);
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < 5000; i++) {
            char name[16];
            uint32_t number = UINT32_MAX;
            const int length = snprintf(name, sizeof name, "n%u", i * 7);
            must(gnn_names_add(names, name, (uint32_t)length, &number, &err), &err);
            assert_int_equal(number, i);
        }
    uint64_t bytes = 0;
    assert_int_equal(gnn_names_count(names), 5000);
    assert_memory_equal(gnn_names_text(names, &bytes), "n0\nn7\nn14\n", 10);
    gnn_names_close(names);
    must(gnn_names_open(&small, &names, &err), &err);
    enum gnn_status status = GNN_OK;
    for (uint32_t i = 0; i < 5000 && status == GNN_OK; i++) {
        char name[16];
        uint32_t number;
        const int length = snprintf(name, sizeof name, "n%u", i);
        status = gnn_names_add(names, name, (uint32_t)length, &number, &err);
    }
    assert_int_equal(status, GNN_ECAP);
    assert_non_null(strstr(err.message, "raise --memory"));
    gnn_names_close(names);
}

/* Tables share their memory: what one does not use the other may. */
static void test_names_share_memory(void **state)
{
    (void)state;
    struct gnn_names_memory memory = {.limit_bytes = 200000};
    struct gnn_names *names = NULL, *others = NULL;
    struct gnn_err err = {0};
    uint32_t number, alone = 0, both = 0;
    char name[16];
    for (int pass = 0; pass < 2; pass++) {
        memory.used_bytes = 0;
        err = (struct gnn_err){0};
        must(gnn_names_open(&memory, &names, &err), &err);
        must(gnn_names_open(&memory, &others, &err), &err);
        for (uint32_t i = 0; pass == 1 && i < 2000; i++) {
            (void)snprintf(name, sizeof name, "other%u", i);
            must(gnn_names_add(others, name, (uint32_t)strlen(name), &number, &err), &err);
        }
        uint32_t *const count = pass == 0 ? &alone : &both;
        for (enum gnn_status status = GNN_OK; status == GNN_OK; *count += status == GNN_OK) {
            (void)snprintf(name, sizeof name, "n%08u", *count);
            status = gnn_names_add(names, name, 9, &number, &err);
            assert_true(memory.used_bytes <= memory.limit_bytes);
        }
        must_show(err.message, "raise --memory");
        gnn_names_close(names);
        gnn_names_close(others);
    }
    print_message("%u names alone, %u beside 2000 others\n", alone, both);
    assert_true(alone > 7000); /* 18 B a name and 4 B a slot */
    assert_true(both < alone - 1500 && both > 3500);
}

/* ---- an import ---- */

static const char train_text[] =
    "ann\tlikes\tbob\nbob\tlikes\tcid\n\nann\tknows\tbob\r\ncid\tknows\tann\nbob\tlikes\tbob\n";
static const char valid_text[] = "ann\tlikes\tcid\n";
static const char test_text[] = "dora\tknows\tann\nann\tlikes\tbob"; /* no end of the last line; an edge of train */

static void write_input(const char *root, char in[DATA_PATH])
{
    (void)mkdir(data_path(in, root, "in"), 0777);
    data_write(in, "train.txt", train_text, strlen(train_text));
    data_write_gz(in, "valid.tsv.gz", valid_text, strlen(valid_text));
    data_write(in, "test.txt", test_text, strlen(test_text));
}

static void expect_file(const char *dir, const char *name, const void *bytes, size_t length)
{
    size_t found = 0;
    char *const text = data_read(dir, name, &found);
    assert_non_null(text);
    if (found != length || memcmp(text, bytes, length) != 0)
        fail_msg("%s: %zu bytes that are not the %zu expected", name, found, length);
    free(text);
}

static void test_import(void **state)
{
    static const uint32_t train[] = {0, 0, 1, 1, 0, 2, 0, 1, 1, 2, 1, 0, 1, 0, 1}, valid[] = {0, 0, 2},
                          test[] = {3, 1, 0, 0, 0, 1};
    static const uint64_t indptr[] = {0, 1, 3, 4, 4};
    static const gnn_node indices[] = {2, 0, 1, 1}; /* ann -> bob stands once, whatever the relations */
    char in[DATA_PATH], out[DATA_PATH];
    struct gnn_err err;
    const struct gnn_import_options options = defaults();
    write_input(*state, in);
    must(import(in, *state, "kg", &options, &err), &err);
    data_path(out, *state, "kg");
    expect_file(out, "triples-train", train, sizeof train);
    expect_file(out, "triples-valid", valid, sizeof valid);
    expect_file(out, "triples-test", test, sizeof test);
    expect_file(out, "indptr", indptr, sizeof indptr);
    expect_file(out, "indices", indices, sizeof indices);
    expect_file(out, "node-names", "ann\nbob\ncid\ndora\n", 17);
    expect_file(out, "relation-names", "likes\nknows\n", 12);
    must(gnn_prepare_check(out, true, NULL, NULL, NULL, &err), &err);
    must(import(in, *state, "kg", &options, &err), &err); /* there already: as good */
}

/* Each of these is found by the check: a node, a relation, a name too few. */
static void test_check_finds_damage(void **state)
{
    char in[DATA_PATH], out[DATA_PATH];
    struct gnn_err err;
    const struct gnn_import_options options = defaults();
    static const struct {
        const char *file;
        long at;
        const char byte, *message;
    } cases[] = {{"triples-train", 8, 9, "edge 0 has node 9"},
                 {"triples-test", 4, 5, "edge 0 has relation 5"},
                 {"node-names", 3, ' ', "3 lines, expected a name for each of 4"}};
    write_input(*state, in);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[16];
        size_t length = 0;
        (void)snprintf(name, sizeof name, "kg%zu", i);
        must(import(in, *state, name, &options, &err), &err);
        char *const text = data_read(data_path(out, *state, name), cases[i].file, &length);
        text[cases[i].at] = cases[i].byte;
        data_write(out, cases[i].file, text, length);
        free(text);
        err = (struct gnn_err){0};
        assert_int_equal(gnn_prepare_check(out, true, NULL, NULL, NULL, &err), GNN_EFORMAT);
        /* Names are read as text: their damage may show in the checksum first. */
        if (strstr(err.message, cases[i].message) == NULL && strstr(err.message, "checksum") == NULL)
            fail_msg("%s: %s", cases[i].file, err.message);
    }
}

static void test_numbers_as_ids(void **state)
{
    static const char text[] = "4\t1\t0\n0\t0\t4\n";
    static const uint32_t train[] = {4, 1, 0, 0, 0, 4};
    static const int64_t array[] = {4, 1, 0, 0, 0, 4};
    char in[DATA_PATH], out[DATA_PATH];
    struct gnn_err err;
    struct gnn_meta *const meta = malloc(sizeof *meta);
    struct gnn_import_options options = defaults();
    (void)mkdir(data_path(in, *state, "in"), 0777);
    data_write(in, "train.txt", text, strlen(text));
    options.nodes = 6;
    must(import(in, *state, "text", &options, &err), &err);
    expect_file(data_path(out, *state, "text"), "triples-train", train, sizeof train);
    must(gnn_read_meta(out, meta, &err), &err);
    assert_int_equal(meta->node_count, 6);
    assert_int_equal(meta->relation_count, 2);
    assert_false(data_exists(out, "node-names"));
    (void)mkdir(data_path(in, *state, "npy"), 0777);
    data_write_npy(in, "train_hrt.npy", "<i8", "(2, 3)", array, sizeof array);
    options = defaults();
    must(import(in, *state, "array", &options, &err), &err);
    expect_file(data_path(out, *state, "array"), "triples-train", train, sizeof train);
    must(gnn_read_meta(out, meta, &err), &err);
    assert_int_equal(meta->node_count, 5);
    must(gnn_prepare_check(out, true, NULL, NULL, NULL, &err), &err);
    free(meta);
}

/* Other names of files, a pair of arrays, other orders of columns, two columns: the same edges. */
static void test_other_layouts(void **state)
{
    static const uint32_t train[] = {4, 1, 0, 0, 0, 4}, valid[] = {1, 1, 2, 0, 0, 3}, plain[] = {4, 0, 0, 0, 0, 4};
    static const int64_t hrt[] = {4, 1, 0, 0, 0, 4}, hr[] = {1, 1, 0, 0}, tails[] = {2, 3}, three[] = {1, 1, 1};
    static const struct {
        const char *train, *valid_name, *valid;
        enum gnn_columns columns;
        const uint32_t *expected;
    } cases[] = {
        {"4\t1\t0\n0\t0\t4\n", "val.txt", "1\t1\t2\n", GNN_COLUMNS_HRT, train},
        {"head\trel\ttail\n4\t1\t0\n0\t0\t4\n", "dev.tsv", "h\tr\tt\n1\t1\t2\n", GNN_COLUMNS_HRT, train},
        {"4\t0\t1\n0\t4\t0\n", "valid.txt", "1\t2\t1\n", GNN_COLUMNS_HTR, train},
        {"1\t4\t0\n0\t0\t4\n", "validation.txt", "1\t1\t2\n", GNN_COLUMNS_RHT, train},
        {"# c\n4 0\n0\t4\n", "dev.txt", "1 2\n", GNN_COLUMNS_HT, plain},
    };
    char in[DATA_PATH], out[DATA_PATH], name[16];
    struct gnn_err err;
    struct gnn_import_options options = defaults();
    options.nodes = 6;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)snprintf(name, sizeof name, "in%zu", i);
        (void)mkdir(data_path(in, *state, name), 0777);
        data_write(in, "train.txt", cases[i].train, strlen(cases[i].train));
        data_write(in, cases[i].valid_name, cases[i].valid, strlen(cases[i].valid));
        options.columns = cases[i].columns;
        (void)snprintf(name, sizeof name, "out%zu", i);
        must(import(in, *state, name, &options, &err), &err);
        expect_file(data_path(out, *state, name), "triples-train", cases[i].expected, sizeof train);
        const uint32_t last[] = {1, cases[i].columns == GNN_COLUMNS_HT ? 0 : 1, 2};
        expect_file(out, "triples-valid", last, sizeof last);
    }
    (void)mkdir(data_path(in, *state, "pair"), 0777);
    data_write_npy(in, "train_hrt.npy", "<i8", "(2, 3)", hrt, sizeof hrt);
    data_write_npy(in, "val_hr.npy", "<i8", "(2, 2)", hr, sizeof hr);
    data_write_npy(in, "val_t.npy", "<i8", "(2,)", tails, sizeof tails);
    options = defaults();
    must(import(in, *state, "pairs", &options, &err), &err);
    expect_file(data_path(out, *state, "pairs"), "triples-valid", valid, sizeof valid);
    data_write_npy(in, "val_t.npy", "<i8", "(3,)", three, sizeof three);
    assert_int_equal(import(in, *state, "other", &options, &err), GNN_EFORMAT);
    must_show(err.message, "val_t.npy: 3 targets, expected one for each of the 2 in ");
    options.columns = GNN_COLUMNS_HT;
    assert_int_equal(import(in, *state, "other", &options, &err), GNN_EUSAGE);
    must_show(err.message, "--columns ht is for text");
}

static void test_malformed(void **state)
{
    static const int64_t negative[] = {0, 0, -4};
    static const struct {
        const char *name, *text;
        uint32_t nodes;
        const char *message;
        enum gnn_status status;
    } cases[] = {
        {"train.txt", "a\tb\tc\na b c\n", 0, "train.txt:2: fewer than three fields", GNN_EFORMAT},
        {"train.txt", "a\tb\tc\n\nx\ty\tz\tw\n", 0, "train.txt:3: more than three fields: 'x\ty\tz\tw'", GNN_EFORMAT},
        {"train.txt", "1\t0\t2\n1\t0\t6\n", 6, "train.txt:2: target '6': expected a number from 0 to 5", GNN_EFORMAT},
        {"train.txt", "1\tr\t2\n", 6, "relation 'r'", GNN_EFORMAT},
        {"train.txt", "1\t20000000\t2\n", 30000000, "in another order, add --columns htr or rht", GNN_EFORMAT},
        {"train.txt", "a\tb\tc\td\n", 0, "`cut -f1-3` keeps the first three", GNN_EFORMAT},
        {"train.txt", "a,b,c\n", 0, "`tr ',' '\\t'` writes tabs", GNN_EFORMAT},
        {"train.txt", "a b c\n", 0, "`tr ' ' '\\t'` writes tabs", GNN_EFORMAT},
        {"train.txt", "head\ttail\trelation\na\tb\tr\n", 0, "add --columns htr", GNN_EFORMAT},
        {"train.txt", "tail\thead\trelation\n", 0, "expected one of the orders of --columns", GNN_EFORMAT},
        {"train.txt", "relation\thead\ttail\n", 0, "add --columns rht", GNN_EFORMAT},
        {"train.txt", "2\n0 1 0\n", 0, "train.txt | tr ' ' '\\t'` writes the edges with tabs", GNN_EFORMAT},
        {"train.csv", "a,b,c\n", 0, "not read: train.csv; write train.txt, valid.txt and", GNN_EUSAGE},
        {"train.txt", "\n\n", 0, "holds no edge", GNN_EFORMAT},
        {"other.txt", "a\tb\tc\n", 0, "takes a directory with train.txt, train.tsv", GNN_EUSAGE},
        {"train_hrt.npy", NULL, 0, "edge 0: target -4", GNN_EFORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char in[DATA_PATH], name[16];
        struct gnn_err err;
        struct gnn_import_options options = defaults();
        (void)snprintf(name, sizeof name, "in%zu", i);
        (void)mkdir(data_path(in, *state, name), 0777);
        if (cases[i].text != NULL)
            data_write(in, cases[i].name, cases[i].text, strlen(cases[i].text));
        else
            data_write_npy(in, cases[i].name, "<i8", "(1, 3)", negative, sizeof negative);
        options.nodes = cases[i].nodes;
        const enum gnn_status status = import(in, *state, "out", &options, &err);
        if (status != cases[i].status || strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: %s '%s'", i, gnn_status_name(status), err.message);
        assert_int_equal(data_entries(*state), i + 1);
    }
}

static void test_options_without_a_meaning(void **state)
{
    char in[DATA_PATH];
    struct gnn_err err;
    struct gnn_import_options options = defaults();
    write_input(*state, in);
    options.dim = 8;
    assert_int_equal(import(in, *state, "out", &options, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "--task link learns vectors of width --dim"));
}

/* ---- opened ---- */

static void test_opened(void **state)
{
    char in[DATA_PATH], out[DATA_PATH];
    struct gnn_err err;
    const struct gnn_import_options options = defaults();
    struct gnn_world *world = NULL;
    struct gnn_dataset *d = NULL;
    struct gnn_triple *edges = NULL;
    struct gnn_known *known = NULL;
    uint64_t count = 0;
    write_input(*state, in);
    must(import(in, *state, "kg", &options, &err), &err);
    must(gnn_world_measured_open(&(struct gnn_measured_config){0}, &world, &err), &err);
    data_path(out, *state, "kg");
    assert_int_equal(gnn_dataset_open(world, out, 0, GNN_F32, 4, &d, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "--task link"));
    err = (struct gnn_err){0};
    must(gnn_dataset_open(world, out, 12, GNN_F32, 4, &d, &err), &err);
    assert_int_equal(d->relation_count, 2);
    assert_int_equal(d->triple_count[GNN_TRIPLES_TRAIN], 5);
    assert_int_equal(d->row_bytes, 48);
    must(gnn_triples_load(world, d, GNN_TRIPLES_TEST, &edges, &err), &err);
    assert_int_equal(edges[0].source, 3);
    gnn_mem_free(world, edges);
    must(gnn_known_open(world, d, &known, &err), &err);
    const struct gnn_triple *found = gnn_known_find(known, 1, 0, 0, &count); /* ann likes: bob, of two splits; cid */
    assert_int_equal(count, 2);
    assert_int_equal(found[0].target, 1);
    assert_int_equal(found[1].target, 2);
    found = gnn_known_find(known, 0, 0, 1, &count); /* who knows ann: cid, dora */
    assert_int_equal(count, 2);
    assert_int_equal(found[0].source, 2);
    assert_int_equal(found[1].source, 3);
    (void)gnn_known_find(known, 1, 3, 0, &count);
    assert_int_equal(count, 0);
    gnn_known_close(known);
    gnn_dataset_close(world, d);
    gnn_world_measured_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_names_are_numbered_as_they_come),
        cmocka_unit_test_setup_teardown(test_import, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_check_finds_damage, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_numbers_as_ids, data_set_up, data_tear_down),
        cmocka_unit_test(test_names_share_memory),
        cmocka_unit_test_setup_teardown(test_other_layouts, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_malformed, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_options_without_a_meaning, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_opened, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("triples", tests, NULL, NULL);
}
