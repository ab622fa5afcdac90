/* SPDX-License-Identifier: MIT */
/* `oocgnn export`: every kind of dataset comes back from its arrays with the same digest, arrays and mini-batches are
 * what NumPy reads in the dataset, mini-batches have the digest that a run records, and wrong input leaves nothing. */
#include "harness/dataset/read.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { NODES = 60, EDGES = 400, DIM = 3 };

struct export_test {
    char *root;
    char *program; /* absolute */
};

static int set_up(void **state)
{
    struct export_test *const t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->root = process_temp_dir();
    t->program = realpath(process_program(), NULL);
    assert_non_null(t->program);
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    struct export_test *const t = *state;
    process_remove_tree(t->root);
    free(t->root);
    free(t->program);
    free(t);
    return 0;
}

static struct process_result command(const struct export_test *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static struct process_result command(const struct export_test *t, const char *format, ...)
{
    char words[2048];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(words, sizeof words, format, args);
    va_end(args);
    return process_shell("cd %s && oocgnn() { \"%s\" \"$@\"; } && %s", t->root, t->program, words);
}

static void must_run(const struct export_test *t, const char *words)
{
    struct process_result r = command(t, "%s", words);
    if (r.exit_status != 0)
        fail_msg("%s: %d: %s%s", words, r.exit_status, r.out, r.err);
    process_free(&r);
}

static void expect_wrong(const struct export_test *t, int exit_status, const char *part, const char *words)
{
    process_expect(command(t, "%s", words), exit_status, part, words);
}

/* ---- inputs ---- */

/* A graph with duplicates, a self-loop, unlabelled nodes, a class without nodes, nodes without edges, no test nodes. */
static void write_arrays(const struct export_test *t)
{
    char dir[DATA_PATH];
    int64_t edges[2][EDGES];
    float features[NODES][DIM];
    int64_t labels[NODES], train[NODES / 3], valid[5];
    for (int e = 0; e < EDGES; e++) {
        edges[0][e] = e * 7 % (NODES - 4);
        edges[1][e] = e == 5 ? edges[0][e] : e * e % (NODES - 9);
    }
    for (int v = 0; v < NODES; v++) {
        labels[v] = v % 5 == 4 ? -1 : v % 5;
        for (int d = 0; d < DIM; d++)
            features[v][d] = (float)(v * DIM + d) / 8;
    }
    for (int i = 0; i < 5; i++)
        valid[i] = 5 * i + 1;
    for (int i = 0; i < NODES / 3; i++)
        train[i] = i < 12 ? 5 * i : 5 * (i - 12) + 2;
    assert_int_equal(mkdir(data_path(dir, t->root, "input"), 0777), 0);
    data_write_npy(dir, "edge_index.npy", "<i8", "(2, 400)", edges, sizeof edges);
    data_write_npy(dir, "node_feat.npy", "<f4", "(60, 3)", features, sizeof features);
    data_write_npy(dir, "node_label.npy", "<i8", "(60,)", labels, sizeof labels);
    data_write_npy(dir, "train_idx.npy", "<i8", "(20,)", train, sizeof train);
    data_write_npy(dir, "valid_idx.npy", "<i8", "(5,)", valid, sizeof valid);
}

/* A knowledge graph of names, with a repeated pair, a self-loop and no test edges. */
static void write_triples(const struct export_test *t)
{
    char dir[DATA_PATH], text[4000];
    size_t len = 0;
    for (unsigned e = 0; e < 90; e++)
        len += (size_t)sprintf(text + len, "n%u\tr%u\tn%u\n", e * 5 % 23, e % 4, e == 7 ? e * 5 % 23 : e * 3 % 19);
    assert_int_equal(mkdir(data_path(dir, t->root, "triples"), 0777), 0);
    data_write(dir, "train.txt", text, len);
    data_write(dir, "valid.txt", "n0\tr1\tn2\n", 9);
}

/* ---- the same digest ---- */

static void digest_of(const struct export_test *t, const char *name, char digest[GNN_CHECKSUM_TEXT])
{
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    struct gnn_meta *const meta = calloc(1, sizeof *meta);
    assert_non_null(meta);
    must(gnn_read_meta(data_path(dir, t->root, name), meta, &err), &err);
    gnn_meta_digest(meta, meta->dims[0], meta->types[0], meta->id_widths, digest);
    free(meta);
}

/* Makes the dataset `name` by these words of `oocgnn prepare`, and takes it through its arrays. */
static void expect_same(const struct export_test *t, const char *name, const char *words, const char *format)
{
    char line[1024], before[GNN_CHECKSUM_TEXT], after[GNN_CHECKSUM_TEXT];
    (void)snprintf(line, sizeof line, "{ [ -e %s ] || oocgnn prepare %s --out %s --quiet; }", name, words, name);
    must_run(t, line);
    digest_of(t, name, before);
    struct process_result r = command(t, "oocgnn export ./%s --format %s --out %s-%s", name, format, name, format);
    process_expect_all(&r, 0, (const char *const[]){before, format, NULL});
    process_free(&r);
    (void)snprintf(line, sizeof line,
                   "oocgnn prepare again --from %s-%s --out %s-%s-again && oocgnn prepare ./%s-%s-again --check", name,
                   format, name, format, name, format);
    must_run(t, line);
    (void)snprintf(line, sizeof line, "%s-%s-again", name, format);
    digest_of(t, line, after);
    if (strcmp(before, after) != 0)
        fail_msg("%s, %s: the digest %s became %s", words, format, before, after);
}

static void test_round_trips(void **state)
{
    static const struct {
        const char *name, *words;
    } cases[] = {{"generated", "papers100m --scale 1/8000 --dim 12"},
                 {"ascending", "papers100m --scale 1/8000 --reach 0 --dim 5"},
                 {"half", "papers100m --scale 1/8000 --dim 6 --feature-type f16"},
                 {"wide", "papers100m --scale 1/8000 --dim 4 --id-bytes 8"},
                 {"kron", "kron --levels 8"},
                 {"imported", "some --from input"},
                 {"reversed", "some --from input --add-reverse --drop-self-loops --id-bytes 8"},
                 {"unique", "some --from input --drop-duplicates --classes 9 --feature-type f16"}};
    const struct export_test *const t = *state;
    write_arrays(t);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_same(t, cases[i].name, cases[i].words, "npy");
        expect_same(t, cases[i].name, cases[i].words, "csc");
    }
}

