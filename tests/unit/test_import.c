/* SPDX-License-Identifier: MIT */
/* Imports against a brute-force reference, in and out of memory; malformed input; nothing left behind. */
#include "harness/base/rng.h"
#include "harness/dataset/prepare.h"
#include "harness/dataset/read.h"
#include "tests/support/data_files.h"
#include "tests/support/hang.h"
#include "tests/support/must.h"
#include "tests/support/seed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES = 60, EDGES = 900, DIM = 3 };

static struct gnn_import_options defaults(void)
{
    struct gnn_import_options options;
    gnn_option_defaults(gnn_import_table, &options);
    return options;
}

/* Imports <root>/in into <root>/<out>. */
static enum gnn_status import(const char *root, const char *out, enum gnn_import_format format, const char *split,
                              const struct gnn_import_options *options, struct gnn_prepare_job job, struct gnn_err *err)
{
    char from[DATA_PATH], to[DATA_PATH];
    const struct gnn_import_source source = {.format = format, .from = data_path(from, root, "in"), .split = split};
    *err = (struct gnn_err){0};
    job.out_dir = data_path(to, root, out);
    return gnn_prepare_import(&source, options, &job, err);
}

/* ---- against brute force ---- */

static void write_ogb(const char *root, const int64_t *edges)
{
    char in[DATA_PATH];
    float features[NODES * DIM];
    int64_t labels[NODES];
    static const int64_t train[] = {3, 5, 9}, valid[] = {40, 1}, test[] = {2, 59};
    (void)mkdir(data_path(in, root, "in"), 0777);
    for (int i = 0; i < NODES; i++) {
        labels[i] = i % 4;
        for (int j = 0; j < DIM; j++)
            features[i * DIM + j] = (float)(i - j);
    }
    data_write_npy(in, "edge_index.npy", "<i8", "(2, 900)", edges, 2 * EDGES * sizeof *edges);
    data_write_npy(in, "node_feat.npy", "<f4", "(60, 3)", features, sizeof features);
    data_write_npy(in, "node_label.npy", "<i8", "(60,)", labels, sizeof labels);
    data_write_npy(in, "train_idx.npy", "<i8", "(3,)", train, sizeof train);
    data_write_npy(in, "valid_idx.npy", "<i8", "(2,)", valid, sizeof valid);
    data_write_npy(in, "test_idx.npy", "<i8", "(2,)", test, sizeof test);
}

static void random_edges(int64_t *edges)
{
    struct gnn_rng rng = gnn_rng_at(test_seed());
    for (int i = 0; i < 2 * EDGES; i++) /* the last ten nodes stay isolated; about 18 self-loops, many duplicates */
        edges[i] = (int64_t)gnn_rng_below(&rng, NODES - 10);
}

/* count[target][source] of the transformed edges. */
static void reference(const int64_t *edges, const struct gnn_import_options *o, int count[NODES][NODES])
{
    memset(count, 0, sizeof(int[NODES][NODES]));
    for (int i = 0; i < EDGES; i++) {
        const int64_t a = o->transpose ? edges[EDGES + i] : edges[i], b = o->transpose ? edges[i] : edges[EDGES + i];
        if (a == b && o->drop_self_loops)
            continue;
        count[b][a]++;
        if (o->add_reverse && a != b)
            count[a][b]++;
    }
    for (int b = 0; b < NODES; b++)
        for (int a = 0; a < NODES; a++)
            if (o->drop_duplicates && count[b][a] > 1)
                count[b][a] = 1;
}

static void compare_lists(const char *dir, int count[NODES][NODES])
{
    size_t indptr_len = 0, len = 0;
    uint64_t *indptr = (uint64_t *)(void *)data_read(dir, "indptr", &indptr_len);
    gnn_node *indices = (gnn_node *)(void *)data_read(dir, "indices", &len);
    uint64_t at = 0;
    assert_int_equal(indptr_len, (NODES + 1) * 8);
    for (int target = 0; target < NODES; target++) {
        assert_int_equal(indptr[target], at);
        for (gnn_node source = 0; source < NODES; source++)
            for (int i = 0; i < count[target][source]; i++)
                assert_int_equal(indices[at++], source);
    }
    assert_int_equal(indptr[NODES], at);
    assert_int_equal(len, at * 4);
    free(indptr);
    free(indices);
}

