/* The memory plan: sums by phase, what is left of a cap, and the one message when it does not fit. */
#include "harness/system/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 1000 };

struct setting {
    uint64_t indptr[NODES + 1];
    struct gnn_dataset dataset;
    struct gnn_workload workload;
    struct gnn_env env;
    struct gnn_memory_plan plan;
    struct gnn_err err;
};

/* Sampling only, so that the run's own part is offsets and splits: 8 * 1001 + 4 * 100 bytes, and the process. */
enum { RUN_BYTES = 8 * (NODES + 1) + 4 * 100 + 5000 };

static void set(struct setting *s, uint64_t cap_bytes)
{
    *s = (struct setting){.dataset = {.node_count = NODES, .dim = 4, .row_bytes = 16, .train.count = 100},
                          .workload = {.batch_size = 10, .layers = 1, .fanout = {2}, .sample_only = true}};
    for (uint32_t v = 0; v <= NODES; v++)
        s->indptr[v] = UINT64_C(10) * v;
    s->dataset.indptr = s->indptr;
    s->dataset.edge_count = s->indptr[NODES];
    s->env = (struct gnn_env){
        .dataset = &s->dataset, .workload = &s->workload, .cap_bytes = cap_bytes, .process_bytes = 5000};
    gnn_plan_begin(&s->plan, &s->env);
}

static void test_a_sum_counts_every_part_once(void **state)
{
    (void)state;
    struct setting s;
    set(&s, 0);
    assert_int_equal(gnn_plan_bytes(&s.plan), RUN_BYTES);
    assert_int_equal(gnn_plan_run_bytes(&s.plan), RUN_BYTES);
    assert_null(gnn_plan_largest(&s.plan)); /* no option makes any of it smaller */
    gnn_plan_part(&s.plan, "buffer", "x.buffer", 100);
    gnn_plan_in_flight(&s.plan, "batches", "x.batches", 30);
    assert_int_equal(gnn_plan_bytes(&s.plan), RUN_BYTES + 130);
    assert_int_equal(gnn_plan_run_bytes(&s.plan), RUN_BYTES);
    assert_int_equal(gnn_plan_in_flight_bytes(&s.plan), 30);
    assert_string_equal(gnn_plan_largest(&s.plan)->name, "buffer");
    gnn_plan_part(&s.plan, "endless", "x.endless", UINT64_MAX - 5);
    assert_int_equal(gnn_plan_bytes(&s.plan), UINT64_MAX); /* saturates instead of wrapping */
}

/* With 16 M classes the output layer is the run, and the message must not blame a buffer beside it. */
static void test_a_huge_model_is_the_largest_part(void **state)
{
    (void)state;
    struct setting s;
    set(&s, UINT64_C(1) << 30);
    const struct gnn_model_config model = {
        .kind = GNN_MODEL_SAGE, .layers = 1, .in_dim = 4, .hidden = 16, .heads = 1, .classes = UINT32_C(1) << 24};
    s.workload.sample_only = false;
    s.env.model_config = &model;
    gnn_plan_begin(&s.plan, &s.env);
    gnn_plan_part(&s.plan, "buffer", "x.buffer", UINT64_C(1) << 28);
    assert_string_equal(gnn_plan_largest(&s.plan)->name, "model");
    assert_int_equal(gnn_plan_check(&s.plan, "", &s.err), GNN_ECAP);
    assert_non_null(strstr(s.err.message, "the model with"));
    assert_non_null(strstr(s.err.message, "--hidden"));
}

static void test_the_largest_phase_counts(void **state)
{
    (void)state;
    struct setting s;
    set(&s, 100000);
    gnn_plan_part(&s.plan, "always", "x.always", 10);
    gnn_plan_part(&s.plan, "first", "x.first", 2000)->phases = 1U << 1;
    gnn_plan_in_flight(&s.plan, "second", "x.second", 3000)->phases = 1U << 2;
    gnn_plan_part(&s.plan, "second too", "x.too", 500)->phases = 1U << 2;
    assert_int_equal(gnn_plan_phase_bytes(&s.plan, 0), RUN_BYTES + 10);
    assert_int_equal(gnn_plan_phase_bytes(&s.plan, 1), RUN_BYTES + 2010);
    assert_int_equal(gnn_plan_phase_bytes(&s.plan, 2), RUN_BYTES + 3510);
    assert_int_equal(gnn_plan_bytes(&s.plan), RUN_BYTES + 3510);
    assert_int_equal(gnn_plan_in_flight_bytes(&s.plan), 3000);
    assert_string_equal(gnn_plan_largest(&s.plan)->name, "second");
    assert_int_equal(gnn_plan_left(&s.plan, 1), 100000 - RUN_BYTES - 2010);
    s.env.cap_bytes = 0;
    assert_int_equal(gnn_plan_left(&s.plan, 1), UINT64_MAX);
    s.env.cap_bytes = RUN_BYTES;
    assert_int_equal(gnn_plan_left(&s.plan, 1), 0);
}

