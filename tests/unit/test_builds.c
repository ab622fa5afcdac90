/* SPDX-License-Identifier: MIT */
/* What a build's own words mean to a comparison: the plan of a job file, and the times of a run. */
#include "harness/cli/builds.h"
#include "harness/cli/time_builds.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void a_plan_is_cut_into_arguments(void **state)
{
    (void)state;
    static const char text[] =
        "configuration 1 [small]: oocgnn run --system=null --dataset=my graph --fanout=5,5\n"
        "cell 2 [a]: oocgnn run --system=gnndrive --set gnndrive.depth=2 --set gnndrive.io=direct"
        " # about 3 s: median of 2 such runs\n"
        "configuration 3 [empty]: oocgnn run\n"
        "configuration 4 [a]: oocgnn run --system=gnndrive\n"
        "3 configurations, 3 runs\ntime: unknown, no such run in the database\n";
    struct gnn_build_job job;
    struct gnn_err err = {0};
    must(gnn_build_job_parse(text, &job, &err), &err);
    assert_int_equal(job.count, 4);
    assert_string_equal(job.cells[0].section, "small");
    assert_int_equal(job.cells[0].count, 3);
    assert_string_equal(job.cells[0].arguments[1], "--dataset=my graph");
    assert_string_equal(job.cells[0].arguments[2], "--fanout=5,5");
    assert_int_equal(job.cells[1].count, 3);
    assert_string_equal(job.cells[1].arguments[1], "--set=gnndrive.depth=2");
    assert_string_equal(job.cells[1].arguments[2], "--set=gnndrive.io=direct");
    assert_int_equal(job.cells[2].count, 0);
    assert_int_equal(job.cells[1].number, 1);
    assert_int_equal(job.cells[3].number, 2); /* of [a] */
    gnn_build_job_close(&job);
}

static void a_plan_without_cells_is_none(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "0 configurations, 0 runs\n", "configuration 1: oocgnn run\n",
                                        "configuration 1 ]: oocgnn run [\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct gnn_build_job job;
        struct gnn_err err = {0};
        assert_int_equal(gnn_build_job_parse(texts[i], &job, &err), GNN_EFORMAT);
        gnn_build_job_close(&job); /* accepts what is left */
    }
}

#define OPENED(ns) "\"environment\": {\"system.open_ns\": \"" ns "\"}, "

/* Epochs count as the record says; without a mark, the first counts only if it is alone. The first epoch is a number of
 * its own. A short opening is noise. */
static void a_run_is_one_observation(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        double wanted[GNN_TIME_METRICS]; /* epoch, first epoch, opening, GPU kernels, GPU copies */
    } cases[] = {
        {"{\"epochs\": [{\"wall_ns\": 900}, {\"wall_ns\": 10}, {\"wall_ns\": 30}, {\"wall_ns\": 20}]}",
         {20, 900, NAN, NAN, NAN}},
        {"{\"epochs\": [{\"wall_ns\": 900, \"figures\": {\"gpu_busy_ns\": 5, \"gpu_copy_ns\": 7}}]}",
         {900, NAN, NAN, 5, 7}},
        {"{\"epochs\": [{\"wall_ns\": 9, \"figures\": {\"gpu_busy_ns\": 5}}, {\"wall_ns\": null, \"figures\": {}}]}",
         {NAN, 9, NAN, NAN, NAN}},
        {"{" OPENED("123456789") "\"epochs\": []}", {NAN, NAN, 123456789, NAN, NAN}},
        {"{" OPENED("4711") "\"epochs\": []}", {NAN, NAN, 20e6, NAN, NAN}},
        {"{\"environment\": {\"system.open_ns\": null}}", {NAN, NAN, NAN, NAN, NAN}},
        {"{}", {NAN, NAN, NAN, NAN, NAN}},
        {"{\"epochs\": [{\"wall_ns\": 900, \"counted\": 0}, {\"wall_ns\": 10, \"counted\": 1}, {\"wall_ns\": 30, "
         "\"counted\": 1}, {\"wall_ns\": 5, \"counted\": 0}]}",
         {20, 900, NAN, NAN, NAN}},
        {"{\"epochs\": [{\"wall_ns\": 900, \"counted\": 0}]}", {NAN, NAN, NAN, NAN, NAN}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double metrics[GNN_AB_METRICS_MAX];
        json_t *const run = json_loads(cases[i].json, 0, NULL);
        assert_non_null(run);
        gnn_time_metrics_of(run, metrics);
        for (uint32_t m = 0; m < GNN_TIME_METRICS; m++) {
            const double wanted = cases[i].wanted[m];
            if (isnan(wanted) ? !isnan(metrics[m]) : metrics[m] != wanted)
                fail_msg("case %zu: %s is %g, expected %g", i, gnn_time_metrics[m], metrics[m], wanted);
        }
        json_decref(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_cut_into_arguments),
        cmocka_unit_test(a_plan_without_cells_is_none),
        cmocka_unit_test(a_run_is_one_observation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
