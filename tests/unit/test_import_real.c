/* SPDX-License-Identifier: MIT */
/* Round trips of real graphs: every arc, feature, label and split member of the input is in the dataset, and
 * nothing else. The inputs are read here by a few lines of their own. Skipped where the graphs are not at
 * hand. */
#include "harness/dataset/prepare.h"
#include "harness/dataset/read.h"
#include "tests/support/data_files.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

struct real {
    const char *name;
    bool snap, add_reverse;
    uint32_t nodes;
    uint64_t stored_edges;
    uint32_t dim, classes;
    const char *split; /* sub-directory of the splits, or NULL */
};

/* Counts as the folder's own README gives them. */
static const struct real graphs[] = {
    {"cora", false, false, 2708, 10556, 1433, 7, NULL},
    {"citeseer", false, false, 3327, 9104, 3703, 6, NULL},
    {"tolokers", false, true, 11758, 519000, 10, 2, NULL},
    {"fb100-13schools", false, true, 105100, 4232725, 128, 6, NULL},
    {"amsterdam-museum", false, false, 1080876, 1360749, 24, 8, NULL},
    {"coauthor-physics", false, false, 34493, 495924, 8415, 5, "split_60_20_20"},
    {"gowalla", true, true, 70839, 810128, 4, 3, NULL},
    {"soc-slashdot0902", true, false, 82168, 948464, 4, 3, NULL},
};

/* The items of dir/name, or name.gz: everything behind a NumPy 1.0 header. *items_bytes counts bytes. */
static void *items_of(const char *dir, const char *name, size_t *items_bytes)
{
    char path[DATA_PATH], gz_name[64];
    (void)snprintf(gz_name, sizeof gz_name, "%s%s", name, data_exists(dir, name) ? "" : ".gz");
    gzFile file = gzopen(data_path(path, dir, gz_name), "rb");
    if (file == NULL)
        return NULL;
    size_t room = 1 << 20, len = 0;
    unsigned char *bytes = malloc(room);
    for (int got = 1; got > 0; len += (size_t)got) {
        if (room - len < 1 << 20)
            bytes = realloc(bytes, room *= 2);
        got = gzread(file, bytes + len, 1 << 20);
        assert_true(got >= 0);
    }
    (void)gzclose(file);
    const size_t head = 10 + (size_t)bytes[8] + 256 * (size_t)bytes[9];
    memmove(bytes, bytes + head, len - head);
    *items_bytes = len - head;
    return bytes;
}

/* Source and target of every stored arc, int64 each. */
static int64_t *arcs_of(const struct real *real, const char *from, uint64_t *count)
{
    size_t bytes = 0;
    if (!real->snap) {
        int64_t *arcs = items_of(from, "edge_index.npy", &bytes);
        *count = bytes / 16;
        return arcs;
    }
    char *text = data_read(from, "edges.txt", &bytes);
    int64_t *arcs = malloc(2 * real->stored_edges * sizeof *arcs);
    *count = 0;
    for (char *at = text; *at != '\0'; at = strchr(at, '\n') != NULL ? strchr(at, '\n') + 1 : at + strlen(at)) {
        char *end;
        if (*at < '0' || *at > '9')
            continue;
        assert_true(*count < real->stored_edges);
        arcs[*count] = strtoll(at, &end, 10);
        arcs[real->stored_edges + *count] = strtoll(end, NULL, 10);
        (*count)++;
    }
    free(text);
    return arcs;
}

/* Every list entry is matched with exactly one arc: the k-th arc into v from u takes the k-th u in v's list. */
static void check_arcs(const struct real *real, const char *from, const char *dir)
{
    uint64_t count = 0;
    size_t len = 0, expected = 0;
    int64_t *arcs = arcs_of(real, from, &count);
    uint64_t *indptr = (uint64_t *)(void *)data_read(dir, "indptr", &len);
    gnn_node *indices = (gnn_node *)(void *)data_read(dir, "indices", &len);
    bool *taken = calloc(len / 4, sizeof *taken);
    assert_int_equal(count, real->stored_edges);
    for (uint64_t i = 0; i < count; i++)
        for (int reverse = 0; reverse <= (int)(real->add_reverse && arcs[i] != arcs[count + i]); reverse++) {
            const uint64_t source = (uint64_t)arcs[reverse ? count + i : i],
                           target = (uint64_t)arcs[reverse ? i : count + i];
            uint64_t low = indptr[target], high = indptr[target + 1];
            const uint64_t end = high;
            while (low < high) {
                const uint64_t middle = low + (high - low) / 2;
                if (indices[middle] < source)
                    low = middle + 1;
                else
                    high = middle;
            }
            while (low < end && indices[low] == source && taken[low])
                low++;
            assert_true(low < end && indices[low] == source);
            taken[low] = true;
            expected++;
        }
    assert_int_equal(len / 4, expected);
    free(taken);
    free(indptr);
    free(indices);
    free(arcs);
}

