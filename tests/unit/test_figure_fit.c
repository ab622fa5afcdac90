/* SPDX-License-Identifier: MIT */
/* The least scale of a figure: usual scales, the sentence, and a plan against the run that it is of. */
#include "harness/cli/figure_fit.h"
#include "harness/run/machine.h"
#include "harness/run/worker/worker.h"
#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void usual_scales(void **state)
{
    (void)state;
    static const struct {
        double divisor;
        uint32_t usual;
    } cases[] = {{0.5, 1},   {1, 1},     {1.99, 1},     {2, 2},       {4.9, 2},           {5, 5},
                 {9.9, 5},   {10, 10},   {14, 10},      {15, 15},     {19.9, 15},         {20, 20},
                 {99, 80},   {100, 100}, {149, 100},    {999.9, 800}, {1000, 1000},       {1499, 1000},
                 {399, 300}, {400, 400}, {123456, 1e5}, {4e9, 4e9},   {4294967295.0, 4e9}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (gnn_usual_scale(cases[i].divisor) != cases[i].usual)
            fail_msg("1/%g: 1/%u", cases[i].divisor, gnn_usual_scale(cases[i].divisor));
}

static void the_sentence_names_the_remedy(void **state)
{
    (void)state;
    struct gnn_paper_figure figure = {.scale_divisor = 1000};
    struct gnn_series_fit fit = {
        .cells = 7, .too_large = 3, .never = 2, .scale_divisor = 400, .need_bytes = 68 << 20, .cap_bytes = 32 << 20};
    char text[300];
    (void)snprintf(figure.series[1].name, sizeof figure.series[1].name, "AGNES");
    gnn_series_fit_text(&figure, 1, &fit, text, sizeof text);
    assert_string_equal(text, "at 1/1000 the memory limit is 32.0 MiB, but AGNES needs at least 68.0 MiB (3 of 7 "
                              "configurations): use --scale 1/400 or larger");
    fit.scale_divisor = 1;
    gnn_series_fit_text(&figure, 1, &fit, text, sizeof text);
    assert_non_null(strstr(text, "(3 of 7 configurations): use --scale 1"));
    fit.scale_divisor = 0;
    gnn_series_fit_text(&figure, 1, &fit, text, sizeof text);
    assert_non_null(strstr(text, "(2 of 7 configurations): it does not fit at any scale"));
}

/* A limit below the need leaves it as it is; one of that size is enough; the largest phase is the need. */
static void a_need_is_that_of_the_plan(void **state)
{
    (void)state;
    static const char *const options[][2] = {{"system", "gnndrive"},
                                             {"dataset", "papers100m"},
                                             {"scale", "1/4000"},
                                             {"world", "simulated"},
                                             {"profile", "tests/golden/machine.ini"},
                                             {"batch", "16"},
                                             {"hidden", "16"},
                                             {"fanout", "5,5"}};
    struct gnn_run_config config;
    struct gnn_err err = {0};
    struct gnn_run_need small, smaller, enough, none;
    gnn_run_config_defaults(&config);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        must(gnn_option_set(gnn_run_options, &config, options[i][0], options[i][1], &err), &err);
    must(gnn_machine_resolve(&config, &err), &err);
    must(gnn_run_need(&config, 1 << 20, &small, &err), &err);
    must(gnn_run_need(&config, 1 << 12, &smaller, &err), &err);
    assert_true(small.bytes > 1 << 20);
    assert_int_equal(small.bytes, smaller.bytes);
    must(gnn_run_need(&config, small.bytes, &enough, &err), &err);
    assert_true(enough.bytes <= small.bytes);
    uint64_t largest = 0;
    for (uint32_t p = 0; p < GNN_PLAN_PHASES_MAX; p++)
        largest = gnn_max_u64(largest, small.phase_bytes[p]);
    assert_int_equal(largest, small.bytes);
    (void)snprintf(config.system, sizeof config.system, "ginex"); /* its caches take what is left */
    must(gnn_run_need(&config, 1 << 20, &small, &err), &err);
    must(gnn_run_need(&config, small.bytes + (16 << 20), &enough, &err), &err);
    assert_true(enough.bytes > small.bytes);
    assert_true(enough.bytes <= small.bytes + (16 << 20));
    assert_string_equal(enough.reason, "");
    assert_non_null(strstr(small.reason, "but the memory limit is 1.00 MiB"));
    (void)snprintf(config.dataset, sizeof config.dataset, "no-such-graph");
    assert_int_not_equal(gnn_run_need(&config, 1 << 20, &none, &err), GNN_OK);
    assert_int_equal(none.bytes, 0);
}

/* Of a measured run, too, and without its dataset; the process is as large as this one. */
static void a_measured_run_is_planned(void **state)
{
    (void)state;
    static const char *const options[][2] = {{"system", "gnndrive"},   {"dataset", "papers100m"}, {"scale", "1/4000"},
                                             {"data", "/nonexistent"}, {"batch", "16"},           {"hidden", "16"},
                                             {"fanout", "5,5"}};
    struct gnn_run_config config;
    struct gnn_err err = {0};
    struct gnn_run_need need, enough;
    gnn_run_config_defaults(&config);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        must(gnn_option_set(gnn_run_options, &config, options[i][0], options[i][1], &err), &err);
    must(gnn_machine_resolve(&config, &err), &err);
    must(gnn_run_need(&config, 1 << 20, &need, &err), &err);
    assert_true(need.bytes > 4 << 20);
    assert_true(need.bytes < 256 << 20);
    assert_non_null(strstr(need.reason, "but the memory limit is 1.00 MiB"));
    must(gnn_run_need(&config, need.bytes + (8 << 20), &enough, &err), &err);
    assert_string_equal(enough.reason, "");
    (void)snprintf(config.compute, sizeof config.compute, "cuda");
    assert_int_equal(gnn_run_need(&config, 1 << 20, &need, &err), GNN_ENOTSUP);
    assert_int_equal(need.bytes, 0);
    err = (struct gnn_err){0};
    (void)snprintf(config.compute, sizeof config.compute, "cpu");
    (void)snprintf(config.dataset, sizeof config.dataset, "/nonexistent/set");
    assert_int_equal(gnn_run_need(&config, 1 << 20, &need, &err), GNN_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_scales),
        cmocka_unit_test(the_sentence_names_the_remedy),
        cmocka_unit_test(a_need_is_that_of_the_plan),
        cmocka_unit_test(a_measured_run_is_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
