/* What a system says it will do: the harness's own answer, and what files and phases add to it. */
#include "harness/system/intent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_epoch_trains_every_seed_once),
        cmocka_unit_test(test_direct_means_all_of_it),
        cmocka_unit_test(test_phases_have_a_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
