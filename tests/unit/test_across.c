/* SPDX-License-Identifier: MIT */
/* Figures with metrics of their own, one table with a row for each configuration, and values over a key: the table and
 * the CSV, from runs made by hand. */
#include "harness/figure/figure.h"
#include "harness/figure/show.h"
#include "harness/figure/values.h"
#include "tests/support/fake_run.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CELLS                                                                                                          \
    "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = cora\nseed = 1, 2, 3\n[A]\nsystem = null\n"      \
    "dim = 8, 128, 16\n[B]\nsystem = null\ndim = 8, 16\n"
#define ABOUT "[figure]\npaper = p\nplace = Table 1\ntitle = t\nchart = table\n"

static enum gnn_status open_text(const char *dir, const char *text, struct gnn_paper_figure **out, struct gnn_err *err)
{
    char path[300];
    const struct gnn_figure_setup setup = {.world = GNN_WORLD_SIMULATED, .db = "x.db", .data_dir = "data"};
    process_write_file(dir, "fig.ini", 0644, "%s", text);
    (void)snprintf(path, sizeof path, "%s/fig.ini", dir);
    return gnn_figure_open(path, &setup, out, err);
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {CELLS ABOUT "y = epoch_s\nlayout = down\nrows = series\n", "layout = down: expected across, with rows"},
        {CELLS ABOUT "y = epoch_s\nlayout = across\n", "layout = across: expected across, with rows"},
        {CELLS ABOUT "y = epoch_s\nlayout = across\nrows = series, dims\n", "rows: \"dims\" is neither series nor an"},
        {CELLS ABOUT "y = epoch_s\nlayout = across\nrows = dim, series, dim\n", "rows: \"dim\" appears twice"},
        {CELLS ABOUT "y = epoch_s\nlayout = across\nrows = dim, seed, hidden, fanout, batch, model, epochs, memory\n",
         "more than 8 axes"},
        {CELLS ABOUT "y = epoch_s\nx = dim\norder = memory\n", "order: \"memory\" is none of series, x,"},
        {CELLS ABOUT "y = epoch_s\nx = dim\norder = dim, \n", "order: \"\" is none of"},
        {CELLS ABOUT "y = epoch_s\nx = dim\norder = dim down\n", "order: dim \"down\": expected asc or desc"},
        {CELLS ABOUT "y = epoch_s\nx = dim\norder = dim desc asc\n", "order: dim \"desc\": expected asc or desc"},
        {CELLS ABOUT "y = epoch_s\nx = dim\nover = memory\n",
         "over = memory: expected a key of the configurations, but"},
        {CELLS ABOUT "y = epoch_s\nx = dim\nover = dim\n",
         "over = dim: expected a key of the configurations, but not an axis"},
        {CELLS ABOUT "y = epoch_s\naverage = median\n", "average = median: expected mean or best"},
        {CELLS ABOUT "y = epoch_s\naverage = best\n", "average = best: expected over, the keys to choose from"},
        {CELLS ABOUT "y = epoch_s\nover = seed, memory\n", "over = memory: expected a key of the configurations, but"},
        {CELLS ABOUT "y = epoch_s@x\n", "no metric \"epoch_s@x\""},
        {CELLS ABOUT "y = speed@1\n[metrics]\nspeed_b = 1 / epoch_s\n", "no metric \"speed@1\""},
        {CELLS ABOUT "y = epoch_s\n[metrics]\nepoch_s = 1\n", "fig.ini:19: \"epoch_s\" is a metric already"},
        {CELLS ABOUT "y = epoch_s\n[metrics]\na@1 = 1\n", "\"a@1\" is a metric already, or has other characters"},
        {CELLS ABOUT "y = epoch_s\n[metrics]\n1a = 1\n", "\"1a\" is a metric already, or has other characters"},
        {CELLS ABOUT "y = epoch_s\n[metrics]\na = b\nb = 1\n", "fig.ini:19: \"b\": no metric \"b\""},
        {CELLS ABOUT "y = epoch_s\n[metrics]\na = 1 / a\n", "no metric \"a\""},
        {CELLS ABOUT "y = epoch_s\n[metrics]\na = epoch_s < 1\n", "expected an operator or the end, found \"< 1\""},
        {CELLS ABOUT "y = epoch_s\n[metrics]\na = epoch_s[C]\n", "the figure has no series \"C\""},
        {CELLS ABOUT "y = epoch_s\n[metrics]\na = published.epoch_s[A]\n", "no metric \"published.epoch_s\""},
        {CELLS ABOUT "y = epoch_s\n[metrics]\na = stage.load.speed\n", "no metric \"stage.load.speed\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_paper_figure *figure = NULL;
        struct gnn_err err = {0};
        if (open_text(*state, cases[i].text, &figure, &err) == GNN_OK || strstr(err.message, cases[i].part) == NULL)
            fail_msg("case %zu: \"%s\" lacks \"%s\"", i, err.message, cases[i].part);
        assert_null(figure);
    }
}

