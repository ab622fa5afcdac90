/* SPDX-License-Identifier: MIT */
/* Graphs in the folders, archives and names that publishers and libraries use: every one of them gives the dataset of
 * the plain layout, byte for byte. */
#include "harness/dataset/find_places.h"
#include "harness/dataset/prepare.h"
#include "harness/dataset/read.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"
#include "tests/support/process.h"
#include "tests/support/zip_files.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES = 40, EDGES = 110, DIM = 4 };

/* The graph; edges in the order of their targets, so that lists in CSC form are the same edges. */
static int64_t edges[2 * EDGES], pairs[2 * EDGES], indptr[NODES + 1];
static float features[NODES * DIM];
static uint16_t half_features[NODES * DIM]; /* the same numbers */
static float labels[NODES];
static int64_t train[20], valid[10], test[10];
static unsigned char train_mask[NODES], valid_mask[NODES], test_mask[NODES];

static void fill_graph(void)
{
    memset(indptr, 0, sizeof indptr);
    for (int e = 0; e < EDGES; e++) {
        pairs[2 * e] = edges[e] = (e * 17 + 3) % NODES;
        pairs[2 * e + 1] = edges[EDGES + e] = e * (NODES - 2) / EDGES;
        indptr[edges[EDGES + e] + 1]++;
    }
    for (int v = 0; v < NODES; v++) {
        indptr[v + 1] += indptr[v];
        labels[v] = (float)(v % 3);
        train_mask[v] = v % 2 == 0;
        valid_mask[v] = v % 4 == 1;
        test_mask[v] = v % 4 == 3;
        if (v % 2 == 0)
            train[v / 2] = v;
        else
            (v % 4 == 1 ? valid : test)[v / 4] = v;
    }
    for (int i = 0; i < NODES * DIM; i++) {
        const int eighth = i % 8;
        features[i] = 1 + (float)eighth / 8;
        half_features[i] = (uint16_t)(0x3c00 + eighth * 128);
    }
}

/* ---- folders ---- */

static const char *folder(const char *dir, const char *name, char path[DATA_PATH])
{
    char whole[DATA_PATH];
    (void)snprintf(whole, sizeof whole, "%s", data_path(path, dir, name));
    for (char *slash = whole + strlen(dir) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(whole, 0777);
        *slash = '/';
    }
    (void)mkdir(whole, 0777);
    return path;
}

static void write_edges(const char *dir)
{
    data_write_npy(dir, "edge_index.npy", "<i8", "(2, 110)", edges, sizeof edges);
}

static void write_nodes(const char *dir)
{
    data_write_npy(dir, "node_feat.npy", "<f4", "(40, 4)", features, sizeof features);
    data_write_npy(dir, "node_label.npy", "<f4", "(40, 1)", labels, sizeof labels);
}

static void write_splits(const char *dir)
{
    data_write_npy(dir, "train_idx.npy", "<i8", "(20,)", train, sizeof train);
    data_write_npy(dir, "valid_idx.npy", "<i8", "(10,)", valid, sizeof valid);
    data_write_npy(dir, "test_idx.npy", "<i8", "(10,)", test, sizeof test);
}

static void write_lines(const char *dir, const char *name, const int64_t *nodes, int count)
{
    char text[400];
    int used = 0;
    for (int i = 0; i < count; i++)
        used += sprintf(text + used, "%d\n", (int)nodes[i]);
    data_write_gz(dir, name, text, (size_t)used);
}

static void write_csv_splits(const char *dir)
{
    write_lines(dir, "train.csv.gz", train, 20);
    write_lines(dir, "valid.csv.gz", valid, 10);
    write_lines(dir, "test.csv.gz", test, 10);
}

/* ---- imports ---- */

static struct gnn_import_options defaults(void)
{
    struct gnn_import_options options;
    gnn_option_defaults(gnn_import_table, &options);
    return options;
}

static enum gnn_status import(const char *root, const char *out, struct gnn_import_source source,
                              const struct gnn_import_options *options, struct gnn_err *err)
{
    char from[DATA_PATH], to[DATA_PATH];
    const struct gnn_prepare_job job = {.out_dir = data_path(to, root, out)};
    source.format = GNN_IMPORT_OGB;
    source.from = data_path(from, root, source.from != NULL ? source.from : "in");
    source.name = "g";
    *err = (struct gnn_err){0};
    return gnn_prepare_import(&source, options, &job, err);
}

/* The plain layout in plain/, imported to expected/. */
static void write_expected(const char *root)
{
    char dir[DATA_PATH];
    struct gnn_err err;
    const struct gnn_import_options options = defaults();
    fill_graph();
    folder(root, "plain", dir);
    write_edges(dir);
    write_nodes(dir);
    write_splits(dir);
    must(import(root, "expected", (struct gnn_import_source){.from = "plain"}, &options, &err), &err);
}