static void test_transformations(void **state)
{
    int64_t edges[2 * EDGES];
    static int count[NODES][NODES];
    random_edges(edges);
    write_ogb(*state, edges);
    for (unsigned bits = 0; bits < 16; bits++) {
        char dir[DATA_PATH], name[16];
        struct gnn_err err;
        struct gnn_import_options options = defaults();
        options.add_reverse = bits & 1;
        options.transpose = bits & 2;
        options.drop_self_loops = bits & 4;
        options.drop_duplicates = bits & 8;
        (void)snprintf(name, sizeof name, "out%u", bits);
        must(import(*state, name, GNN_IMPORT_OGB, NULL, &options, (struct gnn_prepare_job){0}, &err), &err);
        data_path(dir, *state, name);
        must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
        reference(edges, &options, count);
        compare_lists(dir, count);
    }
}

static void test_node_files(void **state)
{
    int64_t edges[2 * EDGES] = {0};
    char dir[DATA_PATH];
    size_t len = 0;
    struct gnn_err err;
    struct gnn_meta meta;
    struct gnn_import_options options = defaults();
    options.row_normalise = true;
    write_ogb(*state, edges);
    must(import(*state, "out", GNN_IMPORT_OGB, NULL, &options, (struct gnn_prepare_job){0}, &err), &err);
    data_path(dir, *state, "out");
    must(gnn_read_meta(dir, &meta, &err), &err);
    assert_int_equal(meta.class_count, 4);
    assert_int_equal(meta.dims[0], DIM);
    assert_string_equal(meta.name, "in");
    assert_string_equal(gnn_meta_param(&meta, "row_normalise"), "true");
    float *rows = (float *)(void *)data_read(dir, "features-d3", &len);
    assert_true(rows[3 * 10] == 10.0f / 27 && rows[3 * 10 + 2] == 8.0f / 27);
    assert_true(rows[0] == 0 && rows[1] == -1.0f / 3); /* by absolute values */
    gnn_node *valid = (gnn_node *)(void *)data_read(dir, "valid", &len);
    assert_int_equal(len, 8);
    assert_int_equal(valid[0], 1); /* sorted */
    assert_int_equal(valid[1], 40);
    free(rows);
    free(valid);
}

/* Sparse features equal the dense ones they stand for; float labels with NaN, shape [N, 1]; splits as OGB's
 * .csv.gz. */
