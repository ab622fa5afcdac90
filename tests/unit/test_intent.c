/* SPDX-License-Identifier: MIT */
/* What a system says it will do: the harness's own answer, what files and phases add to it, and what each system makes
 * of it. */
#include "harness/system/intent.h"
#include "tests/differential/systems.h"
#include "tests/support/hang.h"
#include "tests/support/link_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* 25 training nodes in batches of 10: three, the last one short; the first two of them under max_batches. */
static void test_an_epoch_trains_every_seed_once(void **state)
{
    (void)state;
    static const struct {
        uint32_t max_batches;
        bool sample_only;
        uint64_t batches, seeds;
    } cases[] = {{0, false, 3, 25}, {2, false, 2, 20}, {7, false, 3, 25}, {2, true, 2, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct gnn_dataset dataset = {.train.count = 25};
        const struct gnn_workload workload = {
            .batch_size = 10, .max_batches = cases[i].max_batches, .sample_only = cases[i].sample_only};
        const struct gnn_env env = {.dataset = &dataset, .workload = &workload};
        struct gnn_intent intent;
        gnn_intent_begin(&env, &intent);
        assert_int_equal(intent.batches, cases[i].batches);
        assert_int_equal(intent.seeds, cases[i].seeds);
        assert_int_equal(intent.whole_batches, 3);
        assert_int_equal(intent.phase_batches, 0);
        assert_int_equal(intent.file_count, 0);
    }
}

/* The device must have delivered everything only where nothing is read through the page cache by explicit reads. */
static void test_direct_means_all_of_it(void **state)
{
    (void)state;
    static const struct {
        uint32_t how[3];
        bool direct;
    } cases[] = {
        {{GNN_READS_DIRECT}, true},
        {{GNN_READS_DIRECT, GNN_READS_MAPPED}, true},
        {{GNN_READS_DIRECT | GNN_READS_MADE, GNN_READS_DIRECT | GNN_READS_MAPPED}, true},
        {{GNN_READS_DIRECT, GNN_READS_DIRECT, GNN_READS_BUFFERED}, false},
        {{GNN_READS_BUFFERED}, false},
        {{GNN_READS_MAPPED}, false},
        {{0}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_intent intent = {.file_count = 0};
        for (int f = 0; f < 3 && cases[i].how[f] != 0; f++)
            gnn_intent_reads(&intent, f == 0 ? "/data/features" : NULL, cases[i].how[f]);
        assert_int_equal(gnn_intent_all_direct(&intent), cases[i].direct);
        if (intent.file_count > 1) {
            assert_string_equal(intent.files[0].path, "/data/features");
            assert_string_equal(intent.files[1].path, ""); /* a scratch file */
        }
    }
}

static void test_phases_have_a_remedy(void **state)
{
    (void)state;
    struct gnn_intent intent = {.file_count = 0};
    gnn_intent_phases(&intent, 64, "agnes.hyperbatch");
    assert_int_equal(intent.phase_batches, 64);
    assert_string_equal(intent.phase_option, "agnes.hyperbatch");
}

/* Prepares a simulated run of a system on the usual graph; the caller sets its workload. */
static void begin_run(struct fixture *f, struct train_run *run, const char *system, const char *const *options)
{
    fixture_open(f, .graph = &usual, .simulated = true);
    train_run_init(run, f->world, system);
    run->options = options;
    run->modelled = &f->profile;
}

/* Opens the run and takes what its system means to do in an epoch. */
static void intend(struct fixture *f, struct train_run *run, struct gnn_intent *intent)
{
    must_run(train_run_open(run, &f->graph), run);
    gnn_intent_begin(&run->env, intent);
    if (run->table->intend != NULL)
        run->table->intend(run->state, intent);
}

/* Where each epoch prepares a part of the next one, the first does more than one epoch's work, the last less. */
static void test_epochs_at_the_ends_may_be_incomplete(void **state)
{
    (void)state;
    static const struct {
        bool prepares_next;
        uint64_t epochs;
        const char *complete; /* a digit for each epoch */
    } cases[] = {{false, 1, "1"}, {false, 3, "111"}, {true, 1, "1"},
                 {true, 2, "00"}, {true, 3, "010"},  {true, 4, "0110"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct gnn_intent intent = {.prepares_next = cases[i].prepares_next};
        for (uint64_t e = 0; e < cases[i].epochs; e++)
            assert_int_equal(gnn_intent_epoch_is_complete(&intent, e, cases[i].epochs), cases[i].complete[e] == '1');
    }
}

static void test_which_systems_prepare_for_the_next_epoch(void **state)
{
    (void)state;
    const struct {
        const char *system;
        const char *const *options;
        bool sample_only, prepares_next;
    } cases[] = {
        {"null", NULL, false, false},
        {"pygplus", NULL, false, false},
        {"gnndrive", NULL, false, false},
        {"ginex", NULL, false, false},
        {"ringsampler", NULL, false, false},
        {"diskgnn", NULL, false, false},
        {"mariusgnn", OPTIONS("partitions=15", "capacity=6", "policy=replace"), false, false},
        {"agnes", NULL, false, false},
        {"agnes", OPTIONS("overlap=full"), false, false},
        {"agnes", OPTIONS("overlap=epochs"), false, true},
        {"presort", NULL, false, true},
        {"presort", NULL, true, false}, /* nothing is sorted */
        {"presort", OPTIONS("ahead=false"), false, false},
        {"graphbolt", NULL, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f;
        struct train_run run;
        struct gnn_intent intent;
        begin_run(&f, &run, cases[i].system, cases[i].options);
        run.workload.sample_only = cases[i].sample_only;
        intend(&f, &run, &intent);
        if (intent.prepares_next != cases[i].prepares_next)
            fail_msg("case %zu, %s: prepares_next is %d", i, cases[i].system, intent.prepares_next);
        train_run_close(&run);
        fixture_close(&f);
    }
}

/* 150 training nodes in batches of 20. */
static void test_what_each_system_means_to_do(void **state)
{
    (void)state;
    const struct {
        const char *system;
        const char *const *options;
        uint32_t max_batches;
        bool sample_only;
        uint64_t batches, seeds, whole_batches;
        uint32_t phase_batches;
        const char *phase_option;
    } cases[] = {
        {"null", NULL, 0, false, 8, 150, 8, 0, ""},
        {"null", NULL, 3, true, 3, 0, 8, 0, ""},
        {"pygplus", NULL, 0, false, 8, 150, 8, 0, ""},
        {"pygplus", NULL, 3, false, 3, 60, 8, 0, ""},
        {"pygplus", OPTIONS("drop_last_train=true"), 0, false, 8, 140, 7, 0, ""},
        {"pygplus", OPTIONS("drop_last_train=true"), 3, false, 3, 40, 7, 0, ""},
        {"gnndrive", OPTIONS("samplers=3", "order=segments"), 0, false, 9, 150, 9, 0, ""}, /* three segments of 50 */
        {"gnndrive", OPTIONS("samplers=3", "order=segments"), 0, true, 9, 0, 9, 0, ""},
        {"ginex", OPTIONS("superbatch=3"), 0, false, 8, 150, 8, 3, "ginex.superbatch"},
        {"agnes", OPTIONS("hyperbatch=3"), 0, false, 8, 150, 8, 3, "agnes.hyperbatch"},
        {"presort", OPTIONS("hyperbatch=2"), 0, false, 8, 150, 8, 2, "presort.hyperbatch"},
        {"presort", OPTIONS("hyperbatch=2"), 5, false, 5, 100, 8, 2, "presort.hyperbatch"},
        {"diskgnn", NULL, 0, false, 8, 150, 8, 0, ""},
        {"graphbolt", NULL, 0, false, 8, 150, 8, 0, ""},
        {"graphbolt", NULL, 3, true, 3, 0, 8, 0, ""},
        {"ringsampler", NULL, 5, false, 5, 100, 8, 0, ""},
        {"ringsampler", OPTIONS("requests=70"), 0, true, 70, 0, 70, 0, ""},
        /* Five groups of three partitions, two in memory: four states, each of which may end in a short mini-batch. */
        {"mariusgnn", OPTIONS("partitions=15", "capacity=6", "policy=replace"), 0, false, GNN_UNKNOWN, 150, 11, 11,
         "mariusgnn.policy"},
        {"mariusgnn", OPTIONS("partitions=15", "capacity=6", "policy=replace"), 3, false, GNN_UNKNOWN, GNN_UNKNOWN, 11,
         11, "mariusgnn.policy"},
        {"mariusgnn", OPTIONS("partitions=15", "capacity=6", "policy=replace"), 3, true, GNN_UNKNOWN, 0, 11, 11,
         "mariusgnn.policy"},
        {"mariusgnn", OPTIONS("partitions=15", "capacity=15"), 3, false, 3, 60, 8, 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f;
        struct train_run run;
        struct gnn_intent intent;
        begin_run(&f, &run, cases[i].system, cases[i].options);
        run.workload.max_batches = cases[i].max_batches;
        run.workload.sample_only = cases[i].sample_only;
        intend(&f, &run, &intent);
        const bool as_meant = intent.batches == cases[i].batches && intent.seeds == cases[i].seeds &&
                              intent.whole_batches == cases[i].whole_batches &&
                              intent.phase_batches == cases[i].phase_batches &&
                              strcmp(intent.phase_option, cases[i].phase_option) == 0;
        if (!as_meant)
            fail_msg("case %zu, %s: %llu batches, %llu seeds, %llu in a whole epoch, phases of %u by '%s'", i,
                     cases[i].system, (unsigned long long)intent.batches, (unsigned long long)intent.seeds,
                     (unsigned long long)intent.whole_batches, intent.phase_batches, intent.phase_option);
        train_run_close(&run);
        fixture_close(&f);
    }
}

/* 900 training edges in batches of 20. Of four groups, two in memory, each of the six pairs is a state of its own. */
static void test_what_systems_of_links_mean_to_do(void **state)
{
    static const struct link_graph knowledge = {.nodes = 300, .relations = 2, .edges = 900, .seed = 3};
    const struct {
        const char *system;
        const char *const *options;
        uint64_t batches, whole_batches;
        uint32_t phase_batches;
    } cases[] = {
        {"pygplus", NULL, 45, 45, 0},
        {"mariusgnn", OPTIONS("io=buffered", "partitions=8", "capacity=8"), 45, 45, 0},
        {"mariusgnn", OPTIONS("io=buffered", "partitions=8", "capacity=4", "policy=comet"), GNN_UNKNOWN, 50, 50},
    };
    char dir[DATA_PATH];
    struct fixture f;
    link_graph_import(&knowledge, *state, dir);
    fixture_open(&f, .scratch = true);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct link_run run;
        struct gnn_intent intent;
        link_run_init(&run, f.world, cases[i].system, dir, 8);
        run.options = cases[i].options;
        must(link_run_open(&run), &run.err);
        gnn_intent_begin(&run.env, &intent);
        run.table->intend(run.state, &intent);
        assert_int_equal(intent.batches, cases[i].batches);
        assert_int_equal(intent.seeds, 900);
        assert_int_equal(intent.whole_batches, cases[i].whole_batches);
        assert_int_equal(intent.phase_batches, cases[i].phase_batches);
        link_run_close(&run);
    }
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_epoch_trains_every_seed_once),
        cmocka_unit_test(test_direct_means_all_of_it),
        cmocka_unit_test(test_phases_have_a_remedy),
        cmocka_unit_test(test_epochs_at_the_ends_may_be_incomplete),
        cmocka_unit_test(test_which_systems_prepare_for_the_next_epoch),
        cmocka_unit_test(test_what_each_system_means_to_do),
        cmocka_unit_test_setup_teardown(test_what_systems_of_links_mean_to_do, data_set_up, data_tear_down),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