static void compare(const char *root, const char *out, const char *name)
{
    char a[DATA_PATH], b[DATA_PATH];
    size_t a_len = 0, b_len = 0;
    char *const expected = data_read(data_path(a, root, "expected"), name, &a_len);
    char *const found = data_read(data_path(b, root, out), name, &b_len);
    if (expected == NULL || found == NULL || a_len != b_len || memcmp(expected, found, a_len) != 0)
        fail_msg("%s of %s differs: %zu and %zu bytes", name, out, a_len, b_len);
    free(expected);
    free(found);
}

/* Imports in/ and compares with the plain layout; then removes both. */
static void expect_same(const char *root, struct gnn_import_source source, const char *what)
{
    static const char *const files[] = {"indptr", "indices", "labels", "features-d4", "train", "valid", "test"};
    char dir[DATA_PATH];
    struct gnn_err err;
    const struct gnn_import_options options = defaults();
    if (import(root, "out", source, &options, &err) != GNN_OK)
        fail_msg("%s: %s", what, err.message);
    print_message("%s\n", what);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        compare(root, "out", files[i]);
    process_remove_tree(data_path(dir, root, "out"));
    process_remove_tree(data_path(dir, root, "in"));
}

static void expect_error(const char *root, struct gnn_import_source source, const char *message)
{
    struct gnn_err err;
    const struct gnn_import_options options = defaults();
    if (import(root, "out", source, &options, &err) == GNN_OK || strstr(err.message, message) == NULL)
        fail_msg("expected '%s', got '%s'", message, err.message);
}

/* ---- layouts ---- */

/* raw/data.npz and raw/node-label.npz, split/time/: with the folder above, raw, or the archive as --from. */
static void test_papers100m(void **state)
{
    static const char *const from[] = {"in", "in/raw", "in/raw/data.npz", "in/raw", "in/raw/data.npz"};
    write_expected(*state);
    for (unsigned i = 0; i < 5; i++) {
        char dir[DATA_PATH];
        struct zip_file zip;
        const float years[NODES] = {2020};
        folder(*state, "in/raw", dir);
        zip_file_open(&zip, dir, "data.npz", i % 2, i / 2 % 2);
        zip_file_add_npy(&zip, "edge_index.npy", "<i8", "(2, 110)", edges, sizeof edges);
        zip_file_add_npy(&zip, "node_feat.npy", "<f4", "(40, 4)", features, sizeof features);
        zip_file_add_npy(&zip, "node_year.npy", "<f4", "(40, 1)", years, sizeof years);
        zip_file_close(&zip);
        zip_file_open(&zip, dir, "node-label.npz", i % 2, false);
        zip_file_add_npy(&zip, "node_label.npy", "<f4", "(40, 1)", labels, sizeof labels);
        zip_file_close(&zip);
        write_csv_splits(folder(*state, "in/split/time", dir));
        const struct gnn_import_source source = {.from = from[i], .split = i >= 3 ? "../split/time" : NULL};
        expect_same(*state, source, from[i]);
    }
}

static void test_mag240m(void **state)
{
    static const char *const from[] = {"in", "in/processed", "in/processed/paper___cites___paper"};
    write_expected(*state);
    for (unsigned i = 0; i < 3; i++) {
        char dir[DATA_PATH];
        static const int64_t writes[] = {0, 1, 2, 3};
        folder(*state, "in/processed/author___writes___paper", dir);
        data_write_npy(dir, "edge_index.npy", "<i8", "(2, 2)", writes, sizeof writes);
        write_edges(folder(*state, "in/processed/paper___cites___paper", dir));
        folder(*state, "in/processed/paper", dir);
        data_write_npy(dir, "node_feat.npy", "<f2", "(40, 4)", half_features, sizeof half_features);
        data_write_npy(dir, "node_label.npy", "<f4", "(40,)", labels, sizeof labels);
        write_splits(i == 0 ? folder(*state, "in", dir) : dir);
        expect_same(*state, (struct gnn_import_source){.from = from[i]}, from[i]);
    }
}

/* By the names of the files, for layouts that no publisher defines. */
static void test_named_files(void **state)
{
    char dir[DATA_PATH], path[DATA_PATH];
    write_expected(*state);
    folder(*state, "in/a/b", dir);
    data_write_npy(dir, "cites.npy", "<i8", "(110, 2)", pairs, sizeof pairs);
    data_write_npy(dir, "vectors.npy", "<f4", "(40, 4)", features, sizeof features);
    data_write_npy(dir, "venues.npy", "<f4", "(40,)", labels, sizeof labels);
    write_splits(dir);
    const struct gnn_import_source source = {.from = "in",
                                             .edges = "a/b/cites.npy",
                                             .features = data_path(path, dir, "vectors.npy"),
                                             .labels = "a/b/venues.npy",
                                             .split = "a/b"};
    struct gnn_import_source other = source;
    other.features = "nosuch.npy";
    expect_error(*state, other, "--features nosuch.npy: neither nosuch.npy nor ");
    other = source;
    other.edges = "a";
    expect_error(*state, other, "it has no edges");
    expect_same(*state, source, "named files");
}

