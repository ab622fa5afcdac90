/* SPDX-License-Identifier: MIT */
/* Variants of published layouts: tables in text as other programs write them, and downloads with missing, other or
 * damaged parts. Each gives the dataset of the plain layout, or a message that names the part. */
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES = 40, EDGES = 120, DIM = 3, TEXT_BYTES = 8192 };

static int64_t source_of(int edge)
{
    return edge / 3;
}

static int64_t target_of(int edge)
{
    return (edge / 3 + 1 + 4 * (edge % 3)) % NODES;
}

static float feature_of(int node, int column)
{
    return (float)(node * DIM + column) / 8;
}

static struct process_result prepare(const char *dir, const char *words)
{
    char *const program = realpath(process_program(), NULL);
    assert_non_null(program);
    const struct process_result r = process_shell("cd %s && %s prepare %s --data data --quiet", dir, program, words);
    free(program);
    return r;
}

static void make_folder(const char *dir, const char *name)
{
    char path[DATA_PATH];
    assert_int_equal(mkdir(data_path(path, dir, name), 0777), 0);
}

static void same_files(const char *dir, const char *what, const char *found, const char *expected)
{
    static const char *const names[] = {"indptr", "indices", "features-d3", "labels", "train", "valid", "test"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct process_result r =
            process_shell("cmp %s/data/%s/%s %s/data/%s/%s", dir, found, names[i], dir, expected, names[i]);
        if (r.exit_status != 0)
            fail_msg("%s: %s%s", what, r.out, r.err);
        process_free(&r);
    }
}

/* ---- tables in text ---- */

enum part { EDGE, FEAT, LABEL, TRAIN, VALID, TEST, PARTS };

static const struct {
    const char *path;
    int rows, columns;
} parts[PARTS] = {
    [EDGE] = {"raw/edge.csv", EDGES, 2},        [FEAT] = {"raw/node-feat.csv", NODES, DIM},
    [LABEL] = {"raw/node-label.csv", NODES, 1}, [TRAIN] = {"split/time/train.csv", 20, 1},
    [VALID] = {"split/time/valid.csv", 10, 1},  [TEST] = {"split/time/test.csv", 10, 1},
};

/* What is written around the values of a part. */
struct style {
    const char *start;           /* of the file */
    const char *before, *behind; /* a value */
    const char *end;             /* of a line */
    const char *last;            /* of the file */
    const char *empty;           /* in the place of the value of row 3; NULL: the value */
};
static const struct style plain = {"", "", "", "\n", "", NULL};

static double value_of(enum part part, int row, int column)
{
    switch (part) {
    case EDGE:
        return (double)(column == 0 ? source_of(row) : target_of(row));
    case FEAT:
        return (double)feature_of(row, column);
    case LABEL:
        return row % 3;
    default:
        return row + (part == TRAIN ? 0 : part == VALID ? 20 : 30);
    }
}

static void write_part(const char *dir, enum part part, const struct style *style)
{
    char text[TEXT_BYTES];
    size_t used = (size_t)sprintf(text, "%s", style->start);
    for (int row = 0; row < parts[part].rows; row++) {
        for (int column = 0; column < parts[part].columns; column++) {
            const char *const comma = column > 0 ? "," : "";
            used += row == 3 && style->empty != NULL ? (size_t)sprintf(text + used, "%s%s", comma, style->empty)
                                                     : (size_t)sprintf(text + used, "%s%s%.9g%s", comma, style->before,
                                                                       value_of(part, row, column), style->behind);
        }
        used += (size_t)sprintf(text + used, "%s", style->end);
    }
    used += (size_t)sprintf(text + used, "%s", style->last);
    assert_true(used < sizeof text);
    data_write(dir, parts[part].path, text, used);
}

static void write_tables(const char *dir)
{
    make_folder(dir, "raw");
    make_folder(dir, "split");
    make_folder(dir, "split/time");
    data_write(dir, "raw/num-node-list.csv", "40\n", 3);
    data_write(dir, "raw/num-edge-list.csv", "120\n", 4);
    for (int part = 0; part < PARTS; part++)
        write_part(dir, (enum part)part, &plain);
}

