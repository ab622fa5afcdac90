/* SPDX-License-Identifier: MIT */
/* Opening a dataset: what is written is read back, and every kind of damage is refused with its file's name. */
#include "harness/graph/dataset.h"
#include "harness/storage/meta.h"
#include "harness/world/measured/measured.h"
#include "tests/support/data_files.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t indptr[] = {0, 2, 2, 5, 6};
static const gnn_node indices[] = {1, 3, 0, 1, 3, 2};
static const uint64_t wide_indices[] = {1, 3, 0, 1, 3, 2};
static const float features3[12] = {0.5f, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const float features5[20] = {1};
static const int32_t labels[] = {0, 1, 1, -1};
static const gnn_node train[] = {0}, valid[] = {1}, test[] = {2};

static const struct {
    const char *name;
    const void *bytes;
    size_t len;
} files[] = {
    {"indptr", indptr, sizeof indptr},
    {"indices", indices, sizeof indices},
    {"indices-8", wide_indices, sizeof wide_indices},
    {"features-d3", features3, sizeof features3},
    {"features-d5", features5, sizeof features5},
    {"labels", labels, sizeof labels},
    {"train", train, sizeof train},
    {"valid", valid, sizeof valid},
    {"test", test, sizeof test},
};

/* Replaces one file's content before its checksum goes into meta: damage that only the invariants can find. */
static void write_dataset(const char *dir, const char *name, const void *bytes)
{
    struct gnn_meta meta = {.name = "tiny",
                            .origin = "test",
                            .scale_divisor = 10,
                            .node_count = 4,
                            .edge_count = 6,
                            .class_count = 2,
                            .train_count = 1,
                            .valid_count = 1,
                            .test_count = 1,
                            .id_widths = 4 | 8,
                            .dim_count = 2,
                            .dims = {3, 5}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const void *content = name != NULL && strcmp(files[i].name, name) == 0 ? bytes : files[i].bytes;
        char checksum[GNN_CHECKSUM_TEXT];
        gnn_checksum_of(content, files[i].len, checksum);
        gnn_meta_add_file(&meta, files[i].name, files[i].len, checksum);
        data_write(dir, files[i].name, content, files[i].len);
    }
    char text[GNN_META_TEXT_MAX];
    struct gnn_err err = {0};
    assert_int_equal(gnn_meta_format(&meta, text, sizeof text, &err), GNN_OK);
    data_write(dir, "meta", text, strlen(text));
}

struct fixture {
    char *dir;
    struct gnn_world *world;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    struct gnn_err err = {0};
    fixture.dir = process_temp_dir();
    assert_int_equal(gnn_world_measured_open(NULL, &fixture.world, &err), GNN_OK);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    gnn_world_measured_close(f->world);
    process_remove_tree(f->dir);
    free(f->dir);
    return 0;
}

static void test_open(void **state)
{
    const struct fixture *f = *state;
    struct gnn_err err = {0};
    struct gnn_dataset *d;
    write_dataset(f->dir, NULL, NULL);
    assert_int_equal(gnn_dataset_open(f->world, f->dir, 0, GNN_F32, sizeof(gnn_node), &d, &err), GNN_OK);
    assert_string_equal(d->name, "tiny");
    assert_int_equal(d->scale_divisor, 10);
    assert_int_equal(d->node_count, 4);
    assert_int_equal(d->edge_count, 6);
    assert_int_equal(d->dim, 3);
    assert_int_equal(d->row_bytes, 12);
    assert_int_equal(d->id_bytes, 4);
    assert_int_equal(d->indices_bytes, sizeof indices);
    assert_int_equal(d->class_count, 2);
    assert_memory_equal(d->indptr, indptr, sizeof indptr);
    assert_memory_equal(d->labels, labels, sizeof labels);
    assert_int_equal(d->train.count, 1);
    assert_int_equal(d->test.nodes[0], 2);
    assert_int_equal(d->topology_bytes, sizeof indptr + sizeof indices);
    assert_int_equal(d->feature_bytes, sizeof features3);
    assert_non_null(strstr(d->features_path, "/features-d3"));
    char digest[sizeof d->digest];
    memcpy(digest, d->digest, sizeof digest);
    gnn_dataset_close(f->world, d);

    assert_int_equal(gnn_dataset_open(f->world, f->dir, 5, GNN_F32, sizeof(gnn_node), &d, &err), GNN_OK);
    assert_non_null(d->labels);
    gnn_dataset_drop_labels(f->world, d);
    assert_null(d->labels);
    assert_int_equal(d->dim, 5);
    assert_string_not_equal(digest, d->digest);
    gnn_dataset_close(f->world, d);

    assert_int_equal(gnn_dataset_open(f->world, f->dir, 0, GNN_F32, 8, &d, &err), GNN_OK);
    assert_int_equal(d->id_bytes, 8);
    assert_int_equal(d->indices_bytes, sizeof wide_indices);
    assert_int_equal(d->topology_bytes, sizeof indptr + sizeof wide_indices);
    assert_non_null(strstr(d->indices_path, "/indices-8"));
    assert_string_not_equal(digest, d->digest);
    gnn_dataset_close(f->world, d);
    gnn_dataset_close(f->world, NULL);
    struct gnn_mem_usage usage;
    gnn_mem_usage(f->world, &usage);
    assert_int_equal(usage.current_bytes, 0);
}

/* Opens and expects a refusal that holds every given part. */
static void expect_refusal(const struct fixture *f, uint32_t dim, enum gnn_status status, const char *part,
                           const char *also)
{
    struct gnn_err err = {0};
    struct gnn_dataset *d;
    struct gnn_mem_usage usage;
    const enum gnn_status got = gnn_dataset_open(f->world, f->dir, dim, GNN_F32, sizeof(gnn_node), &d, &err);
    if (got != status || strstr(err.message, part) == NULL || strstr(err.message, also) == NULL)
        fail_msg("status %s, message '%s', expected '%s' and '%s'", gnn_status_name(got), err.message, part, also);
    gnn_mem_usage(f->world, &usage);
    assert_int_equal(usage.current_bytes, 0);
}

/* Whether a run with features of width 3 and IDs of 4 bytes leaves the file alone. */
static bool not_read(const char *name)
{
    return strcmp(name, "features-d5") == 0 || strcmp(name, "indices-8") == 0;
}

static void test_missing(void **state)
{
    const struct fixture *f = *state;
    char path[DATA_PATH];
    write_dataset(f->dir, NULL, NULL);
    expect_refusal(f, 7, GNN_ENOENT, "no features of width 7", "3, 5");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (not_read(files[i].name))
            continue;
        write_dataset(f->dir, NULL, NULL);
        assert_int_equal(unlink(data_path(path, f->dir, files[i].name)), 0);
        expect_refusal(f, 3, GNN_ENOENT, files[i].name, "");
    }
    write_dataset(f->dir, NULL, NULL);
    assert_int_equal(unlink(data_path(path, f->dir, "meta")), 0);
    expect_refusal(f, 0, GNN_ENOENT, "not a dataset", "oocgnn prepare");
}

