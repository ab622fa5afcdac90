/* SPDX-License-Identifier: MIT */
/* Neighbour IDs of 8 bytes on disk: the same lists as with 4, whoever writes them; the other width of a dataset that is
 * there; IDs that no graph has, found with their place. */
#include "harness/base/id_width.h"
#include "harness/dataset/kron.h"
#include "harness/dataset/prepare.h"
#include "harness/dataset/read.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- in memory ---- */

static void test_narrow_and_wide(void **state)
{
    (void)state;
    static const uint64_t wide[] = {0, 7, UINT32_MAX - 1, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX, 5};
    enum { COUNT = sizeof wide / sizeof *wide };
    static const gnn_node narrow[] = {0, 7, UINT32_MAX - 1, GNN_NODE_NONE, GNN_NODE_NONE, GNN_NODE_NONE, 5};
    union {
        uint64_t wide[COUNT];
        gnn_node narrow[2 * COUNT];
    } place;
    gnn_node out[COUNT] = {0};
    gnn_ids_narrow(wide, 8, COUNT, out);
    assert_memory_equal(out, narrow, sizeof narrow);
    memcpy(place.wide, wide, sizeof wide);
    gnn_ids_narrow(&place, 8, COUNT, place.narrow); /* in place */
    assert_memory_equal(place.narrow, narrow, sizeof narrow);
    gnn_ids_store(place.narrow, COUNT, 8, &place); /* and back */
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(place.wide[i], narrow[i]);
        assert_int_equal(gnn_id_at(wide, 8, (uint64_t)i), narrow[i]);
        assert_int_equal(gnn_id_at(narrow, 4, (uint64_t)i), narrow[i]);
        assert_int_equal(gnn_id_stored(wide, 8, (uint64_t)i), wide[i]);
    }
    gnn_ids_narrow(narrow, 4, COUNT, out);
    gnn_ids_store(out, COUNT, 4, place.narrow);
    assert_memory_equal(place.narrow, narrow, sizeof narrow);
}

/* ---- on disk ---- */

/* Both files of lists hold the same IDs, `expected` of them. */
static void expect_same_lists(const char *dir_4, const char *dir_8)
{
    size_t len_4 = 0, len_8 = 0;
    gnn_node *const narrow = (gnn_node *)(void *)data_read(dir_4, "indices", &len_4);
    uint64_t *const wide = (uint64_t *)(void *)data_read(dir_8, "indices-8", &len_8);
    assert_true(narrow != NULL && wide != NULL);
    assert_int_equal(len_8, 2 * len_4);
    assert_true(len_4 > 0);
    for (size_t e = 0; e < len_4 / sizeof *narrow; e++)
        assert_int_equal(wide[e], narrow[e]);
    free(narrow);
    free(wide);
}

static void expect_sound(const char *dir, uint32_t id_widths)
{
    struct gnn_err err = {0};
    struct gnn_meta meta;
    must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
    must(gnn_read_meta(dir, &meta, &err), &err);
    assert_int_equal(meta.id_widths, id_widths);
}

static enum gnn_status generate(const char *dir, const char *name, enum gnn_id_width width, uint32_t dim,
                                struct gnn_err *err)
{
    const struct gnn_registry_entry *entry;
    struct gnn_generate_options options;
    const struct gnn_prepare_job job = {.out_dir = dir};
    const bool kron = strcmp(name, "kron") == 0;
    gnn_option_defaults(gnn_generate_table, &options);
    options.dim = dim;
    options.id_width = width;
    options.levels = kron ? 8 : 0;
    *err = (struct gnn_err){0};
    must(gnn_registry_find(name, &entry, err), err);
    return gnn_prepare_generate(entry, kron ? 1 : 10000, &options, &job, err);
}

/* A dataset of each width, and each width added to the other: the converted file is the written one. */
static void test_generated(void **state)
{
    static const char *const names[] = {"papers100m", "kron"};
    for (int n = 0; n < 2; n++) {
        char dirs[2][DATA_PATH], name[64];
        struct gnn_err err;
        for (enum gnn_id_width width = GNN_ID_WIDTH_4; width <= GNN_ID_WIDTH_8; width++) {
            (void)snprintf(name, sizeof name, "%s-%d", names[n], (int)width);
            must(generate(data_path(dirs[width], *state, name), names[n], width, 1, &err), &err);
            expect_sound(dirs[width], gnn_id_width_bytes(width));
            assert_int_equal(data_exists(dirs[width], "indices"), width == GNN_ID_WIDTH_4);
            assert_int_equal(data_exists(dirs[width], "indices-8"), width == GNN_ID_WIDTH_8);
        }
        expect_same_lists(dirs[0], dirs[1]);
        struct gnn_meta made[2], added[2];
        for (int d = 0; d < 2; d++) {
            must(gnn_read_meta(dirs[d], &made[d], &err), &err);
            must(generate(dirs[d], names[n], d == 0 ? GNN_ID_WIDTH_8 : GNN_ID_WIDTH_4, 1, &err), &err);
            expect_sound(dirs[d], 4 | 8);
            expect_same_lists(dirs[d], dirs[d]);
            must(gnn_read_meta(dirs[d], &added[d], &err), &err);
            must(generate(dirs[d], names[n], GNN_ID_WIDTH_8, 1, &err), &err); /* there already */
        }
        assert_string_equal(gnn_meta_find_file(&added[0], "indices-8")->checksum,
                            gnn_meta_find_file(&made[1], "indices-8")->checksum);
        assert_string_equal(gnn_meta_find_file(&added[1], "indices")->checksum,
                            gnn_meta_find_file(&made[0], "indices")->checksum);
    }
    assert_int_equal(data_entries(*state), 4); /* nothing partial is left */
}

