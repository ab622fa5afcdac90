/* SPDX-License-Identifier: MIT */
/* Features of float16 on disk: what meta says of them, which file a run opens, generated and imported values to the
 * bit, damage that --check and the checksums of blocks find. */
#include "harness/base/half.h"
#include "harness/dataset/blocks.h"
#include "harness/dataset/prepare.h"
#include "harness/dataset/read.h"
#include "harness/dataset/synthetic.h"
#include "harness/graph/dataset.h"
#include "harness/run/supervisor/disturbance.h"
#include "harness/world/measured/measured.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* ---- meta ---- */

#define SUM "0123456789abcdef0123456789abcdef"

static void write_meta(char text[4096], const char *dims, const char *features)
{
    (void)snprintf(text, 4096,
                   "format = oocgnn-dataset 1\nname = tiny\norigin = test\nscale = 1/1\nnodes = 4\nedges = 6\n"
                   "classes = 2\ndims = %s\ntrain = 1\nvalid = 0\ntest = 0\nfile.indptr = 40 " SUM
                   "\nfile.indices = 24 " SUM "\nfile.labels = 16 " SUM "\nfile.train = 4 " SUM "\nfile.valid = 0 " SUM
                   "\nfile.test = 0 " SUM "\n%s",
                   dims, features);
}

static void test_meta_lists_the_type(void **state)
{
    (void)state;
    static const char half[] = "file.features-f16-d3 = 24 " SUM "\n",
                      both[] = "file.features-f16-d3 = 24 " SUM "\nfile.features-d3 = 48 " SUM "\n";
    static const struct {
        const char *dims, *features, *message; /* NULL: it is sound */
    } cases[] = {
        {"f16:3", half, NULL},
        {"3 f16:3", both, NULL},
        {"f16:3 3", both, NULL},
        {"3", half, "no line for file.features-d3"},
        {"f16:3", both, "lists 8 files, the counts and widths make it 7"},
        {"f16:3 f16:3", half, "dims lists f16:3 twice"},
        {"f16:0", half, "a width of 0"},
        {"f16:", half, "expected an integer"},
        {"f32:3", half, "expected an integer"},
        {"f16:16385", half, "expected an integer up to 16384"},
        {"f16:3", "file.features-f16-d3 = 48 " SUM "\n", "expected from the counts: 24 B, found in the line: 48"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096], again[GNN_META_TEXT_MAX];
        struct gnn_err err = {0};
        struct gnn_meta meta, parsed;
        write_meta(text, cases[i].dims, cases[i].features);
        const enum gnn_status status = gnn_meta_parse(text, strlen(text), "meta", &meta, &err);
        if ((status == GNN_OK) != (cases[i].message == NULL) ||
            (status != GNN_OK && strstr(err.message, cases[i].message) == NULL))
            fail_msg("case %zu: %s '%s'", i, gnn_status_name(status), err.message);
        if (status != GNN_OK)
            continue;
        assert_int_equal(gnn_meta_format(&meta, again, sizeof again, &err), GNN_OK);
        assert_non_null(strstr(again, cases[i].dims));
        assert_int_equal(gnn_meta_parse(again, strlen(again), "meta", &parsed, &err), GNN_OK);
        assert_memory_equal(&meta, &parsed, sizeof meta);
        assert_int_equal(gnn_meta_first_dim(&meta, GNN_F16), 3);
        assert_int_equal(gnn_meta_first_dim(&meta, GNN_F32), cases[i].features == both ? 3 : 0);
    }
}