static void test_sizes(void **state)
{
    const struct fixture *f = *state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char longer[256] = {0}, expected[64];
        if (not_read(files[i].name))
            continue;
        (void)snprintf(expected, sizeof expected, "meta has %zu", files[i].len);
        write_dataset(f->dir, NULL, NULL);
        data_write(f->dir, files[i].name, files[i].bytes, files[i].len - 1);
        expect_refusal(f, 3, GNN_EFORMAT, files[i].name, expected);
        memcpy(longer, files[i].bytes, files[i].len);
        data_write(f->dir, files[i].name, longer, files[i].len + 4);
        expect_refusal(f, 3, GNN_EFORMAT, files[i].name, expected);
    }
}

/* Two splits of the same size, swapped: only the checksum tells. */
static void test_swapped(void **state)
{
    const struct fixture *f = *state;
    write_dataset(f->dir, NULL, NULL);
    data_write(f->dir, "train", valid, sizeof valid);
    data_write(f->dir, "valid", train, sizeof train);
    expect_refusal(f, 3, GNN_EFORMAT, "/train", "checksum");
}

static void test_invariants(void **state)
{
    const struct fixture *f = *state;
    static const uint64_t starts_late[] = {1, 2, 2, 5, 6}, falls[] = {0, 3, 2, 5, 6}, overflows[] = {0, 2, 2, 9, 6},
                          ends_early[] = {0, 2, 2, 5, 5};
    static const int32_t class_large[] = {0, 2, 1, -1}, class_negative[] = {0, 1, -2, -1};
    static const gnn_node outside[] = {4}, unlabelled[] = {3};
    static const struct {
        const char *name;
        const void *bytes;
        const char *message;
    } cases[] = {
        {"indptr", starts_late, "offset 0 is 1, expected 0 to 0"},
        {"indptr", falls, "offset 2 is 2, expected 3 to 6"},
        {"indptr", overflows, "offset 3 is 9, expected 2 to 6"},
        {"indptr", ends_early, "last offset is 5, expected the edge count 6"},
        {"labels", class_large, "node 1 has label 2, expected -1 or a class below 2"},
        {"labels", class_negative, "node 2 has label -2"},
        {"train", outside, "node 4, expected below 4"},
        {"test", unlabelled, "node 3 has no label"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_dataset(f->dir, cases[i].name, cases[i].bytes);
        expect_refusal(f, 3, GNN_EFORMAT, cases[i].name, cases[i].message);
    }
}

/* A width of IDs that the dataset has no file of, and a file of IDs of another length. */
static void test_id_widths(void **state)
{
    const struct fixture *f = *state;
    struct gnn_dataset *d;
    struct gnn_err err = {0};
    size_t len = 0;
    write_dataset(f->dir, NULL, NULL);
    data_write(f->dir, "indices-8", wide_indices, sizeof wide_indices - 8);
    assert_int_equal(gnn_dataset_open(f->world, f->dir, 0, GNN_F32, 8, &d, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "/indices-8: 40 B, meta has 48"));
    char *const text = data_read(f->dir, "meta", &len), *const key = strstr(text, "id_bytes"),
                *const line = strstr(text, "file.indices-8");
    assert_true(key != NULL && line != NULL);
    memset(key, '#', strcspn(key, "\n"));
    memset(line, '#', strcspn(line, "\n"));
    data_write(f->dir, "meta", text, len);
    free(text);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_dataset_open(f->world, f->dir, 0, GNN_F32, 8, &d, &err), GNN_ENOENT);
    assert_non_null(strstr(err.message, "no neighbour IDs of 8 bytes (it has: 4); `oocgnn prepare "));
    assert_non_null(strstr(err.message, " --id-bytes 8` adds them"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_swapped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_invariants, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_id_widths, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("dataset", tests, NULL, NULL);
}