static void test_knowledge_graphs(void **state)
{
    const struct export_test *const t = *state;
    char dir[DATA_PATH];
    size_t len;
    write_triples(t);
    expect_same(t, "links", "freebase86m --scale 1/20000", "npy");
    expect_same(t, "named", "some --from triples --format triples", "npy");
    expect_same(t, "both", "some --from triples --format triples --add-reverse --drop-self-loops --id-bytes 8", "npy");
    expect_same(t, "turned", "some --from triples --format triples --transpose", "npy");
    char *const names = data_read(data_path(dir, t->root, "named-npy"), "relation-names.txt", &len);
    assert_string_equal(names, "r0\nr1\nr2\nr3\n");
    free(names);
    expect_wrong(t, 2, "./links is a knowledge graph, whose edges have relations; use --format npy",
                 "oocgnn export ./links --format csc --out no");
    expect_wrong(t, 2, "./links is a knowledge graph without features", "oocgnn export ./links --dim 8 --out no");
    expect_wrong(t, 4, "edges with negatives, which are not exported", "oocgnn export ./links --batches 1 --out no");
    assert_false(data_exists(t->root, "no"));
}

/* The first width is the default; others are chosen. */
static void test_widths(void **state)
{
    const struct export_test *const t = *state;
    char dir[DATA_PATH];
    must_run(t, "oocgnn prepare papers100m --scale 1/8000 --dim 7 --quiet && "
                "oocgnn prepare ./data/papers100m-1_8000 --dim 5 --feature-type f16 --quiet && "
                "oocgnn export papers100m --scale 1/8000 --out first && "
                "oocgnn export papers100m --scale 1/8000 --feature-type f16 --out second && "
                "oocgnn export papers100m --scale 1/8000 --dim 5 --out third");
    struct stat first, second, third;
    assert_int_equal(stat(data_path(dir, t->root, "first/node_feat.npy"), &first), 0);
    assert_int_equal(stat(data_path(dir, t->root, "second/node_feat.npy"), &second), 0);
    assert_int_equal(stat(data_path(dir, t->root, "third/node_feat.npy"), &third), 0);
    assert_int_equal((first.st_size - 128) * 10, (second.st_size - 128) * 28);
    assert_int_equal(second.st_size, third.st_size);
    expect_wrong(t, 2, "no such features; widths of f32: 7",
                 "oocgnn export papers100m --scale 1/8000 --dim 9 --out no");
    assert_false(data_exists(t->root, "no"));
}