static void test_other_forms(void **state)
{
    int64_t edges[2 * EDGES] = {0};
    char in[DATA_PATH], path[DATA_PATH], split[DATA_PATH];
    size_t len = 0;
    struct gnn_err err;
    const struct gnn_import_options options = defaults();
    write_ogb(*state, edges);
    data_path(in, *state, "in");
    assert_int_equal(unlink(data_path(path, in, "node_feat.npy")), 0);
    float data[NODES * DIM], labels[NODES];
    int32_t columns[NODES * DIM];
    int64_t indptr[NODES + 1] = {0}, shape[] = {NODES, DIM};
    for (int i = 0; i < NODES; i++) {
        labels[i] = i % 7 == 6 ? NAN : (float)(i % 7);
        indptr[i + 1] = indptr[i] + (i == 20 ? 0 : DIM);
        for (int j = 0; j < DIM && i != 20; j++) {
            data[indptr[i] + j] = (float)(i + 10 * j);
            columns[indptr[i] + j] = DIM - 1 - j;
        }
    }
    columns[0] = 0; /* row 0: columns 0, 1, 0: the repeated one adds up */
    data_write_npy(in, "feat_data.npy", "<f4", "(177,)", data, 177 * sizeof *data);
    data_write_npy(in, "feat_indices.npy.gz", "<i4", "(177,)", columns, 177 * sizeof *columns);
    data_write_npy(in, "feat_indptr.npy", "<i8", "(61,)", indptr, sizeof indptr);
    data_write_npy(in, "feat_shape.npy", "<i8", "(2,)", shape, sizeof shape);
    data_write_npy(in, "node_label.npy", "<f4", "(60, 1)", labels, sizeof labels);
    assert_int_equal(mkdir(data_path(split, in, "time"), 0777), 0);
    data_write_gz(split, "train.csv.gz", "5\n4\r\n\n6\n", 8);
    must(import(*state, "out", GNN_IMPORT_OGB, "time", &options, (struct gnn_prepare_job){0}, &err), &err);
    data_path(path, *state, "out");
    must(gnn_prepare_check(path, true, NULL, NULL, NULL, &err), &err);
    float *rows = (float *)(void *)data_read(path, "features-d3", &len);
    assert_true(rows[0] == 0 + 20 && rows[1] == 10 && rows[2] == 0);
    assert_true(rows[3 * 7] == 27 && rows[3 * 7 + 1] == 17 && rows[3 * 7 + 2] == 7);
    assert_true(rows[3 * 20] == 0 && rows[3 * 20 + 2] == 0);
    int32_t *read = (int32_t *)(void *)data_read(path, "labels", &len);
    assert_int_equal(read[6], -1);
    assert_int_equal(read[5], 5);
    gnn_node *train = (gnn_node *)(void *)data_read(path, "train", &len);
    assert_int_equal(len, 8); /* node 6 has no label and is left out */
    assert_int_equal(train[0], 4);
    free(rows);
    free(read);
    free(train);
}

static void test_snap(void **state)
{
    static const char text[] = "# gaps\n10 20\n20 10\n10 10\n4000000000 20\n";
    static const uint64_t indptr[] = {0, 2, 4, 4};
    static const gnn_node indices[] = {0, 1, 0, 2};
    char path[DATA_PATH];
    size_t len = 0;
    struct gnn_err err;
    struct gnn_import_options options = defaults();
    data_write(*state, "in", text, strlen(text));
    assert_int_equal(import(*state, "out", GNN_IMPORT_SNAP, NULL, &options, (struct gnn_prepare_job){0}, &err),
                     GNN_EUSAGE);
    assert_non_null(strstr(err.message, "--classes"));
    options.classes = 5;
    assert_int_equal(import(*state, "out", GNN_IMPORT_SNAP, NULL, &options, (struct gnn_prepare_job){0}, &err),
                     GNN_EUSAGE);
    assert_non_null(strstr(err.message, "--dim"));
    options.dim = 6;
    options.train_fraction = 0;
    options.relabel = true;
    assert_int_equal(import(*state, "out", GNN_IMPORT_SNAP, NULL, &options, (struct gnn_prepare_job){0}, &err),
                     GNN_EFORMAT);
    assert_non_null(strstr(err.message, "raise --train-fraction, 0 here"));
    options.train_fraction = 1;
    options.valid_fraction = options.test_fraction = 0;
    must(import(*state, "out", GNN_IMPORT_SNAP, NULL, &options, (struct gnn_prepare_job){0}, &err), &err);
    data_path(path, *state, "out");
    must(gnn_prepare_check(path, true, NULL, NULL, NULL, &err), &err);
    char *bytes = data_read(path, "indptr", &len);
    assert_int_equal(len, sizeof indptr);
    assert_memory_equal(bytes, indptr, len);
    free(bytes);
    bytes = data_read(path, "indices", &len);
    assert_memory_equal(bytes, indices, len);
    free(bytes);
    options.memory_bytes = 4 << 20; /* 4 * 10^9 / 64 words of 12 B do not fit */
    assert_int_equal(import(*state, "small", GNN_IMPORT_SNAP, NULL, &options, (struct gnn_prepare_job){0}, &err),
                     GNN_ECAP);
    assert_non_null(strstr(err.message, "--memory"));
}

/* ---- the memory bound ---- */

