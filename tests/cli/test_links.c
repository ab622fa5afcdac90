/* SPDX-License-Identifier: MIT */
/* Link prediction from outside: a planted graph is learned by every decoder, encoder and optimiser; the same
 * mini-batches in both worlds and the same bits whatever the threads; ranks in record and report; what is refused, by
 * name; a real graph. */
#include "harness/base/rng.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { NODES = 240, CLASS = 12, RELATIONS = 4, EDGES = 6000, HELD_OUT = 150 };

struct links {
    char *dir;
    char data[600], db[600];
};

/* ---- a planted graph ---- */

/* Relation r joins nodes that agree in one of two ways of forming classes; in each class everybody knows everybody, so
 * that a decoder that learned the classes ranks a true end among the first CLASS. */
static gnn_node member(uint32_t relation, uint32_t class, uint32_t k)
{
    return relation % 2 == 0 ? class * CLASS + k : class + (NODES / CLASS) * k;
}

static size_t write_edges(struct gnn_rng *rng, uint32_t count, char *text)
{
    size_t length = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t relation = (uint32_t)gnn_rng_below(rng, RELATIONS);
        const uint32_t class = (uint32_t)gnn_rng_below(rng, NODES / CLASS);
        const gnn_node source = member(relation, class, (uint32_t)gnn_rng_below(rng, CLASS));
        const gnn_node target = member(relation, class, (uint32_t)gnn_rng_below(rng, CLASS));
        length += (size_t)sprintf(text + length, "n%u\tr%u\tn%u\n", source, relation, target);
    }
    return length;
}

static int set_up(void **state)
{
    struct links *const l = calloc(1, sizeof *l);
    char *const text = malloc(EDGES * 24), in[DATA_PATH];
    struct gnn_rng rng = gnn_rng_at(7);
    assert_true(l != NULL && text != NULL);
    l->dir = process_temp_dir();
    (void)snprintf(l->data, sizeof l->data, "%s/data", l->dir);
    (void)snprintf(l->db, sizeof l->db, "%s/runs.db", l->dir);
    (void)mkdir(data_path(in, l->dir, "kg"), 0777);
    data_write(in, "train.txt", text, write_edges(&rng, EDGES, text));
    data_write(in, "valid.txt", text, write_edges(&rng, HELD_OUT, text));
    data_write(in, "test.txt", text, write_edges(&rng, HELD_OUT, text));
    free(text);
    *state = l;
    struct process_result r =
        process_shell("%s prepare kg --from %s --format triples --data %s --quiet", process_program(), in, l->data);
    const int status = r.exit_status;
    if (status != 0)
        print_error("%s", r.err);
    process_free(&r);
    return status;
}

static int tear_down(void **state)
{
    struct links *const l = *state;
    process_remove_tree(l->dir);
    free(l->dir);
    free(l);
    return 0;
}

/* ---- runs ---- */

#define COMET "--system mariusgnn --set mariusgnn.partitions=8 --set mariusgnn.capacity=4"
#define BETA COMET " --set mariusgnn.policy=beta"
#define MEMORY "--system mariusgnn --set mariusgnn.policy=memory --set mariusgnn.partitions=8"

#define SMALL "--batch 200 --negatives 60 --chunks 4 --dim 24"
#define ALL "--batch 200 --negative-set all --chunks 4 --dim 24"

/* A run of PyG+, unless more says otherwise, on the planted graph that must be valid. */
static json_t *run_on(const struct links *l, const char *dataset, const char *more)
{
    struct process_result r =
        process_shell("%s run --system pygplus --task link --dataset %s --data %s --db %s --json --quiet --no-cold %s",
                      process_program(), dataset, l->data, l->db, more);
    json_t *const run = json_loads(r.out, 0, NULL);
    const char *const status = run != NULL ? json_string_value(json_object_get(run, "status")) : NULL;
    if (status == NULL || strcmp(status, "ok") != 0)
        fail_msg("%s: %s", more, r.err);
    process_free(&r);
    return run;
}

static json_t *run_links(const struct links *l, const char *more)
{
    return run_on(l, "kg", more);
}

static double last_number(const json_t *run, const char *key)
{
    const json_t *const epochs = json_object_get(run, "epochs");
    return json_number_value(json_object_get(json_array_get(epochs, json_array_size(epochs) - 1), key));
}

