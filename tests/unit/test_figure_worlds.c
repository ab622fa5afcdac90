/* SPDX-License-Identifier: MIT */
/* Both worlds in one figure: which configurations it has, the ratios between the worlds in table, picture and
 * predicates, and digests as numbers. */
#include "harness/figure/figure.h"
#include "harness/figure/metric.h"
#include "harness/figure/show.h"
#include "harness/figure/values.h"
#include "tests/support/fake_run.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RUNS                                                                                                           \
    "[global]\nworld = measured, simulated\nprofile = gnndrive-paper\ncosts = released\ncompute = cpu\n"               \
    "dataset = twitter\n[A]\nsystem = gnndrive, pygplus\nmemory = 12800G\n"
#define ABOUT                                                                                                          \
    "[figure]\npaper = p\nplace = Figure 1\ntitle = t\nchart = bars\nx = system\nfacets = memory, world\n"             \
    "y = own.timed_ns, epoch_s\n"
#define RATIO "epoch_s[A, world=simulated] / epoch_s[A, world=measured]"

static enum gnn_status open_text(const char *dir, const char *text, enum gnn_world_kind world,
                                 struct gnn_paper_figure **out, struct gnn_err *err)
{
    char path[1100];
    process_write_file(dir, "fig.ini", 0644, "%s", text);
    (void)snprintf(path, sizeof path, "%s/fig.ini", dir);
    const struct gnn_figure_setup setup = {.scale_divisor = 1000, .db = "x.db", .data_dir = "data", .world = world};
    return gnn_figure_open(path, &setup, out, err);
}

static struct gnn_paper_figure *open_figure(const char *dir, const char *more)
{
    char text[2000];
    struct gnn_paper_figure *figure;
    struct gnn_err err = {0};
    (void)snprintf(text, sizeof text, "%s%s%s", RUNS, ABOUT, more);
    must(open_text(dir, text, GNN_WORLD_SIMULATED, &figure, &err), &err);
    return figure;
}

/* The file decides the worlds. A measured run has no profile, and computes what the simulated one models. */
static void a_case_has_both_worlds(void **state)
{
    for (int world = GNN_WORLD_MEASURED; world <= GNN_WORLD_SIMULATED; world++) {
        struct gnn_paper_figure *figure;
        struct gnn_err err = {0};
        must(open_text(*state, RUNS ABOUT, (enum gnn_world_kind)world, &figure, &err), &err);
        assert_int_equal(figure->job->count, 4);
        for (uint32_t i = 0; i < 4; i++) {
            const struct gnn_run_config *const c = &figure->job->cells[i].config;
            const bool measured = c->world == GNN_WORLD_MEASURED;
            assert_string_equal(figure->job->cells[i].refusal, ""); /* the limit is that of this scale */
            assert_int_equal(measured, i < 2);
            assert_string_equal(c->profile, measured ? "" : "gnndrive-paper");
            assert_string_equal(c->compute, measured ? "cpu" : "model:gnndrive-paper/cpu");
            assert_string_equal(c->costs, measured ? "ideal" : "released");
            assert_string_equal(figure->axes[2].values[figure->cells[i].at[2]], measured ? "measured" : "simulated");
        }
        gnn_figure_close(figure);
    }
}

static void give_run(struct gnn_figure_cell *cell, double seconds, uint64_t digest)
{
    cell->runs = calloc(1, sizeof *cell->runs);
    assert_non_null(cell->runs);
    cell->run_count = 1;
    fake_run(&cell->runs[0], "gnndrive", seconds, 2, 1);
    fake_figure(&cell->runs[0].epochs[1], "timed_ns", (uint64_t)(seconds * 1e9));
    cell->runs[0].counters.batch_digest = digest;
}

/* gnndrive takes 2 s measured and 3 s simulated, pygplus 4 s measured. */
static struct gnn_paper_figure *open_with_runs(const char *dir, const char *more)
{
    struct gnn_paper_figure *const figure = open_figure(dir, more);
    give_run(&figure->cells[0], 2, UINT64_C(0x123456789abcdef0));
    give_run(&figure->cells[1], 4, UINT64_C(0x123456789abcdef0));
    give_run(&figure->cells[2], 3, UINT64_C(0x123456789abcdef0));
    return figure;
}

