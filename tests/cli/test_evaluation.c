/* SPDX-License-Identifier: MIT */
/* Accuracies worked out by hand, on a graph whose splits differ in difficulty: an accuracy of the wrong split is
 * another number. */
#include "tests/support/data_files.h"
#include "tests/support/process.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { TRAIN = 16, VALID = 8, TEST = 8, NODES = TRAIN + VALID + TEST };

/* Every node is its own and only neighbour. Its row is one of two unit vectors, and a training node's class is the
 * vector's number. So a trained model answers with the vector's number. By that rule 2 of the 8 validation nodes and 5
 * of the 8 test nodes have the class of their vector, the others have the other one. */
static bool has_its_class(int node)
{
    return node < TRAIN || (node < TRAIN + VALID ? node - TRAIN < 2 : node - TRAIN - VALID < 5);
}

static void write_graph(const char *in)
{
    int64_t edges[2 * NODES], labels[NODES], ids[NODES];
    float rows[NODES][2] = {{0}};
    for (int v = 0; v < NODES; v++) {
        const int vector = v % 2;
        edges[v] = edges[NODES + v] = ids[v] = v;
        rows[v][vector] = 1;
        labels[v] = has_its_class(v) ? vector : 1 - vector;
    }
    assert_int_equal(mkdir(in, 0777), 0);
    data_write_npy(in, "edge_index.npy", "<i8", "(2, 32)", edges, sizeof edges);
    data_write_npy(in, "node_feat.npy", "<f4", "(32, 2)", rows, sizeof rows);
    data_write_npy(in, "node_label.npy", "<i8", "(32,)", labels, sizeof labels);
    data_write_npy(in, "train_idx.npy", "<i8", "(16,)", ids, TRAIN * sizeof *ids);
    data_write_npy(in, "valid_idx.npy", "<i8", "(8,)", ids + TRAIN, VALID * sizeof *ids);
    data_write_npy(in, "test_idx.npy", "<i8", "(8,)", ids + TRAIN + VALID, TEST * sizeof *ids);
}

/* Imports the graph into dir/data/two and trains on it; the caller frees the record. */
static json_t *train(const char *dir, const char *evaluate)
{
    static bool prepared;
    if (!prepared) {
        char in[DATA_PATH];
        write_graph(data_path(in, dir, "in"));
        process_expect(process_shell("%s prepare two --from %s --data %s/data --quiet", process_program(), in, dir), 0,
                       "", "import");
        prepared = true;
    }
    struct process_result r =
        process_shell("%s run --system pygplus --dataset two --data %s/data --db %s/runs.db --model sage --fanout 2 "
                      "--batch 8 --hidden 8 --dropout 0 --lr 0.05 --epochs 40 --evaluate %s --quiet --json",
                      process_program(), dir, dir, evaluate);
    json_t *const run = json_loads(r.out, 0, NULL);
    if (run == NULL || r.exit_status != 0)
        print_error("exit %d: %s\n", r.exit_status, r.err);
    assert_int_equal(r.exit_status, 0);
    assert_non_null(run);
    process_free(&r);
    return run;
}

static double number_of(const json_t *epoch, const char *key)
{
    const json_t *const value = json_object_get(epoch, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* All nodes with the same vector have one score, so that of 16 pairs of validation nodes 1 is won and 6 are ties, of 15
 * pairs of test nodes 6 and 7. F1 is 2 / 8 of both classes, and 6 / 9 and 4 / 7. */
static void expect_qualities(const json_t *figures)
{
    static const struct {
        const char *key;
        double share;
    } expected[] = {{"valid_roc_auc_millionths", (1 + 6 * 0.5) / 16},
                    {"test_roc_auc_millionths", (6 + 7 * 0.5) / 15},
                    {"valid_macro_f1_millionths", 2.0 / 8},
                    {"test_macro_f1_millionths", (6.0 / 9 + 4.0 / 7) / 2}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const double found = number_of(figures, expected[i].key);
        if (found != round(1e6 * expected[i].share))
            fail_msg("%s is %g, by hand %g", expected[i].key, found, 1e6 * expected[i].share);
    }
}

static void expect_accuracies(const json_t *epoch)
{
    assert_true(number_of(epoch, "train_accuracy") == 1.0); /* without dropout: the rule was learned */
    assert_true(number_of(epoch, "valid_accuracy") == 2.0 / 8);
    assert_true(number_of(epoch, "test_accuracy") == 5.0 / 8);
    expect_qualities(json_object_get(epoch, "figures"));
}

static void accuracies_are_those_of_their_splits(void **state)
{
    json_t *const run = train(*state, "last");
    const json_t *const epochs = json_object_get(run, "epochs"), *const environment =
                                                                     json_object_get(run, "environment");
    assert_int_equal(json_array_size(epochs), 40);
    assert_true(isnan(number_of(json_array_get(epochs, 38), "test_accuracy")));
    expect_accuracies(json_array_get(epochs, 39));
    assert_string_equal(json_string_value(json_object_get(environment, "accuracy.valid_split")), "valid");
    assert_string_equal(json_string_value(json_object_get(environment, "accuracy.test_split")), "test");
    json_decref(run);
}

static void each_epoch_has_the_same_splits(void **state)
{
    json_t *const run = train(*state, "each");
    const json_t *const epochs = json_object_get(run, "epochs");
    expect_accuracies(json_array_get(epochs, 39));
    expect_accuracies(json_array_get(epochs, 38));
    json_decref(run);
}

/* What is not evaluated names no split. */
static void without_an_evaluation_no_split_is_named(void **state)
{
    json_t *const run = train(*state, "never");
    assert_null(json_object_get(json_object_get(run, "environment"), "accuracy.test_split"));
    assert_true(isnan(number_of(json_array_get(json_object_get(run, "epochs"), 39), "test_accuracy")));
    json_decref(run);
}

/* The test nodes' ROC AUC by hand, 0.6333, wherever an accuracy is shown; repetitions have a column. */
static void reports_show_the_qualities(void **state)
{
    const char *const dir = *state;
    static const struct {
        const char *how, *shows;
    } cases[] = {{"--runs --last 1", "62.50, AUC 0.6333"},
                 {"--all", "ROC AUC"},
                 {"--all --csv", "test_own_first,test_roc_auc,test_macro_f1"},
                 {"--all --csv", ",0.633333,0.619048,"},
                 {"--all --json", "test_roc_auc_millionths"},
                 {"--all --html $PAGE && cat $PAGE", "<td class=\"n\">0.6333</td>"},
                 {"--all --html $PAGE && cat $PAGE", "\"test_macro_f1\""}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const char *const parts[] = {cases[c].shows, NULL};
        struct process_result r =
            process_shell("PAGE=%s/page.html; %s report --db %s/runs.db %s", dir, process_program(), dir, cases[c].how);
        process_expect_all(&r, 0, parts);
        process_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accuracies_are_those_of_their_splits),
        cmocka_unit_test(each_epoch_has_the_same_splits),
        cmocka_unit_test(reports_show_the_qualities),
        cmocka_unit_test(without_an_evaluation_no_split_is_named),
    };
    return cmocka_run_group_tests_name("evaluation", tests, data_set_up, data_tear_down);
}