static void test_names_and_digests(void **state)
{
    (void)state;
    char text[4096], name[32], wide[GNN_CHECKSUM_TEXT], half[GNN_CHECKSUM_TEXT];
    struct gnn_err err = {0};
    struct gnn_meta meta;
    write_meta(text, "3 f16:3", "file.features-f16-d3 = 24 " SUM "\nfile.features-d3 = 48 " SUM "\n");
    must(gnn_meta_parse(text, strlen(text), "meta", &meta, &err), &err);
    gnn_meta_digest(&meta, 3, GNN_F32, 4, wide);
    gnn_meta_digest(&meta, 3, GNN_F16, 4, half);
    assert_string_not_equal(wide, half);
    gnn_meta_features_name(16384, GNN_F16, name, sizeof name);
    assert_string_equal(name, "features-f16-d16384");
    assert_true(gnn_meta_is_blocked(name));
    gnn_meta_blocks_name(name, text);
    assert_string_equal(text, "blocks-features-f16-d16384");
    assert_int_equal(gnn_meta_expected_bytes(&meta, "features-f16-d7"), 4 * 7 * 2);
    assert_int_equal(gnn_meta_expected_bytes(&meta, "features-f17-d7"), 0);
    assert_string_equal(gnn_meta_dims_text(&meta, GNN_F16, text, sizeof text), "3");
    meta.dim_count = 0;
    assert_string_equal(gnn_meta_dims_text(&meta, GNN_F16, text, sizeof text), "none");
}

/* ---- generated ---- */

static struct gnn_generate_options options_of(uint32_t dim, enum gnn_feature_type type)
{
    struct gnn_generate_options options;
    gnn_option_defaults(gnn_generate_table, &options);
    options.dim = dim;
    options.feature_type = type;
    return options;
}

static const char *generate(const char *root, const char *name, const char *entry_name, uint32_t divisor,
                            const struct gnn_generate_options *options, char dir[DATA_PATH])
{
    const struct gnn_registry_entry *entry;
    struct gnn_err err = {0};
    must(gnn_registry_find(entry_name, &entry, &err), &err);
    const struct gnn_prepare_job job = {.out_dir = data_path(dir, root, name)};
    must(gnn_prepare_generate(entry, divisor, options, &job, &err), &err);
    return dir;
}

/* Every half is the rounded float of the other file. */
static void expect_rounded(const char *dir, uint32_t dim)
{
    char name[32];
    size_t wide_bytes, half_bytes;
    gnn_meta_features_name(dim, GNN_F32, name, sizeof name);
    float *const wide = (float *)(void *)data_read(dir, name, &wide_bytes);
    gnn_meta_features_name(dim, GNN_F16, name, sizeof name);
    uint16_t *const half = (uint16_t *)(void *)data_read(dir, name, &half_bytes);
    assert_true(wide != NULL && half != NULL);
    assert_int_equal(wide_bytes, 2 * half_bytes);
    for (size_t i = 0; i < half_bytes / sizeof *half; i++)
        assert_int_equal(half[i], gnn_half_narrow(wide[i]));
    free(wide);
    free(half);
}

static void test_generated_values_are_rounded(void **state)
{
    char dir[DATA_PATH], alone[DATA_PATH];
    struct gnn_err err = {0};
    struct gnn_meta meta;
    struct gnn_generate_options options = options_of(13, GNN_F32);
    generate(*state, "d", "papers100m", 10000, &options, dir);
    options.feature_type = GNN_F16;
    generate(*state, "d", "papers100m", 10000, &options, dir); /* joins the dataset */
    expect_rounded(dir, 13);
    must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
    must(gnn_read_meta(dir, &meta, &err), &err);
    assert_int_equal(meta.dim_count, 2);
    options.threads = 3;
    generate(*state, "alone", "papers100m", 10000, &options, alone); /* no floats are there */
    must(gnn_read_meta(alone, &meta, &err), &err);
    assert_int_equal(meta.dim_count, 1);
    assert_int_equal(gnn_meta_first_dim(&meta, GNN_F32), 0);
    size_t len[2];
    char *const both[] = {data_read(dir, "features-f16-d13", &len[0]), data_read(alone, "features-f16-d13", &len[1])};
    assert_int_equal(len[0], len[1]);
    assert_memory_equal(both[0], both[1], len[0]);
    free(both[0]);
    free(both[1]);
    must(gnn_prepare_check(alone, true, NULL, NULL, NULL, &err), &err);
}