#define ALL ((1u << PARTS) - 1)
#define ONE(part) (1u << (part))
#define MARK "\xEF\xBB\xBF"

static const struct {
    unsigned parts; /* that have the style */
    struct style style;
    int exit_status;
    const char *message; /* NULL: none about the file */
} tables[] = {
    {ALL, {"", "\"", "\"", "\n", "", NULL}, 0, NULL},
    {ALL, {"", "", "", "\r\n", "", NULL}, 0, NULL},
    {ALL, {"", "\"", "\"", "\r\n", "\r\n", NULL}, 0, NULL},
    {ALL, {"", "", " ", " \t\n", "", NULL}, 0, NULL},
    {ALL, {MARK, "", "", "\n", "\n\n", NULL}, 0, NULL},
    {ONE(EDGE), {"source,target\n", "", "", "\n", "", NULL}, 0, "edge.csv:1 has the names of the columns"},
    {ONE(FEAT), {"f0,f1,f2\n", "", "", "\n", "", NULL}, 0, "node-feat.csv:1 has the names of the columns"},
    {ONE(FEAT), {MARK "\"a\",\"inner\",\"_nan\"\r\n", "\"", "\"", "\r\n", "", NULL}, 1, "node-feat.csv:1: column 1"},
    {ONE(FEAT), {"a,2,c\n", "", "", "\n", "", NULL}, 1, "node-feat.csv:1: column 1: not a number: 'a'"},
    {ONE(LABEL), {MARK "label\n", "", "", "\n", "", NULL}, 0, "node-label.csv:1 has the names of the columns"},
    {ONE(TRAIN), {MARK "idx\r\n", "", "", "\r\n", "", NULL}, 0, "train.csv:1 has the name of the column"},
    {ONE(LABEL), {"", "", "", "\n", "", ""}, 1, "node-label.csv:4: an empty line before further rows: write nan"},
    {ONE(FEAT), {"\n", "", "", "\n", "", NULL}, 0, NULL},
    {ONE(FEAT), {"", "", "", "\n", "", ""}, 1, "node-feat.csv:4: column 1: an empty field"},
    {ONE(FEAT), {"", "\"", "", "\n", "", NULL}, 1, "node-feat.csv:1: column 1: not a number: '\"0'"},
    {ONE(FEAT), {"", "", "", ",\n", "", NULL}, 1, "node-feat.csv:1: column 4: an empty field: `sed 's/,$//'` removes"},
    {ONE(TRAIN), {"", "x", "", "\n", "", NULL}, 1, "train.csv:1: not a node ID: 'x0'"},
};

static void test_tables(void **state)
{
    const char *const dir = *state;
    char from[DATA_PATH], words[64];
    make_folder(dir, "plain");
    write_tables(data_path(from, dir, "plain"));
    struct process_result r = prepare(dir, "reference --from plain");
    process_expect(r, 0, "", "the plain layout");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "t%zu", i);
        make_folder(dir, name);
        write_tables(data_path(from, dir, name));
        for (int part = 0; part < PARTS; part++)
            if ((tables[i].parts >> part & 1) != 0)
                write_part(from, (enum part)part, &tables[i].style);
        (void)snprintf(words, sizeof words, "d%zu --from t%zu", i, i);
        r = prepare(dir, words);
        if (r.exit_status != tables[i].exit_status)
            fail_msg("table %zu: %d, %s", i, r.exit_status, r.err);
        if (tables[i].message != NULL)
            must_show(r.err, tables[i].message);
        else if (strstr(r.err, "not read as") != NULL)
            fail_msg("table %zu: %s", i, r.err);
        process_free(&r);
        (void)snprintf(name, sizeof name, "d%zu", i);
        if (tables[i].exit_status == 0)
            same_files(dir, name, name, "reference");
    }
}