/* Features and IDs that a dataset lacks are added in one go; another dataset's are not. */
static void test_both_widths_at_once(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err;
    struct gnn_meta meta;
    must(generate(data_path(dir, *state, "d"), "papers100m", GNN_ID_WIDTH_4, 2, &err), &err);
    must(generate(dir, "papers100m", GNN_ID_WIDTH_8, 3, &err), &err);
    expect_sound(dir, 4 | 8);
    must(gnn_read_meta(dir, &meta, &err), &err);
    assert_int_equal(meta.dim_count, 2);
    assert_int_equal(generate(dir, "kron", GNN_ID_WIDTH_8, 1, &err), GNN_EUSAGE);
    must(generate(data_path(dir, *state, "e"), "papers100m", GNN_ID_WIDTH_4, 2, &err), &err);
    assert_int_equal(generate(dir, "kron", GNN_ID_WIDTH_8, 1, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "holds papers100m"));
    assert_int_equal(generate(dir, "twitter", GNN_ID_WIDTH_8, 2, &err), GNN_EUSAGE);
}

/* An edge list that does not fit the importer's memory: sorted outside it, in either width. */
static void test_imported(void **state)
{
    enum { NODES = 5000, EDGES = 700000 };
    char in[DATA_PATH], dirs[2][DATA_PATH];
    char *const text = malloc(EDGES * 12);
    size_t len = 0;
    for (uint32_t e = 0; e < EDGES; e++)
        len += (size_t)snprintf(text + len, 12, "%u %u\n", e * 2654435761u % NODES, e * 40503u % NODES);
    data_write(*state, "edges", text, len);
    free(text);
    struct gnn_import_options options;
    struct gnn_err err = {0};
    gnn_option_defaults(gnn_import_table, &options);
    options.memory_bytes = 5 << 20;
    options.dim = 1;
    options.classes = 2;
    const struct gnn_import_source source = {
        .format = GNN_IMPORT_SNAP, .from = data_path(in, *state, "edges"), .name = "list"};
    for (enum gnn_id_width width = GNN_ID_WIDTH_4; width <= GNN_ID_WIDTH_8; width++) {
        const struct gnn_prepare_job job = {
            .out_dir = data_path(dirs[width], *state, width == GNN_ID_WIDTH_4 ? "four" : "eight")};
        options.id_width = width;
        must(gnn_prepare_import(&source, &options, &job, &err), &err);
        expect_sound(dirs[width], gnn_id_width_bytes(width));
    }
    expect_same_lists(dirs[0], dirs[1]);
    const struct gnn_prepare_job again = {.out_dir = dirs[0]};
    must(gnn_prepare_import(&source, &options, &again, &err), &err);
    expect_sound(dirs[0], 4 | 8);
    expect_same_lists(dirs[0], dirs[0]);
    options.drop_self_loops = true; /* another graph */
    const struct gnn_prepare_job other = {.out_dir = dirs[1]};
    options.id_width = GNN_ID_WIDTH_4;
    assert_int_equal(gnn_prepare_import(&source, &options, &other, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "drop_self_loops false, not true"));
}

/* Puts an entry into indices-8 and its checksum into meta: damage that only the look at every ID finds. */
static void damage(const char *dir, uint64_t entry, uint64_t id)
{
    size_t len = 0, meta_len = 0;
    uint64_t *const wide = (uint64_t *)(void *)data_read(dir, "indices-8", &len);
    char *const meta = data_read(dir, "meta", &meta_len), *const line = strstr(meta, "file.indices-8 = ");
    char checksum[GNN_CHECKSUM_TEXT];
    assert_non_null(line);
    wide[entry] = id;
    gnn_checksum_of(wide, len, checksum);
    memcpy(strchr(line, '\n') - 32, checksum, 32);
    data_write(dir, "indices-8", wide, len);
    data_write(dir, "meta", meta, meta_len);
    free(meta);
    free(wide);
}

/* In a graph whose lists are in order: the check tells an ID that is no node from one that is out of order. */
static void test_ids_that_no_node_has(void **state)
{
    static const uint64_t ids[] = {6561, UINT32_MAX, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 5, UINT64_MAX};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char dir[DATA_PATH], name[32], expected[96];
        struct gnn_err err;
        (void)snprintf(name, sizeof name, "d%zu", i);
        must(generate(data_path(dir, *state, name), "friendster", GNN_ID_WIDTH_8, 1, &err), &err);
        damage(dir, 777, ids[i]);
        (void)snprintf(expected, sizeof expected, "/indices-8: entry 777 is node %llu, expected below 6561",
                       (unsigned long long)ids[i]);
        assert_int_equal(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), GNN_EFORMAT);
        if (strstr(err.message, expected) == NULL)
            fail_msg("'%s', expected '%s'", err.message, expected);
        assert_int_equal(generate(dir, "friendster", GNN_ID_WIDTH_4, 1, &err), GNN_EFORMAT); /* nor converted */
        assert_non_null(strstr(err.message, expected));
        assert_false(data_exists(dir, "indices"));
        damage(dir, 777, 0); /* a node, but below its predecessor in the list */
        err = (struct gnn_err){0};
        assert_int_equal(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), GNN_EFORMAT);
        assert_non_null(strstr(err.message, "is node 0, expected at least its predecessor"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_narrow_and_wide),
        cmocka_unit_test_setup_teardown(test_generated, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_both_widths_at_once, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_imported, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_ids_that_no_node_has, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("id_width", tests, NULL, NULL);
}