static const char *word(const json_t *run, const char *object, const char *key)
{
    return json_string_value(json_object_get(json_object_get(run, object), key));
}

/* Scores that know nothing rank near the middle of 240: an MRR of 0.025. */
static void test_a_planted_graph_is_learned(void **state)
{
    static const struct {
        const char *more;
        double mrr; /* at least */
    } cases[] = {
        {SMALL " --epochs 8", 0.2},
        {SMALL " --epochs 8 --decoder complex", 0.2},
        {SMALL " --epochs 8 --decoder transe", 0.2},
        {SMALL " --epochs 8 --optimizer adam --embedding-lr 0.02", 0.2},
        {SMALL " --epochs 8 --degree-share 0 --chunks 1", 0.2},
        {SMALL " --epochs 8 --encoder --fanout 8", 0.1},
        {SMALL " --epochs 8 --encoder --model gat --heads 2 --hidden 8 --fanout 6,4", 0.05},
        {SMALL " --epochs 8 " MEMORY, 0.2},
        {SMALL " --epochs 8 " COMET, 0.15},
        {SMALL " --epochs 8 " BETA, 0.1},
        {SMALL " --epochs 8 " COMET " --optimizer adam --embedding-lr 0.02 --decoder transe", 0.1},
        {SMALL " --epochs 8 --negative-set own --decoder complex", 0.2},
        {SMALL " --epochs 8 --relation-start random --decoder complex", 0.2},
        {SMALL " --epochs 8 --negative-set own " COMET, 0.15},
        {SMALL " --epochs 8 --n3 0.02 --decoder complex", 0.2},
        {ALL " --epochs 8", 0.2},
        {ALL " --epochs 8 --decoder transe", 0.2},
        {ALL " --epochs 8 --encoder --fanout 8", 0.1},
        {ALL " --epochs 8 " COMET, 0.15},
        {SMALL " --epochs 8 " COMET " --set mariusgnn.edges=in --encoder --fanout 8", 0.1},
        {SMALL " --epochs 8 " COMET " --set mariusgnn.edges=in --encoder --model gat --heads 2 --hidden 8 --fanout 6,4",
         0.05},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        json_t *const run = run_links(*state, cases[c].more);
        const double mrr = last_number(run, "test_mrr"), raw = last_number(run, "test_raw_mrr");
        print_message("%s: MRR %.4f, raw %.4f, Hits@10 %.4f\n", cases[c].more, mrr, raw,
                      last_number(run, "test_hits_10"));
        assert_true(mrr > cases[c].mrr);
        assert_true(raw < mrr); /* other true ends rank above, and count */
        assert_true(last_number(run, "test_hits_1") <= last_number(run, "test_hits_3"));
        assert_true(last_number(run, "test_hits_3") <= last_number(run, "test_hits_10"));
        json_decref(run);
    }
}

/* A registry's graph, generated: an MRR of 0.005 for scores that know nothing. */
static void test_a_generated_graph_is_learned(void **state)
{
    const struct links *const l = *state;
    struct process_result r =
        process_shell("%s prepare freebase86m --scale 1/50000 --data %s --quiet", process_program(), l->data);
    if (r.exit_status != 0)
        fail_msg("%s", r.err);
    process_free(&r);
    json_t *const run = run_on(l, "freebase86m --scale 1/50000", SMALL " --epochs 6");
    print_message("generated: MRR %.4f\n", last_number(run, "test_mrr"));
    assert_true(last_number(run, "test_mrr") > 0.03);
    json_decref(run);
}

/* Every epoch trains every edge once (the record is valid only then); the loss falls and the rank rises. */
static void test_epochs_get_better(void **state)
{
    json_t *const run = run_links(*state, SMALL " --epochs 3 --evaluate each");
    const json_t *const epochs = json_object_get(run, "epochs");
    double loss = 1e9, mrr = 0;
    assert_int_equal(json_array_size(epochs), 3);
    for (size_t e = 0; e < 3; e++) {
        const json_t *const epoch = json_array_get(epochs, e);
        assert_true(json_number_value(json_object_get(epoch, "loss")) < loss);
        assert_true(json_number_value(json_object_get(epoch, "valid_mrr")) > mrr);
        assert_true(json_is_null(json_object_get(epoch, "test_accuracy")));
        assert_int_equal(json_integer_value(json_object_get(json_object_get(epoch, "figures"), "trained_seeds")),
                         EDGES);
        loss = json_number_value(json_object_get(epoch, "loss"));
        mrr = json_number_value(json_object_get(epoch, "valid_mrr"));
    }
    json_decref(run);
}