static void check_nodes(const struct real *real, const char *from, const char *dir)
{
    static const char *const splits[][2] = {
        {"train_idx.npy", "train"}, {"valid_idx.npy", "valid"}, {"test_idx.npy", "test"}};
    char split_dir[DATA_PATH];
    size_t bytes = 0, len = 0;
    int64_t *wide = items_of(from, "node_label.npy", &bytes);
    int32_t *labels = (int32_t *)(void *)data_read(dir, "labels", &len);
    assert_int_equal(len / 4, bytes / 8);
    for (uint32_t v = 0; v < real->nodes; v++)
        assert_int_equal(labels[v], wide[v]);
    free(wide);
    for (int i = 0; i < 3; i++) {
        wide = items_of(real->split != NULL ? data_path(split_dir, from, real->split) : from, splits[i][0], &bytes);
        gnn_node *nodes = (gnn_node *)(void *)data_read(dir, splits[i][1], &len);
        size_t kept = 0;
        for (size_t j = 0; j < bytes / 8; j++)
            if (labels[wide[j]] >= 0)
                assert_int_equal(nodes[kept++], wide[j]);
        assert_int_equal(kept, len / 4);
        free(wide);
        free(nodes);
    }
    free(labels);
}

/* Row by row, so that the widest graph needs no memory for its gigabyte. */
static void check_features(const struct real *real, const char *from, const char *dir)
{
    char path[DATA_PATH], name[32];
    size_t bytes = 0;
    float *dense = items_of(from, "node_feat.npy", &bytes), *row = malloc(real->dim * sizeof *row);
    float *data = items_of(from, "feat_data.npy", &bytes), *expected = malloc(real->dim * sizeof *expected);
    int32_t *columns = items_of(from, "feat_indices.npy", &bytes);
    int64_t *starts = items_of(from, "feat_indptr.npy", &bytes);
    (void)snprintf(name, sizeof name, "features-d%u", real->dim);
    FILE *file = fopen(data_path(path, dir, name), "rb");
    assert_non_null(file);
    assert_true((dense != NULL) != (data != NULL));
    for (uint32_t v = 0; v < real->nodes; v++) {
        assert_int_equal(fread(row, sizeof *row, real->dim, file), real->dim);
        if (dense != NULL) {
            assert_memory_equal(row, dense + (size_t)v * real->dim, real->dim * sizeof *row);
            continue;
        }
        memset(expected, 0, real->dim * sizeof *expected);
        for (int64_t i = starts[v]; i < starts[v + 1]; i++)
            expected[columns[i]] = data[i];
        assert_memory_equal(row, expected, real->dim * sizeof *row);
    }
    assert_int_equal(fgetc(file), EOF);
    (void)fclose(file);
    free(dense);
    free(row);
    free(expected);
    free(data);
    free(columns);
    free(starts);
}

static void check_graph(const struct real *real, const char *from, const char *root)
{
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    struct gnn_meta meta;
    struct gnn_import_options options;
    gnn_option_defaults(gnn_import_table, &options);
    options.add_reverse = real->add_reverse;
    options.memory_bytes = 8 << 20;
    if (real->snap) {
        options.dim = real->dim;
        options.classes = real->classes;
    }
    const struct gnn_import_source source = {
        .format = real->snap ? GNN_IMPORT_SNAP : GNN_IMPORT_OGB, .from = from, .split = real->split};
    const struct gnn_prepare_job job = {.out_dir = data_path(dir, root, real->name)};
    if (gnn_prepare_import(&source, &options, &job, &err) != GNN_OK ||
        gnn_prepare_check(dir, true, NULL, NULL, NULL, &err) != GNN_OK || gnn_read_meta(dir, &meta, &err) != GNN_OK)
        fail_msg("%s: %s", real->name, err.message);
    assert_string_equal(meta.name, real->name);
    assert_int_equal(meta.node_count, real->nodes);
    assert_int_equal(meta.class_count, real->classes);
    assert_int_equal(meta.dims[0], real->dim);
    check_arcs(real, from, dir);
    if (!real->snap) {
        check_nodes(real, from, dir);
        check_features(real, from, dir);
    }
    process_remove_tree(dir);
}

static void test_real(void **state)
{
    (void)state;
    unsigned done = 0;
    char *root = process_temp_dir();
    for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++) {
        char from[DATA_PATH];
        if (data_real(graphs[i].name, from) == NULL)
            continue;
        check_graph(&graphs[i], from, root);
        done++;
    }
    process_remove_tree(root);
    free(root);
    if (done == 0)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_real)};
    return cmocka_run_group_tests_name("import_real", tests, NULL, NULL);
}