/* Peak resident memory of a child that imports in memory_bytes, in KiB. */
static long peak_kib(const char *root, const char *out, uint64_t memory_bytes)
{
    int result[2];
    long peak = -1;
    assert_int_equal(pipe(result), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct gnn_err err;
        struct gnn_import_options options = defaults();
        options.memory_bytes = memory_bytes;
        options.add_reverse = true;
        options.dim = 1;
        options.classes = 2;
        options.train_fraction = 0.5;
        const enum gnn_status status =
            import(root, out, GNN_IMPORT_SNAP, NULL, &options, (struct gnn_prepare_job){0}, &err);
        struct rusage usage;
        (void)getrusage(RUSAGE_SELF, &usage);
        if (status == GNN_OK && write(result[1], &usage.ru_maxrss, sizeof usage.ru_maxrss) > 0)
            _exit(0);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(result[0], &peak, sizeof peak), sizeof peak);
    (void)close(result[0]);
    (void)close(result[1]);
    return peak;
}

/* 1.6 million edges, 25.6 MB of keys with their reverses (51 MB with the sort's scratch), in 4 MiB: the peak
 * over that of an import of one edge stays under the bound, and the files are the ones that the in-memory
 * sort gives. */
static void test_memory_bound(void **state)
{
    enum { LINES = 1600000 };
    struct gnn_rng rng = gnn_rng_at(test_seed());
    char *text = malloc(LINES * 14), a[DATA_PATH], b[DATA_PATH];
    size_t len = 0;
    struct gnn_err err;
    struct gnn_meta bounded, large;
    data_write(*state, "in", "1 2\n", 4);
    const long floor_kib = peak_kib(*state, "one", 4 << 20);
    for (int i = 0; i < LINES; i++)
        len += (size_t)sprintf(text + len, "%u\t%u\n", (unsigned)gnn_rng_below(&rng, 300000),
                               (unsigned)gnn_rng_below(&rng, 300000));
    data_write(*state, "in", text, len);
    free(text);
    const long bounded_kib = peak_kib(*state, "bounded", 4 << 20), large_kib = peak_kib(*state, "large", 1 << 30);
    print_message("peak KiB: one edge %ld, bounded %ld, unbounded %ld\n", floor_kib, bounded_kib, large_kib);
    must(gnn_read_meta(data_path(a, *state, "bounded"), &bounded, &err), &err);
    must(gnn_read_meta(data_path(b, *state, "large"), &large, &err), &err);
    assert_int_equal(bounded.file_count, large.file_count);
    for (uint32_t i = 0; i < large.file_count; i++)
        assert_string_equal(bounded.files[i].checksum, large.files[i].checksum);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* whose shadow memory is not ours */
    assert_true(bounded_kib - floor_kib < 4 << 10);
    assert_true(large_kib - floor_kib > 20 << 10); /* the measurement sees what it should */
#endif
}

/* ---- malformed input ---- */