static void write_raw_igb(const char *root)
{
    char dir[DATA_PATH];
    folder(root, "in/full/processed/paper__cites__paper", dir);
    data_write_npy(dir, "edge_index.npy", "<i8", "(110, 2)", pairs, sizeof pairs);
    folder(root, "in/full/processed/paper", dir);
    data_write(dir, "node_feat.npy", features, sizeof features);
    data_write(dir, "node_label_19.npy", labels, sizeof labels);
}

/* Pairs, and arrays without a header; the first nodes have labels, and the order of the IDs gives the splits. */
static void test_igb(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err;
    struct gnn_meta meta;
    struct gnn_import_options options = defaults();
    struct gnn_import_source source = {.raw_rows = NODES, .raw_dim = DIM, .labelled = 33, .split_by_id = true};
    write_expected(*state);
    write_raw_igb(*state);
    options.train_fraction = 0.6;
    options.valid_fraction = options.test_fraction = 0.2;
    data_write(data_path(dir, *state, "in/full/processed/paper"), "node_label_19.npy", labels, 33 * sizeof *labels);
    must(import(*state, "out", source, &options, &err), &err);
    compare(*state, "out", "indices");
    compare(*state, "out", "features-d4");
    must(gnn_read_meta(data_path(dir, *state, "out"), &meta, &err), &err);
    assert_int_equal(meta.node_count, NODES);
    assert_int_equal(meta.train_count, 19); /* int(33 * 0.6), int(33 * 0.2), the rest */
    assert_int_equal(meta.valid_count, 6);
    assert_int_equal(meta.test_count, 8);
    size_t len;
    int32_t *const read = (int32_t *)(void *)data_read(dir, "labels", &len);
    assert_int_equal(read[32], 32 % 3);
    assert_int_equal(read[33], -1);
    free(read);
    gnn_node *const last = (gnn_node *)(void *)data_read(dir, "test", &len);
    assert_int_equal(last[0], 25);
    assert_int_equal(last[7], 32);
    free(last);
    process_remove_tree(dir);
    source.labelled = 34;
    source.from = "in/full";
    expect_error(*state, source, "33 labels, expected the 34 of --labelled");
    source = (struct gnn_import_source){.raw_rows = 41, .raw_dim = DIM};
    expect_error(*state, source, "expected 41 numbers of 4 B without a header");
    process_remove_tree(data_path(dir, *state, "out"));
    source = (struct gnn_import_source){.raw_dim = DIM, .labelled = 330, .labelled_of = 400, .split_by_id = true};
    must(import(*state, "out", source, &options, &err), &err); /* rows from the file, labels in proportion */
    must(gnn_read_meta(data_path(dir, *state, "out"), &meta, &err), &err);
    assert_int_equal(meta.train_count + meta.valid_count + meta.test_count, 33);
    process_remove_tree(dir);
    source = (struct gnn_import_source){.raw_rows = NODES};
    expect_error(*state, source, "--raw-rows goes with --raw-dim D, the width of");
    source = (struct gnn_import_source){0};
    expect_error(*state, source, "--raw-rows N --raw-dim D reads features and labels that are float32 numbers alone");
    source = (struct gnn_import_source){.from = "plain", .raw_rows = NODES, .raw_dim = DIM};
    expect_error(*state, source, "every array has a header of its own: leave out --raw-dim");
    data_write(data_path(dir, *state, "in/full/processed/paper"), "node_label_2K.npy", labels, sizeof labels);
    expect_error(*state, (struct gnn_import_source){.raw_rows = NODES, .raw_dim = DIM},
                 "labels of several kinds: choose with");
}

static void write_conf(const char *dir, const char *text)
{
    data_write(dir, "conf.json", text, strlen(text));
}

/* What the preparation programs of Ginex and GNNDrive write. */
static void test_mapped(void **state)
{
    static const char conf[] =
        "{\"num_nodes\": 40, \"indptr_shape\": [41], \"indptr_dtype\": \"int64\", \"indices_shape\": [110], "
        "\"indices_dtype\": \"int64\", \"features_shape\": [40, 4], \"features_dtype\": \"float32\", \"labels_shape\": "
        "[40, 1], \"labels_dtype\": \"float32\", \"num_classes\": 3}";
    char dir[DATA_PATH];
    write_expected(*state);
    folder(*state, "in", dir);
    write_conf(dir, conf);
    data_write(dir, "indptr.dat", indptr, sizeof indptr);
    data_write(dir, "features.dat", features, sizeof features);
    data_write(dir, "labels.dat", labels, sizeof labels);
    write_splits(dir);
    expect_error(*state, (struct gnn_import_source){0}, "conf.json describes indices.dat, which is missing");
    data_write(dir, "indices.dat", edges, EDGES * sizeof *edges - 8);
    expect_error(*state, (struct gnn_import_source){0}, "indices.dat: 872 B, expected 110 numbers of 8 B");
    data_write(dir, "indices.dat", edges, EDGES * sizeof *edges);
    write_conf(dir, "[1]");
    expect_error(*state, (struct gnn_import_source){0}, "conf.json: not a JSON object that describes arrays");
    write_conf(dir, "{\"indptr_shape\": [41], \"indptr_dtype\": \"int65\"}");
    expect_error(*state, (struct gnn_import_source){0}, "indptr_dtype and indptr_shape: expected a type such as");
    write_conf(dir,
               "{\"num_nodes\": 41, \"indptr_shape\": [41], \"indptr_dtype\": \"int64\", \"indices_shape\": [110], "
               "\"indices_dtype\": \"int64\"}");
    expect_error(*state, (struct gnn_import_source){0}, "41 nodes, and 41 offsets for them");
    write_conf(dir, conf);
    expect_same(*state, (struct gnn_import_source){0}, "conf.json");
}