/* ---- values ---- */

/* PYTHON names a Python with NumPy. */
static void check_with_numpy(const struct export_test *t, const char *what, const char *dataset, const char *folder)
{
    struct process_result r = process_shell("${PYTHON:-python3} -B tests/support/export_check.py %s %s/%s %s/%s", what,
                                            t->root, dataset, t->root, folder);
    if (r.exit_status == 77 || r.exit_status == 127)
        leave_out("%s of %s: %s", what, dataset, r.exit_status == 77 ? "python3 has no NumPy" : "no python3");
    else if (r.exit_status != 0)
        fail_msg("%s of %s: %s%s", what, dataset, r.out, r.err);
    process_free(&r);
}

static void test_values(void **state)
{
    const struct export_test *const t = *state;
    write_arrays(t);
    must_run(t, "oocgnn prepare some --from input --out imported --feature-type f16 && "
                "oocgnn export ./imported --out pairs && oocgnn export ./imported --out lists --format csc && "
                "oocgnn prepare papers100m --scale 1/8000 --dim 9 --id-bytes 8 --out wide --quiet && "
                "oocgnn export ./wide --out wide-pairs");
    check_with_numpy(t, "arrays", "imported", "pairs");
    check_with_numpy(t, "arrays", "imported", "lists");
    check_with_numpy(t, "arrays", "wide", "wide-pairs");
}

/* The arrays and mini-batches as PyG, DGL and GraphBolt get them in scripts/bench_peers.sh, whose stand-ins check every
 * call. */
static void test_peers(void **state)
{
    const struct export_test *const t = *state;
    must_run(t, "oocgnn prepare papers100m --scale 1/4000 --dim 8 --out peers --quiet && "
                "oocgnn export ./peers --out peers-arrays --format csc --dim 8 && "
                "oocgnn export ./peers --out peers-batches --batches 4 --batch 100 --fanout 10,10,10 --seed 1");
    struct process_result r = process_shell(
        "python3 -B tests/support/peers_stand_ins.py %s/peers-arrays %s/peers-batches 100", t->root, t->root);
    if (r.exit_status == 127)
        leave_out("%s", "no python3");
    else if (r.exit_status != 0)
        fail_msg("%s%s", r.out, r.err);
    process_free(&r);
}

/* The digest that `oocgnn run` records for the last of its epochs. */
static void expect_digest_of_run(const struct export_test *t, const char *folder, const char *words)
{
    char dir[DATA_PATH], wanted[64];
    size_t len;
    struct process_result r =
        command(t,
                "oocgnn run --system pygplus --dataset ./data --dim 8 --hidden 4 --evaluate never "
                "--no-cold --json --quiet --db %s.db %s",
                folder, words);
    char *const about = data_read(data_path(dir, t->root, folder), "batches.json", &len);
    assert_non_null(about);
    const char *const digest = strstr(about, "\"batch_digest\": \"");
    assert_non_null(digest);
    (void)snprintf(wanted, sizeof wanted, "\"batch_digest\":\"%.16s\"", digest + strlen("\"batch_digest\": \""));
    if (r.exit_status != 0 || strstr(r.out, wanted) == NULL)
        fail_msg("a run with %s does not have %s: %s%s", words, wanted, r.out, r.err);
    free(about);
    process_free(&r);
}