static void test_kron_has_halves(void **state)
{
    char dir[DATA_PATH], other[DATA_PATH];
    struct gnn_err err = {0};
    struct gnn_generate_options options = options_of(6, GNN_F16);
    options.levels = 12;
    generate(*state, "k", "kron", 1, &options, dir);
    must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
    options.feature_type = GNN_F32;
    generate(*state, "w", "kron", 1, &options, other);
    size_t len[2];
    char *const half = data_read(dir, "features-f16-d6", &len[0]), *const wide =
                                                                       data_read(other, "features-d6", &len[1]);
    assert_int_equal(len[1], 2 * len[0]);
    for (size_t i = 0; i < len[0] / 2; i++)
        assert_int_equal(((const uint16_t *)(void *)half)[i], gnn_half_narrow(((const float *)(void *)wide)[i]));
    free(half);
    free(wide);
}

static void test_widths_of_a_directory(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    struct gnn_meta meta;
    const struct gnn_generate_options options = options_of(5, GNN_F32);
    generate(*state, "d", "papers100m", 10000, &options, dir);
    const struct gnn_prepare_job job = {.out_dir = dir};
    const struct gnn_added_widths ids = {.id_bytes = 8}, half = {.has_type = true, .feature_type = GNN_F16};
    must(gnn_prepare_widths(&ids, &job, &err), &err);
    must(gnn_read_meta(dir, &meta, &err), &err);
    assert_int_equal(meta.dim_count, 1);
    must(gnn_prepare_widths(&half, &job, &err), &err); /* of its own width */
    must(gnn_read_meta(dir, &meta, &err), &err);
    assert_int_equal(meta.dim_count, 2);
    assert_int_equal(gnn_meta_first_dim(&meta, GNN_F16), 5);
    expect_rounded(dir, 5);
}

/* ---- opened ---- */

static void test_a_run_opens_the_type(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    struct gnn_world *world;
    struct gnn_dataset *d;
    struct gnn_generate_options options = options_of(5, GNN_F16);
    generate(*state, "d", "papers100m", 10000, &options, dir);
    must(gnn_world_measured_open(NULL, &world, &err), &err);
    assert_int_equal(gnn_dataset_open(world, dir, 0, GNN_F32, 4, &d, &err), GNN_ENOENT);
    assert_non_null(strstr(err.message, "no f32 features of any width, but f16 features of width 5; add --feature-type "
                                        "f16"));
    err = (struct gnn_err){0};
    assert_int_equal(gnn_dataset_open(world, dir, 5, GNN_F32, 4, &d, &err), GNN_ENOENT);
    assert_non_null(strstr(err.message, "add --feature-type f16"));
    err = (struct gnn_err){0};
    assert_int_equal(gnn_dataset_open(world, dir, 7, GNN_F16, 4, &d, &err), GNN_ENOENT);
    assert_non_null(strstr(err.message, "no f16 features of width 7 (it has: 5)"));
    assert_non_null(strstr(err.message, " --dim 7 --feature-type f16` adds them"));
    must(gnn_dataset_open(world, dir, 0, GNN_F16, 4, &d, &err), &err);
    assert_int_equal(d->dim, 5);
    assert_int_equal(d->row_bytes, 10);
    assert_int_equal(gnn_dataset_wide_bytes(d), 20);
    assert_int_equal(d->feature_bytes, UINT64_C(10) * d->node_count);
    assert_non_null(strstr(d->features_path, "/features-f16-d5"));
    gnn_dataset_close(world, d);
    gnn_world_measured_close(world);
}

/* Without a disk: the same sizes, and another digest for each type. */
static void test_computed_datasets_have_the_type(void **state)
{
    (void)state;
    struct gnn_err err = {0};
    struct gnn_world *world;
    char digest[2][40];
    must(gnn_world_measured_open(NULL, &world, &err), &err);
    for (int type = GNN_F32; type <= GNN_F16; type++) {
        const struct gnn_generate_options options = options_of(9, (enum gnn_feature_type)type);
        struct gnn_synthetic *s;
        must(gnn_synthetic_open(world, "papers100m", &options, 10000, &s, &err), &err);
        const struct gnn_dataset *const d = gnn_synthetic_dataset(s);
        assert_int_equal(d->feature_type, type);
        assert_int_equal(d->row_bytes, type == GNN_F16 ? 18 : 36);
        assert_int_equal(d->feature_bytes, (uint64_t)d->row_bytes * d->node_count);
        assert_int_equal(gnn_synthetic_features(s)->size_bytes, d->feature_bytes);
        assert_non_null(strstr(d->features_path, type == GNN_F16 ? "/features-f16-d9" : "/features-d9"));
        (void)snprintf(digest[type], sizeof digest[type], "%s", d->digest);
        gnn_synthetic_close(world, s);
    }
    assert_string_not_equal(digest[GNN_F32], digest[GNN_F16]);
    gnn_world_measured_close(world);
}