static void test_lists(void **state)
{
    static const char *const names[][2] = {
        {"indptr.npy", "indices.npy"}, {"csc_indptr.npy", "csc_indices.npy"}, {"colptr.npy", "row.npy"}};
    write_expected(*state);
    for (size_t i = 0; i < 3; i++) {
        char dir[DATA_PATH];
        folder(*state, "in", dir);
        data_write_npy(dir, names[i][0], "<i8", "(41,)", indptr, sizeof indptr);
        data_write_npy(dir, names[i][1], "<i8", "(110,)", edges, EDGES * sizeof *edges);
        write_nodes(dir);
        write_splits(dir);
        expect_same(*state, (struct gnn_import_source){0}, names[i][0]);
    }
    char dir[DATA_PATH];
    folder(*state, "in", dir);
    data_write_npy(dir, "row.npy", "<i8", "(110,)", edges, EDGES * sizeof *edges);
    data_write_npy(dir, "col.npy", "<i8", "(110,)", edges + EDGES, EDGES * sizeof *edges);
    write_nodes(dir);
    write_splits(dir);
    expect_same(*state, (struct gnn_import_source){0}, "row and col");
    /* Offsets of another number of nodes. */
    folder(*state, "in", dir);
    data_write_npy(dir, "indptr.npy", "<i8", "(40,)", indptr, 40 * 8);
    data_write_npy(dir, "indices.npy", "<i8", "(110,)", edges, EDGES * sizeof *edges);
    write_nodes(dir);
    expect_error(*state, (struct gnn_import_source){0}, "an offset for each of the 40 nodes of ");
}

/* A sparse matrix as scipy.sparse.save_npz writes it: format, shape, data, indices, indptr. */
static void write_scipy(const char *dir, const char *name, const char *format, const void *data, const char *descr,
                        size_t item, unsigned count, const int64_t *columns, const int64_t *offsets, const char *shape)
{
    char counted[16], all[16];
    struct zip_file zip;
    const int64_t sizes[] = {NODES, strcmp(shape, "square") == 0 ? NODES : DIM};
    (void)snprintf(counted, sizeof counted, "(%u,)", count);
    (void)snprintf(all, sizeof all, "(%d,)", NODES + 1);
    zip_file_open(&zip, dir, name, true, false);
    zip_file_add_npy(&zip, "indices.npy", "<i8", counted, columns, count * 8);
    zip_file_add_npy(&zip, "indptr.npy", "<i8", all, offsets, (NODES + 1) * 8);
    zip_file_add_npy(&zip, "format.npy", "|S3", "()", format, 3);
    zip_file_add_npy(&zip, "shape.npy", "<i8", "(2,)", sizes, sizeof sizes);
    zip_file_add_npy(&zip, "data.npy", descr, counted, data, count * item);
    zip_file_close(&zip);
}

static void fill_columns(int64_t *columns, int64_t *offsets)
{
    for (int i = 0; i < NODES * DIM; i++)
        columns[i] = i % DIM;
    for (int v = 0; v <= NODES; v++)
        offsets[v] = (int64_t)v * DIM;
}

/* Archives of SciPy for features and for the graph, whose rows are sources unless it is in CSC form. */
static void test_scipy(void **state)
{
    int64_t columns[NODES * DIM], offsets[NODES + 1], csr[NODES + 1] = {0}, targets[EDGES], at = 0;
    const int64_t ones[EDGES] = {1};
    write_expected(*state);
    fill_columns(columns, offsets);
    for (int v = 0; v < NODES; v++) {
        for (int e = 0; e < EDGES; e++)
            if (edges[e] == v)
                targets[at++] = edges[EDGES + e];
        csr[v + 1] = at;
    }
    for (int form = 0; form < 2; form++) {
        char dir[DATA_PATH];
        folder(*state, "in", dir);
        write_scipy(dir, "adj.npz", form == 0 ? "csr" : "csc", ones, "<i8", 8, EDGES, form == 0 ? targets : edges,
                    form == 0 ? csr : indptr, "square");
        write_scipy(dir, "feat.npz", "csr", features, "<f4", 4, NODES * DIM, columns, offsets, "");
        data_write_npy(dir, "labels.npy", "<f4", "(40,)", labels, sizeof labels);
        write_splits(dir);
        expect_same(*state, (struct gnn_import_source){0}, form == 0 ? "adj.npz, csr" : "adj.npz, csc");
    }
    char dir[DATA_PATH];
    write_edges(folder(*state, "in", dir));
    write_scipy(dir, "feat.npz", "csc", features, "<f4", 4, NODES * DIM, columns, offsets, "");
    expect_error(*state, (struct gnn_import_source){0}, "a sparse matrix in csc form, expected csr: `python3 -c");
}

