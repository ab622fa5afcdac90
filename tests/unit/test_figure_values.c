/* SPDX-License-Identifier: MIT */
/* What figures show of runs and of papers: metrics, medians of repetitions, published values, predicates and ratios. */
#include "harness/cli/merit.h"
#include "harness/figure/figure.h"
#include "harness/figure/metric.h"
#include "harness/figure/ratio.h"
#include "harness/figure/show.h"
#include "harness/figure/values.h"
#include "tests/support/fake_run.h"
#include "tests/support/figures.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ABOUT "[figure]\npaper = p\nplace = Figure 1\ntitle = t\nchart = bars\nx = dim\n"
#define PUBLISHED_ROW(dim, value, relation) "fig,P,,,,dim=" dim ",time," value ",s,," relation ",Table 1\n"

/* ---- metrics ---- */

static void metrics_are_those_of_later_epochs(void **state)
{
    (void)state;
    struct gnn_run_record run;
    struct gnn_err err = {0};
    fake_run(&run, "gnndrive", 10, 3, 1);
    for (uint32_t e = 0; e < 3; e++)
        run.epochs[e].wall_ns = (e + 1) * UINT64_C(1000000000);
    assert_float_equal(gnn_metric_of(&run, "epoch_s"), 2.5, 1e-9);
    assert_float_equal(gnn_metric_of(&run, "first_epoch_s"), 1, 1e-9);
    run.epochs[2].prepare_ns = run.epochs[1].prepare_ns = 500000000;
    assert_float_equal(gnn_metric_of(&run, "prepare_pct"), (float)20.8333333, 1e-5);
    run.epochs[2].complete = 0; /* it prepares no next one */
    assert_float_equal(gnn_metric_of(&run, "epoch_s"), 2, 1e-9);
    assert_float_equal(gnn_metric_of(&run, "first_epoch_s"), 1, 1e-9);
    fake_figure(&run.epochs[1], "hyperbatches", 5);
    fake_figure(&run.epochs[2], "hyperbatches", 4);
    assert_float_equal(gnn_metric_of(&run, "own.hyperbatches"), 5, 0);
    run.epochs[1].complete = 0;
    assert_true(isnan(gnn_metric_of(&run, "epoch_s")));
    assert_float_equal(gnn_metric_of(&run, "own.hyperbatches"), 4, 0);
    run.epoch_count = 1;
    assert_float_equal(gnn_metric_of(&run, "epoch_s"), 1, 1e-9);
    must(gnn_kv_set(&run.environment, "dataset.nodes", "1000", &err), &err);
    run.dim = 256;
    run.dataset_bytes = 1000 * 256 * 4 + 4096;
    assert_float_equal(gnn_metric_of(&run, "topology_gib") * 1024 * 1024 * 1024, 4096, 1e-3);
    const double wide_gib = gnn_metric_of(&run, "feature_gib");
    must(gnn_kv_set(&run.config, "feature-type", "f16", &err), &err);
    assert_float_equal(gnn_metric_of(&run, "feature_gib"), wide_gib / 2, 1e-12);
    assert_float_equal(gnn_metric_of(&run, "before_s"), 1.5, 1e-9);
    assert_float_equal(gnn_metric_of(&run, "before_read_gib") * 1024, 35, 1e-9);
    assert_float_equal(gnn_metric_of(&run, "before_written_gib") * 1024, 3, 1e-9);
    run.before.device_write_bytes = GNN_UNKNOWN;
    assert_true(isnan(gnn_metric_of(&run, "before_written_gib")));
    assert_true(isnan(gnn_metric_of(&run, "own.no_such_figure")));
    assert_float_equal(gnn_metric_of(&run, "oom"), 0, 0);
    run.status = GNN_RUN_OOM;
    assert_float_equal(gnn_metric_of(&run, "oom"), 1, 0);
    assert_true(isnan(gnn_metric_of(&run, "epoch_s")));
    run.status = GNN_RUN_OOT;
    assert_float_equal(gnn_metric_of(&run, "oom"), 0, 0);
    assert_float_equal(gnn_metric_of(&run, "oot"), 1, 0);
    static const enum gnn_run_status no_end[] = {GNN_RUN_FAILED, GNN_RUN_INVALID, GNN_RUN_INTERRUPTED};
    for (size_t i = 0; i < sizeof no_end / sizeof *no_end; i++) {
        run.status = no_end[i]; /* a run that failed has not finished */
        assert_true(isnan(gnn_metric_of(&run, "oom")));
        assert_true(isnan(gnn_metric_of(&run, "oot")));
    }
    run.status = GNN_RUN_OK;
    run.valid = 0; /* neither has one that is invalid */
    assert_true(isnan(gnn_metric_of(&run, "oom")));
    assert_false(gnn_metric_known("epoch"));
    assert_false(gnn_metric_known("own."));
    gnn_run_record_free(&run);
}