static void test_batches(void **state)
{
    static const struct {
        const char *folder, *run, *only;
    } cases[] = {{"whole", "--batch 40 --fanout 4,3 --seed 5", "--batches 4294967295"},
                 {"later", "--batch 33 --fanout 3,2,2 --seed 9223372036854775807 --epochs 2", "--batches 99 --epoch 1"},
                 {"biased", "--batch 50 --fanout 5,5 --floyd-biased --max-batches 2", "--batches 2"},
                 {"one", "--batch 1000 --fanout 6", "--batches 1"}};
    const struct export_test *const t = *state;
    char line[1024];
    must_run(t, "oocgnn prepare papers100m --scale 1/8000 --dim 8 --out data --quiet");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[256];
        (void)snprintf(words, sizeof words, "%s", cases[i].run);
        for (char *option;
             (option = strstr(words, "--epochs 2")) != NULL || (option = strstr(words, "--max-b")) != NULL;)
            *option = '\0';
        (void)snprintf(line, sizeof line, "oocgnn export ./data %s %s --out %s", words, cases[i].only, cases[i].folder);
        must_run(t, line);
        expect_digest_of_run(t, cases[i].folder, cases[i].run);
        check_with_numpy(t, "batches", "data", cases[i].folder);
    }
}

/* ---- wrong input ---- */

static void test_wrong_words(void **state)
{
    const struct export_test *const t = *state;
    write_arrays(t);
    must_run(t, "oocgnn prepare some --from input && mkdir there");
    expect_wrong(t, 2, "which dataset?", "oocgnn export --out no");
    expect_wrong(t, 2, "Name a new folder with --out DIR", "oocgnn export some");
    expect_wrong(t, 2, "one dataset at a time, got \"some\" and \"other\"", "oocgnn export some other --out no");
    expect_wrong(t, 2, "\"hdf5\" is none of npy, csc", "oocgnn export some --format hdf5 --out no");
    expect_wrong(t, 2, "--out there exists already", "oocgnn export some --out there");
    expect_wrong(t, 2, "--out there exists already", "oocgnn export some --out there --batches 1");
    expect_wrong(t, 2, "--seed is for mini-batches; state how many with --batches N",
                 "oocgnn export some --seed 3 --out no");
    expect_wrong(t, 2, "--floyd-biased is for mini-batches", "oocgnn export some --floyd_biased --out no");
    expect_wrong(t, 2, "--feature-type is for the dataset",
                 "oocgnn export some --batches 1 --feature-type f16 --out no");
    expect_wrong(t, 2, "--seed 9223372036854775808: at most 9223372036854775807",
                 "oocgnn export some --batches 1 --seed 9223372036854775808 --out no");
    expect_wrong(t, 2, "no option --formt", "oocgnn export some --formt npy --out no");
    expect_wrong(t, 2, "oocgnn prepare", "oocgnn export papers100m --scale 1/8000 --out no");
    expect_wrong(t, 2, "cannot use directory no: No such file", "oocgnn export some --out no/sub");
    assert_int_equal(data_entries(t->root), 3);
    char dir[DATA_PATH];
    assert_int_equal(data_entries(data_path(dir, t->root, "there")), 0);
}

static void write_options(const char *dir, const char *text)
{
    data_write(dir, "import.ini", text, strlen(text));
}

/* Options next to the arrays: those of the command line win, and a file that is something else is named. */
static void test_options_of_an_export(void **state)
{
    const struct export_test *const t = *state;
    char dir[DATA_PATH];
    write_arrays(t);
    must_run(t, "oocgnn prepare some --from input --classes 9 && oocgnn export some --out arrays");
    struct process_result r = command(t, "oocgnn prepare more --from arrays --classes 12");
    process_expect_all(&r, 0, (const char *const[]){"more: exported dataset in arrays, with --format ogb\n", NULL});
    process_free(&r);
    must_run(t, "grep -q 'classes = 12' data/more/meta");
    expect_wrong(t, 2, "call the import something else, papers100m-real for one",
                 "oocgnn prepare papers100m --from arrays");
    must_run(t, "oocgnn prepare plain --from arrays --format ogb && grep -q 'classes = 4' data/plain/meta");
    data_path(dir, t->root, "arrays");
    write_options(dir, "[import]\nformat = ogb\nclases = 3\n");
    expect_wrong(t, 2, "arrays/import.ini:3: ", "oocgnn prepare other --from arrays");
    write_options(dir, "[import]\nformat = hdf5\n");
    expect_wrong(t, 2, "format = hdf5, expected ogb, snap or triples", "oocgnn prepare other --from arrays");
    write_options(dir, "[other]\nformat = ogb\n");
    expect_wrong(t, 2, "no section [import] with a format; remove the file", "oocgnn prepare other --from arrays");
    assert_false(data_exists(data_path(dir, t->root, "data"), "other"));
}