/* The order, the negatives and the neighbourhoods are facts of the seed; updates are never missed. */
static void test_threads_and_worlds_draw_the_same(void **state)
{
    static const char *const layers[] = {SMALL, SMALL " --encoder --fanout 5", SMALL " " COMET,
                                         SMALL " " COMET " --encoder --fanout 5"};
    for (size_t k = 0; k < 4; k++) {
        static const char *const pygplus[] = {"--set pygplus.workers=1 --set pygplus.gather_threads=1",
                                              "--set pygplus.workers=5 --set pygplus.gather_threads=7",
                                              "--set pygplus.prefetch=1 --compute ref", "--seed 2"};
        static const char *const mariusgnn[] = {"--set mariusgnn.loaders=1",
                                                "--set mariusgnn.loaders=5 --set mariusgnn.prefetch=false",
                                                "--set mariusgnn.staleness=1 --compute ref", "--seed 2"};
        const char *const *const more = k < 2 ? pygplus : mariusgnn;
        char digest[32] = "", hash[32] = "";
        for (size_t i = 0; i < 4; i++) {
            char arguments[512];
            (void)snprintf(arguments, sizeof arguments, "%s %s", layers[k], more[i]);
            json_t *const run = run_links(*state, arguments);
            if (i == 0) {
                (void)snprintf(digest, sizeof digest, "%s", word(run, "counters", "batch_digest"));
                (void)snprintf(hash, sizeof hash, "%s", word(run, "environment", "model.hash"));
            }
            assert_int_equal(strcmp(digest, word(run, "counters", "batch_digest")) == 0, i < 3);
            assert_int_equal(strcmp(hash, word(run, "environment", "model.hash")) == 0, i < 2);
            json_decref(run);
        }
        struct process_result r = process_shell(
            "%s run --system pygplus --task link --dataset kg --data %s --db %s --json --quiet --world simulated "
            "--profile tests/golden/machine.ini %s",
            process_program(), ((struct links *)*state)->data, ((struct links *)*state)->db, layers[k]);
        json_t *const run = json_loads(r.out, 0, NULL);
        if (run == NULL)
            fail_msg("%s", r.err);
        assert_string_equal(word(run, "counters", "batch_digest"), digest);
        json_decref(run);
        process_free(&r);
    }
}

/* What is learned out of memory, by the program itself and killed in the middle of its second epoch: a run that goes on
 * from what it kept ends with the model of one that was not killed. Any number of loaders. */
static void test_a_killed_run_is_gone_on_with(void **state)
{
    const struct links *const l = *state;
    static const char kept[] = SMALL " " COMET " --set mariusgnn.vectors=kept --evaluate never";
    char arguments[600], hash[2][32], command[900];
    for (int killed = 0; killed < 2; killed++) {
        (void)snprintf(command, sizeof command, "rm -rf '%s'/kg/mariusgnn-*/vectors-*", l->data);
        assert_int_equal(system(command), 0);
        if (killed) { /* 30 mini-batches make an epoch, and a short one ends each state */
            struct process_result r = process_shell(
                "%s run --system pygplus --task link --dataset kg --data %s --db %s --json --quiet --no-cold %s "
                "--epochs 3 --set mariusgnn.loaders=3 --fault die-at-batch=50",
                process_program(), l->data, l->db, kept);
            assert_int_not_equal(r.exit_status, 0);
            process_free(&r);
        }
        (void)snprintf(arguments, sizeof arguments, "%s --epochs %d --set mariusgnn.loaders=1", kept, killed ? 2 : 3);
        json_t *const run = run_links(l, arguments);
        (void)snprintf(hash[killed], sizeof hash[killed], "%s", word(run, "environment", "model.hash"));
        const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(epoch, "figures"), "epochs_before")),
                         killed ? 1 : 0);
        json_decref(run);
    }
    assert_string_equal(hash[0], hash[1]);
    (void)snprintf(command, sizeof command, "rm -rf '%s'/kg/mariusgnn-*/vectors-*", l->data);
    assert_int_equal(system(command), 0);
}