static void test_the_process_is_counted_with_a_reserve(void **state)
{
    (void)state;
    struct setting s;
    set(&s, 0);
    gnn_plan_process_at_least(&s.plan, 4000); /* the profile's 5000 are more */
    assert_int_equal(gnn_plan_run_bytes(&s.plan), RUN_BYTES);
    gnn_plan_process_at_least(&s.plan, 7000);
    assert_int_equal(gnn_plan_run_bytes(&s.plan), RUN_BYTES + 2000);
}

/* Evaluations between epochs lie beside everything else, in every phase, and the message says how to be rid of them. */
static void test_evaluations_between_epochs_are_counted(void **state)
{
    (void)state;
    struct setting s;
    set(&s, RUN_BYTES);
    s.env.evaluation_bytes = 700;
    gnn_plan_begin(&s.plan, &s.env);
    assert_int_equal(gnn_plan_run_bytes(&s.plan), RUN_BYTES + 700);
    assert_int_equal(gnn_plan_phase_bytes(&s.plan, GNN_PLAN_PHASES_MAX - 1), RUN_BYTES + 700);
    assert_int_equal(gnn_plan_check(&s.plan, "", &s.err), GNN_ECAP);
    assert_non_null(strstr(s.err.message, "--evaluate last or never"));
}

static void test_several_workers_share_a_cap(void **state)
{
    (void)state;
    struct setting s;
    set(&s, 0);
    s.workload.workers = s.workload.segments = 4;
    gnn_plan_begin(&s.plan, &s.env);
    assert_int_equal(gnn_plan_run_bytes(&s.plan), RUN_BYTES + 3 * 5000); /* the dataset once, the process each */
    gnn_plan_part(&s.plan, "own", "x.own", 100);
    gnn_plan_in_flight(&s.plan, "batches", "x.batches", 30);
    gnn_plan_shared(&s.plan, "shared", "x.shared", 50);
    assert_int_equal(gnn_plan_bytes(&s.plan), RUN_BYTES + 3 * 5000 + 4 * 130 + 50);
    assert_int_equal(gnn_plan_in_flight_bytes(&s.plan), 120);
    gnn_plan_process_at_least(&s.plan, 7000);
    assert_int_equal(gnn_plan_run_bytes(&s.plan), RUN_BYTES - 5000 + 4 * 7000);
    s.env.cap_bytes = 1000;
    assert_int_equal(gnn_plan_check(&s.plan, "", &s.err), GNN_ECAP);
    assert_non_null(strstr(s.err.message, "x.own, or lower --workers"));
}

static void test_the_cap_is_judged_to_the_byte(void **state)
{
    (void)state;
    struct setting s;
    set(&s, RUN_BYTES + 100);
    gnn_plan_part(&s.plan, "small", "x.small", 40);
    gnn_plan_part(&s.plan, "large", "x.large or --batch", 60);
    assert_int_equal(gnn_plan_check(&s.plan, "", &s.err), GNN_OK);
    s.env.cap_bytes--;
    assert_int_equal(gnn_plan_check(&s.plan, " at noon", &s.err), GNN_ECAP);
    static const char *const words[] = {"at noon", "large", "60", "x.large or --batch", "--memory"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_non_null(strstr(s.err.message, words[i]));
    s.err = (struct gnn_err){0};
    s.plan.advisory = true;
    assert_int_equal(gnn_plan_check(&s.plan, "", &s.err), GNN_OK);
    set(&s, 100); /* nothing to change but the cap */
    assert_int_equal(gnn_plan_check(&s.plan, "", &s.err), GNN_ECAP);
    assert_non_null(strstr(s.err.message, "raise --memory"));
    assert_null(strstr(s.err.message, "change"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sum_counts_every_part_once),
        cmocka_unit_test(test_a_huge_model_is_the_largest_part),
        cmocka_unit_test(test_the_largest_phase_counts),
        cmocka_unit_test(test_the_process_is_counted_with_a_reserve),
        cmocka_unit_test(test_evaluations_between_epochs_are_counted),
        cmocka_unit_test(test_several_workers_share_a_cap),
        cmocka_unit_test(test_the_cap_is_judged_to_the_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