/* Lists that keep their order come from edges that are grouped. */
static void test_keep_order(void **state)
{
    const struct export_test *const t = *state;
    write_arrays(t);
    expect_wrong(t, 1, "edges are grouped by target, in ascending order; leave it out to sort them",
                 "oocgnn prepare some --from input --keep-order");
    expect_wrong(t, 2, "--keep-order is for arrays (--format ogb), without --add-reverse",
                 "oocgnn prepare some --from input --keep-order --add-reverse");
    expect_wrong(t, 2, "neither features nor labels of input state the number of nodes",
                 "oocgnn prepare some --from input --keep-order --features none --labels none --dim 2 --classes 2");
    assert_int_equal(data_entries(t->root), 2); /* input, and data without a dataset */
    static const int64_t steps[2][3] = {{0, 3, 2}, {5, 6, 5}};
    char dir[DATA_PATH];
    data_write_npy(data_path(dir, t->root, "input"), "steps.npy", "<i8", "(2, 3)", steps, sizeof steps);
    expect_wrong(t, 1, "goes to node 5, after an edge to node 6",
                 "oocgnn prepare some --from input --edges steps.npy --keep-order");
}

static void test_damage(void **state)
{
    const struct export_test *const t = *state;
    char dir[DATA_PATH];
    static const char *const files[] = {"indptr", "indices", "features-d3", "labels", "train", "valid"};
    write_arrays(t);
    must_run(t, "oocgnn prepare some --from input --out good");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char line[512], part[64];
        (void)snprintf(
            line, sizeof line,
            "rm -rf bad; cp -r good bad; printf '\\7' | dd of=bad/%s bs=1 seek=8 conv=notrunc status=none && "
            "oocgnn export ./bad --format csc --out no",
            files[i]);
        (void)snprintf(part, sizeof part, "./bad/%s: its checksum is ", files[i]);
        expect_wrong(t, 1, part, line);
        (void)snprintf(line, sizeof line, "cp good/%s bad/ && truncate -s -1 bad/%s && oocgnn export ./bad --out no",
                       files[i], files[i]);
        expect_wrong(t, 1, files[i], line);
    }
    /* Bytes 16 to 23 are the end of list 1. A list of a negative length would be written for ever. */
    expect_wrong(
        t, 1, "bad/indptr: list 1 ends at ",
        "rm -rf bad; cp -r good bad; printf '\\377' | dd of=bad/indptr bs=1 seek=18 conv=notrunc status=none && "
        "oocgnn export ./bad --out no");
    expect_wrong(t, 1, "bad/indptr: list 1 ends at 0, expected ",
                 "rm -rf bad; cp -r good bad; dd if=/dev/zero of=bad/indptr bs=8 seek=2 count=1 conv=notrunc "
                 "status=none && (ulimit -f 1000; oocgnn export ./bad --out no)");
    assert_false(data_exists(t->root, "no"));
    assert_int_equal(data_entries(data_path(dir, t->root, "")), 3);
}

/* A file system that takes no more, here by a limit on the size of files; what a killed process left is removed. */
static void test_nothing_is_left(void **state)
{
    const struct export_test *const t = *state;
    write_arrays(t);
    must_run(t, "oocgnn prepare papers100m --scale 1/8000 --dim 8 --out data --quiet");
    expect_wrong(t, 1, "edge_index.npy: File too large", "(ulimit -f 100; oocgnn export ./data --out no)");
    expect_wrong(t, 1, "File too large", "(ulimit -f 10; oocgnn export ./data --out no --batches 2 --batch 60)");
    assert_int_equal(data_entries(t->root), 2);
    must_run(t, "mkdir out.partial-99999999 && echo x >out.partial-99999999/indices.npy && "
                "oocgnn export ./data --out out/ && ls out/edge_index.npy");
    assert_int_equal(data_entries(t->root), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trips, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_knowledge_graphs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_widths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_peers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_batches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_options_of_an_export, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keep_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_is_left, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