/* One seed, one nanosecond: as tests/cli/test_simulated.c says for nodes. */
static void test_golden_times(void **state)
{
    const struct links *const l = *state;
    static const struct {
        const char *more;
        json_int_t wall_ns, write_bytes;
    } cases[] = {
        {"", 61334165, 0},
        {"--compute cpu", 25294327, 0},
        {"--compute cpu --encoder --fanout 5", 29239918, 0},
        {"--compute cpu --optimizer adam --decoder transe", 29664935, 0},
        /* vectors and state do not fit: pages are read again, dirty ones written */
        {"--compute cpu " COMET, 14460095, 114688},
        {"--compute cpu " COMET " --set mariusgnn.prefetch=false", 16196396, 114688},
        {"--compute cpu " BETA, 15868805, 106496},
        {"--compute cpu " COMET " --encoder --fanout 5", 18350919, 114688},
        {"--compute cpu " COMET " --set mariusgnn.vectors=kept", 14528204, 122880},
        {"--compute cpu " MEMORY, 13984195, 0},
        {"--compute cpu --memory 4M --dim 2000 --batch 10 --negatives 4 --chunks 1 --max-batches 60", 267988958,
         30748672},
    };
    int different = 0;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct process_result r = process_shell(
            "%s run --system pygplus --task link --dataset kg --data %s --db %s --json --quiet --world simulated "
            "--profile tests/golden/machine.ini --set pygplus.readahead=off " SMALL " %s",
            process_program(), l->data, l->db, cases[c].more);
        json_t *const run = json_loads(r.out, 0, NULL);
        if (run == NULL)
            fail_msg("%s: %s", cases[c].more, r.err);
        const json_int_t wall_ns =
            json_integer_value(json_object_get(json_array_get(json_object_get(run, "epochs"), 0), "wall_ns"));
        const json_int_t writes =
            json_integer_value(json_object_get(json_object_get(run, "counters"), "device_write_bytes"));
        assert_true(wall_ns > 0);
        if (strcmp(json_string_value(json_object_get(run, "system")), "pygplus") == 0) /* it writes through a mapping */
            assert_true(json_is_null(json_object_get(json_object_get(run, "counters"), "requested_write_bytes")));
        if (wall_ns != cases[c].wall_ns || writes != cases[c].write_bytes) {
            print_error("%s: now %lld, %lld %s\n", cases[c].more, (long long)wall_ns, (long long)writes, r.err);
            different++;
        }
        json_decref(run);
        process_free(&r);
    }
    assert_int_equal(different, 0);
}

/* ---- sampled candidates, report ---- */

static void test_sampled_candidates_and_the_report(void **state)
{
    const struct links *const l = *state;
    json_t *const run = run_links(l, SMALL " --epochs 4 --candidates 100");
    assert_true(last_number(run, "test_mrr") > 0.15);
    assert_true(json_is_null(json_object_get(json_array_get(json_object_get(run, "epochs"), 3), "test_raw_mrr")));
    assert_string_equal(json_string_value(json_object_get(run, "model")), "distmult");
    json_decref(run);
    struct process_result r = process_shell("%s report --last 1 --db %s", process_program(), l->db);
    assert_int_equal(r.exit_status, 0);
    assert_non_null(strstr(r.out, "MRR 0."));
    assert_non_null(strstr(r.out, "kg distmult"));
    process_free(&r);
}

/* ---- refusals ---- */