static void test_malformed(void **state)
{
    static const int64_t three[] = {0, 1, 60}, twice[] = {3, 4, 4}, negative[] = {-5};
    static const double labels[NODES] = {[7] = 0.5}, classes[NODES] = {[9] = -2};
    static const float features[NODES * DIM] = {[5] = INFINITY};
    static const int64_t edges[4] = {0, 59, 60, 1};
    static const struct {
        const char *name, *descr, *shape; /* shape NULL: removed */
        const void *items;
        size_t bytes;
        const char *message;
        enum gnn_status status;
    } cases[] = {
        {"train_idx.npy", "<i8", "(3,)", three, sizeof three, "node 60, expected 0 to 59", GNN_EFORMAT},
        {"train_idx.npy", "<i8", "(1,)", negative, sizeof negative, "node -5", GNN_EFORMAT},
        {"train_idx.npy", "<i8", "(3,)", twice, sizeof twice, "node 4 is in the splits train and train", GNN_EFORMAT},
        {"test_idx.npy", "<i8", "(3,)", twice, sizeof twice, "node 3 is in the splits train and test", GNN_EFORMAT},
        {"node_label.npy", "<f8", "(60,)", labels, sizeof labels, "number 7 is 0.5", GNN_EFORMAT},
        {"node_label.npy", "<f8", "(60,)", classes, sizeof classes, "node 9 has label -2", GNN_EFORMAT},
        {"node_label.npy", "<f8", "(59,)", classes, 59 * 8, "60 rows, expected one for each of the 59", GNN_EFORMAT},
        {"node_label.npy", "<f8", "(30, 2)", labels, sizeof labels, "shape [N] or [N, 1]", GNN_EFORMAT},
        {"node_feat.npy", "<f4", "(60, 3)", features, sizeof features, "feature 2 of node 1 is not a finite number",
         GNN_EFORMAT},
        {"node_feat.npy", "<f4", "(180,)", features, sizeof features, "shape [N, dim]", GNN_EFORMAT},
        {"node_feat.npy", "<f4", "(60, 4)", features, sizeof features, "its header requires", GNN_ESHORT},
        {"edge_index.npy", "<i8", "(2, 2)", edges, sizeof edges, "edge 0 joins 0 and 60, the nodes end at 59",
         GNN_EFORMAT},
        {"edge_index.npy", "<i8", "(2, 0)", edges, 0, "no edge", GNN_EFORMAT},
        {"edge_index.npy", NULL, NULL, NULL, 0, "takes a directory with edge_index.npy", GNN_EUSAGE},
        {"node_feat.npy", NULL, NULL, NULL, 0, "--dim D draws random ones", GNN_EUSAGE},
        {"node_label.npy", NULL, NULL, NULL, 0, "--classes C draws random ones", GNN_EUSAGE},
    };
    int64_t good[2 * EDGES] = {0};
    const struct gnn_import_options options = defaults();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char in[DATA_PATH], path[DATA_PATH];
        struct gnn_err err;
        write_ogb(*state, good);
        data_path(in, *state, "in");
        if (cases[i].shape != NULL)
            data_write_npy(in, cases[i].name, cases[i].descr, cases[i].shape, cases[i].items, cases[i].bytes);
        else
            assert_int_equal(unlink(data_path(path, in, cases[i].name)), 0);
        const enum gnn_status status =
            import(*state, "out", GNN_IMPORT_OGB, NULL, &options, (struct gnn_prepare_job){0}, &err);
        if (status != cases[i].status || strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: %s '%s'", i, gnn_status_name(status), err.message);
        assert_int_equal(data_entries(*state), 1);
    }
}

static void test_malformed_sparse(void **state)
{
    static const int64_t indptr[] = {0, 1, 3}, falls[] = {0, 3, 1}, late[] = {1, 2, 3}, early[] = {0, 1, 2},
                         columns[] = {0, 3, 1}, wide[] = {0, 4, 1}, shape[] = {2, 4}, edges[] = {0, 1},
                         label[] = {0, 1};
    static const float values[] = {1, 2, 3};
    static const struct {
        const int64_t *indptr, *columns;
        const char *indptr_shape, *message; /* NULL: good */
    } cases[] = {
        {indptr, columns, "(3,)", NULL},
        {falls, columns, "(3,)", "row 1 ends at 1, expected 3 to 3"},
        {late, columns, "(3,)", "starts at 1, expected 0"},
        {early, columns, "(3,)", "ends at 2, expected the 3 values"},
        {indptr, wide, "(3,)", "row 1 has column 4, expected below 4"},
        {indptr, columns, "(2,)", "2 entries, expected 3 (rows + 1)"},
    };
    char in[DATA_PATH];
    (void)mkdir(data_path(in, *state, "in"), 0777);
    data_write_npy(in, "edge_index.npy", "<i8", "(2, 1)", edges, sizeof edges);
    data_write_npy(in, "node_label.npy", "<i8", "(2,)", label, sizeof label);
    data_write_npy(in, "train_idx.npy", "<i8", "(1,)", label, 8);
    data_write_npy(in, "feat_data.npy", "<f4", "(3,)", values, sizeof values);
    data_write_npy(in, "feat_shape.npy", "<i8", "(2,)", shape, sizeof shape);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_err err;
        char name[16];
        const struct gnn_import_options options = defaults();
        (void)snprintf(name, sizeof name, "out%zu", i);
        data_write_npy(in, "feat_indptr.npy", "<i8", cases[i].indptr_shape, cases[i].indptr,
                       strcmp(cases[i].indptr_shape, "(2,)") == 0 ? 16 : 24);
        data_write_npy(in, "feat_indices.npy", "<i8", "(3,)", cases[i].columns, 24);
        const enum gnn_status status =
            import(*state, name, GNN_IMPORT_OGB, NULL, &options, (struct gnn_prepare_job){0}, &err);
        if (status != (cases[i].message == NULL ? GNN_OK : GNN_EFORMAT) ||
            (cases[i].message != NULL && strstr(err.message, cases[i].message) == NULL))
            fail_msg("case %zu: %s '%s'", i, gnn_status_name(status), err.message);
    }
    assert_int_equal(data_entries(*state), 2);
}