/* A heading is reported once, though the file is opened several times. */
static void test_one_warning(void **state)
{
    const char *const dir = *state;
    static const struct style named = {"label\n", "", "", "\n", "", NULL};
    char from[DATA_PATH];
    make_folder(dir, "in");
    write_tables(data_path(from, dir, "in"));
    write_part(from, LABEL, &named);
    struct process_result r = prepare(dir, "g --from in");
    assert_int_equal(r.exit_status, 0);
    const char *const first = strstr(r.err, "names of the columns");
    assert_non_null(first);
    assert_null(strstr(first + 1, "names of the columns"));
    process_free(&r);
}

/* ---- arrays ---- */

/* The arrays of the plain graph, which a case may write again in another way. */
struct arrays {
    int64_t edges[2][EDGES];
    int64_t indptr[NODES + 1], indices[EDGES];
    float features[NODES][DIM];
    double wide[NODES][DIM];
    float labels[NODES];
    int64_t ids[NODES];
};

static void fill(struct arrays *a)
{
    int stored = 0;
    for (int e = 0; e < EDGES; e++) {
        a->edges[0][e] = source_of(e);
        a->edges[1][e] = target_of(e);
    }
    for (int v = 0; v < NODES; v++) {
        a->indptr[v] = stored;
        for (int e = 0; e < EDGES; e++)
            if (target_of(e) == v)
                a->indices[stored++] = source_of(e);
        for (int c = 0; c < DIM; c++)
            a->wide[v][c] = a->features[v][c] = feature_of(v, c);
        a->labels[v] = (float)(v % 3);
        a->ids[v] = v;
    }
    a->indptr[NODES] = stored;
}

static void write_edges(const char *dir, const struct arrays *a)
{
    data_write_npy(dir, "edge_index.npy", "<i8", "(2, 120)", a->edges, sizeof a->edges);
}

static void write_lists(const char *dir, const struct arrays *a, int offsets)
{
    char shape[16];
    (void)snprintf(shape, sizeof shape, "(%d,)", offsets);
    data_write_npy(dir, "indptr.npy", "<i8", shape, a->indptr, (size_t)offsets * sizeof *a->indptr);
    data_write_npy(dir, "indices.npy", "<i8", "(120,)", a->indices, sizeof a->indices);
}

static void write_features(const char *dir, const struct arrays *a)
{
    data_write_npy(dir, "node_feat.npy", "<f4", "(40, 3)", a->features, sizeof a->features);
}

static void write_labels(const char *dir, const struct arrays *a)
{
    data_write_npy(dir, "node_label.npy", "<f4", "(40,)", a->labels, sizeof a->labels);
}

static void write_splits(const char *dir, const struct arrays *a)
{
    data_write_npy(dir, "train_idx.npy", "<i8", "(20,)", a->ids, 20 * sizeof *a->ids);
    data_write_npy(dir, "valid_idx.npy", "<i8", "(10,)", a->ids + 20, 10 * sizeof *a->ids);
    data_write_npy(dir, "test_idx.npy", "<i8", "(10,)", a->ids + 30, 10 * sizeof *a->ids);
}

static void write_plain(const char *dir, const struct arrays *a)
{
    write_edges(dir, a);
    write_features(dir, a);
    write_labels(dir, a);
    write_splits(dir, a);
}

static void remove_file(const char *dir, const char *name)
{
    char path[DATA_PATH];
    assert_int_equal(unlink(data_path(path, dir, name)), 0);
}

static void other_lists(const char *dir, struct arrays *a)
{
    a->edges[0][0] = 7;
    write_edges(dir, a);
    write_lists(dir, a, NODES + 1);
}

static void masks_and_lists(const char *dir, struct arrays *a)
{
    static const uint8_t mask[NODES] = {1};
    (void)a;
    data_write_npy(dir, "train_mask.npy", "|b1", "(40,)", mask, sizeof mask);
}

static void lists_alone(const char *dir, struct arrays *a)
{
    remove_file(dir, "edge_index.npy");
    write_lists(dir, a, NODES + 1);
}

static void narrow_lists(const char *dir, struct arrays *a)
{
    int32_t indptr[NODES + 1];
    lists_alone(dir, a);
    for (int v = 0; v <= NODES; v++)
        indptr[v] = (int32_t)a->indptr[v];
    data_write_npy(dir, "indptr.npy", "<i4", "(41,)", indptr, sizeof indptr);
}

