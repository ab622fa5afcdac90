/* SPDX-License-Identifier: MIT */
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

/* Sampling only, so that the run's own part is offsets and splits, 8 * 1001 and 4 * 100 bytes in whole pages, and the
 * process. */
enum { RUN_BYTES = 2 * 4096 + 4096 + 5000 };

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
    s.env.cap_bytes = 1000;
    assert_int_equal(gnn_plan_check(&s.plan, "", &s.err), GNN_ECAP);
    assert_non_null(strstr(s.err.message, "x.own, or lower --workers"));
}

/* 16 seeds, one hop of fan-out 4 over degrees of 1 and 3, as many of each: a seed's tree has 2 or 4 nodes, mean 3 and
 * variance 1; 16 trees have 48 and a deviation of 4, the largest of a million mini-batches 48 + 5.2565 x 4 = 69.03
 * draws, which fall on 1000 (1 - exp(-0.06903)) = 66.7 nodes. Nodes without neighbours are nobody's neighbours. */
static void test_the_largest_mini_batch_by_hand(void **state)
{
    (void)state;
    struct setting s;
    struct gnn_batch_size largest;
    set(&s, 0);
    for (uint32_t v = 0; v < NODES; v++)
        s.indptr[v + 1] = s.indptr[v] + (v % 4 == 0 ? 1 : v % 4 == 1 ? 3 : 0);
    s.dataset.edge_count = s.indptr[NODES];
    s.workload = (struct gnn_workload){.batch_size = 16, .layers = 1, .fanout = {4}, .sample_only = true};
    gnn_batch_largest(&s.dataset, &s.workload, &largest);
    assert_int_equal(largest.nodes[0], 16);
    assert_int_equal(largest.nodes[1], 67);
    assert_int_equal(largest.edges, 70 - 16);
    s.workload.fanout[0] = 1; /* every tree has 2 nodes: nothing to spread, and the fan-out's bound */
    gnn_batch_largest(&s.dataset, &s.workload, &largest);
    assert_int_equal(largest.nodes[1], 32);
    assert_int_equal(largest.edges, 16);

    /* Fan-outs 2 and 1: a child's tree has 2 nodes, a seed's 1 + 1 x 2 + 1 = 4 or 1 + 2 x 2 + 1 = 6, mean 5 and
     * variance 1; ten have 50 + 5.2565 x 3.162 = 66.6 draws, on 64.5 nodes: more than the fan-outs' bound of 60. */
    s.workload = (struct gnn_workload){.batch_size = 10, .layers = 2, .fanout = {2, 1}, .sample_only = true};
    gnn_batch_largest(&s.dataset, &s.workload, &largest);
    assert_int_equal(largest.nodes[1], 30); /* 33 by trees, 30 by the bound */
    assert_int_equal(largest.nodes[2], 60);
    assert_int_equal(largest.edges, 10 * 2 + 30 * 1);

    /* Never more than the graph has. */
    s.workload = (struct gnn_workload){.batch_size = 100, .layers = 3, .fanout = {3, 3, 3}, .sample_only = true};
    gnn_batch_largest(&s.dataset, &s.workload, &largest);
    assert_in_range(largest.nodes[3], 500, NODES);
}

/* What sums over many mini-batches spreads with the root of their number. */
static void test_sums_spread_less(void **state)
{
    (void)state;
    struct setting s;
    set(&s, 0);
    s.plan.batch.nodes[1] = 100;
    s.plan.largest.nodes[1] = 160;
    assert_int_equal(gnn_plan_nodes_of(&s.plan, 1, 1), 160);
    assert_int_equal(gnn_plan_nodes_of(&s.plan, 4, 1), 400 + 2 * 60);
    assert_int_equal(gnn_plan_nodes_of(&s.plan, 100, 1), 10000 + 10 * 60);
    s.plan.largest.nodes[1] = 90; /* hubs: the bound of one is below the expectation */
    assert_int_equal(gnn_plan_nodes_of(&s.plan, 4, 1), 400);
}

/* A run that outgrows its plan says by how much it was planned, what is most of it and what to change. */
static void test_a_run_that_outgrows_its_plan_is_explained(void **state)
{
    (void)state;
    struct setting s;
    set(&s, 1 << 20);
    gnn_plan_part(&s.plan, "buffer", "x.buffer", 100000);
    (void)gnn_fail(&s.err, GNN_ECAP, "rows: 5 bytes beside the others pass the cap: raise --memory");
    gnn_plan_explain(&s.plan, &s.err);
    static const char *const words[] = {"rows: 5 bytes", "outgrew", "the buffer with",
                                        "raise --memory or change x.buffer"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_non_null(strstr(s.err.message, words[i]));
    char before[sizeof s.err.message];
    memcpy(before, s.err.message, sizeof before);
    gnn_plan_explain(&s.plan, &s.err); /* once is enough */
    assert_string_equal(s.err.message, before);
    s.err = (struct gnn_err){0};
    (void)gnn_fail(&s.err, GNN_EIO, "a read failed");
    gnn_plan_explain(&s.plan, &s.err);
    assert_string_equal(s.err.message, "a read failed");
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
        cmocka_unit_test(test_evaluations_between_epochs_are_counted),
        cmocka_unit_test(test_several_workers_share_a_cap),
        cmocka_unit_test(test_the_largest_mini_batch_by_hand),
        cmocka_unit_test(test_sums_spread_less),
        cmocka_unit_test(test_a_run_that_outgrows_its_plan_is_explained),
        cmocka_unit_test(test_the_cap_is_judged_to_the_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