static void test_refusals(void **state)
{
    const struct links *const l = *state;
    static const struct {
        const char *arguments;
        int exit_status;
        const char *message;
    } cases[] = {
        {"--system gnndrive --dataset kg --task link", 4, "gnndrive learns classes of nodes alone"},
        {"--system null --dataset kg --task link", 4, "null learns classes of nodes alone"},
        {"--system pygplus --dataset kg", 2,
         "kg is a knowledge graph, whose nodes have no features or classes; add "
         "--task link"},
        {"--system pygplus --dataset kg --dim 8", 2, "without training nodes; add --task link"},
        {"--system pygplus --dataset kg --negatives 3", 2, "are for links: add --task link"},
        {"--system pygplus --dataset kg --relation-start random", 2, "are for links: add --task link"},
        {"--system pygplus --dataset kg --n3 0.1", 2, "are for links: add --task link"},
        {"--system pygplus --dataset kg --task link --n3 -1", 2, "n3"},
        {"--system pygplus --dataset kg --negative-set own", 2, "are for links: add --task link"},
        {"--system pygplus --dataset kg --task link --negative-set query", 2, "query"},
        {"--system pygplus --dataset kg --task link --negative-set all --negatives 3", 2,
         "--negatives 3: --negative-set all compares edges with all nodes"},
        {"--system pygplus --dataset kg --task link --negative-set all --degree-share 0", 2,
         "--degree-share 0: --negative-set all compares edges with all nodes"},
        {"--system pygplus --dataset kg --task link --sample-only", 4, "links are not learned without training"},
        {"--system pygplus --dataset kg --task link --workers 2", 4, "pygplus trains in one process"},
        {"--system pygplus --dataset kg --task link --decoder complex --dim 7", 2, "takes an even one"},
        {"--system pygplus --dataset kg --task link --set pygplus.drop_last_train=true", 2, "require --task nodes"},
        {"--system mariusgnn --dataset kg --task link --set mariusgnn.policy=replace", 2, "require --task nodes"},
        {"--system mariusgnn --dataset papers100m --scale 1/4000 --set mariusgnn.policy=comet --world simulated "
         "--profile tests/golden/machine.ini",
         2, "require --task link"},
        {"--system mariusgnn --dataset papers100m --scale 1/4000 --set mariusgnn.vectors=kept --world simulated "
         "--profile tests/golden/machine.ini",
         2, "nodes have fixed features"},
        {"--system pygplus --dataset papers100m --scale 1/4000 --task link --world simulated --profile "
         "tests/golden/machine.ini",
         4, "papers100m has no triples (it is no knowledge graph). Import your own with --format triples"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        process_expect(
            process_shell("%s run --data %s --db %s --quiet %s", process_program(), l->data, l->db, cases[c].arguments),
            cases[c].exit_status, cases[c].message, cases[c].arguments);
}

/* ---- a real graph ---- */

/* FB15k-237, two epochs: 0.17 where all is well. Scores that know nothing rank in the middle of 14541 nodes. */
static void test_fb15k_237(void **state)
{
    const struct links *const l = *state;
    char from[DATA_PATH];
    if (data_real("fb15k-237", from) == NULL)
        skip_test("fb15k-237 is not here");
    struct process_result r = process_shell("%s prepare fb15k-237 --from %s --format triples --data %s --quiet",
                                            process_program(), from, l->data);
    if (r.exit_status != 0)
        fail_msg("%s", r.err);
    process_free(&r);
    json_t *const run =
        run_on(l, "fb15k-237", "--dim 32 --batch 1000 --negatives 200 --chunks 4 --degree-share 0 --epochs 2");
    print_message("two epochs: MRR %.4f, Hits@10 %.4f\n", last_number(run, "test_mrr"),
                  last_number(run, "test_hits_10"));
    assert_true(last_number(run, "test_mrr") > 0.15);
    json_decref(run);
    /* Dettmers et al. 2018, Table 4, has 0.247 for ComplEx, and the second epoch 0.278. */
    json_t *const published =
        run_on(l, "fb15k-237", "--decoder complex --dim 100 --degree-share 0 --negative-set own --epochs 2");
    print_message("ComplEx, own ends as negatives: MRR %.4f\n", last_number(published, "test_mrr"));
    assert_true(last_number(published, "test_mrr") >= 0.247);
    json_decref(published);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_planted_graph_is_learned),
        cmocka_unit_test(test_a_generated_graph_is_learned),
        cmocka_unit_test(test_epochs_get_better),
        cmocka_unit_test(test_threads_and_worlds_draw_the_same),
        cmocka_unit_test(test_a_killed_run_is_gone_on_with),
        cmocka_unit_test(test_golden_times),
        cmocka_unit_test(test_sampled_candidates_and_the_report),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_fb15k_237),
    };
    return cmocka_run_group_tests_name("links", tests, set_up, tear_down);
}
