/* SPDX-License-Identifier: MIT */
/* What imports read: NumPy headers and numbers, gzip streams, SNAP lines, and the sorter behind them. */
#include "harness/base/rng.h"
#include "harness/dataset/edges.h"
#include "harness/dataset/sorter.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"
#include "tests/support/seed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- NumPy headers ---- */

static void test_npy_headers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        char kind;
        uint32_t item_bytes, dims;
        uint64_t items;
        const char *message; /* NULL: good */
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n", 'f', 4, 2, 12, NULL},
        {"{'shape': (7,), 'fortran_order': False, 'descr': '<i8'}\n", 'i', 8, 1, 7, NULL},
        {"{\"descr\": \"|u1\", \"fortran_order\": False, \"shape\": ()}", 'u', 1, 0, 1, NULL},
        {"{'descr': '<f2', 'fortran_order': True, 'shape': (5,), }", 'f', 2, 1, 5, NULL},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (0, 9), }", 'i', 4, 2, 0, NULL},
        {"{'descr': '<i4', 'fortran_order': True, 'shape': (2, 9), }", 'i', 4, 2, 18, NULL},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (3L, 4L), }", 'f', 4, 2, 12, NULL},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3LL,), }", 0, 0, 0, 0, "no readable shape"},
        {"{'descr': '>f3', 'fortran_order': False, 'shape': (3,), }", 0, 0, 0, 0, "dtype '>f3' is not supported: save"},
        {"{'descr': 'f4', 'fortran_order': False, 'shape': (3,), }", 0, 0, 0, 0, "dtype 'f4'"},
        {"{'descr': '<U9', 'fortran_order': False, 'shape': (3,), }", 0, 0, 0, 0, "dtype '<U9'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }", 0, 0, 0, 0, "structured"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }", 0, 0, 0, 0, "more than 2 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }", 0, 0, 0, 0, "no readable shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 0, 0, 0, 0,
         "no readable shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 0, 0, 0, 0, "2^64 numbers"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904,), }", 0, 0, 0, 0, "2^64 bytes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3", 0, 0, 0, 0, "no readable shape"},
        {"{'descr': '<f4', 'fortran_order': False, }", 0, 0, 0, 0, "not a NumPy dictionary"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,), }", 0, 0, 0, 0, "not a NumPy dictionary"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 0, 0, 0, 0, "not a NumPy"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } x", 0, 0, 0, 0, "not a NumPy dictionary"},
        {"", 0, 0, 0, 0, "not a NumPy dictionary"},
        {"{", 0, 0, 0, 0, "not a NumPy dictionary"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_npy_header header;
        struct gnn_err err = {0};
        const enum gnn_status status = gnn_npy_parse(cases[i].text, strlen(cases[i].text), "f.npy", &header, &err);
        if (cases[i].message == NULL) {
            must(status, &err);
            assert_int_equal(header.kind, cases[i].kind);
            assert_int_equal(header.item_bytes, cases[i].item_bytes);
            assert_int_equal(header.dim_count, cases[i].dims);
            assert_int_equal(header.items, cases[i].items);
        } else if (status != GNN_EFORMAT || strstr(err.message, cases[i].message) == NULL) {
            fail_msg("case %zu: %s '%s'", i, gnn_status_name(status), err.message);
        }
    }
}

/* ---- NumPy files ---- */

#define NPY_HEAD "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }\n"

static void test_npy_files(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        enum gnn_status status;
        const char *message;
    } cases[] = {
        {"\x93NUMPY\x01\x00\x3a\x00" NPY_HEAD "\1\0\0\0\2\0\0\0", 10 + 58 + 8, GNN_OK, ""},
        {"\x93NUMPY\x02\x00\x3a\x00\x00\x00" NPY_HEAD "\1\0\0\0\2\0\0\0", 12 + 58 + 8, GNN_OK, ""},
        {"\x93NUMPY\x04\x00\x3a\x00\x00\x00" NPY_HEAD "\1\0\0\0\2\0\0\0", 12 + 58 + 8, GNN_EFORMAT, "format 4.0"},
        {"\x93NUMPY\x02\x00\x3a\x00\x00\x01" NPY_HEAD, 12 + 58, GNN_EFORMAT, "header of"},
        {"\x93NUMPX\x01\x00\x3a\x00" NPY_HEAD "\1\0\0\0\2\0\0\0", 10 + 58 + 8, GNN_EFORMAT, "magic"},
        {"\x93NUMPY\x01\x00\x3a\x00" NPY_HEAD "\1\0\0\0\2\0\0", 10 + 58 + 7, GNN_ESHORT,
         "75 B, its header requires 76"},
        {"\x93NUMPY\x01\x00\x3a\x00" NPY_HEAD "\1\0\0\0\2\0\0\0\0", 10 + 58 + 9, GNN_EFORMAT, "header requires 76"},
        {"\x93NUMPY\x01\x00\x3a\x00{'descr'", 18, GNN_ESHORT, "inside its header"},
        {"\x93NUM", 4, GNN_ESHORT, "inside its header"},
        {"", 0, GNN_ESHORT, "inside its header"},
    };
    char path[DATA_PATH];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_npy *npy = NULL;
        struct gnn_err err = {0};
        data_write(*state, "f.npy", cases[i].bytes, cases[i].len);
        const enum gnn_status status = gnn_npy_open(data_path(path, *state, "f.npy"), &npy, &err);
        if (status != cases[i].status || strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: %s '%s'", i, gnn_status_name(status), err.message);
        if (status != GNN_OK)
            continue;
        int64_t values[2];
        must(gnn_npy_read_i64(npy, values, 2, &err), &err);
        assert_int_equal(values[0], 1);
        assert_int_equal(values[1], 2);
        must(gnn_npy_expect_end(npy, &err), &err);
        gnn_npy_close(npy);
    }
    struct gnn_npy *npy;
    struct gnn_err err = {0};
    assert_int_equal(gnn_npy_open("/nowhere.npy", &npy, &err), GNN_ENOENT);
    gnn_npy_close(NULL);
}