/* Gives a configuration one run of three epochs, the later ones of `seconds` and 2 * `seconds`. */
static struct gnn_run_record *give_run(struct gnn_paper_figure *figure, uint32_t cell, double seconds)
{
    struct gnn_figure_cell *const c = &figure->cells[cell];
    struct gnn_run_record *const run = calloc(1, sizeof *run);
    assert_non_null(run);
    assert_in_range(cell, 0, figure->job->count - 1);
    fake_run(run, "null", seconds, 3, 1);
    run->epochs[2].wall_ns *= 2;
    c->runs = run;
    c->run_count = 1;
    return run;
}

static char *table_of(const struct gnn_paper_figure *figure)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    assert_non_null(out);
    gnn_figure_table(figure, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void expect_csv(const struct gnn_paper_figure *figure, const char *dir, const char *expected)
{
    struct gnn_err err = {0};
    must(gnn_figure_csv(figure, dir, &err), &err);
    struct process_result r = process_shell("cat %s/fig.csv", dir);
    assert_string_equal(r.out, expected);
    process_free(&r);
}

/* A has widths 8, 128, 16 and B 8, 16, each with three seeds, whose widths are neighbours: configurations 0 to 8 and
 * 9 to 14. */
static void rows_are_configurations(void **state)
{
    struct gnn_paper_figure *figure = NULL;
    struct gnn_err err = {0};
    must(open_text(*state,
                   CELLS ABOUT "y = first, epoch_s@2, twice, runs\nlayout = across\nrows = series, dim\norder = dim "
                               "desc\nover = seed\n[metrics]\nfirst = epoch_s@0 * 100 / 115\ntwice = 2 * first\n",
                   &figure, &err),
         &err);
    for (uint32_t seed = 0; seed < 3; seed++) {
        give_run(figure, 3 * seed, 1 + seed);      /* A, 8 */
        give_run(figure, 3 * seed + 1, 10 + seed); /* A, 128 */
    }
    give_run(figure, 2, 20)->status = GNN_RUN_OOM; /* A, 16: the epochs before the end have their values */
    give_run(figure, 5, 22);
    give_run(figure, 9, 5)->valid = 0; /* B, 8 */
    char *const table = table_of(figure);
    assert_string_equal(table, "\n| series | dim | first | epoch_s@2 | twice | runs |\n|---|---|---|---|---|---|\n"
                               "| A | 128 | 11 (10 to 12) | 22 (20 to 24) | 22 (20 to 24) | 3 |\n"
                               "| A | 16 | 21 (20 to 22), 1 not run | 42 (40 to 44), 1 not run | 42 (40 to 44), 1 not "
                               "run | 1 |\n"
                               "| B | 16 | not run | not run | not run | not run |\n"
                               "| A | 8 | 2 (1 to 3) | 4 (2 to 6) | 4 (2 to 6) | 3 |\n"
                               "| B | 8 | invalid | invalid | invalid | 0 |\n");
    free(table);
    expect_csv(
        figure, *state,
        "series,x,dim,status,runs,first,first_least,first_most,first_published,first_source,first_drawn,epoch_s@2,"
        "epoch_s@2_least,epoch_s@2_most,epoch_s@2_published,epoch_s@2_source,epoch_s@2_drawn,twice,twice_least,twice_"
        "most,twice_published,twice_source,twice_drawn,runs,runs_least,runs_most,runs_published,runs_source,runs_"
        "drawn\n"
        "A,,128,ok,3,11,10,12,,,,22,20,24,,,,22,20,24,,,,3,3,3,,,\n"
        "A,,16,ok,2,21,20,22,,,,42,40,44,,,,42,40,44,,,,1,1,1,,,\n"
        "B,,16,not run,0,,,,,,,,,,,,,,,,,,,,,,,,\n"
        "A,,8,ok,3,2,1,3,,,,4,2,6,,,,4,2,6,,,,3,3,3,,,\n"
        "B,,8,invalid,0,,,,,,,,,,,,,,,,,,,0,0,0,,,\n");
    (void)snprintf(figure->about.average, sizeof figure->about.average, "mean");
    give_run(figure, 8, 27);
    const struct gnn_figure_value mean = gnn_figure_value_at(figure, "first", 0, figure->cells[8].at);
    assert_float_equal(mean.median, 23, 1e-6);
    assert_float_equal(mean.most, 27, 1e-6);
    char caption[2000];
    gnn_figure_caption(figure, caption, sizeof caption);
    must_show(caption, "Mean and range over seed. One run per configuration");
    gnn_figure_close(figure);
}

/* A key that names no row multiplies the columns; a column or row without anything is left out. */
static void other_keys_are_columns(void **state)
{
    struct gnn_paper_figure *figure = NULL;
    struct gnn_err err = {0};
    must(
        open_text(*state,
                  "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = cora\n[A]\nsystem = null\ndim = "
                  "16, 8\n[B]\nsystem = null\ndim = 8\nhidden = 32\n" ABOUT
                  "y = epoch_s@1, over_a, over_a@1\nlayout = across\nrows = dim\nfacets = hidden\norder = dim , hidden "
                  "desc\n[metrics]\nover_a = epoch_s / epoch_s@1[A, hidden=256]\nof_a = epoch_s / epoch_s[A]\nof_b = "
                  "epoch_s / epoch_s[B]\nb_of_a = epoch_s / epoch_s[A, hidden=256]\n[holds]\n"
                  "slower = over_a[B] > 1\nequal = of_a@1[A] = 1\n",
                  &figure, &err),
        &err);
    static const struct gnn_tolerances tolerances = {.about = 1.25, .flat = 1.15, .noise = 1.02};
    struct gnn_figure_verdicts verdicts = {.held = 0};
    struct gnn_run_record *const run_of_a = give_run(figure, 1, 2);
    give_run(figure, 2, 6);
    char *const table = table_of(figure);
    assert_string_equal(
        table, "\n| dim | hidden=256: A: epoch_s@1 | hidden=256: A: over_a | hidden=256: A: over_a@1 | hidden=32: B: "
               "epoch_s@1 | hidden=32: B: over_a | hidden=32: B: over_a@1 |\n|---|---|---|---|---|---|---|\n"
               "| 8 | 2 | 1.5 | 1 | 6 | 4.5 | 3 |\n| 16 | not run | not run | not run |  |  |  |\n");
    free(table);
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    assert_non_null(out);
    must(gnn_figure_judge(figure, &tolerances, out, &verdicts, &err), &err);
    assert_int_equal(fclose(out), 0);
    must_show(text, "holds           slower: over_a[B] > 1\n      judged: 1\n      hidden=32, dim=8: 4.5 > 1");
    must_show(text, "not measurable  equal"); /* epoch 1 over the median would be no ratio */
    free(text);
    gnn_figure_verdicts_close(&verdicts);
    const uint32_t *const at = figure->cells[1].at; /* of A: B has nothing there */
    assert_int_equal(gnn_figure_value_at(figure, "of_a", 0, at).state, GNN_VALUE_KNOWN);
    assert_int_equal(gnn_figure_value_at(figure, "of_b", 0, at).state, GNN_VALUE_NONE);
    run_of_a->status = GNN_RUN_OOM;
    const struct gnn_figure_value found = gnn_figure_value_at(figure, "b_of_a", 1, figure->cells[2].at);
    assert_int_equal(found.state, GNN_VALUE_WORD);
    assert_string_equal(found.word, "-");
    gnn_figure_close(figure);
}

/* Repetitions and values of the key count alike; without `over` the first configuration of a place is shown. */
static void values_over_a_key_are_pooled(void **state)
{
    struct gnn_paper_figure *figure = NULL;
    struct gnn_err err = {0};
    const uint32_t at[GNN_AXES_MAX] = {0};
    must(open_text(*state, CELLS ABOUT "x = dim\ny = epoch_s@1\nover = seed\n", &figure, &err), &err);
    for (uint32_t seed = 0; seed < 3; seed++)
        give_run(figure, 3 * seed, 1 + seed * seed);
    struct gnn_figure_value found = gnn_figure_value_at(figure, "epoch_s@1", 0, at);
    assert_float_equal(found.median, 2, 1e-6);
    assert_float_equal(found.least, 1, 1e-6);
    assert_float_equal(found.most, 5, 1e-6);
    assert_int_equal(found.runs, 3);
    assert_int_equal(found.lost, 0);
    assert_float_equal(gnn_figure_value_at(figure, "runs", 0, at).median, 3, 0);
    figure->about.over[0] = '\0';
    found = gnn_figure_value_at(figure, "epoch_s@1", 0, at);
    assert_float_equal(found.most, 1, 1e-6);
    assert_int_equal(found.runs, 1);
    gnn_figure_close(figure);
}

/* All metrics are those of the configuration with the smallest first one, and runs without a number do not count. */
static void the_best_is_shown(void **state)
{
    struct gnn_paper_figure *figure = NULL;
    struct gnn_err err = {0};
    const uint32_t at[GNN_AXES_MAX] = {0};
    must(open_text(*state,
                   CELLS ABOUT "x = dim\ny = epoch_s, epoch_s@2\nover = seed, hidden\naverage = best\n"
                               "[C]\nsystem = null\nhidden = 4\n",
                   &figure, &err),
         &err);
    struct gnn_figure_value found = gnn_figure_value_at(figure, "epoch_s@2", 0, at);
    assert_string_equal(found.word, "not run");
    give_run(figure, 0, 1)->status = GNN_RUN_OOM;
    give_run(figure, 3, 5);
    give_run(figure, 6, 3);
    found = gnn_figure_value_at(figure, "epoch_s@2", 0, at);
    assert_float_equal(found.median, 6, 1e-6);
    assert_int_equal(found.runs, 1);
    assert_int_equal(found.lost, 0);
    figure->cells[3].runs->status = figure->cells[6].runs->status = GNN_RUN_OOM;
    assert_string_equal(gnn_figure_value_at(figure, "epoch_s", 0, at).word, "OOM");
    gnn_figure_close(figure);
}

/* Names of x would run into each other: of 23 all are shown, of 49 every third. */
static void many_values_of_x_share_names(void **state)
{
    for (int count = 23; count <= 49; count += 26) {
        struct gnn_paper_figure *figure = NULL;
        struct gnn_err err = {0};
        char text[400];
        (void)snprintf(text, sizeof text,
                       "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = cora\nsystem = null\n[A]\n"
                       "dim = 1..%d\n[figure]\npaper = p\nplace = Figure 1\ntitle = t\nchart = lines\nx = dim\n"
                       "y = epoch_s\n",
                       count);
        must(open_text(*state, text, &figure, &err), &err);
        const enum gnn_status status = gnn_figure_draw(figure, *state, &err);
        if (status != GNN_ENOTSUP) /* no gnuplot */
            must(status, &err);
        struct process_result r = process_shell("grep 'set xtics' %s/fig.gp", (const char *)*state);
        assert_non_null(strstr(r.out, count == 23 ? "(\"1\" 0, \"2\" 1, " : "(\"1\" 0, \"4\" 3, "));
        assert_non_null(strstr(r.out, count == 23 ? ", \"23\" 22)" : ", \"49\" 48)"));
        process_free(&r);
        gnn_figure_close(figure);
    }
}

/* As many as a figure may have, and one more. */
/* A picture has fewer series than a table, and says so before the first run. */
static void a_picture_has_a_style_for_each_series(void **state)
{
    for (int series = 16; series < 18; series++) {
        char text[4096] = "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = cora\nsystem = null\n";
        struct gnn_paper_figure *figure = NULL;
        struct gnn_err err = {0};
        for (int s = 0; s < series; s++)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "[S%d]\ndim = 8\n", s);
        (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                       "[figure]\npaper = p\nplace = Figure 1\ntitle = T\nchart = bars\nx = dim\ny = epoch_s\n");
        const enum gnn_status status = open_text(*state, text, &figure, &err);
        assert_int_equal(status, series == 16 ? GNN_OK : GNN_EUSAGE);
        if (status != GNN_OK)
            must_show(err.message, "17 series in one picture, but a reader can distinguish at most 16");
        gnn_figure_close(figure);
    }
}

static void limits_are_large_enough(void **state)
{
    struct gnn_paper_figure *figure = NULL;
    for (int series = 32; series < 34; series++) {
        char text[4096] = "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = cora\nsystem = null\n";
        struct gnn_err err = {0};
        for (int s = 0; s < series; s++)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "[S%d]\ndim = 8\n", s);
        (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                       ABOUT "y = epoch_s\nlayout = across\nrows = series\n");
        const enum gnn_status status = open_text(*state, text, &figure, &err);
        assert_int_equal(status, series == 32 ? GNN_OK : GNN_EUSAGE);
        if (status == GNN_OK)
            gnn_figure_close(figure);
        else
            must_show(err.message, "more than 32 series");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(mistakes_are_named, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(rows_are_configurations, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(other_keys_are_columns, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(values_over_a_key_are_pooled, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(the_best_is_shown, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(many_values_of_x_share_names, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(a_picture_has_a_style_for_each_series, process_dir_set_up,
                                        process_dir_tear_down),
        cmocka_unit_test_setup_teardown(limits_are_large_enough, process_dir_set_up, process_dir_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