static void short_lists(const char *dir, struct arrays *a)
{
    remove_file(dir, "edge_index.npy");
    write_lists(dir, a, NODES);
}

static void falling_lists(const char *dir, struct arrays *a)
{
    a->indptr[20] = a->indptr[21] + 1;
    lists_alone(dir, a);
}

static void unusual_names(const char *dir, struct arrays *a)
{
    remove_file(dir, "edge_index.npy");
    data_write_npy(dir, "row_ptr.npy", "<i8", "(41,)", a->indptr, sizeof a->indptr);
}

static void pointer_file(const char *dir, struct arrays *a)
{
    static const char text[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 12345\n";
    (void)a;
    data_write(dir, "edge_index.npy", text, sizeof text - 1);
}

static void web_page(const char *dir, struct arrays *a)
{
    static const char text[] = "<!DOCTYPE html><html><body>Not found</body></html>";
    (void)a;
    data_write(dir, "node_feat.npy", text, sizeof text - 1);
}

static void zip_archive(const char *dir, struct arrays *a)
{
    (void)a;
    data_write(dir, "node_feat.npy", "PK\3\4\24\0\0\0\0\0", 10);
}

static void huge_numbers(const char *dir, struct arrays *a)
{
    a->wide[7][2] = 1e300;
    data_write_npy(dir, "node_feat.npy", "<f8", "(40, 3)", a->wide, sizeof a->wide);
}

static void no_number(const char *dir, struct arrays *a)
{
    a->features[7][2] = NAN;
    write_features(dir, a);
}

static void no_label(const char *dir, struct arrays *a)
{
    a->labels[39] = NAN;
    write_labels(dir, a);
}

static void raw_features(const char *dir, struct arrays *a)
{
    remove_file(dir, "node_feat.npy");
    data_write(dir, "f.bin", a->features, sizeof a->features);
}

static void raw_wide_features(const char *dir, struct arrays *a)
{
    remove_file(dir, "node_feat.npy");
    data_write(dir, "f.bin", a->wide, sizeof a->wide);
}

/* A folder that a file manager or a notebook left. */
static void left_over_folders(const char *dir, struct arrays *a)
{
    char path[DATA_PATH];
    a->edges[0][0] = 7;
    make_folder(dir, "__MACOSX");
    make_folder(dir, ".ipynb_checkpoints");
    write_edges(data_path(path, dir, "__MACOSX"), a);
    write_edges(data_path(path, dir, ".ipynb_checkpoints"), a);
    data_write(dir, "._edge_index.npy", "\0\5\26\7", 4);
}

static const struct {
    void (*change)(const char *dir, struct arrays *a);
    const char *options;
    int exit_status;
    const char *message;
    bool same; /* as the plain graph */
} arrays[] = {
    {other_lists, "", 0, "edges are read from in/edge_index.npy; in/indptr.npy and in/indices.npy are not read", false},
    {masks_and_lists, "", 0, "splits are read from in/train_idx.npy; in/train_mask.npy is not read", true},
    {lists_alone, "", 0, "holds neighbour lists", true},
    {narrow_lists, "", 0, "holds neighbour lists", true},
    {short_lists, "", 1, "in/indptr.npy: an offset for each of the 40 nodes of in/node_feat.npy, expected one more", 0},
    {falling_lists, "", 1, "in/indptr.npy: list 20 ends at", false},
    {unusual_names, "", 2, "; not read: row_ptr.npy", false},
    {pointer_file, "", 1, "edge_index.npy: not a NumPy file, but a pointer of Git LFS", false},
    {web_page, "", 1, "node_feat.npy: not a NumPy file, but a web page", false},
    {zip_archive, "", 1, "node_feat.npy: not a NumPy file, but a zip archive", false},
    {huge_numbers, "", 1, "feature 2 of node 7 is not a finite float32; numpy.clip(", false},
    {no_number, "", 1, "feature 2 of node 7 is not a finite number; numpy.nan_to_num(a)", false},
    {no_label, "", 0, "1 nodes of the splits have no label and were left out", false},
    {raw_features, "--features f.bin --raw-dim 3", 0, "", true},
    {raw_features, "--features f.bin --raw-dim 4", 1, "30 rows of 4 float32 numbers, expected one for each of the 40",
     0},
    {raw_features, "--features f.bin --raw-dim 3 --raw-rows 30", 1, "480 B, expected 90 numbers of 4 B", false},
    {raw_wide_features, "--features f.bin --raw-dim 3", 1, "80 rows of 3 float32 numbers, expected one for each",
     false},
    {left_over_folders, "", 0, "", true},
};

static void test_arrays(void **state)
{
    const char *const dir = *state;
    struct arrays *const a = malloc(sizeof *a);
    char from[DATA_PATH], words[200];
    assert_non_null(a);
    fill(a);
    make_folder(dir, "plain");
    write_plain(data_path(from, dir, "plain"), a);
    process_expect(prepare(dir, "reference --from plain"), 0, "", "the plain arrays");
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        process_remove_tree(data_path(from, dir, "in"));
        make_folder(dir, "in");
        fill(a);
        write_plain(from, a);
        arrays[i].change(from, a);
        (void)snprintf(words, sizeof words, "a%zu --from in %s", i, arrays[i].options);
        process_expect(prepare(dir, words), arrays[i].exit_status, arrays[i].message, words);
        (void)snprintf(words, sizeof words, "a%zu", i);
        if (arrays[i].same)
            same_files(dir, words, words, "reference");
    }
    free(a);
}

