/* SPDX-License-Identifier: MIT */
/* Published values beside runs of any scale: times and sizes are divided as the graph is, shares and ratios are not. */
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

enum { SCALE = 100 };

static void the_unit_says_what_shrinks(void **state)
{
    (void)state;
    static const struct {
        const char *metric;
        bool shrinks;
    } cases[] = {
        {"epoch_s", true},
        {"epoch_min", true},
        {"epoch_s@0", true},
        {"own.timed_ns", true},
        {"read_gib", true},
        {"own.placed_bytes", true},
        {"reads", true},
        {"asks", true},
        {"reads.4K", true},
        {"nodes", true},
        {"edges", true},
        {"target_s", true},
        {"io_wait_pct", false},
        {"bound_ratio", false},
        {"series.read_gbps", false},
        {"read_kib", false},
        {"accuracy_pct.3", false},
        {"mrr", false},
        {"dim", false},
        {"oom", false},
        {"target_epochs", false},
        {"fio.read_us", false},
        {"own.states", false},
        {"own.latency_p90_ns", false},
        {"own.io_p50_permille", false},
        {"readers", false},
        {"_s", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (gnn_metric_shrinks(cases[i].metric) != cases[i].shrinks)
            fail_msg("%s: %s", cases[i].metric, cases[i].shrinks ? "does not shrink" : "shrinks");
}

#define ROW(id, system, dim, metric, value, source)                                                                    \
    id "," system ",,,,dim=" dim "," metric "," value ",s,,exact," source "\n"

/* A figure of one system and of a series that the paper alone has, whose times are printed in two places. */
static struct gnn_paper_figure *open_figure(const char *dir, uint32_t divisor, const char *more)
{
    static const char text[] =
        "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = twitter\ndim = 64, 128\n[A]\nsystem = "
        "gnndrive\npublished = P\n[Peer]\npublished = Q\n[figure]\npaper = p\nplace = Figure 1\ntitle = t\nchart = "
        "bars\nx = dim\ny = epoch_s, io_wait_pct\npublished = time, share\npublished_also = tab\n";
    static const char rows[] =
        "figure_id,system,variant,dataset,model,parameter,metric,value,unit,baseline,relation,source\n" ROW(
            "fig", "P", "64", "time", "12.5", "Table 1") ROW("fig", "P", "64", "share", "40", "Table 1")
            ROW("tab", "P", "128", "time", "25", "Table 2") ROW("other", "Q", "64", "time", "1", "Table 3")
                ROW("fig", "Q", "64", "time", "50", "Table 1") ROW("fig", "Q", "128", "time", "OOM", "Table 1");
    char path[1100], published[1100];
    struct gnn_paper_figure *figure;
    struct gnn_err err = {0};
    process_write_file(dir, "fig.ini", 0644, "%s%s", text, more);
    process_write_file(dir, "p.csv", 0644, "%s", rows);
    (void)snprintf(path, sizeof path, "%s/fig.ini", dir);
    (void)snprintf(published, sizeof published, "%s/p.csv", dir);
    const struct gnn_figure_setup setup = {.scale_divisor = divisor,
                                           .db = "x.db",
                                           .data_dir = "data",
                                           .world = GNN_WORLD_SIMULATED,
                                           .published_path = published};
    must(gnn_figure_open(path, &setup, &figure, &err), &err);
    figure->cells[0].runs = calloc(1, sizeof *figure->cells[0].runs);
    assert_non_null(figure->cells[0].runs);
    fake_run(&figure->cells[0].runs[0], "gnndrive", 10, 2, 1);
    figure->cells[0].run_count = 1;
    return figure;
}

static char *table_of(const struct gnn_paper_figure *figure)
{
    char *text = NULL;
    size_t bytes;
    FILE *const out = open_memstream(&text, &bytes);
    assert_non_null(out);
    gnn_figure_table(figure, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static char *read_file(const char *dir, const char *name)
{
    struct process_result r = process_shell("cat %s/%s", dir, name);
    char *const text = strdup(r.out);
    process_free(&r);
    assert_non_null(text);
    return text;
}

/* The printed value stands in brackets, with what it is divided by; shares and words are as printed. */
static void a_table_has_what_is_printed(void **state)
{
    char caption[2000];
    struct gnn_paper_figure *figure = open_figure(*state, SCALE, "");
    char *text = table_of(figure);
    must_show(text, "[12.5 / 100] | not run [25 / 100] |");
    must_show(text, "| Peer |  [50 / 100] |  [OOM] |");
    must_show(text, " [40] |");
    must_show(text, "so published times and sizes are divided by 100]");
    gnn_figure_caption(figure, caption, sizeof caption);
    must_show(caption, "Published values from the paper: Figure 1 and tab, times and sizes divided by 100.");
    free(text);
    gnn_figure_close(figure);
    figure = open_figure(*state, 1, "");
    text = table_of(figure);
    must_show(text, "[12.5] | not run [25] |");
    must_show(text, "[in brackets: as published]");
    gnn_figure_close(figure);
    free(text);
}

/* One table with a column for each metric shows the same. */
static void a_table_across_has_it_too(void **state)
{
    struct gnn_paper_figure *const figure = open_figure(*state, SCALE, "layout = across\nrows = series, dim\n");
    char *const text = table_of(figure);
    must_show(text, "| series | dim | epoch_s | io_wait_pct |\n");
    must_show(text, " [12.5 / 100] | ");
    must_show(text, " [40] |\n| A | 128 | not run [25 / 100] | not run |\n");
    must_show(text, "| Peer | 64 |  [50 / 100] |  |\n| Peer | 128 |  [OOM] |  |\n");
    must_show(text, "so published times and sizes are divided by 100]");
    free(text);
    gnn_figure_close(figure);
}

/* The CSV file has the printed value and the drawn one; no number is drawn for a word. */
static void a_csv_file_has_both(void **state)
{
    struct gnn_err err = {0};
    struct gnn_paper_figure *const figure = open_figure(*state, SCALE, "");
    must(gnn_figure_csv(figure, *state, &err), &err);
    char *const text = read_file(*state, "fig.csv");
    must_show(text, "epoch_s_published,epoch_s_source,epoch_s_drawn,io_wait_pct,");
    must_show(text, ",12.5,Table 1,0.125,");
    must_show(text, ",40,Table 1,40\n");
    must_show(text, "A,128,not run,0,,,,25,Table 2,0.25,,,,,,\n");
    must_show(text, "Peer,128,,0,,,,OOM,Table 1,,,,,,,\n");
    free(text);
    gnn_figure_close(figure);
}

/* A series of the paper alone is drawn at every scale, its words in brackets. */
static void a_picture_has_what_the_paper_alone_has(void **state)
{
    static const struct {
        uint32_t divisor;
        const char *key, *line;
    } cases[] = {{SCALE, "published_name = \"published / 100\"", "\t0.25\tnot run\tNaN\tNaN\tNaN\tNaN\t[OOM]\t."},
                 {1, "published_name = \"published\"", "\t25\tnot run\tNaN\tNaN\tNaN\tNaN\t[OOM]\t."}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_err err = {0};
        struct gnn_paper_figure *const figure = open_figure(*state, cases[i].divisor, "");
        const enum gnn_status status = gnn_figure_draw(figure, *state, &err);
        if (status != GNN_ENOTSUP)
            must(status, &err);
        char *const data = read_file(*state, "fig.dat"), *const script = read_file(*state, "fig.gp");
        must_show(data, cases[i].line);
        must_show(script, cases[i].key);
        must_show(script, "names[2] = \"Peer\"");
        free(data);
        free(script);
        gnn_figure_close(figure);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_unit_says_what_shrinks),
        cmocka_unit_test_setup_teardown(a_table_has_what_is_printed, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(a_table_across_has_it_too, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(a_csv_file_has_both, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(a_picture_has_what_the_paper_alone_has, process_dir_set_up,
                                        process_dir_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