/* One archive with everything, as the benchmarks of citation graphs have it. */
static void test_one_archive(void **state)
{
    int64_t columns[NODES * DIM], offsets[NODES + 1];
    const int64_t sizes[] = {NODES, DIM};
    char dir[DATA_PATH];
    struct zip_file zip;
    write_expected(*state);
    fill_columns(columns, offsets);
    for (int form = 0; form < 2; form++) {
        zip_file_open(&zip, folder(*state, "in", dir), "g.npz", true, true);
        zip_file_add_npy(&zip, "edges.npy", "<i8", "(110, 2)", pairs, sizeof pairs);
        if (form == 0) {
            zip_file_add_npy(&zip, "attr_data.npy", "<f4", "(160,)", features, sizeof features);
            zip_file_add_npy(&zip, "attr_indices.npy", "<i8", "(160,)", columns, sizeof columns);
            zip_file_add_npy(&zip, "attr_indptr.npy", "<i8", "(41,)", offsets, sizeof offsets);
            zip_file_add_npy(&zip, "attr_shape.npy", "<i8", "(2,)", sizes, sizeof sizes);
            zip_file_add_npy(&zip, "labels.npy", "<f4", "(40,)", labels, sizeof labels);
        } else {
            zip_file_add_npy(&zip, "node_features.npy", "<f4", "(40, 4)", features, sizeof features);
            zip_file_add_npy(&zip, "node_labels.npy", "<f4", "(40,)", labels, sizeof labels);
        }
        zip_file_add_npy(&zip, "train_mask.npy", "|b1", "(40,)", train_mask, NODES);
        zip_file_add_npy(&zip, "val_mask.npy", "|b1", "(40,)", valid_mask, NODES);
        zip_file_add_npy(&zip, "test_mask.npy", "|b1", "(40,)", test_mask, NODES);
        zip_file_close(&zip);
        expect_same(*state, (struct gnn_import_source){.from = "in/g.npz"}, form == 0 ? "attr_" : "node_features");
    }
    data_write(folder(*state, "in", dir), "g.npz", "no archive, but more than 22 bytes", 34);
    expect_error(*state, (struct gnn_import_source){.from = "in/g.npz"}, "g.npz: no zip archive");
    zip_file_open(&zip, dir, "g.npz", true, true);
    zip_file_add(&zip, "readme", "1", 1);
    zip_file_close(&zip);
    expect_error(*state, (struct gnn_import_source){.from = "in/g.npz"}, "and this is a NumPy archive without them");
}

/* ---- splits ---- */

static void test_masks(void **state)
{
    static unsigned char rows[3 * NODES], columns[3 * NODES];
    static int64_t numbers[NODES];
    char dir[DATA_PATH];
    write_expected(*state);
    for (int form = 0; form < 5; form++) {
        write_edges(folder(*state, "in", dir));
        write_nodes(dir);
        write_splits(dir);
        for (int v = 0; v < NODES; v++) {
            rows[v] = columns[3 * v] = train_mask[v];
            rows[NODES + v] = columns[3 * v + 1] = 1 - train_mask[v];
            numbers[v] = train_mask[v];
        }
        char path[DATA_PATH];
        assert_int_equal(remove(data_path(path, dir, "train_idx.npy")), 0);
        if (form == 0)
            data_write_npy(dir, "train_mask.npy", "|b1", "(40,)", train_mask, NODES);
        else if (form == 1)
            data_write_npy(dir, "train_mask.npy", "<i8", "(40,)", numbers, sizeof numbers);
        else if (form == 2)
            data_write_npy(dir, "train_masks.npy", "|b1", "(3, 40)", rows, sizeof rows);
        else if (form == 3)
            data_write_npy(dir, "train_mask.npy", "|b1", "(40, 3)", columns, sizeof columns);
        else
            data_write_npy(dir, "train_idx.npy", "|b1", "(40,)", train_mask, NODES);
        expect_same(*state, (struct gnn_import_source){0}, "mask");
    }
    write_edges(folder(*state, "in", dir));
    write_nodes(dir);
    data_write_npy(dir, "train_mask.npy", "|b1", "(39,)", train_mask, NODES - 1);
    expect_error(*state, (struct gnn_import_source){0}, "a mask of 39 values, expected one for each of the 40 nodes");
    numbers[7] = 2;
    data_write_npy(dir, "train_mask.npy", "<i8", "(40,)", numbers, sizeof numbers);
    expect_error(*state, (struct gnn_import_source){0}, "node 7 has the value 2, expected 0 or 1");
}