/* ---- input of another kind ---- */

static void write_text(const char *dir, const char *name, const char *text)
{
    data_write(dir, name, text, strlen(text));
}

/* A directory of each kind, and their files: in ogb/, snap/, triples/, empty/ and beside them. */
static void write_kinds(const char *root)
{
    static const int64_t edges[4] = {0, 1, 1, 2};
    static const char *const dirs[] = {"ogb", "snap", "triples", "empty", "text"};
    char dir[DATA_PATH];
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
        assert_int_equal(mkdir(data_path(dir, root, dirs[i]), 0777), 0);
    data_write_npy(data_path(dir, root, "ogb"), "edge_index.npy", "<i8", "(2, 2)", edges, sizeof edges);
    write_text(data_path(dir, root, "snap"), "edges.txt", "0 1\n");
    write_text(data_path(dir, root, "triples"), "train.txt", "a\tr\tb\n");
    write_text(data_path(dir, root, "text"), "edge_index.npy", "0 1\n1 2\n2 3\n");
    write_text(root, "list.txt", "# c\n0 1\n");
    write_text(root, "words.txt", "# c\na b\n");
    data_write(root, "bytes", "0 1\0\n", 5);
}

/* What the format asks of its input (labels, features, splits) is no matter before the input is of its kind. */
static void test_the_kind_of_input_comes_first(void **state)
{
    static const char ogb[] = "--format ogb takes a directory with edge_index.npy (maybe .gz)",
                      snap[] = "--format snap takes a text file of two node IDs a line, or a directory with edges.txt",
                      triples[] = "--format triples takes a directory with train.txt, train.tsv (maybe .gz) or";
    static const struct {
        enum gnn_import_format format;
        const char *from, *takes, *end; /* parts of the message; the second is its end */
        enum gnn_status status;
    } cases[] = {
        {GNN_IMPORT_OGB, "empty", ogb, ", and this is a directory without it", GNN_EUSAGE},
        {GNN_IMPORT_OGB, "snap", ogb, ", and this is a directory without it; say --format snap", GNN_EUSAGE},
        {GNN_IMPORT_OGB, "triples", ogb, ", and this is a directory without it; say --format triples", GNN_EUSAGE},
        {GNN_IMPORT_OGB, "list.txt", ogb, ", and this is a file; say --format snap", GNN_EUSAGE},
        {GNN_IMPORT_OGB, "ogb/edge_index.npy", ogb, "a NumPy file; name the directory that contains it", GNN_EUSAGE},
        {GNN_IMPORT_OGB, "nosuch", ogb,
         "nosuch: No such file or directory; --format ogb takes a directory with edge_index.npy (maybe .gz), "
         "indptr.npy and indices.npy, OGB's edge.csv, or a .npz archive of arrays",
         GNN_ENOENT},
        {GNN_IMPORT_OGB, "text", "text/edge_index.npy: not a NumPy file", "; numpy.save(path, array) writes one",
         GNN_EFORMAT},
        {GNN_IMPORT_SNAP, "empty", snap, ", and this is a directory without it", GNN_EUSAGE},
        {GNN_IMPORT_SNAP, "ogb", snap, "; say --format ogb", GNN_EUSAGE},
        {GNN_IMPORT_SNAP, "ogb/edge_index.npy", snap,
         "a NumPy file; name the directory that contains it, with --format ogb", GNN_EUSAGE},
        {GNN_IMPORT_SNAP, "words.txt", "words.txt:2: not two node IDs: 'a b'; if the IDs are names, use --from <(awk ",
         "words.txt)", GNN_EFORMAT},
        {GNN_IMPORT_SNAP, "bytes", "bytes:1: ", "not a line of text", GNN_EFORMAT},
        {GNN_IMPORT_SNAP, "nosuch", snap, "(maybe .gz)", GNN_ENOENT},
        {GNN_IMPORT_SNAP, "list.txt", "list.txt has no labels", ": --classes C draws random ones", GNN_EUSAGE},
        {GNN_IMPORT_SNAP, "snap", "snap has no labels", ": --classes C draws random ones", GNN_EUSAGE},
        {GNN_IMPORT_TRIPLES, "ogb", triples, "; say --format ogb", GNN_EUSAGE},
        {GNN_IMPORT_TRIPLES, "triples/train.txt", triples, "a file; name the directory that contains it", GNN_EUSAGE},
        {GNN_IMPORT_TRIPLES, "nosuch", triples, "train_hrt.npy", GNN_ENOENT},
    };
    write_kinds(*state);
    const unsigned before = data_entries(*state);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char from[DATA_PATH], to[DATA_PATH];
        struct gnn_err err = {0};
        const struct gnn_import_source source = {.format = cases[i].format,
                                                 .from = data_path(from, *state, cases[i].from)};
        struct gnn_import_options options = defaults();
        options.dim = cases[i].format == GNN_IMPORT_TRIPLES ? 9 : 0;
        const struct gnn_prepare_job job = {.out_dir = data_path(to, *state, "out")};
        const enum gnn_status status = gnn_prepare_import(&source, &options, &job, &err);
        const size_t len = strlen(err.message), end = strlen(cases[i].end);
        if (status != cases[i].status || strstr(err.message, cases[i].takes) == NULL || len < end ||
            strcmp(err.message + len - end, cases[i].end) != 0)
            fail_msg("case %zu: %s '%s'", i, gnn_status_name(status), err.message);
        assert_int_equal(data_entries(*state), before);
    }
}