static void accuracies_are_those_of_their_epochs(void **state)
{
    (void)state;
    struct gnn_run_record run;
    fake_run(&run, "agnes", 10, 2, 1);
    assert_float_equal(gnn_metric_of(&run, "accuracy_pct.1"), 61, 1e-9);
    assert_float_equal(gnn_metric_of(&run, "accuracy_pct.2"), 62, 1e-9);
    assert_true(isnan(gnn_metric_of(&run, "accuracy_pct.3")));
    assert_false(gnn_metric_known("accuracy_pct.0"));
    assert_false(gnn_metric_known("accuracy_pct."));
    assert_false(gnn_metric_known("accuracy_pct.x"));
    assert_true(gnn_metric_of_accuracy("accuracy_pct.2"));
    assert_false(gnn_metric_of_accuracy("epoch_s"));
    gnn_run_record_free(&run);
}

static void work_and_waits_are_shares_of_the_workers_time(void **state)
{
    (void)state;
    struct gnn_run_record run;
    fake_run(&run, "pygplus", 10, 2, 1); /* of seven workers two, four and one are in a stage */
    assert_float_equal(gnn_metric_of(&run, "io_wait_pct"), (float)(100 * (2 * 0.55 + 4 * 0.6) / 7), 1e-4);
    assert_float_equal(gnn_metric_of(&run, "work_pct"), (float)(100 * (2 * 0.25 + 4 * 0.1 + 0.3) / 7), 1e-4);
    run.epochs[1].stages[0].work_ns = GNN_UNKNOWN;
    assert_true(isnan(gnn_metric_of(&run, "work_pct")));
    gnn_run_record_free(&run);
}

/* A class without requests is not in the record: none, where the run has sizes, and unknown where it has not. */
static void requests_are_told_by_size(void **state)
{
    (void)state;
    struct gnn_run_record run;
    fake_run(&run, "ginex", 10, 2, 1);
    assert_true(isnan(gnn_metric_of(&run, "reads.4K")));
    fake_figure(&run.epochs[0], "device_reads_to_8K", 5); /* an earlier epoch's */
    fake_figure(&run.epochs[1], "device_reads_to_4K", 7);
    fake_figure(&run.epochs[1], "device_read_bytes_max", 4096);
    fake_figure(&run.epochs[1], "reads_to_512", 3);
    assert_float_equal(gnn_metric_of(&run, "reads.4K"), 7, 0);
    assert_float_equal(gnn_metric_of(&run, "reads.8K"), 0, 0);
    assert_true(isnan(gnn_metric_of(&run, "asks.512")));
    fake_figure(&run.epochs[1], "read_bytes_max", 512);
    assert_float_equal(gnn_metric_of(&run, "asks.512"), 3, 0);
    run.epochs[1].complete = 0; /* none counts: the last */
    assert_float_equal(gnn_metric_of(&run, "asks.512"), 3, 0);
    assert_float_equal(gnn_metric_of(&run, "asks.4G"), 0, 0);
    assert_false(gnn_metric_known("reads.3K"));
    assert_false(gnn_metric_known("reads."));
    assert_false(gnn_metric_known("bytes.4K"));
    gnn_run_record_free(&run);
}

