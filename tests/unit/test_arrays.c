/* SPDX-License-Identifier: MIT */
/* Arrays as other programs write them: byte orders, column order, files without a header, gzip under other names,
 * numbers that a float rounds; and the forms in which arrays hold edges. */
#include "harness/dataset/edge_arrays.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"
#include "tests/support/zip_files.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_big_endian(void **state)
{
    static const struct {
        const char *descr;
        unsigned char bytes[16];
        size_t len;
        int64_t expected[2];
    } cases[] = {
        {">i2", {0xff, 0xfe, 1, 0}, 4, {-2, 256}},
        {">u2", {0xff, 0xfe, 1, 0}, 4, {65534, 256}},
        {">i4", {0, 0, 1, 2, 0xff, 0xff, 0xff, 0xff}, 8, {258, -1}},
        {">i8", {0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 9}, 16, {4294967299, 9}},
        {">f2", {0xc5, 0, 0x3c, 0}, 4, {-5, 1}},
        {">f4", {0xc0, 0xa0, 0, 0, 0x3f, 0x80, 0, 0}, 8, {-5, 1}},
        {">f8", {0xc0, 0x14, 0, 0, 0, 0, 0, 0, 0x3f, 0xf0}, 16, {-5, 1}},
        {">u1", {7, 200}, 2, {7, 200}},
        {"=i2", {1, 0, 0, 1}, 4, {1, 256}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[DATA_PATH];
        struct gnn_npy *npy;
        struct gnn_err err = {0};
        int64_t whole[2];
        float real[2];
        data_write_npy(*state, "f.npy", cases[i].descr, "(2,)", cases[i].bytes, cases[i].len);
        must(gnn_npy_open(data_path(path, *state, "f.npy"), &npy, &err), &err);
        must(gnn_npy_read_i64(npy, whole, 2, &err), &err);
        gnn_npy_close(npy);
        must(gnn_npy_open(path, &npy, &err), &err);
        must(gnn_npy_read_f32(npy, real, 2, &err), &err);
        gnn_npy_close(npy);
        for (int j = 0; j < 2; j++) {
            assert_int_equal(whole[j], cases[i].expected[j]);
            assert_true(real[j] == (float)cases[i].expected[j]);
        }
    }
}

/* A float that is no longer exact is no ID; the largest exact one is. */
static void test_rounded_ids(void **state)
{
    static const double wide[] = {0x1p53, -0x1p53, 0x1p53 - 1};
    static const float single[] = {0x1p24F, -0x1p24F, 0x1p24F - 1};
    static const uint16_t half[] = {0x6800 /* 2048 */, 0xe800, 0x67ff /* 2047 */};
    static const struct {
        const char *descr, *message;
        const void *items;
        size_t bytes;
        int64_t expected;
    } cases[] = {
        {"<f8", "and float64 rounds whole numbers from 9007199254740992 on", wide, 8, (INT64_C(1) << 53) - 1},
        {"<f4", "number 0 is 16777216, and float32 rounds", single, 4, (1 << 24) - 1},
        {"<f2", "number 0 is 2048, and float16 rounds", half, 2, 2047},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t which = 0; which < 3; which++) {
            char path[DATA_PATH];
            struct gnn_npy *npy;
            struct gnn_err err = {0};
            int64_t value = 0;
            data_write_npy(*state, "f.npy", cases[i].descr, "(1,)",
                           (const char *)cases[i].items + which * cases[i].bytes, cases[i].bytes);
            must(gnn_npy_open(data_path(path, *state, "f.npy"), &npy, &err), &err);
            const enum gnn_status status = gnn_npy_read_i64(npy, &value, 1, &err);
            assert_int_equal(status, which == 2 ? GNN_OK : GNN_EFORMAT);
            assert_true(which != 2 || value == cases[i].expected);
            if (which == 0 && strstr(err.message, cases[i].message) == NULL)
                fail_msg("case %zu: '%s'", i, err.message);
            gnn_npy_close(npy);
        }
}

/* A matrix of ROWS rows and COLUMNS columns in Fortran order is read row by row, in blocks of any size. */
static void test_fortran(void **state)
{
    enum { ROWS = 700, COLUMNS = 3 };
    static int32_t items[COLUMNS * ROWS];
    char path[DATA_PATH];
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            items[c * ROWS + r] = r * 10 + c;
    for (uint64_t block = COLUMNS * 4; block < 40000; block = block * 5 + 7) {
        struct gnn_npy *npy;
        struct gnn_err err = {0};
        int64_t read[COLUMNS * ROWS];
        data_write_npy_fortran(*state, "f.npy", "<i4", "(700, 3)", items, sizeof items);
        must(gnn_npy_open(data_path(path, *state, "f.npy"), &npy, &err), &err);
        gnn_npy_set_block(npy, block);
        must(gnn_npy_read_i64(npy, read, 4, &err), &err);
        must(gnn_npy_skip(npy, 1001, &err), &err);
        must(gnn_npy_read_i64(npy, read + 1005, COLUMNS * ROWS - 1005, &err), &err);
        must(gnn_npy_expect_end(npy, &err), &err);
        gnn_npy_close(npy);
        for (int i = 0; i < COLUMNS * ROWS; i++)
            if (i < 4 || i >= 1005)
                assert_int_equal(read[i], i / COLUMNS * 10 + i % COLUMNS);
    }
    struct gnn_npy *npy;
    struct gnn_err err = {0};
    int64_t value;
    must(gnn_npy_open(path, &npy, &err), &err);
    gnn_npy_set_block(npy, COLUMNS * 4 - 1);
    assert_int_equal(gnn_npy_read_i64(npy, &value, 1, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "rows of 12 B in Fortran order, at most 11 B are possible"));
    gnn_npy_close(npy);
    data_write_npy_fortran(*state, "f.npy.gz", "<i4", "(700, 3)", items, sizeof items);
    err = (struct gnn_err){0};
    must(gnn_npy_open(data_path(path, *state, "f.npy.gz"), &npy, &err), &err);
    assert_int_equal(gnn_npy_read_i64(npy, &value, 1, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "unpack it with `gunzip`, or save"));
    gnn_npy_close(npy);
}

/* The name does not decide whether a file is compressed. */
static void test_gzip_by_content(void **state)
{
    static const int64_t items[] = {5, 6};
    char path[DATA_PATH], other[DATA_PATH];
    struct gnn_err err = {0};
    struct gnn_npy *npy;
    int64_t read[2];
    for (int gz = 0; gz < 2; gz++) {
        data_write_npy(*state, gz ? "f.npy.gz" : "f.npy", "<i8", "(2,)", items, sizeof items);
        assert_int_equal(rename(data_path(path, *state, gz ? "f.npy.gz" : "f.npy"),
                                data_path(other, *state, gz ? "g.npy" : "g.npy.gz")),
                         0);
        must(gnn_npy_open(other, &npy, &err), &err);
        must(gnn_npy_read_i64(npy, read, 2, &err), &err);
        must(gnn_npy_expect_end(npy, &err), &err);
        gnn_npy_close(npy);
        assert_int_equal(read[1], 6);
    }
    /* 1032 is the most that deflate makes of a byte. */
    data_write_npy(*state, "f.npy.gz", "<i8", "(400000000,)", items, sizeof items);
    assert_int_equal(gnn_npy_open(data_path(path, *state, "f.npy.gz"), &npy, &err), GNN_ESHORT);
    assert_non_null(strstr(err.message, "its header requires 3200000128 B, and its "));
    assert_non_null(strstr(err.message, "the file is truncated or damaged"));
}

static void test_no_header(void **state)
{
    static const unsigned char bytes[] = {0x1f, 0x8b, 8, 0, 0, 0, 0x80, 0x3f}; /* the start of gzip data, and 1.0f */
    const struct gnn_npy_header raw = {.kind = 'f', .item_bytes = 4, .dim_count = 1, .shape = {2}, .items = 2};
    struct gnn_npy_header longer = raw, shorter = raw;
    char path[DATA_PATH];
    struct gnn_err err = {0};
    struct gnn_npy *npy;
    float read[2];
    longer.items = 3;
    shorter.items = 1;
    data_write(*state, "f.npy", bytes, sizeof bytes);
    must(gnn_npy_open_as(data_path(path, *state, "f.npy"), &raw, &npy, &err), &err);
    must(gnn_npy_read_f32(npy, read, 1, &err), &err);
    must(gnn_npy_read_f32(npy, read + 1, 1, &err), &err);
    must(gnn_npy_expect_end(npy, &err), &err);
    gnn_npy_close(npy);
    assert_true(read[1] == 1);
    assert_true(memcmp(read, bytes, 4) == 0);
    assert_int_equal(gnn_npy_open_raw(path, &longer, &npy, &err), GNN_ESHORT);
    assert_non_null(strstr(err.message, "8 B, expected 3 numbers of 4 B without a header"));
    assert_int_equal(gnn_npy_open_raw(path, &shorter, &npy, NULL), GNN_EFORMAT);
    assert_false(gnn_npy_has_magic(path));
    data_write_npy(*state, "f.npy", "<f4", "(2,)", read, sizeof read);
    assert_true(gnn_npy_has_magic(path));
    assert_false(gnn_npy_has_magic("/nowhere"));
}

/* ---- edges ---- */

enum { EDGES = 5000, NODES = 900 };

static int64_t sources[EDGES], targets[EDGES];

/* Edges in the order of their targets, so that CSC gives the same order; nodes 0 to 2 and the last have no edge. */
static void fill_edges(void)
{
    for (int i = 0; i < EDGES; i++) {
        sources[i] = (int64_t)i * 7919 % NODES;
        targets[i] = 3 + (int64_t)i * (NODES - 4) / EDGES;
    }
}

static void check_edges(const struct gnn_edge_files *files, const char *what)
{
    struct gnn_edge_arrays *arrays;
    struct gnn_err err = {0};
    gnn_node a, b;
    bool more = true;
    must(gnn_edge_arrays_open(files, &arrays, &err), &err);
    assert_int_equal(gnn_edge_arrays_total(arrays), EDGES);
    for (int i = 0; i < EDGES; i++) {
        must(gnn_edge_arrays_next(arrays, &a, &b, &more, &err), &err);
        if (!more || a != sources[i] || b != targets[i])
            fail_msg("%s: edge %d joins %u and %u", what, i, a, b);
        assert_int_equal(gnn_edge_arrays_taken(arrays), i + 1);
    }
    must(gnn_edge_arrays_next(arrays, &a, &b, &more, &err), &err);
    assert_false(more);
    assert_int_equal(gnn_edge_arrays_nodes(arrays),
                     files->form == GNN_EDGES_CSC || files->form == GNN_EDGES_CSR ? NODES : 0);
    gnn_edge_arrays_close(arrays);
}

static void test_tables(void **state)
{
    static int64_t rows[2 * EDGES], pairs[2 * EDGES];
    char path[DATA_PATH];
    fill_edges();
    memcpy(rows, sources, sizeof sources);
    memcpy(rows + EDGES, targets, sizeof targets);
    for (int i = 0; i < EDGES; i++) {
        pairs[2 * i] = sources[i];
        pairs[2 * i + 1] = targets[i];
    }
    for (int gz = 0; gz < 2; gz++) {
        const char *const name = gz ? "e.npy.gz" : "e.npy";
        struct gnn_edge_files files = {.form = GNN_EDGES_TABLE};
        (void)snprintf(files.path[0], sizeof files.path[0], "%s", data_path(path, *state, name));
        data_write_npy(*state, name, "<i8", "(2, 5000)", rows, sizeof rows);
        check_edges(&files, "[2, E]");
        data_write_npy(*state, name, "<i8", "(5000, 2)", pairs, sizeof pairs);
        check_edges(&files, "[E, 2]");
        data_write_npy_fortran(*state, name, "<i8", "(2, 5000)", pairs, sizeof pairs);
        check_edges(&files, "[2, E] column by column");
        data_write_npy_fortran(*state, name, "<i8", "(5000, 2)", rows, sizeof rows);
        check_edges(&files, "[E, 2] column by column");
    }
    for (unsigned form = 0; form < 4; form++) {
        struct zip_file zip;
        struct gnn_edge_files files = {.form = GNN_EDGES_TABLE};
        zip_file_open(&zip, *state, "d.npz", form & 1, form & 2);
        zip_file_add_npy(&zip, "e.npy", "<i8", "(2, 5000)", rows, sizeof rows);
        zip_file_close(&zip);
        (void)snprintf(files.path[0], sizeof files.path[0], "%s", data_path(path, *state, "d.npz/e.npy"));
        check_edges(&files, "[2, E] in an archive");
    }
    /* Two edges of two nodes: rows come first. */
    struct gnn_edge_arrays *arrays;
    struct gnn_edge_files files = {.form = GNN_EDGES_TABLE};
    struct gnn_err err = {0};
    gnn_node a, b;
    bool more;
    data_write_npy(*state, "e.npy", "<i8", "(2, 2)", (const int64_t[]){0, 1, 2, 3}, 32);
    (void)snprintf(files.path[0], sizeof files.path[0], "%s", data_path(path, *state, "e.npy"));
    must(gnn_edge_arrays_open(&files, &arrays, &err), &err);
    must(gnn_edge_arrays_next(arrays, &a, &b, &more, &err), &err);
    assert_int_equal(a, 0);
    assert_int_equal(b, 2);
    gnn_edge_arrays_close(arrays);
}

static struct gnn_edge_files two_files(const char *dir, enum gnn_edge_form form, const char *first, const char *second)
{
    struct gnn_edge_files files = {.form = form};
    (void)snprintf(files.path[0], sizeof files.path[0], "%s/%s", dir, first);
    (void)snprintf(files.path[1], sizeof files.path[1], "%s/%s", dir, second);
    return files;
}

static void offsets_of(int64_t *indptr)
{
    memset(indptr, 0, (NODES + 1) * sizeof *indptr);
    for (int i = 0; i < EDGES; i++)
        indptr[targets[i] + 1]++;
    for (int v = 0; v < NODES; v++)
        indptr[v + 1] += indptr[v];
}

static void test_two_arrays(void **state)
{
    static int64_t indptr[NODES + 1];
    fill_edges();
    offsets_of(indptr);
    data_write_npy(*state, "row.npy", "<i8", "(5000,)", sources, sizeof sources);
    data_write_npy(*state, "col.npy", "<i8", "(5000, 1)", targets, sizeof targets);
    data_write_npy(*state, "indptr.npy", "<i8", "(901,)", indptr, sizeof indptr);
    data_write(*state, "indptr.dat", indptr, sizeof indptr);
    data_write(*state, "indices.dat", sources, sizeof sources);
    struct gnn_edge_files files = two_files(*state, GNN_EDGES_COLUMNS, "row.npy", "col.npy");
    check_edges(&files, "columns");
    files = two_files(*state, GNN_EDGES_CSC, "indptr.npy", "row.npy");
    check_edges(&files, "CSC");
    files = two_files(*state, GNN_EDGES_CSC, "indptr.dat", "indices.dat");
    files.raw[0] =
        (struct gnn_npy_header){.kind = 'i', .item_bytes = 8, .dim_count = 1, .shape = {NODES + 1}, .items = NODES + 1};
    files.raw[1] =
        (struct gnn_npy_header){.kind = 'i', .item_bytes = 8, .dim_count = 1, .shape = {EDGES}, .items = EDGES};
    check_edges(&files, "CSC without headers");
    for (int i = 0; i < EDGES; i++) { /* the same lists as CSR: the ends change places */
        const int64_t held = sources[i];
        sources[i] = targets[i];
        targets[i] = held;
    }
    files = two_files(*state, GNN_EDGES_CSR, "indptr.npy", "row.npy");
    check_edges(&files, "CSR");
}

static void test_malformed_lists(void **state)
{
    static const struct {
        int64_t indptr[4], indices[4];
        const char *message; /* NULL: good */
    } cases[] = {
        {{0, 2, 2, 4}, {0, 1, 2, 0}, NULL},
        {{0, 4, 4, 4}, {0, 1, 2, 0}, NULL},
        {{1, 2, 2, 4}, {0, 1, 2, 0}, "indptr.npy: starts at 1, expected 0"},
        {{0, 3, 2, 4}, {0, 1, 2, 0}, "list 1 ends at 2, expected 3 to 4"},
        {{0, 2, 2, 5}, {0, 1, 2, 0}, "list 2 ends at 5, expected 2 to 4"},
        {{0, 2, 2, 3}, {0, 1, 2, 0}, "ends at 3, expected the 4 IDs of "},
        {{0, 4, 4, 3}, {0, 1, 2, 0}, "offset 3 is 3, expected the 4 IDs"},
        {{0, -1, 2, 4}, {0, 1, 2, 0}, "list 0 ends at -1"},
        {{0, 2, 2, 4}, {0, 1, -2, 0}, "edge 2 joins -2 and 2"},
        {{0, 2, 2, 4}, {0, 1, 4294967295, 0}, "edge 2 joins 4294967295 and 2"},
    };
    const struct gnn_edge_files files = two_files(*state, GNN_EDGES_CSC, "indptr.npy", "indices.npy");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_edge_arrays *arrays = NULL;
        struct gnn_err err = {0};
        gnn_node a, b;
        bool more = true;
        data_write_npy(*state, "indptr.npy", "<i8", "(4,)", cases[i].indptr, sizeof cases[i].indptr);
        data_write_npy(*state, "indices.npy", "<i8", "(4,)", cases[i].indices, sizeof cases[i].indices);
        enum gnn_status status = gnn_edge_arrays_open(&files, &arrays, &err);
        while (status == GNN_OK && more)
            status = gnn_edge_arrays_next(arrays, &a, &b, &more, &err);
        gnn_edge_arrays_close(arrays);
        if (status != (cases[i].message == NULL ? GNN_OK : GNN_EFORMAT) ||
            (cases[i].message != NULL && strstr(err.message, cases[i].message) == NULL))
            fail_msg("case %zu: %s '%s'", i, gnn_status_name(status), err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_big_endian, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_rounded_ids, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_fortran, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_gzip_by_content, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_no_header, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_tables, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_two_arrays, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_malformed_lists, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("arrays", tests, NULL, NULL);
}