/* A pipe can be read once, so nothing of it is read to look what it is. */
static void test_a_pipe_is_read_once(void **state)
{
    char path[DATA_PATH], to[DATA_PATH];
    struct gnn_err err = {0};
    assert_int_equal(mkfifo(data_path(path, *state, "list"), 0666), 0);
    const pid_t writer = fork();
    if (writer == 0) {
        FILE *const file = fopen(path, "w");
        _exit(file != NULL && fputs("2 0\n2 1\n", file) >= 0 && fclose(file) == 0 ? 0 : 1);
    }
    assert_true(writer > 0);
    end_a_hang();
    struct gnn_import_options options = defaults();
    options.classes = options.dim = 2;
    options.train_fraction = 1;
    options.valid_fraction = options.test_fraction = 0;
    const struct gnn_import_source source = {.format = GNN_IMPORT_SNAP, .from = path};
    const struct gnn_prepare_job job = {.out_dir = data_path(to, *state, "out")};
    must(gnn_prepare_import(&source, &options, &job, &err), &err);
    (void)alarm(0);
    size_t len = 0;
    free(data_read(to, "indices", &len));
    assert_int_equal(len, 2 * sizeof(gnn_node));
    int ended = 1;
    assert_int_equal(waitpid(writer, &ended, 0), writer);
    assert_int_equal(ended, 0);
}

/* ---- requests ---- */