/* ---- published datasets ---- */

struct download {
    const char *name;
    bool features, labels, splits, edges;
    int64_t nodes_stated, edges_stated;
    const char *options;
    int exit_status;
    const char *message;
};

/* The layout of ogbn-papers100M. */
static void write_papers(const char *dir, const struct arrays *a, const struct download *d)
{
    char raw[DATA_PATH];
    struct zip_file zip;
    make_folder(dir, "raw");
    zip_file_open(&zip, data_path(raw, dir, "raw"), "data.npz", true, false);
    if (d->edges)
        zip_file_add_npy(&zip, "edge_index.npy", "<i8", "(2, 120)", a->edges, sizeof a->edges);
    if (d->features)
        zip_file_add_npy(&zip, "node_feat.npy", "<f4", "(40, 3)", a->features, sizeof a->features);
    zip_file_add_npy(&zip, "num_nodes_list.npy", "<i8", "(1,)", &d->nodes_stated, sizeof d->nodes_stated);
    zip_file_add_npy(&zip, "num_edges_list.npy", "<i8", "(1,)", &d->edges_stated, sizeof d->edges_stated);
    zip_file_close(&zip);
    zip_file_open(&zip, raw, "node-label.npz", true, false);
    zip_file_add_npy(&zip, d->labels ? "node_label.npy" : "node_year.npy", "<f4", "(40, 1)", a->labels,
                     sizeof a->labels);
    zip_file_close(&zip);
    if (!d->splits)
        return;
    make_folder(dir, "split");
    make_folder(dir, "split/time");
    for (int part = TRAIN; part <= TEST; part++)
        write_part(dir, (enum part)part, &plain);
}

/* The layout of MAG240M, with the edges of authors, too. */
static void write_mag(const char *dir, const struct arrays *a, const struct download *d)
{
    char paper[DATA_PATH], cites[DATA_PATH], writes[DATA_PATH];
    struct arrays other = *a;
    other.edges[0][0] = 7;
    make_folder(dir, "processed");
    make_folder(dir, "processed/paper");
    make_folder(dir, "processed/author___writes___paper");
    write_edges(data_path(writes, dir, "processed/author___writes___paper"), &other);
    if (d->edges) {
        make_folder(dir, "processed/paper___cites___paper");
        write_edges(data_path(cites, dir, "processed/paper___cites___paper"), a);
    }
    if (d->features)
        write_features(data_path(paper, dir, "processed/paper"), a);
    if (d->labels)
        write_labels(data_path(paper, dir, "processed/paper"), a);
    if (d->splits)
        write_splits(dir, a);
}