/* Every dtype as integers and as floats; what does not fit is refused. */
static void test_npy_numbers(void **state)
{
    static const int8_t i1[] = {-1, 5};
    static const uint8_t u1[] = {255, 0};
    static const int16_t i2[] = {-300, 7};
    static const uint16_t half[] = {0xc500 /* -5 */, 0x3c00 /* 1 */};
    static const int32_t i4[] = {-70000, 70000};
    static const uint32_t u4[] = {4000000000u, 1};
    static const int64_t i8[] = {-5000000000, 2};
    static const uint64_t u8[] = {1u << 20, 3};
    static const float f4[] = {-2, 8388608};
    static const double f8[] = {1e9, -4};
    const struct {
        const char *descr;
        const void *items;
        size_t bytes;
        int64_t expected[2];
    } cases[] = {
        {"|i1", i1, sizeof i1, {-1, 5}},
        {"|u1", u1, sizeof u1, {255, 0}},
        {"|b1", "\1\0", 2, {1, 0}},
        {"<i2", i2, sizeof i2, {-300, 7}},
        {"<f2", half, sizeof half, {-5, 1}},
        {"<i4", i4, sizeof i4, {-70000, 70000}},
        {"<u4", u4, sizeof u4, {4000000000, 1}},
        {"<i8", i8, sizeof i8, {-5000000000, 2}},
        {"<u8", u8, sizeof u8, {1 << 20, 3}},
        {"<f4", f4, sizeof f4, {-2, 8388608}},
        {"<f8", f8, sizeof f8, {1000000000, -4}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int gz = 0; gz < 2; gz++) {
            char path[DATA_PATH];
            const char *name = gz ? "f.npy.gz" : "f.npy";
            struct gnn_npy *npy;
            struct gnn_err err = {0};
            int64_t whole[2];
            float real[2];
            data_write_npy(*state, name, cases[i].descr, "(2,)", cases[i].items, cases[i].bytes);
            must(gnn_npy_open(data_path(path, *state, name), &npy, &err), &err);
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

static void test_npy_misfits(void **state)
{
    static const double fraction[] = {1.5}, infinite[] = {INFINITY}, missing[] = {NAN}, large[] = {1e30};
    static const uint64_t top[] = {UINT64_MAX};
    static const uint16_t tiny[] = {0x0001}, nan_half[] = {0x7e00};
    static const struct {
        const char *descr;
        const void *items;
        size_t bytes;
        enum gnn_status status;
        int64_t expected;
    } cases[] = {
        {"<f8", fraction, 8, GNN_EFORMAT, 0},      {"<f8", infinite, 8, GNN_EFORMAT, 0},
        {"<f8", large, 8, GNN_EFORMAT, 0},         {"<u8", top, 8, GNN_EFORMAT, 0},
        {"<f2", tiny, 2, GNN_EFORMAT, 0},          {"<f8", missing, 8, GNN_OK, GNN_NPY_NAN},
        {"<f2", nan_half, 2, GNN_OK, GNN_NPY_NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[DATA_PATH];
        struct gnn_npy *npy;
        struct gnn_err err = {0};
        int64_t value = 0;
        data_write_npy(*state, "f.npy", cases[i].descr, "(1,)", cases[i].items, cases[i].bytes);
        must(gnn_npy_open(data_path(path, *state, "f.npy"), &npy, &err), &err);
        assert_int_equal(gnn_npy_read_i64(npy, &value, 1, &err), cases[i].status);
        assert_true(cases[i].status != GNN_OK || value == cases[i].expected);
        gnn_npy_close(npy);
    }
}

/* A gzip stream that was cut, flipped, or holds too little or too much for its header. */
static void test_gzip_damage(void **state)
{
    enum { COUNT = 4096 };
    static int64_t items[COUNT];
    char path[DATA_PATH];
    size_t len = 0;
    for (int i = 0; i < COUNT; i++)
        items[i] = (int64_t)i * 7919 % 4001;
    data_write_npy(*state, "f.npy.gz", "<i8", "(4096,)", items, sizeof items);
    data_path(path, *state, "f.npy.gz");
    char *bytes = data_read(*state, "f.npy.gz", &len);
    for (int kind = 0; kind < 4; kind++) {
        struct gnn_npy *npy = NULL;
        struct gnn_err err = {0};
        if (kind == 0)
            data_write(*state, "f.npy.gz", bytes, len / 2);
        if (kind == 1) {
            bytes[len / 2] ^= 0x55;
            data_write(*state, "f.npy.gz", bytes, len);
        }
        if (kind == 2)
            data_write_npy(*state, "f.npy.gz", "<i8", "(4097,)", items, sizeof items);
        if (kind == 3)
            data_write_npy(*state, "f.npy.gz", "<i8", "(4095,)", items, sizeof items);
        enum gnn_status status = gnn_npy_open(path, &npy, &err);
        const uint64_t count = status == GNN_OK ? npy->header.items : 0;
        for (uint64_t i = 0; status == GNN_OK && i < count; i++) {
            int64_t value;
            status = gnn_npy_read_i64(npy, &value, 1, &err);
        }
        if (status == GNN_OK)
            status = gnn_npy_expect_end(npy, &err);
        gnn_npy_close(npy);
        if (status != (kind == 2 ? GNN_ESHORT : GNN_EFORMAT) || strstr(err.message, "f.npy.gz") == NULL)
            fail_msg("kind %d: %s '%s'", kind, gnn_status_name(status), err.message);
    }
    free(bytes);
}

/* ---- text ---- */

/* Reads all edges; returns the status at the end. */
static enum gnn_status count_edges(const char *path, bool npy, uint64_t *count, uint64_t *sum, struct gnn_err *err)
{
    struct gnn_edges *edges;
    *count = *sum = 0;
    GNN_TRY(gnn_edges_open(path, npy, &edges, err));
    enum gnn_status status = GNN_OK;
    for (bool more = true; status == GNN_OK && more;) {
        gnn_node source = 0, target = 0;
        status = gnn_edges_next(edges, &source, &target, &more, err);
        if (status == GNN_OK && more) {
            (*count)++;
            *sum += 3 * (uint64_t)source + target;
        }
    }
    gnn_edges_close(edges);
    return status;
}

/* Windows line ends, no newline at the end, lines across the read window, gzip: the same edges. */
static void test_snap_files(void **state)
{
    enum { LINES = 20000 };
    char *text = malloc(LINES * 24 + 64), path[DATA_PATH];
    size_t len = 0;
    uint64_t expected = 0, count, sum;
    struct gnn_err err = {0};
    len += (size_t)sprintf(text + len, "# Directed graph\r\n\r\n");
    for (uint64_t i = 0; i < LINES; i++) {
        len += (size_t)sprintf(text + len, i % 2 == 0 ? "%lu\t%lu\r\n" : "%lu  %lu\n", i, i * i % 9973);
        expected += 3 * i + i * i % 9973;
    }
    for (int gz = 0; gz < 2; gz++) {
        (gz ? data_write_gz : data_write)(*state, "edges.txt", text, len - 1);
        must(count_edges(data_path(path, *state, "edges.txt"), false, &count, &sum, &err), &err);
        assert_int_equal(count, LINES);
        assert_int_equal(sum, expected);
    }
    free(text);
    data_write(*state, "edges.txt", "1 2\n3 4\nfive 6\n", 15);
    assert_int_equal(count_edges(path, false, &count, &sum, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "edges.txt:3: not two node IDs: 'five 6'"));
    char *huge = malloc(70000);
    memset(huge, '1', 70000);
    data_write(*state, "edges.txt", huge, 70000);
    free(huge);
    err = (struct gnn_err){0};
    assert_int_equal(count_edges(path, false, &count, &sum, &err), GNN_EFORMAT);
    data_write(*state, "edges.txt", "1 2\n3\0004\n", 8);
    err = (struct gnn_err){0};
    assert_int_equal(count_edges(path, false, &count, &sum, &err), GNN_EFORMAT);
}

static void test_npy_edges(void **state)
{
    static const int64_t good[] = {0, 1, 2, 10, 11, 12}, negative[] = {0, 1, -2, 10, 11, 12},
                         large[] = {0, 1, 2, 10, 4294967295, 12};
    static const struct {
        const char *descr, *shape;
        const int64_t *items;
        const char *message;
    } cases[] = {
        {"<i8", "(2, 3)", good, NULL},
        {"<i8", "(6,)", good, "[2, E] or [E, 2]"},
        {"<i8", "(1, 6)", good, "[2, E] or [E, 2]"},
        {"<f8", "(2, 3)", good, "dtype 'f8'"},
        {"<i8", "(2, 3)", negative, "edge 2 joins -2 and 12"},
        {"<i8", "(2, 3)", large, "edge 1 joins 1 and 4294967295"},
    };
    for (int gz = 0; gz < 2; gz++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            char path[DATA_PATH];
            const char *name = gz ? "e.npy.gz" : "e.npy";
            uint64_t count, sum;
            struct gnn_err err = {0};
            data_write_npy(*state, name, cases[i].descr, cases[i].shape, cases[i].items, sizeof good);
            const enum gnn_status status = count_edges(data_path(path, *state, name), true, &count, &sum, &err);
            if (cases[i].message == NULL) {
                must(status, &err);
                assert_int_equal(count, 3);
                assert_int_equal(sum, 3 * 3 + 33);
            } else if (status != GNN_EFORMAT || strstr(err.message, cases[i].message) == NULL) {
                fail_msg("case %zu: %s '%s'", i, gnn_status_name(status), err.message);
            }
        }
}

/* ---- the sorter ---- */

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Sorts `keys` in `memory` and compares with qsort; returns the number of spilled runs. */
static uint32_t check_sorter(const char *dir, const uint64_t *keys, uint64_t count, uint64_t memory, bool drop)
{
    char out[DATA_PATH];
    struct gnn_err err = {0};
    struct gnn_output output;
    struct gnn_sorter *sorter;
    const struct gnn_prepare_job job = {.out_dir = data_path(out, dir, "d")};
    uint64_t *expected = malloc((count + 1) * sizeof *expected), kept = 0, at = 0, got = 0;
    memcpy(expected, keys, count * sizeof *keys);
    qsort(expected, count, sizeof *expected, ascending);
    for (uint64_t i = 0; i < count; i++)
        if (!drop || kept == 0 || expected[i] != expected[kept - 1])
            expected[kept++] = expected[i];
    must(gnn_output_open(&job, 0, &output, &err), &err);
    must(gnn_sorter_open(&output, memory, drop, &sorter, &err), &err);
    for (uint64_t i = 0; i < count; i++)
        must(gnn_sorter_add(sorter, keys[i], &err), &err);
    must(gnn_sorter_finish(sorter, &err), &err);
    do {
        const uint64_t *slice;
        must(gnn_sorter_next(sorter, &slice, &got, &err), &err);
        assert_true(at + got <= kept);
        assert_memory_equal(slice, expected + at, got * sizeof *slice);
        at += got;
    } while (got > 0);
    assert_int_equal(at, kept);
    const uint32_t runs = gnn_sorter_runs(sorter);
    gnn_sorter_close(sorter);
    assert_int_equal(data_entries(output.partial), 0); /* spilled runs give their space back while they are merged */
    gnn_output_close(&output);
    free(expected);
    return runs;
}

static void test_sorter(void **state)
{
    enum { COUNT = 3000000 };
    const uint64_t seed = test_seed();
    struct gnn_rng rng = gnn_rng_at(seed);
    uint64_t *keys = malloc(COUNT * sizeof *keys);
    for (uint64_t i = 0; i < COUNT; i++) /* targets below 2^20, sources few: many duplicates */
        keys[i] = gnn_rng_below(&rng, 1 << 10) << 32 | gnn_rng_below(&rng, 1 << 10);
    assert_int_equal(check_sorter(*state, keys, 0, 1 << 20, false), 0);
    assert_int_equal(check_sorter(*state, keys, 1, 1 << 20, true), 0);
    assert_int_equal(check_sorter(*state, keys, 60000, 1 << 20, false), 0);
    assert_true(check_sorter(*state, keys, 70000, 1 << 20, false) > 1);
    assert_int_equal(check_sorter(*state, keys, 200000, 64 << 20, true), 0);
    assert_true(check_sorter(*state, keys, 300000, 1 << 20, true) > 1);
    /* 46 runs of 1 MiB / 16 B, at most 30 at once: two levels */
    assert_true(check_sorter(*state, keys, COUNT, 1 << 20, false) > 46);
    assert_true(check_sorter(*state, keys, COUNT, 1 << 20, true) > 46);
    free(keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy_headers),
        cmocka_unit_test_setup_teardown(test_npy_files, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_npy_numbers, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_npy_misfits, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_gzip_damage, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_snap_files, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_npy_edges, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_sorter, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("formats", tests, NULL, NULL);
}