static void test_split_folders(void **state)
{
    static const char *const places[] = {"in/split", "in/splits/time", "in/val"};
    char dir[DATA_PATH], split[DATA_PATH];
    write_expected(*state);
    for (int i = 0; i < 3; i++) {
        write_edges(folder(*state, "in", dir));
        write_nodes(dir);
        if (i < 2) {
            write_csv_splits(folder(*state, places[i], split));
        } else {
            data_write_npy(dir, "train_idx.npy", "<i8", "(20,)", train, sizeof train);
            data_write_npy(dir, "val_idx.npy", "<i8", "(10,)", valid, sizeof valid);
            data_write_npy(dir, "test_idx.npy", "<i8", "(10,)", test, sizeof test);
        }
        expect_same(*state, (struct gnn_import_source){0}, places[i]);
    }
    struct zip_file zip;
    write_edges(folder(*state, "in", dir));
    write_nodes(dir);
    zip_file_open(&zip, dir, "split_idx.npz", false, false);
    zip_file_add_npy(&zip, "train.npy", "<i8", "(20,)", train, sizeof train);
    zip_file_add_npy(&zip, "valid.npy", "<i8", "(10,)", valid, sizeof valid);
    zip_file_add_npy(&zip, "test.npy", "<i8", "(10,)", test, sizeof test);
    zip_file_close(&zip);
    expect_same(*state, (struct gnn_import_source){0}, "split_idx.npz");
    write_edges(folder(*state, "in", dir));
    write_nodes(dir);
    write_csv_splits(folder(*state, "in/split/time", split));
    write_csv_splits(folder(*state, "in/split/random", split));
    expect_error(*state, (struct gnn_import_source){0},
                 "has several splits: choose with --split split/random or --split split/time");
    expect_same(*state, (struct gnn_import_source){.split = "split/time"}, "one of two");
}

/* Names that programs give to splits, as lists, masks or lines. */
static void test_usual_names(void **state)
{
    static const char *const names[][2] = {{"train_indices.npy", "validation_indices.npy"},
                                           {"tr.npy", "va.npy"},
                                           {"idx_train.npy", "idx_val.npy"},
                                           {"train_nid.npy", "val_nid.npy"},
                                           {"trn_nodes.npy", "dev_nodes.npy"},
                                           {"train_set.npy", "val_set.npy"},
                                           {"training_id.npy", "validation_id.npy"}};
    char dir[DATA_PATH], path[DATA_PATH];
    write_expected(*state);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        write_edges(folder(*state, "in", dir));
        write_nodes(dir);
        write_splits(dir);
        assert_int_equal(remove(data_path(path, dir, "train_idx.npy")), 0);
        assert_int_equal(remove(data_path(path, dir, "valid_idx.npy")), 0);
        data_write_npy(dir, names[i][0], "<i8", "(20,)", train, sizeof train);
        data_write_npy(dir, names[i][1], "<i8", "(10,)", valid, sizeof valid);
        expect_same(*state, (struct gnn_import_source){0}, names[i][0]);
    }
}

/* Lists in text may have a heading. Other forms name what makes a list of them. */
static void test_lines(void **state)
{
    static const struct {
        const char *name, *start, *message;
    } lists[] = {
        {"train.csv", "node_id\n", NULL},
        {"train.txt", "", NULL},
        {"train_idx.txt", "", NULL},
        {"train.csv", ",id\n0,3\n", "not a node ID: ',id'; `tail -n +2 | cut -d, -f2` keeps the second column"},
        {"train.csv", "3,5,7\n", "not a node ID: '3,5,7'; `tr ',; ' '\\n'` writes an ID per line"}};
    char dir[DATA_PATH], path[DATA_PATH], text[1024];
    write_expected(*state);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        write_edges(folder(*state, "in", dir));
        write_nodes(dir);
        write_splits(dir);
        assert_int_equal(remove(data_path(path, dir, "train_idx.npy")), 0);
        (void)snprintf(text, sizeof text, "%s", lists[i].start);
        for (size_t t = 0; t < sizeof train / sizeof *train; t++)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%d\n", (int)train[t]);
        data_write(dir, lists[i].name, text, strlen(text));
        if (lists[i].message == NULL)
            expect_same(*state, (struct gnn_import_source){0}, lists[i].name);
        else
            expect_error(*state, (struct gnn_import_source){0}, lists[i].message);
    }
}