/* Means of the series go by the length of its intervals; those of waits leave out where I/O wait is below the mean. */
static void the_series_has_metrics(void **state)
{
    (void)state;
    static const struct gnn_series_point points[] = {
        {.interval_ns = 3000, .cpu_pct = 40, .iowait_pct = 10, .gpu_busy_pct = 80, .disk_read_bytes_per_s = 1e9},
        {.interval_ns = 1000, .cpu_pct = 20, .iowait_pct = 50, .gpu_busy_pct = 0, .disk_read_bytes_per_s = 2.5e9},
    };
    struct gnn_run_record run;
    struct gnn_err err = {0};
    fake_run(&run, "gnndrive", 10, 1, 1);
    run.series_count = 0;
    assert_true(isnan(gnn_metric_of(&run, "series.cpu_pct")));
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        must(gnn_run_record_add_point(&run, &points[i], &err), &err);
    assert_float_equal(gnn_metric_of(&run, "series.cpu_pct"), 35, 1e-9);
    assert_float_equal(gnn_metric_of(&run, "series.iowait_pct"), 20, 1e-9);
    assert_float_equal(gnn_metric_of(&run, "series.gpu_busy_pct"), 60, 1e-9);
    assert_float_equal(gnn_metric_of(&run, "waits.cpu_pct"), 20, 1e-9);
    assert_float_equal(gnn_metric_of(&run, "waits.gpu_busy_pct"), 0, 1e-9);
    assert_float_equal(gnn_metric_of(&run, "series.read_gbps"), 2.5, 1e-9);
    assert_true(isnan(gnn_metric_of(&run, "target_s"))); /* a figure's, not a run's */
    gnn_run_record_free(&run);
}

/* What ran of a part of an epoch stands for the whole. */
static void parts_are_told_as_wholes(void **state)
{
    (void)state;
    struct gnn_run_record run;
    struct gnn_err err = {0};
    fake_run(&run, "gnndrive", 10, 1, 1);
    struct gnn_record_epoch *const epoch = &run.epochs[0];
    must(gnn_kv_set(&run.environment, GNN_ENVIRONMENT_WHOLE_BATCHES, "120", &err), &err);
    epoch->counters.batches = 30;
    epoch->counters.device_read_ios = 500;
    epoch->stage_count = 1;
    epoch->stages[0] = (struct gnn_record_stage){
        .stage = "sample", .workers = 4, .wall_ns = UINT64_C(9000000000), .wait_queue_ns = UINT64_C(1000000000)};
    epoch->figure_count = 0;
    assert_float_equal(gnn_metric_of(&run, "reads"), 500, 0);
    assert_float_equal(gnn_metric_of(&run, "sampling_s"), 2, 1e-9);
    epoch->figures[epoch->figure_count++] =
        (struct gnn_record_figure){.name = GNN_FIGURE_FULL_EPOCH, .value = UINT64_C(77000000000)};
    assert_float_equal(gnn_metric_of(&run, "epoch_s"), 77, 1e-9);
    assert_float_equal(gnn_metric_of(&run, "reads"), 2000, 0);
    assert_float_equal(gnn_metric_of(&run, "sampling_s"), 8, 1e-9);
    fake_figure(epoch, GNN_FIGURE_FULL_EPOCH_SETTLED, 1);
    assert_float_equal(gnn_metric_of(&run, "epoch_s"), 77, 1e-9);
    gnn_run_record_free(&run);
}