/* ---- damage ---- */

static void test_damage_is_found(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    struct gnn_blocks_sample sample;
    struct gnn_generate_options options = options_of(16, GNN_F16);
    size_t len;
    generate(*state, "d", "papers100m", 10000, &options, dir);
    must(gnn_blocks_compare_sample(dir, 16, GNN_F16, 4, 1, &sample, &err), &err);
    assert_false(sample.unknown);
    assert_true(sample.compared > 1);
    uint16_t *const halves = (uint16_t *)(void *)data_read(dir, "features-f16-d16", &len);
    halves[len / 4] ^= 1;
    data_write(dir, "features-f16-d16", halves, len);
    assert_int_equal(gnn_blocks_compare_sample(dir, 16, GNN_F16, 4, 1, &sample, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "features-f16-d16"));
    err = (struct gnn_err){0};
    assert_int_equal(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "features-f16-d16"));
    data_drop_blocks(dir);
    static const uint16_t bad[] = {0x7c00, 0xfc00, 0x7e00, 0x7c01}; /* infinities and NaN */
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        halves[21 * 16 + 3] = bad[i];
        data_write(dir, "features-f16-d16", halves, len);
        err = (struct gnn_err){0};
        assert_int_equal(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), GNN_EFORMAT);
        assert_non_null(strstr(err.message, "feature 3 of node 21 is not a finite number"));
    }
    halves[21 * 16 + 3] = 0x7bff; /* the largest one is finite: the checksum alone is wrong */
    data_write(dir, "features-f16-d16", halves, len);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), GNN_EFORMAT);
    assert_null(strstr(err.message, "finite"));
    free(halves);
    data_write(dir, "features-f16-d7", "x", 1);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_prepare_check(dir, false, NULL, NULL, NULL, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "features-f16-d7: meta does not list it"));
}

/* The file that a run reads is watched while it runs, not the one of the other type. */
static void test_the_file_of_the_run_is_watched(void **state)
{
    char dir[DATA_PATH];
    const struct gnn_generate_options options = options_of(6, GNN_F16);
    generate(*state, "d", "papers100m", 10000, &options, dir);
    struct gnn_disturbance half = {0}, wide = {0};
    gnn_disturbance_start(&half, dir, 6, GNN_F16);
    gnn_disturbance_start(&wide, dir, 6, GNN_F32);
    assert_int_equal(half.file_count, wide.file_count + 1);
    assert_non_null(strstr(half.files[half.file_count - 1].path, "/features-f16-d6"));
}

/* ---- imported ---- */

enum { NODES = 10, DIM = 3 };

static void write_input(const char *root, const char *descr, const void *features, size_t bytes)
{
    static const int64_t edges[] = {0, 1, 2, 3, 1, 2, 3, 0}, labels[NODES] = {0, 1, 0, 1}, train[] = {1, 2};
    char in[DATA_PATH];
    (void)mkdir(data_path(in, root, "in"), 0777);
    data_write_npy(in, "edge_index.npy", "<i8", "(2, 4)", edges, sizeof edges);
    data_write_npy(in, "node_label.npy", "<i8", "(10,)", labels, sizeof labels);
    data_write_npy(in, "train_idx.npy", "<i8", "(2,)", train, sizeof train);
    data_write_npy(in, "node_feat.npy", descr, "(10, 3)", features, bytes);
}