static void ratios_are_to_the_base(void **state)
{
    struct gnn_paper_figure *const figure = open_with_runs(*state, "relative = world=measured\n");
    const uint32_t at[][GNN_AXES_MAX] = {{0, 0, 1}, {0, 0, 0}, {1, 0, 1}};
    assert_float_equal(gnn_figure_relative(figure, "epoch_s", 0, at[0]), 1.5, 1e-9);
    assert_float_equal(gnn_figure_relative(figure, "epoch_s", 0, at[1]), 1, 0);
    assert_true(isnan(gnn_figure_relative(figure, "epoch_s", 0, at[2])));
    assert_false(gnn_figure_is_base(figure, at[0]));
    assert_true(gnn_figure_is_base(figure, at[1]));
    char *text = NULL;
    size_t bytes;
    FILE *const out = open_memstream(&text, &bytes);
    assert_non_null(out);
    gnn_figure_table(figure, out);
    assert_int_equal(fclose(out), 0);
    must_show(text, "| measured | 2 | 4 |");
    must_show(text, "| simulated | 3 (x 1.5) | not run |");
    must_show(text, "[x: over the value at world=measured]");
    free(text);
    gnn_figure_close(figure);
}

/* The picture has a panel of ratios, and none of the base; a ratio has no unit. */
static void a_picture_shows_ratios(void **state)
{
    struct gnn_err err = {0};
    struct gnn_paper_figure *const figure = open_with_runs(*state, "relative = world=measured\n");
    const enum gnn_status status = gnn_figure_draw(figure, *state, &err);
    if (status != GNN_ENOTSUP)
        must(status, &err);
    struct process_result r = process_shell("cat %s/fig.dat; grep ^panels %s/fig.gp", (char *)*state, (char *)*state);
    must_show(r.out, "gnndrive\t1.5\t1.5\t1.5\tNaN\t \t.\n");
    must_show(r.out, "pygplus\tNaN\tNaN\tNaN\tNaN\tnot run\t.\n");
    must_show(r.out, "panels = 1\n");
    process_free(&r);
    gnn_figure_close(figure);
}

static void predicates_compare_the_worlds(void **state)
{
    static const struct {
        const char *text;
        enum gnn_verdict_of_predicate verdict;
    } cases[] = {
        {"1.49 <= " RATIO " <= 1.51", GNN_NOT_MEASURABLE}, /* pygplus is not simulated */
        {"1.49 <= epoch_s[A, world=simulated, system=gnndrive] / epoch_s[A, world=measured, "
         "system=gnndrive] <= 1.51",
         GNN_HOLDS},
        {"digest[A, world=simulated, system=gnndrive] = digest[A, world=measured, system=gnndrive]", GNN_HOLDS},
        {"digest[A, world=measured] = 1", GNN_HOLDS_NOT}};
    struct gnn_paper_figure *const figure = open_with_runs(*state, "");
    struct gnn_value_source source;
    struct gnn_err err = {0};
    const struct gnn_tolerances tolerances = {1.25, 1.15, 1.02};
    gnn_figure_values(figure, &source);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_predicate predicate;
        struct gnn_outcome outcome;
        must(gnn_predicate_parse(cases[i].text, &source, &predicate, &err), &err);
        gnn_predicate_judge(&predicate, &source, &tolerances, NULL, NULL, &outcome);
        if (outcome.verdict != cases[i].verdict)
            fail_msg("%s: verdict %d", cases[i].text, (int)outcome.verdict);
    }
    figure->cells[2].runs[0].counters.batch_digest += UINT64_C(1) << 12; /* the least that the number has */
    assert_false(gnn_metric_of(&figure->cells[2].runs[0], "digest") ==
                 gnn_metric_of(&figure->cells[0].runs[0], "digest"));
    figure->cells[2].runs[0].counters.has_digest = false;
    assert_true(isnan(gnn_metric_of(&figure->cells[2].runs[0], "digest")));
    gnn_figure_close(figure);
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {RUNS ABOUT "relative = world=mesured\n", "relative \"world=mesured\": no axis has it"},
        {RUNS ABOUT "relative = measured\n", "no axis has it"},
        {"[global]\nworld = measured\nprofile = gnndrive-paper\ndataset = twitter\n[A]\nsystem = gnndrive\n" ABOUT
         "relative = world=simulated\n",
         "no axis has it"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_paper_figure *figure = NULL;
        struct gnn_err err = {0};
        assert_int_equal(open_text(*state, cases[i].text, GNN_WORLD_SIMULATED, &figure, &err), GNN_EUSAGE);
        must_show(err.message, cases[i].part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_case_has_both_worlds, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(ratios_are_to_the_base, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(a_picture_shows_ratios, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(predicates_compare_the_worlds, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(mistakes_are_named, process_dir_set_up, process_dir_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