/* Whatever is extrapolated from the part, or is of the part alone. */
static void a_part_that_is_not_settled_has_no_metrics(void **state)
{
    (void)state;
    static const char *const names[] = {"epoch_s",     "first_epoch_s",  "reads",         "sampling_s", "read_kib",
                                        "io_wait_pct", "series.cpu_pct", "own.page_hits", "reads.4K"};
    struct gnn_run_record run;
    fake_run(&run, "gnndrive", 10, 2, 1);
    fake_figure(&run.epochs[1], GNN_FIGURE_FULL_EPOCH, UINT64_C(77000000000));
    fake_figure(&run.epochs[1], GNN_FIGURE_FULL_EPOCH_SETTLED, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(isnan(gnn_metric_of(&run, names[i])));
    assert_float_equal(gnn_metric_of(&run, "oom"), 0, 0);
    gnn_run_record_free(&run);
}

/* ---- values of runs and of papers ---- */

/* A figure of two series with published times at 64, at 128 up to so much, at 256 a word. `more`: keys of [figure]. */
static struct gnn_paper_figure *open_published_as(const char *dir, const char *name, const char *more)
{
    struct gnn_paper_figure *figure;
    struct gnn_err err = {0};
    char text[1024];
    (void)snprintf(text, sizeof text, "%s%s",
                   "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = twitter\n"
                   "dim = 64, 128, 256, 512\n[A]\nsystem = gnndrive\npublished = P\n[B]\n"
                   "system = pygplus\n" ABOUT "y = epoch_s, reads\npublished = time, -\n",
                   more);
    char *const path = figure_file(dir, name, text);
    char *const published =
        figure_file(dir, "p.csv",
                    PUBLISHED_HEADING PUBLISHED_ROW("64", "12.5", "exact") PUBLISHED_ROW("128", "20", "up_to")
                        PUBLISHED_ROW("128", "21", "about") PUBLISHED_ROW("128", "22", "at_least")
                            PUBLISHED_ROW("256", "OOM", "exact") PUBLISHED_ROW("512", "7..9", "range"));
    const struct gnn_figure_setup setup = {.scale_divisor = 100,
                                           .db = "x.db",
                                           .data_dir = "data",
                                           .world = GNN_WORLD_SIMULATED,
                                           .published_path = published};
    must(gnn_figure_open(path, &setup, &figure, &err), &err);
    free(path);
    free(published);
    return figure;
}

static struct gnn_paper_figure *open_with_published(const char *dir)
{
    return open_published_as(dir, "fig.ini", "");
}

/* A part of a figure can have a file of its own: its values are published under the ID of the whole. */
static void values_are_published_under_another_id(void **state)
{
    static const struct {
        const char *name, *more;
        bool found;
    } cases[] = {{"part.ini", "", false},
                 {"part.ini", "paper_id = other\n", false},
                 {"part.ini", "paper_id = fig\n", true},
                 {"fig.ini", "paper_id = other\n", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_paper_figure *const figure = open_published_as(*state, cases[i].name, cases[i].more);
        const uint32_t at = 0;
        assert_int_equal(gnn_figure_published(figure, 0, 0, &at) != NULL, cases[i].found);
        gnn_figure_close(figure);
    }
}

/* Only what is printed exactly stands in brackets: a bound is not a value. */
static void bounds_are_not_shown_as_values(void **state)
{
    struct gnn_paper_figure *const figure = open_with_published(*state);
    static const char *const shown[] = {"12.5", NULL, "OOM", NULL};
    for (uint32_t at = 0; at < 4; at++) {
        const struct gnn_published_row *const row = gnn_figure_published(figure, 0, 0, &at);
        if (shown[at] == NULL)
            assert_null(row);
        else
            assert_string_equal(row->value, shown[at]);
        assert_null(gnn_figure_published(figure, 1, 0, &at)); /* the metric has none */
        assert_null(gnn_figure_published(figure, 0, 1, &at)); /* the series has none */
    }
    gnn_figure_close(figure);
}

/* Gives a configuration its repetitions, one run for each time of a later epoch in seconds. */
static void give_runs(struct gnn_figure_cell *cell, const double *seconds, uint32_t count)
{
    cell->runs = calloc(count, sizeof *cell->runs);
    assert_non_null(cell->runs);
    cell->run_count = count;
    for (uint32_t i = 0; i < count; i++)
        fake_run(&cell->runs[i], "gnndrive", seconds[i], 2, i);
}

static void the_median_of_repetitions_counts(void **state)
{
    struct gnn_paper_figure *const figure = open_with_published(*state);
    static const double seconds[] = {9, 4, 5};
    const uint32_t at = 0;
    give_runs(&figure->cells[0], seconds, 3);
    struct gnn_figure_value found = gnn_figure_value_at(figure, "epoch_s", 0, &at);
    assert_int_equal(found.state, GNN_VALUE_KNOWN);
    assert_float_equal(found.median, 5, 1e-9);
    assert_float_equal(found.least, 4, 1e-9);
    assert_float_equal(found.most, 9, 1e-9);
    assert_int_equal(found.runs, 3);
    figure->cells[0].runs[2].valid = 0; /* the newest run, which decides whether there is a number */
    found = gnn_figure_value_at(figure, "epoch_s", 0, &at);
    assert_int_equal(found.state, GNN_VALUE_MISSING);
    assert_string_equal(found.word, "invalid");
    figure->cells[0].runs[2].status = GNN_RUN_OOM;
    figure->cells[0].runs[2].valid = -1;
    found = gnn_figure_value_at(figure, "epoch_s", 0, &at);
    assert_int_equal(found.state, GNN_VALUE_WORD);
    assert_string_equal(found.word, "OOM");
    gnn_figure_close(figure);
}

static void predicates_have_published_values(void **state)
{
    struct gnn_paper_figure *const figure = open_with_published(*state);
    static const double seconds[] = {12}, slow[] = {30};
    static const struct gnn_tolerances tolerances = {.about = 1.25, .flat = 1.15, .noise = 1.02};
    static const struct {
        const char *text;
        enum gnn_verdict_of_predicate verdict;
        uint32_t judged, missing;
    } cases[] = {
        {"epoch_s[A] ~ published.epoch_s[A]", GNN_HOLDS, 1, 0}, /* of the others no value is printed */
        {"epoch_s[B, dim=64] ~ published.epoch_s[A, dim=64]", GNN_HOLDS_NOT, 1, 0},
        {"epoch_s[B] / epoch_s[A] > 25 / published.epoch_s[A]", GNN_HOLDS, 1, 0},
        {"published.epoch_s[B] = 1", GNN_NOT_MEASURABLE, 0, 0},
        {"published.epoch_s[A, dim=128] = 20", GNN_NOT_MEASURABLE, 0, 0},
    };
    struct gnn_predicate *const predicate = malloc(sizeof *predicate);
    struct gnn_value_source source;
    struct gnn_err err = {0};
    assert_non_null(predicate);
    give_runs(&figure->cells[0], seconds, 1);
    give_runs(&figure->cells[4], slow, 1);
    gnn_figure_values(figure, &source);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_outcome outcome;
        must(gnn_predicate_parse(cases[i].text, &source, predicate, &err), &err);
        gnn_predicate_judge(predicate, &source, &tolerances, NULL, NULL, &outcome);
        if (outcome.verdict != cases[i].verdict || outcome.judged != cases[i].judged ||
            outcome.missing != cases[i].missing)
            fail_msg("%s: verdict %d, %u judged, %u missing", cases[i].text, (int)outcome.verdict, outcome.judged,
                     outcome.missing);
    }
    static const char *const none[] = {"published.reads[A] = 1", "published.speed[A] = 1", "published.[A] = 1"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(gnn_predicate_parse(none[i], &source, predicate, &err), GNN_EUSAGE);
    free(predicate);
    gnn_figure_close(figure);
}

/* ---- ratios ---- */

#define PRINTED(metric, value, unit, relation) "fig,,,,,," metric "," value "," unit ",," relation ",Table 2\n"

/* A ratio compares what a run measured with what is printed. That two things are alike is printed nowhere; sizes of a
 * dataset are chosen here. */
static void ratios_are_known_as_such(void **state)
{
    static const struct {
        const char *text;
        bool is_ratio, is_quotient, is_each;
    } cases[] = {
        {"epoch_s[A] / epoch_s[B] ~ 16.9", true, true, false},
        {"max(epoch_s[A] / epoch_s[B]) ~ 8.5", true, true, false},
        {"epoch_s[A] ~ 46.1", true, false, false},
        {"epoch_s[A] ~ 100 - 46.1", true, false, false},
        {"epoch_s[A] / epoch_s[B] ~ 30.5 / 46.1", true, true, false},
        {"epoch_s[A] ~ published.epoch_s[A]", true, false, true},
        {"epoch_s[A] / reads[A] ~ published.epoch_s[A] / published.reads[A]", true, true, true},
        {"epoch_s[A] / epoch_s[B] ~ 1", false, false, false}, /* printed for something else */
        {"epoch_s[A] / epoch_s[B] ~ 17", false, false, false},
        {"epoch_s[A] / epoch_s[B] ~ 6", false, false, false},  /* printed as a bound */
        {"epoch_s[A] / epoch_s[B] ~ 64", false, false, false}, /* printed as a setting */
        {"epoch_s[A] / epoch_s[B] ~ 99", false, false, false}, /* printed for another figure */
        {"epoch_s[A] < 16.9", false, false, false},
        {"nodes[A] * dim[A] * 4 / feature_gib[A] ~ 16.9", false, true, false},
        {"nodes[A] ~ published.epoch_s[A]", false, false, true},
        {"epoch_s[A] ~ published.epoch_s[A] / epoch_s[B]", false, false, true},
        {"3 ~ 16.9", false, true, false},
    };
    struct gnn_paper_figure *figure;
    struct gnn_predicate *const predicate = malloc(sizeof *predicate);
    struct gnn_value_source source;
    struct gnn_err err = {0};
    char *const path = figure_file(*state, "fig.ini",
                                   "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = twitter\n[A]\n"
                                   "system = gnndrive\npublished = P\n[B]\nsystem = pygplus\n" ABOUT
                                   "y = epoch_s, reads\npublished = time, count\n");
    char *const published =
        figure_file(*state, "p.csv",
                    PUBLISHED_HEADING PRINTED("speedup", "16.9", "x", "exact") PRINTED("most", "8.5", "ratio", "up_to")
                        PRINTED("share", "46.1", "percent", "about") PRINTED("time", "30.5", "s", "exact")
                            PRINTED("least", "6", "x", "at_least") PRINTED("setting", "64", "threads", "exact")
                                PRINTED("alike", "1", "x", "exact") "other,,,,,,t,99,x,,exact,Table 3\n");
    const struct gnn_figure_setup setup = {.scale_divisor = 100,
                                           .db = "x.db",
                                           .data_dir = "data",
                                           .world = GNN_WORLD_SIMULATED,
                                           .published_path = published};
    assert_non_null(predicate);
    must(gnn_figure_open(path, &setup, &figure, &err), &err);
    gnn_figure_values(figure, &source);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_ratio_kind kind;
        must(gnn_predicate_parse(cases[i].text, &source, predicate, &err), &err);
        const bool is_ratio = gnn_figure_ratio_kind(figure, predicate, &kind);
        if (is_ratio != cases[i].is_ratio || kind.is_quotient != cases[i].is_quotient ||
            kind.is_each != cases[i].is_each)
            fail_msg("%s: %d %d %d", cases[i].text, is_ratio, kind.is_quotient, kind.is_each);
    }
    gnn_figure_close(figure);
    free(predicate);
    free(path);
    free(published);
}

static void give_ratio(struct gnn_figure_ratios *ratios, double ours, double published, bool is_quotient)
{
    struct gnn_figure_ratio *const row = gnn_figure_ratios_add(ratios);
    assert_non_null(row);
    row->ours = ours;
    row->published = published;
    row->holds = ours == published;
    row->is_quotient = is_quotient;
}

/* Errors up and down do not cancel, and what is lost altogether counts as the worst. */
static void merit_is_of_absolute_errors(void **state)
{
    (void)state;
    struct gnn_figure_ratios ratios = {.count = 0};
    struct gnn_ratio_merit merit;
    struct gnn_err err = {0};
    must(gnn_figure_ratios_merit(&ratios, 1.25, &merit, &err), &err);
    assert_true(isnan(merit.median));
    assert_null(merit.worst);
    give_ratio(&ratios, 80, 20, false); /* 2 */
    must(gnn_figure_ratios_merit(&ratios, 1.25, &merit, &err), &err);
    assert_float_equal(merit.median, 2, 1e-9);
    assert_int_equal(merit.quotients, 0);
    assert_true(isnan(merit.null_median));
    give_ratio(&ratios, 1, 8, true);      /* 3, at 1 */
    give_ratio(&ratios, 4, 4, true);      /* 0 */
    give_ratio(&ratios, 5, 4, true);      /* 0.32, just within 1.25 */
    give_ratio(&ratios, 0.5, 0.25, true); /* 1, just within 2 */
    give_ratio(&ratios, 1.25, 0.5, true); /* 1.32, beyond 1 */
    must(gnn_figure_ratios_merit(&ratios, 1.25, &merit, &err), &err);
    assert_float_equal(merit.median, (1 + log2(2.5)) / 2, 1e-9);
    assert_int_equal(merit.near, 2);
    assert_int_equal(merit.within_2, 3);
    assert_ptr_equal(merit.worst, &ratios.rows[1]);
    assert_int_equal(merit.quotients, 5);
    assert_int_equal(merit.beyond_1, 2);
    assert_float_equal(merit.quotient_median, 1, 1e-9);
    assert_float_equal(merit.null_median, 2, 1e-9); /* of 3, 2, 2, 2, 1 */
    give_ratio(&ratios, -3, 18, false);
    must(gnn_figure_ratios_merit(&ratios, 1.25, &merit, &err), &err);
    assert_ptr_equal(merit.worst, &ratios.rows[6]);
    assert_true(isinf(gnn_figure_ratio_error(-3, 18)));
    gnn_figure_ratios_close(&ratios);
}

/* One printed number has one row, whatever it was compared with. */
static void a_printed_number_has_one_row(void **state)
{
    (void)state;
    struct gnn_figure_ratios ratios = {.count = 0};
    give_ratio(&ratios, 3, 3, true);
    gnn_figure_ratios_merge(&ratios, 1);
    gnn_figure_ratios_merge(&ratios, 0);
    assert_int_equal(ratios.count, 1);
    assert_string_equal(ratios.rows[0].where, "");
    give_ratio(&ratios, 22, 33, false);
    give_ratio(&ratios, 11, 33, false);
    give_ratio(&ratios, 17, 33, false);
    gnn_figure_ratios_merge(&ratios, 1);
    assert_int_equal(ratios.count, 2);
    assert_float_equal(ratios.rows[1].ours, 17, 0);
    assert_float_equal(ratios.rows[1].published, 33, 0);
    assert_string_equal(ratios.rows[1].where, "median of 3");
    assert_false(ratios.rows[1].holds);
    assert_float_equal(ratios.rows[0].ours, 3, 0);
    give_ratio(&ratios, 4, 4, false);
    give_ratio(&ratios, 4, 4, false);
    gnn_figure_ratios_merge(&ratios, 2);
    assert_true(ratios.rows[2].holds);
    give_ratio(&ratios, 4, 4, false);
    give_ratio(&ratios, 7, 4, false);
    gnn_figure_ratios_merge(&ratios, 3);
    assert_float_equal(ratios.rows[3].ours, 5.5, 0);
    assert_false(ratios.rows[3].holds);
    gnn_figure_ratios_close(&ratios);
}

/* A printed number that holds at several widths has one row; numbers of a table have one each. */
static void rows_follow_what_is_printed(void **state)
{
    static const struct gnn_tolerances tolerances = {.about = 1.25, .flat = 1.15, .noise = 1.02};
    static const double seconds[][1] = {{32}, {34}, {2}, {1}};
    struct gnn_paper_figure *figure;
    struct gnn_figure_verdicts verdicts = {.held = 0};
    struct gnn_err err = {0};
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    char *const path = figure_file(
        *state, "fig.ini",
        "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = twitter\ndim = 64, 128\n[A]\n"
        "system = gnndrive\npublished = P\n[B]\nsystem = pygplus\n" ABOUT "y = epoch_s\npublished = time\n[holds]\n"
        "lead = epoch_s[A] / epoch_s[B] ~ 16.9\ntable = epoch_s[A] ~ published.epoch_s[A]\nend = oom[A] = 0\n"
        "[says]\nend = A ends at every width\n[reasons]\nlead = made up\n");
    char *const published = figure_file(*state, "p.csv",
                                        PUBLISHED_HEADING PRINTED("speedup", "16.9", "x", "exact")
                                            PUBLISHED_ROW("64", "30", "exact") PUBLISHED_ROW("128", "31", "exact"));
    const struct gnn_figure_setup setup = {.scale_divisor = 100,
                                           .db = "x.db",
                                           .data_dir = "data",
                                           .world = GNN_WORLD_SIMULATED,
                                           .published_path = published};
    assert_non_null(out);
    must(gnn_figure_open(path, &setup, &figure, &err), &err);
    for (uint32_t i = 0; i < 4; i++)
        give_runs(&figure->cells[i], seconds[i], 1);
    must(gnn_figure_judge(figure, &tolerances, out, &verdicts, &err), &err);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(verdicts.held, 2);
    assert_int_equal(verdicts.failed, 1);
    assert_int_equal(verdicts.ratios.count, 3);
    const struct gnn_figure_ratio *const rows = verdicts.ratios.rows;
    assert_string_equal(rows[0].where, "median of 2");
    assert_float_equal(rows[0].ours, 25, 1e-6); /* of 16 and 34 */
    assert_string_equal(rows[0].reason, "made up");
    assert_true(rows[0].is_quotient);
    assert_string_equal(rows[1].where, "dim=64");
    assert_float_equal(rows[2].published, 31, 0);
    assert_non_null(
        strstr(text, "lead: epoch_s[A] / epoch_s[B] ~ 16.9\n      judged: 2\n      dim=64: 16 ~ 16.9 (log2"));
    assert_non_null(strstr(text, "holds           end: oom[A] = 0\n      A ends at every width\n      judged: 2\n"));
    gnn_figure_verdicts_close(&verdicts);
    gnn_figure_close(figure);
    free(text);
    free(path);
    free(published);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_are_those_of_later_epochs),
        cmocka_unit_test(accuracies_are_those_of_their_epochs),
        cmocka_unit_test(work_and_waits_are_shares_of_the_workers_time),
        cmocka_unit_test(requests_are_told_by_size),
        cmocka_unit_test(the_series_has_metrics),
        cmocka_unit_test(parts_are_told_as_wholes),
        cmocka_unit_test(a_part_that_is_not_settled_has_no_metrics),
        cmocka_unit_test_setup_teardown(values_are_published_under_another_id, process_dir_set_up,
                                        process_dir_tear_down),
        cmocka_unit_test_setup_teardown(bounds_are_not_shown_as_values, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(the_median_of_repetitions_counts, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(predicates_have_published_values, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(ratios_are_known_as_such, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test(merit_is_of_absolute_errors),
        cmocka_unit_test(a_printed_number_has_one_row),
        cmocka_unit_test_setup_teardown(rows_follow_what_is_printed, process_dir_set_up, process_dir_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