/* Arrays of other shapes and types name what converts them. */
static void test_conversions(void **state)
{
    static const struct {
        const char *name, *descr, *shape, *message;
    } cases[] = {
        {"node_feat.npy", "<f4", "(4, 40)", "save numpy.ascontiguousarray(a.T)"},
        {"node_feat.npy", "<f4", "(160,)", "a.reshape(len(a), -1)"},
        {"node_feat.npy", "|V2", "(40, 8)", "(a.view('uint16').astype('uint32') << 16).view('float32')"},
        {"node_label.npy", "<U4", "(40,)", "numpy.unique(a, return_inverse=True)[1]"},
        {"node_label.npy", "<f4", "(40, 4)", "of one-hot labels, save a.argmax(axis=1)"},
        {"edge_index.npy", "<i4", "(3, 40)", "save a[:2], without"},
        {"edge_index.npy", "<i4", "(40, 3)", "save a[:, :2], without"},
    };
    static const float numbers[160];
    char dir[DATA_PATH];
    fill_graph();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_edges(folder(*state, "in", dir));
        write_nodes(dir);
        data_write_npy(dir, cases[i].name, cases[i].descr, cases[i].shape, numbers,
                       strchr(cases[i].shape, '3') != NULL ? 480 : sizeof numbers);
        expect_error(*state, (struct gnn_import_source){0}, cases[i].message);
        process_remove_tree(dir);
    }
}

/* Splits next to the folder of the arrays have the name that --split takes, from wherever the import starts. */
static void test_names_of_splits(void **state)
{
    static const char *const from[] = {"in", "in/raw", "in/raw/data.npz"};
    static const char *const named[] = {"split/b", "../split/b", "../split/b"};
    static const char *const messages[] = {"choose with --split split/a or --split split/b",
                                           "choose with --split ../split/a or --split ../split/b",
                                           "choose with --split ../split/a or --split ../split/b"};
    char dir[DATA_PATH];
    write_expected(*state);
    for (unsigned i = 0; i < 3; i++) {
        struct zip_file zip;
        write_nodes(folder(*state, "in/raw", dir));
        zip_file_open(&zip, dir, "data.npz", false, false);
        zip_file_add_npy(&zip, "edge_index.npy", "<i8", "(2, 110)", edges, sizeof edges);
        zip_file_close(&zip);
        write_csv_splits(folder(*state, "in/split/a", dir));
        write_csv_splits(folder(*state, "in/split/b", dir));
        expect_error(*state, (struct gnn_import_source){.from = from[i]}, messages[i]);
        expect_same(*state, (struct gnn_import_source){.from = from[i], .split = named[i]}, from[i]);
    }
    assert_string_equal(gnn_below("in", "in/raw"), "raw");
    assert_string_equal(gnn_below("in/", "in/raw"), "raw");
    assert_string_equal(gnn_below("in", "in"), "");
    assert_string_equal(gnn_below("in", "input/raw"), "input/raw");
}

/* ---- what is in doubt ---- */

static void test_several_folders(void **state)
{
    char dir[DATA_PATH];
    write_expected(*state);
    write_edges(folder(*state, "in/a", dir));
    write_edges(folder(*state, "in/b/raw", dir));
    expect_error(*state, (struct gnn_import_source){0},
                 "2 folders below it have edges (a, b/raw): choose one with --edges FOLDER");
    write_nodes(dir);
    write_splits(dir);
    expect_same(*state, (struct gnn_import_source){.edges = "b/raw"}, "the folder that --edges names");
    write_edges(folder(*state, "in/1/2/3/4", dir));
    expect_error(*state, (struct gnn_import_source){0}, "and this is a directory without it");
}

static void test_ignored_parts(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err;
    struct gnn_meta meta;
    struct gnn_import_options options = defaults();
    write_expected(*state);
    const struct gnn_import_source source = {.from = "plain", .features = "none", .labels = "none"};
    expect_error(*state, source, "has no labels: --classes C draws random ones");
    options.dim = 7;
    options.classes = 5;
    must(import(*state, "out", source, &options, &err), &err);
    must(gnn_read_meta(data_path(dir, *state, "out"), &meta, &err), &err);
    assert_int_equal(meta.dims[0], 7);
    assert_int_equal(meta.class_count, 5);
    assert_string_equal(gnn_meta_param(&meta, "features"), "none");
    process_remove_tree(dir);
    float *const wide = calloc((size_t)2 * 16385, sizeof *wide);
    folder(*state, "in", dir);
    data_write_npy(dir, "edge_index.npy", "<i8", "(2, 1)", edges, 16);
    data_write_npy(dir, "node_feat.npy", "<f4", "(2, 16385)", wide, (size_t)2 * 16385 * sizeof *wide);
    data_write_npy(dir, "node_label.npy", "<f4", "(2,)", labels, 8);
    expect_error(*state, (struct gnn_import_source){0},
                 "features of width 16385, expected 1 to 16384: save fewer columns");
    expect_error(*state, (struct gnn_import_source){0}, "--features none --dim D");
    free(wide);
}