/* The layout of IGB-medium; without labels it has those of the other kind. */
static void write_igb(const char *dir, const struct arrays *a, const struct download *d)
{
    char paper[DATA_PATH], cites[DATA_PATH];
    make_folder(dir, "paper");
    make_folder(dir, "paper__cites__paper");
    if (d->edges)
        write_edges(data_path(cites, dir, "paper__cites__paper"), a);
    if (d->features)
        write_features(data_path(paper, dir, "paper"), a);
    data_write_npy(data_path(paper, dir, "paper"), d->labels ? "node_label_19.npy" : "node_label_2K.npy", "<f4",
                   "(40,)", a->labels, sizeof a->labels);
}

static const struct download downloads[] = {
    {"papers100m", true, true, true, true, NODES, EDGES, "", 0, "splits: in/split/time"},
    {"papers100m", true, true, true, true, 39, EDGES, "", 1, "node_feat.npy: 40 rows, and 39 nodes are stated next to"},
    {"papers100m", true, true, true, true, NODES, 121, "", 0,
     "edge_index.npy: 121 edges are stated, and it has 120: it may be incomplete"},
    {"papers100m", true, true, true, false, NODES, EDGES, "", 2,
     "directory without it; the published dataset (ogbn-papers100M of OGB) has one: download and extract it"},
    {"papers100m", false, true, true, true, NODES, EDGES, "", 2,
     "in has no features, but the published dataset (ogbn-papers100M of OGB) has"},
    {"papers100m", false, true, true, true, NODES, EDGES, "--dim 3", 0, "in has no features: random ones of width 3"},
    {"papers100m", true, false, true, true, NODES, EDGES, "", 2, "or add --classes C, which draws random ones"},
    {"papers100m", true, true, false, true, NODES, EDGES, "", 2, "or add --train-fraction F, which draws random ones"},
    {"papers100m", true, true, false, true, NODES, EDGES, "--train-fraction 0.5", 0, "in has no splits: 0.5 of the"},
    {"mag240m-cites", true, true, true, true, 0, 0, "", 0, "edges: in/processed/paper___cites___paper/edge_index.npy"},
    {"mag240m-cites", true, true, true, false, 0, 0, "", 2, "no folder below it whose name has the word cites"},
    {"mag240m-cites", false, true, true, true, 0, 0, "", 2, "papers and citations) has: download and extract it"},
    {"mag240m-cites", true, true, false, true, 0, 0, "", 2, "or add --train-fraction F"},
    {"igb-medium", true, true, false, true, 0, 0, "", 0, "edges: in/paper__cites__paper/edge_index.npy"},
    {"igb-medium", true, false, false, true, 0, 0, "", 2, "exists; files with labels: node_label_2K.npy"},
    {"igb-medium", true, false, false, true, 0, 0, "--labels node_label_2K.npy", 0, "edges: in/paper__cites__paper/"},
    {"igb-medium", false, true, false, true, 0, 0, "", 2, "in has no features, but the published dataset"},
};

static void test_downloads(void **state)
{
    const char *const dir = *state;
    struct arrays *const a = malloc(sizeof *a);
    char from[DATA_PATH], data[DATA_PATH], words[200];
    assert_non_null(a);
    fill(a);
    for (size_t i = 0; i < sizeof downloads / sizeof *downloads; i++) {
        const struct download *const d = &downloads[i];
        process_remove_tree(data_path(from, dir, "in"));
        process_remove_tree(data_path(data, dir, "data"));
        make_folder(dir, "in");
        if (strcmp(d->name, "papers100m") == 0)
            write_papers(from, a, d);
        else if (strcmp(d->name, "igb-medium") == 0)
            write_igb(from, a, d);
        else
            write_mag(from, a, d);
        (void)snprintf(words, sizeof words, "%s --from in %s", d->name, d->options);
        process_expect(prepare(dir, words), d->exit_status, d->message, words);
    }
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tables, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(test_one_warning, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(test_arrays, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(test_downloads, process_dir_set_up, process_dir_tear_down),
    };
    return cmocka_run_group_tests_name("import_layouts", tests, NULL, NULL);
}