static enum gnn_status import(const char *root, const char *name, enum gnn_feature_type type, struct gnn_err *err)
{
    char from[DATA_PATH], out[DATA_PATH];
    struct gnn_import_options options;
    gnn_option_defaults(gnn_import_table, &options);
    options.feature_type = type;
    const struct gnn_import_source source = {.format = GNN_IMPORT_OGB, .from = data_path(from, root, "in")};
    const struct gnn_prepare_job job = {.out_dir = data_path(out, root, name)};
    *err = (struct gnn_err){0};
    return gnn_prepare_import(&source, &options, &job, err);
}

/* float16 stays as it is, sign of zero and subnormals included, and becomes the same floats. */
static void test_imported_halves_keep_their_bits(void **state)
{
    static const uint16_t halves[NODES * DIM] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400,
                                                 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x3555, 0xb555, 0x1234};
    char dir[DATA_PATH];
    struct gnn_err err;
    struct gnn_meta meta;
    size_t len;
    write_input(*state, "<f2", halves, sizeof halves);
    must(import(*state, "half", GNN_F16, &err), &err);
    must(gnn_read_meta(data_path(dir, *state, "half"), &meta, &err), &err);
    assert_int_equal(gnn_meta_first_dim(&meta, GNN_F16), DIM);
    must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
    char *const stored = data_read(dir, "features-f16-d3", &len);
    assert_int_equal(len, sizeof halves);
    assert_memory_equal(stored, halves, len);
    free(stored);
    must(import(*state, "wide", GNN_F32, &err), &err);
    float *const wide = (float *)(void *)data_read(data_path(dir, *state, "wide"), "features-d3", &len);
    assert_int_equal(len, 2 * sizeof halves);
    float expected[NODES * DIM];
    gnn_halves_widen_plain(halves, NODES * DIM, expected);
    assert_memory_equal(wide, expected, sizeof expected);
    free(wide);
    must(import(*state, "half", GNN_F16, &err), &err); /* there already */
    assert_int_equal(import(*state, "half", GNN_F32, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "without features of --feature-type f32"));
    assert_int_equal(import(*state, "wide", GNN_F16, &err), GNN_EUSAGE);
}

static void test_imported_floats_are_rounded_or_refused(void **state)
{
    float floats[NODES * DIM];
    char dir[DATA_PATH];
    struct gnn_err err;
    size_t len;
    for (int i = 0; i < NODES * DIM; i++)
        floats[i] = (float)(i - 7) * 0.1f;
    floats[4] = 65519.0f; /* the last that is rounded down to the largest half */
    floats[5] = -1e-9f;
    write_input(*state, "<f4", floats, sizeof floats);
    must(import(*state, "half", GNN_F16, &err), &err);
    uint16_t *const stored = (uint16_t *)(void *)data_read(data_path(dir, *state, "half"), "features-f16-d3", &len);
    assert_int_equal(len, NODES * DIM * 2);
    for (int i = 0; i < NODES * DIM; i++)
        assert_int_equal(stored[i], gnn_half_narrow(floats[i]));
    assert_int_equal(stored[4], 0x7bff);
    assert_int_equal(stored[5], 0x8000);
    free(stored);
    floats[7] = -65520.0f;
    write_input(*state, "<f4", floats, sizeof floats);
    assert_int_equal(import(*state, "big", GNN_F16, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "feature 1 of node 2 is -65520, and the largest float16 is 65504; leave out "
                                        "--feature-type f16"));
    assert_false(data_exists(*state, "big"));
    must(import(*state, "big", GNN_F32, &err), &err);
    floats[7] = NAN;
    write_input(*state, "<f4", floats, sizeof floats);
    assert_int_equal(import(*state, "nan", GNN_F16, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "not a finite number"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meta_lists_the_type),
        cmocka_unit_test(test_names_and_digests),
        cmocka_unit_test_setup_teardown(test_generated_values_are_rounded, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_kron_has_halves, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_widths_of_a_directory, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_a_run_opens_the_type, data_set_up, data_tear_down),
        cmocka_unit_test(test_computed_datasets_have_the_type),
        cmocka_unit_test_setup_teardown(test_damage_is_found, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_the_file_of_the_run_is_watched, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_imported_halves_keep_their_bits, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_imported_floats_are_rounded_or_refused, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("feature type", tests, NULL, NULL);
}