/* Features in Fortran order, big-endian numbers and a lie about the number of nodes, end to end. */
static void test_forms_of_features(void **state)
{
    static float turned[NODES * DIM];
    static unsigned char swapped[sizeof edges];
    char dir[DATA_PATH];
    write_expected(*state);
    for (int i = 0; i < NODES * DIM; i++)
        turned[i % DIM * NODES + i / DIM] = features[i];
    for (size_t i = 0; i < sizeof edges; i++)
        swapped[i] = ((const unsigned char *)edges)[i / 8 * 8 + 7 - i % 8];
    write_nodes(folder(*state, "in", dir));
    write_splits(dir);
    data_write_npy(dir, "edge_index.npy", ">i8", "(2, 110)", swapped, sizeof swapped);
    data_write_npy_fortran(dir, "node_feat.npy", "<f4", "(40, 4)", turned, sizeof turned);
    expect_same(*state, (struct gnn_import_source){0}, "Fortran features, big-endian edges");
    write_edges(folder(*state, "in", dir));
    data_write_npy(dir, "node_feat.npy.gz", "<f4", "(4000000000, 4)", features, sizeof features);
    data_write_npy(dir, "node_label.npy.gz", "<f4", "(4000000000,)", labels, sizeof labels);
    expect_error(*state, (struct gnn_import_source){0}, "of gzip data cannot unpack to more than");
}

/* ---- the memory limit ---- */

enum { LARGE_NODES = 20000, LARGE_DIM = 400, LARGE_EDGES = 1000000, LIMIT = 8 << 20 };

/* 32 MB of features column by column, and CSC lists whose sorted keys take 8 MB. */
static void write_large(const char *dir)
{
    char all[32];
    float *const wide = malloc((size_t)LARGE_NODES * LARGE_DIM * sizeof *wide);
    int32_t *const ids = malloc(LARGE_EDGES * sizeof *ids);
    int64_t *const offsets = malloc((LARGE_NODES + 1) * sizeof *offsets);
    assert_true(wide != NULL && ids != NULL && offsets != NULL);
    for (int i = 0; i < LARGE_NODES * LARGE_DIM; i++)
        wide[i] = (float)(i % LARGE_NODES * 7 + i / LARGE_NODES);
    for (int e = 0; e < LARGE_EDGES; e++)
        ids[e] = (int32_t)((int64_t)e * 7919 % LARGE_NODES);
    for (int v = 0; v <= LARGE_NODES; v++)
        offsets[v] = (int64_t)v * (LARGE_EDGES / LARGE_NODES);
    (void)snprintf(all, sizeof all, "(%d, %d)", LARGE_NODES, LARGE_DIM);
    data_write_npy_fortran(dir, "node_feat.npy", "<f4", all, wide, (size_t)LARGE_NODES * LARGE_DIM * sizeof *wide);
    (void)snprintf(all, sizeof all, "(%d,)", LARGE_EDGES);
    data_write_npy(dir, "indices.npy", "<i4", all, ids, LARGE_EDGES * sizeof *ids);
    (void)snprintf(all, sizeof all, "(%d,)", LARGE_NODES + 1);
    data_write_npy(dir, "indptr.npy", "<i8", all, offsets, (LARGE_NODES + 1) * sizeof *offsets);
    free(wide);
    free(ids);
    free(offsets);
}

/* Returns the peak resident memory in KiB of a child that imports in/, or plain/. */
static long peak_kib(const char *root, const char *from)
{
    struct rusage usage;
    int status;
    const pid_t pid = fork();
    if (pid == 0) {
        char out[DATA_PATH];
        struct gnn_err err;
        struct gnn_import_options options = defaults();
        options.memory_bytes = LIMIT;
        options.classes = strcmp(from, "plain") == 0 ? 0 : 4;
        (void)snprintf(out, sizeof out, "out-%s", from);
        _exit(import(root, out, (struct gnn_import_source){.from = from}, &options, &err) == GNN_OK ? 0 : 1);
    }
    assert_int_equal(wait4(pid, &status, 0, &usage), pid);
    assert_int_equal(status, 0);
    return usage.ru_maxrss;
}

static void test_memory_limit(void **state)
{
    char dir[DATA_PATH], out[DATA_PATH];
    size_t len;
    write_expected(*state);
    const long floor_kib = peak_kib(*state, "plain");
    write_large(folder(*state, "in", dir));
    const long large_kib = peak_kib(*state, "in");
    print_message("peak KiB: small graph %ld, large %ld\n", floor_kib, large_kib);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* whose shadow memory is not ours */
    assert_true(large_kib - floor_kib < LIMIT >> 10);
#endif
    float *const rows = (float *)(void *)data_read(data_path(out, *state, "out-in"), "features-d400", &len);
    assert_int_equal(len, (size_t)LARGE_NODES * LARGE_DIM * sizeof *rows);
    for (int v = 0; v < LARGE_NODES; v += 37)
        for (int d = 0; d < LARGE_DIM; d += 7)
            assert_true(rows[v * LARGE_DIM + d] == (float)(v * 7 + d));
    free(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_papers100m, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_mag240m, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_named_files, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_igb, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_mapped, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_lists, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_scipy, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_one_archive, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_masks, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_usual_names, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_conversions, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_lines, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_split_folders, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_names_of_splits, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_several_folders, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_ignored_parts, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_forms_of_features, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_memory_limit, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("find_arrays", tests, NULL, NULL);
}