static void test_requests(void **state)
{
    int64_t edges[2 * EDGES] = {0};
    struct gnn_err err;
    write_ogb(*state, edges);
    struct {
        struct gnn_import_options options;
        const char *split, *message;
    } cases[] = {{defaults(), NULL, "relabel is for edge lists"},
                 {defaults(), NULL, "--memory"},
                 {defaults(), NULL, "add up to 1.5"},
                 {defaults(), NULL, "--dim is for inputs without"},
                 {defaults(), NULL, "class below 3"},
                 {defaults(), "time", "neither train_idx.npy"}};
    cases[0].options.relabel = true;
    cases[1].options.memory_bytes = 1000;
    cases[2].options.train_fraction = 1.5 - 0.003;
    cases[3].options.dim = 9;
    cases[4].options.classes = 3;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const enum gnn_status status =
            import(*state, "out", GNN_IMPORT_OGB, cases[i].split, &cases[i].options, (struct gnn_prepare_job){0}, &err);
        if (status == GNN_OK || strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: %s '%s'", i, gnn_status_name(status), err.message);
        assert_int_equal(data_entries(*state), 1);
    }
    const struct gnn_import_options options = defaults();
    must(import(*state, "out", GNN_IMPORT_OGB, NULL, &options, (struct gnn_prepare_job){0}, &err), &err);
    must(import(*state, "out", GNN_IMPORT_OGB, NULL, &options, (struct gnn_prepare_job){0}, &err), &err); /* there */
    struct gnn_import_options other = options;
    other.drop_self_loops = !options.drop_self_loops;
    assert_int_equal(import(*state, "out", GNN_IMPORT_OGB, NULL, &other, (struct gnn_prepare_job){0}, &err),
                     GNN_EUSAGE);
    assert_non_null(strstr(err.message, "was made with drop_self_loops"));
}

/* ---- stopped, full ---- */

static void raise_stop(void *ctx, const struct gnn_progress *progress)
{
    if (strcmp(progress->phase, "lists") == 0)
        atomic_store((atomic_bool *)ctx, true);
}

static void test_stopped(void **state)
{
    int64_t edges[2 * EDGES] = {0};
    struct gnn_err err;
    atomic_bool stop = false;
    const struct gnn_import_options options = defaults();
    write_ogb(*state, edges);
    assert_int_equal(import(*state, "out", GNN_IMPORT_OGB, NULL, &options,
                            (struct gnn_prepare_job){.progress = raise_stop, .progress_ctx = &stop, .stop = &stop},
                            &err),
                     GNN_ECANCELLED);
    assert_int_equal(data_entries(*state), 1);
}

/* 2 MiB are too few for the spilled runs of 400 thousand edges. */
static void test_full_disk(void **state)
{
    enum { LINES = 400000 };
    char in[DATA_PATH], disk[DATA_PATH];
    struct gnn_err err = {0};
    char *text = malloc(LINES * 16);
    size_t len = 0;
    for (unsigned i = 0; i < LINES; i++)
        len += (size_t)sprintf(text + len, "%u %u\n", i % 1000, i / 1000);
    data_write(*state, "in", text, len);
    free(text);
    assert_int_equal(mkdir(data_path(disk, *state, "disk"), 0777), 0);
    if (geteuid() != 0 || mount("tmpfs", disk, "tmpfs", 0, "size=2m") != 0)
        skip_test("no tmpfs of its own: mounting takes root");
    char out[DATA_PATH];
    struct gnn_import_options options = defaults();
    options.dim = 1;
    options.classes = 2;
    options.memory_bytes = 4 << 20;
    const struct gnn_import_source source = {.format = GNN_IMPORT_SNAP, .from = data_path(in, *state, "in")};
    const struct gnn_prepare_job job = {.out_dir = data_path(out, disk, "out")};
    const enum gnn_status status = gnn_prepare_import(&source, &options, &job, &err);
    const unsigned left = data_entries(disk);
    assert_int_equal(umount(disk), 0); /* before any assertion may leave the function */
    assert_int_equal(status, GNN_ENOSPC);
    assert_non_null(strstr(err.message, "the disk is full"));
    assert_int_equal(left, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_transformations, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_node_files, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_other_forms, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_snap, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_memory_bound, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_malformed, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_malformed_sparse, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_the_kind_of_input_comes_first, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_a_pipe_is_read_once, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_requests, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_stopped, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_full_disk, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("import", tests, NULL, NULL);
}
