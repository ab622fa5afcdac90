/* SPDX-License-Identifier: MIT */
/* Tables and pictures of comparisons. */
#include "harness/record/plot.h"
#include "harness/record/report.h"
#include "harness/record/series.h"
#include "harness/record/summary.h"
#include "harness/run/config.h"
#include "tests/support/fake_run.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- tables ---- */

static char *report_text(const struct gnn_run_record *runs, uint32_t count, enum gnn_report_style style)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    gnn_report_runs(runs, count, style, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void table_of_a_comparison(void **state)
{
    (void)state;
    struct gnn_run_record runs[2];
    fake_run(&runs[0], "pygplus", 60, 1, 1);
    fake_run(&runs[1], "gnndrive", 10, 2, 1);
    runs[0].run_id = 41;
    runs[1].run_id = 42;
    char *text = report_text(runs, 2, GNN_REPORT_TEXT);
    /* 60 s * 1.15 for the first epoch; I/O wait (2 * 0.55 + 4 * 0.6) / 7 workers, and 3.5 / 8 rounded down */
    must_show(
        text,
        " 41  pygplus   papers100m sage          69.00               -        50.0      -      320 MiB       61.00\n");
    must_show(text, " 42  gnndrive  papers100m sage          11.50           10.00        43.7");
    must_show(
        text,
        "when                    time s  CPU s  disk read    I/Os  disk written  read requests  write requests\n");
    must_show(text,
              " 41  pygplus   before the first epoch    1.50   1.25   35.0 MiB     120      3.00 MiB       34.0 MiB"
              "        2.00 MiB\n"
              "               sum over the epochs          -      -   18.0 GiB  4.70 M           0 B       2.24 GiB"
              "               -\n");
    must_show(text, "     extract        4   69.00    10.0   60.0     20.0     0.0        0.0        10.0\n");
    must_show(text, "\nconditions: measured world, papers100m, scale 1/100, dim 128, model sage, batch 10, "
                    "fan-out 10,10,10, memory limit 320 MiB (cgroup-v1), cold start, compute cpu\n");
    assert_null(strstr(text, "conditions of run")); /* both have the same */
    free(text);
    text = report_text(runs, 2, GNN_REPORT_MARKDOWN);
    must_show(text, "| run | system   | dataset");
    must_show(text, "| --: | -------- | ---");
    must_show(text, "|  42 | gnndrive |");
    free(text);
    runs[1].batch_size = 20;
    text = report_text(runs, 2, GNN_REPORT_TEXT);
    must_show(text, "\nconditions of run 41: measured world, papers100m, scale 1/100, dim 128, model sage, batch 10,");
    must_show(text, "\nconditions of run 42: measured world, papers100m, scale 1/100, dim 128, model sage, batch 20,");
    free(text);
    text = report_text(runs, 0, GNN_REPORT_TEXT);
    assert_string_equal(text, "no runs\n");
    free(text);
    gnn_run_record_free(&runs[0]);
    gnn_run_record_free(&runs[1]);
}

static char *run_text(const struct gnn_run_record *run)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    gnn_report_run(run, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* A run with these options, of epochs of `whole` mini-batches ("": an older record), extrapolated if used > 0. */
static void fake_part(struct gnn_run_record *run, const char *const options[4], const char *whole, uint64_t used)
{
    static const char *const keys[4] = {"max-batches", "batches", "warmup", "workers"};
    struct gnn_err err = {0};
    fake_run(run, "gnndrive", 10, 2, 1);
    for (int i = 0; i < 4; i++)
        must(gnn_kv_set(&run->config, keys[i], options[i], &err), &err);
    if (whole[0] != '\0')
        must(gnn_kv_set(&run->environment, GNN_ENVIRONMENT_WHOLE_BATCHES, whole, &err), &err);
    if (used > 0)
        fake_figure(&run->epochs[0], "extrapolated_from_batches", used);
}

static void a_part_of_an_epoch_has_its_name(void **state)
{
    (void)state;
    static const struct {
        const char *options[4], *whole;
        uint64_t used;
        const char *part;
    } cases[] = {
        {{"0", "0", "0", "1"}, "31", 0, ""},
        {{"3", "0", "0", "1"}, "31", 0, "first 3 of 31 mini-batches"},
        {{"3", "0", "0", "2"}, "31", 0, "first 6 of 31 mini-batches"},
        {{"31", "0", "0", "1"}, "31", 0, ""}, /* the whole epoch */
        {{"30", "0", "0", "1"}, "31", 0, "first 30 of 31 mini-batches"},
        {{"3", "0", "0", "1"}, "", 0, "first 3 mini-batches"},
        {{"0", "20", "5", "1"}, "31", 20, "extrapolated from 20 mini-batches"},
        {{"0", "20", "5", "1"}, "31", 0, "first 25 of 31 mini-batches"}, /* a system without training steps */
        {{"0", "30", "5", "1"}, "31", 0, ""},
        {{"0", "20", "5", "1"}, "", 0, ""},
        {{NULL, NULL, NULL, NULL}, "", 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_run_record run;
        char part[GNN_PART_BYTES];
        fake_part(&run, cases[i].options, cases[i].whole, cases[i].used);
        assert_string_equal(gnn_run_part(&run, part), cases[i].part);
        gnn_run_record_free(&run);
    }
}

/* In every table, in the block of a run, and in the conditions: the time of a part passes for no epoch's. */
static void a_part_of_an_epoch_is_named(void **state)
{
    (void)state;
    struct gnn_run_record run;
    fake_part(&run, (const char *const[]){"3", "0", "0", "1"}, "31", 0);
    fake_figure(&run.epochs[1], "read_max_ns", 1000);
    fake_figure(&run.epochs[0], GNN_FIGURE_GPU_BUSY, 1000);
    fake_figure(&run.epochs[1], GNN_FIGURE_GPU_BUSY, 1000);
    run.run_id = 41;
    char *text = report_text(&run, 1, GNN_REPORT_TEXT);
    uint32_t rows = 0;
    for (const char *at = text; (at = strstr(at, "\n 41  gnndrive (first 3 of 31 mini-batches)")) != NULL; at++)
        rows++;
    assert_int_equal(rows, 5); /* runs, reads, stages, GPU, percentiles */
    must_show(text, "compute cpu, only the first 3 of 31 mini-batches of each epoch\n");
    free(text);
    text = run_text(&run);
    must_show(text, "later 10.00 s (epoch 2), only the first 3 of 31 mini-batches\n");
    free(text);
    gnn_run_record_free(&run);
    fake_part(&run, (const char *const[]){"0", "20", "5", "1"}, "31", 20);
    text = run_text(&run);
    must_show(text, "later 10.00 s (epoch 2), extrapolated from 20 mini-batches\n");
    free(text);
    gnn_run_record_free(&run);
}

/* Another run on the same dataset is a note, in plain text whatever a database has there. */
static void a_shared_dataset_is_a_note(void **state)
{
    (void)state;
    struct gnn_run_record runs[2];
    struct gnn_err err = {0};
    fake_run(&runs[0], "pygplus", 60, 1, 1);
    fake_run(&runs[1], "gnndrive", 10, 1, 1);
    runs[0].run_id = 41;
    runs[1].run_id = 42;
    char *text = run_text(&runs[1]);
    assert_null(strstr(text, "same dataset"));
    free(text);
    must(gnn_kv_set(&runs[1].environment, GNN_ENVIRONMENT_SHARED, "start\033[2J", &err), &err);
    text = report_text(runs, 2, GNN_REPORT_TEXT);
    must_show(text, "\nrun 42: another run used the same dataset at the start");
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "run 41: another"));
    free(text);
    text = run_text(&runs[1]);
    must_show(text, "\n  note            another run used the same dataset at the start");
    assert_null(strchr(text, '\033'));
    free(text);
    gnn_run_record_free(&runs[0]);
    gnn_run_record_free(&runs[1]);
}

/* The first epoch and the later ones apart; conditions broken at blanks; without a number the reasons and no times. */
static void one_run_is_a_block(void **state)
{
    (void)state;
    struct gnn_run_record run;
    fake_run(&run, "gnndrive", 10, 4, 1);
    run.run_id = 7;
    for (uint32_t e = 0; e < run.epoch_count; e++)
        run.epochs[e].wall_ns = (uint64_t[]){12000000000, 8000000000, 9000000000, 3000000000}[e];
    char *text = run_text(&run);
    must_show(text, "run 7: gnndrive\n  result          ok\n");
    must_show(text, "  epoch time      first 12.00 s, later 8.00 s (median of epochs 2 to 4)\n");
    must_show(text, "limit 320 MiB (cgroup-v1)\n");
    must_show(text,
              "  conditions      measured world, papers100m, scale 1/100, dim 128, model sage, batch 10, fan-out\n"
              "                  10,10,10, memory limit 320 MiB (cgroup-v1), cold start, compute cpu\n");
    must_show(text, "  time            I/O wait 43.7 % of the workers' time\n"); /* nothing probed the CPU */
    must_show(text,
              "  before epoch 1  1.50 s, CPU time 1.25 s, device reads 35.0 MiB in 120 requests, device writes 3.00\n"
              "                  MiB, requested 34.0 MiB in 110 reads, requested 2.00 MiB in 7 writes\n"
              "  all epochs      device reads 71.9 GiB in 18.8 M requests, requested 8.94 GiB in 18.4 M reads\n");
    must_show(text, "\nStages: ");
    assert_null(strstr(text, "Percentiles"));
    assert_null(strstr(text, "test nodes"));
    free(text);
    struct gnn_err err = {0};
    must(gnn_kv_set(&run.environment, "dataset.test", "54", &err), &err);
    text = run_text(&run);
    must_show(text, "test accuracy 64.00 % (only 54 test nodes)\n");
    free(text);
    must(gnn_kv_set(&run.environment, "dataset.test", "1000", &err), &err);
    text = run_text(&run);
    assert_null(strstr(text, "test nodes"));
    free(text);
    run.epoch_count = 2;
    text = run_text(&run);
    must_show(text, "first 12.00 s, later 8.00 s (epoch 2)\n");
    free(text);
    run.epochs[1].complete = 0;
    text = run_text(&run);
    must_show(text, "  epoch time      first 12.00 s; no later epoch is complete: use --epochs 3 or more\n");
    free(text);
    run.epochs[1].complete = 1;
    run.epochs[1].wall_ns = GNN_UNKNOWN;
    text = run_text(&run);
    must_show(text, "  epoch time      first 12.00 s\n");
    free(text);
    run.epoch_count = 1;
    text = run_text(&run);
    must_show(text, "  epoch time      first 12.00 s\n");
    free(text);
    run.valid = 0;
    run.status = GNN_RUN_INVALID;
    (void)snprintf(run.reasons, sizeof run.reasons, "first\nsecond");
    text = run_text(&run);
    must_show(text, "  result          invalid: first; second\n");
    assert_null(strstr(text, "epoch time"));
    assert_null(strstr(text, "Stages"));
    assert_null(strstr(text, "I/O wait"));
    must_show(text, "  before epoch 1  device reads 35.0 MiB in 120 requests"); /* counts, no times */
    free(text);
    gnn_record_counters_unknown(&run.before);
    gnn_record_counters_unknown(&run.counters);
    text = run_text(&run);
    assert_null(strstr(text, "before epoch 1"));
    assert_null(strstr(text, "all epochs"));
    free(text);
    gnn_run_record_free(&run);
}

/* Epochs that prepare for the next one, or do not, are left out: the first of several always is. */
static void epochs_that_count(void **state)
{
    (void)state;
    static const struct {
        uint32_t epochs;
        int complete[4]; /* -1: unknown */
        const char *counted;
        uint64_t epoch_s, later_s;
        uint32_t last;
        const char *shown;
    } cases[] = {
        {1, {1}, "1", 12, 0, 0, "first 12.00 s\n"},
        {1, {0}, "0", 0, 0, 0, "first 12.00 s\n"}, /* interrupted before its second epoch */
        {2, {1, -1}, "01", 8, 8, 1, "first 12.00 s, later 8.00 s (epoch 2)\n"},
        {2, {0, 0}, "00", 0, 0, 1, "first 12.00 s; no later epoch is complete: use --epochs 3 or more\n"},
        {3, {0, 1, 0}, "010", 8, 8, 1, "first 12.00 s, later 8.00 s (epoch 2)\n"},
        {4, {0, 1, 1, 0}, "0110", 9, 9, 2, "first 12.00 s, later 9.00 s (median of epochs 2 to 3)\n"},
        {4, {1, 1, 0, 1}, "0101", 6, 6, 3, "first 12.00 s, later 6.00 s (median of 2 complete epochs)\n"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct gnn_run_record run;
        fake_run(&run, "presort", 10, cases[c].epochs, 1);
        for (uint32_t e = 0; e < run.epoch_count; e++) {
            run.epochs[e].wall_ns = (uint64_t[]){12000000000, 8000000000, 10000000000, 4000000000}[e];
            run.epochs[e].complete = cases[c].complete[e];
            assert_int_equal(gnn_run_counts_epoch(&run, e), cases[c].counted[e] == '1');
        }
        const uint64_t epoch_ns = cases[c].epoch_s * 1000000000, later_ns = cases[c].later_s * 1000000000;
        assert_int_equal(gnn_run_first_epoch_ns(&run), 12000000000);
        assert_int_equal(gnn_run_epoch_ns(&run), epoch_ns == 0 ? GNN_UNKNOWN : epoch_ns);
        assert_int_equal(gnn_run_later_epoch_ns(&run), later_ns == 0 ? GNN_UNKNOWN : later_ns);
        assert_ptr_equal(gnn_run_last_epoch(&run), &run.epochs[cases[c].last]);
        char *const text = run_text(&run);
        must_show(text, cases[c].shown);
        free(text);
        run.valid = 0;
        assert_int_equal(gnn_run_first_epoch_ns(&run), GNN_UNKNOWN);
        assert_int_equal(gnn_run_epoch_ns(&run), GNN_UNKNOWN);
        gnn_run_record_free(&run);
    }
    struct gnn_run_record none;
    gnn_run_record_init(&none);
    assert_null(gnn_run_last_epoch(&none));
    assert_int_equal(gnn_run_first_epoch_ns(&none), GNN_UNKNOWN);
    assert_int_equal(gnn_run_epoch_ns(&none), GNN_UNKNOWN);
}

/* The device stands beside the stages, with its share of the epoch; a run without one has no such row. */
static void the_gpu_has_a_row_of_its_own(void **state)
{
    (void)state;
    struct gnn_run_record run;
    fake_run(&run, "gnndrive", 10, 1, 1);
    char *text = report_text(&run, 1, GNN_REPORT_TEXT);
    assert_null(strstr(text, "GPU busy"));
    free(text);
    fake_figure(&run.epochs[0], GNN_FIGURE_GPU_BUSY, UINT64_C(4600000000)); /* of 11.5 s */
    text = report_text(&run, 1, GNN_REPORT_TEXT);
    must_show(text, "GPU busy");
    must_show(text, "4.60    40.0");
    must_show(text, "\nGPU: mean of an epoch");
    must_show(text, "  0  gnndrive    4.60    40.0         -    -     -     -\n"); /* nobody told what it copied */
    assert_null(strstr(text, "GPU copies"));
    free(text);
    fake_figure(&run.epochs[0], GNN_FIGURE_GPU_COPY, UINT64_C(2300000000));
    fake_figure(&run.epochs[0], GNN_FIGURE_GPU_UPLOADED, UINT64_C(9) << 30);
    fake_figure(&run.epochs[0], GNN_FIGURE_GPU_DOWNLOADED, UINT64_C(230) << 20);
    text = report_text(&run, 1, GNN_REPORT_TEXT);
    must_show(text, "GPU copies");
    must_show(text, "2.30    20.0");
    must_show(text, "  0  gnndrive    4.60    40.0      2.30  9.00 GiB  230 MiB  4.01 GiB/s\n");
    free(text);
    run.valid = 0;
    run.status = GNN_RUN_INVALID;
    text = report_text(&run, 1, GNN_REPORT_TEXT);
    assert_null(strstr(text, "GPU"));
    free(text);
    gnn_run_record_free(&run);
}

/* Whatever has a largest value is a distribution, of the last epoch; a run without a number shows none of its times. */
static void what_was_timed_has_percentiles(void **state)
{
    (void)state;
    struct gnn_run_record run;
    fake_run(&run, "gnndrive", 10, 2, 1);
    char *text = report_text(&run, 1, GNN_REPORT_TEXT);
    assert_null(strstr(text, "Percentiles"));
    free(text);
    fake_figure(&run.epochs[0], "read_max_ns", 1); /* an earlier epoch's */
    fake_figure(&run.epochs[1], "read_p50_ns", 100000);
    fake_figure(&run.epochs[1], "read_p99_ns", 1500000);
    fake_figure(&run.epochs[1], "read_p999_ns", 2000000);
    fake_figure(&run.epochs[1], "read_max_ns", 2500000000);
    fake_figure(&run.epochs[1], "batch_max_ns", 30000000);
    fake_figure(&run.epochs[1], "read_bytes_p50", 4096);
    fake_figure(&run.epochs[1], "read_bytes_max", 1 << 20);
    text = report_text(&run, 1, GNN_REPORT_TEXT);
    must_show(text, "Percentiles, last epoch (time between mini-batches, ");
    must_show(text, "run  system    of              p50  p90      p99    p99.9      most\n");
    must_show(text, "  0  gnndrive  read         100 us    -  1.50 ms  2.00 ms    2.50 s\n");
    must_show(text, "               batch             -    -        -        -   30.0 ms\n");
    must_show(text, "               read size  4.00 KiB    -        -        -  1.00 MiB\n");
    free(text);
    run.valid = 0;
    run.status = GNN_RUN_INVALID;
    text = report_text(&run, 1, GNN_REPORT_TEXT);
    assert_null(strstr(text, "Percentiles"));
    free(text);
    gnn_run_record_free(&run);
}

static void words_instead_of_times(void **state)
{
    (void)state;
    static const struct {
        enum gnn_run_status status;
        int valid;
        const char *word;
    } cases[] = {
        {GNN_RUN_OOM, -1, " oom "},         {GNN_RUN_OOT, -1, " oot "},
        {GNN_RUN_GPU_OOM, -1, " gpu_oom "}, {GNN_RUN_INVALID, 0, " invalid "},
        {GNN_RUN_OK, 0, " invalid "},       {GNN_RUN_FAILED, -1, " failed "},
        {GNN_RUN_RUNNING, -1, " running "}, {GNN_RUN_INTERRUPTED, 0, " interrupted "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_run_record run;
        fake_run(&run, "ginex", 25, 1, 1);
        run.status = cases[i].status;
        run.valid = cases[i].valid;
        gnn_run_record_reason(&run, "because");
        char *text = report_text(&run, 1, GNN_REPORT_TEXT);
        must_show(text, cases[i].word);
        must_show(text, "because");
        if (cases[i].valid == 0)
            assert_null(strstr(text, "28.7")); /* 25 s * 1.15 */
        free(text);
        gnn_run_record_free(&run);
    }
}

static void summaries(void **state)
{
    (void)state;
    double odd[] = {3, 1, 2};
    double even[] = {4, 1, 3, 2};
    assert_float_equal(gnn_median(odd, 3), 2, 0);
    assert_float_equal(gnn_median(even, 4), 2.5, 0);
    assert_true(isnan(gnn_median(odd, 0)));
    struct gnn_run_record run;
    fake_run(&run, "gnndrive", 10, 3, 1); /* 11.5, 10, 10 s */
    assert_int_equal(gnn_run_epoch_ns(&run), 10000000000);
    assert_float_equal(gnn_run_test_accuracy(&run), 0.63, 1e-9);
    struct gnn_record_stage sums[GNN_RECORD_STAGES_MAX];
    assert_int_equal(gnn_run_stage_sums(&run, sums), 4);
    assert_string_equal(sums[1].stage, "extract");
    assert_int_equal(sums[1].workers, 4);
    assert_int_equal(sums[1].wall_ns, 4 * UINT64_C(31500000000));
    assert_int_equal(sums[1].items, 3 * 1208);
    run.epochs[1].stages[1].wait_io_ns = GNN_UNKNOWN;
    assert_int_equal(gnn_run_stage_sums(&run, sums), 4);
    assert_int_equal(sums[1].wait_io_ns, GNN_UNKNOWN);
    assert_true(isnan(gnn_run_io_wait_pct(&run)));
    run.cold_observed = 0;
    run.device_bps = 100 << 20;
    run.cap_bytes = GNN_UNKNOWN;
    char caption[GNN_CAPTION_BYTES];
    gnn_run_caption(&run, caption, sizeof caption);
    must_show(caption, "no memory limit, warm start, disk limited to 100 MiB/s");
    gnn_run_record_free(&run);
}

/* ---- series ---- */

/* Three runs of gnndrive: two seeds of one configuration, and one that `change` changes. */
static void three_runs(struct gnn_run_record *runs)
{
    struct gnn_err err = {0};
    for (uint64_t i = 0; i < 3; i++) {
        fake_run(&runs[i], "gnndrive", 10 + (double)i, 1, i);
        runs[i].run_id = 1 + (int64_t)i;
        must(gnn_kv_set(&runs[i].config, "seed", i == 0 ? "0" : "1", &err), &err);
        must(gnn_kv_set(&runs[i].config, "hidden", "256", &err), &err);
        must(gnn_kv_set(&runs[i].config, "gnndrive.slots", "0", &err), &err);
        must(gnn_kv_set(&runs[i].environment, "dataset.digest", "7c4f921d1e2c7c0b06ee9f39777cceb2", &err), &err);
    }
}

static void free_runs(struct gnn_run_record *runs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        gnn_run_record_free(&runs[i]);
}

static void expect_series(const struct gnn_run_record *runs, uint32_t count, const char *const *labels, uint32_t series)
{
    struct gnn_run_series found;
    struct gnn_err err = {0};
    must(gnn_run_series_open(runs, count, "seed", &found, &err), &err);
    if (found.count != series)
        fail_msg("%u series, expected %u; the first is \"%s\"", found.count, series, found.labels[0]);
    for (uint32_t s = 0; s < series; s++)
        assert_string_equal(found.labels[s], labels[s]);
    gnn_run_series_close(&found);
}

/* Whatever a time depends on keeps runs apart, and names them; seeds do not. */
static void unlike_runs_are_series_of_their_own(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
        bool environment;
        const char *labels[2];
    } cases[] = {
        {"hidden", "16", false, {"gnndrive hidden=256", "gnndrive hidden=16"}},
        {"gnndrive.slots", "999", false, {"gnndrive slots=0", "gnndrive slots=999"}},
        {"dataset.digest",
         "0123456789",
         true,
         {"gnndrive dataset.digest=7c4f921d", "gnndrive dataset.digest=01234567"}},
        {"build.revision", "other", true, {"gnndrive build.revision=0123456789ab", "gnndrive build.revision=other"}},
    };
    struct gnn_run_record runs[3];
    struct gnn_err err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        three_runs(runs);
        static const char *const one[] = {"gnndrive"};
        expect_series(runs, 3, one, 1);
        struct gnn_kv_list *const list = cases[i].environment ? &runs[2].environment : &runs[2].config;
        must(gnn_kv_set(list, cases[i].key, cases[i].value, &err), &err);
        expect_series(runs, 3, cases[i].labels, 2);
        must(gnn_kv_set(list, cases[i].key, NULL, &err), &err); /* a run that ended before it knew */
        expect_series(runs, 3, one, 1);
        free_runs(runs, 3);
    }
}

/* A dataset's scale says what its digest does; a computed learning rate has no digits that nobody chose. */
static void labels_are_short(void **state)
{
    (void)state;
    struct gnn_run_record runs[3];
    struct gnn_err err = {0};
    three_runs(runs);
    for (uint32_t i = 0; i < 3; i++) {
        must(gnn_kv_set(&runs[i].config, "lr", i == 2 ? "0.00030000000000000003" : "0.003", &err), &err);
        runs[i].scale_divisor = i == 2 ? 1000 : 100;
    }
    must(gnn_kv_set(&runs[2].environment, "dataset.digest", "0123456789", &err), &err);
    static const char *const labels[] = {"gnndrive scale=1/100 lr=0.003", "gnndrive scale=1/1000 lr=0.0003"};
    expect_series(runs, 3, labels, 2);
    runs[2].scale_divisor = 100; /* other bytes under the same name are a difference of their own */
    static const char *const changed[] = {"gnndrive lr=0.003 dataset.digest=7c4f921d",
                                          "gnndrive lr=0.0003 dataset.digest=01234567"};
    expect_series(runs, 3, changed, 2);
    free_runs(runs, 3);
}

static void columns_keep_runs_apart_too(void **state)
{
    (void)state;
    static const char *const labels[][2] = {
        {"gnndrive memory=320 MiB", "gnndrive memory=none"},
        {"gnndrive io=uring", "gnndrive io=pool"},
        {"gnndrive cold=yes", "gnndrive cold=no"},
        {"gnndrive device-bps=none", "gnndrive device-bps=7"},
        {"gnndrive cap=cgroup-v1", "gnndrive cap=in-program"},
        {"gnndrive tag=", "gnndrive tag=x"},
        {"gnndrive", "gnndrive sample-only"},
    };
    for (int i = 0; i < 7; i++) {
        struct gnn_run_record runs[3];
        three_runs(runs);
        struct gnn_run_record *const other = &runs[2];
        other->cap_bytes = i == 0 ? GNN_UNKNOWN : other->cap_bytes;
        other->cold_observed = i == 2 ? 0 : 1;
        other->device_bps = i == 3 ? 7 : GNN_UNKNOWN;
        (void)snprintf(other->io_engine, sizeof other->io_engine, i == 1 ? "pool" : "uring");
        (void)snprintf(other->cap_enforcement, sizeof other->cap_enforcement, i == 4 ? "in-program" : "cgroup-v1");
        (void)snprintf(other->tag, sizeof other->tag, i == 5 ? "x" : "");
        (void)snprintf(other->variant, sizeof other->variant, i == 6 ? "sample-only" : "");
        expect_series(runs, 3, labels[i], 2);
        free_runs(runs, 3);
    }
}

/* An option that no caption tells is named where two systems differ in it; what a caption tells is not. */
static void systems_of_unlike_options_are_named(void **state)
{
    (void)state;
    struct gnn_run_record runs[3];
    struct gnn_err err = {0};
    three_runs(runs);
    (void)snprintf(runs[2].system, sizeof runs[2].system, "pygplus");
    runs[2].batch_size = 11;
    static const char *const plain[] = {"gnndrive", "pygplus"};
    expect_series(runs, 3, plain, 2);
    must(gnn_kv_set(&runs[2].config, "lr", "0.5", &err), &err);
    must(gnn_kv_set(&runs[0].config, "lr", "0.003", &err), &err);
    static const char *const named[] = {"gnndrive lr=0.003", "pygplus lr=0.5"};
    expect_series(runs, 3, named, 2);
    char *text = report_text(runs, 3, GNN_REPORT_TEXT);
    must_show(text, "only those of one line repeat each other:\ngnndrive lr=0.003: run 1 2\npygplus lr=0.5: run 3\n");
    free(text);
    free_runs(runs, 3);
}

/* What one system ignores is named with that system alone: the value of most series is in no label. */
static void labels_name_the_exception(void **state)
{
    (void)state;
    static const char *const systems[] = {"null", "pygplus", "ginex", "gnndrive", "gnndrive"};
    static const char *const labels[] = {"null evaluate=never", "pygplus", "ginex", "gnndrive hidden=16",
                                         "gnndrive hidden=256"};
    struct gnn_run_record runs[5];
    struct gnn_err err = {0};
    for (int i = 0; i < 5; i++) {
        fake_run(&runs[i], systems[i], 10, 1, 1);
        must(gnn_kv_set(&runs[i].config, "evaluate", i == 0 ? "never" : "last", &err), &err);
        must(gnn_kv_set(&runs[i].config, "hidden", i == 3 ? "16" : "256", &err), &err);
    }
    expect_series(runs, 5, labels, 5);
    free_runs(runs, 5);
}

static void a_series_varies_one_option(void **state)
{
    (void)state;
    struct gnn_run_record runs[4];
    struct gnn_err err = {0};
    uint32_t count = 4;
    three_runs(runs);
    fake_run(&runs[3], "gnndrive", 10, 1, 1);
    runs[3].run_id = 4;
    must(gnn_kv_set(&runs[0].config, "hidden", "16", &err), &err); /* another value of the option: stays */
    must(gnn_kv_set(&runs[1].config, "gnndrive.slots", "7", &err), &err);
    must(gnn_kv_set(&runs[3].config, "gnndrive.slots", "0", &err), &err);
    must(gnn_kv_set(&runs[3].config, "hidden", "256", &err), &err);
    must(gnn_run_series_only(runs, &count, "hidden", &err), &err);
    assert_int_equal(count, 3);
    assert_int_equal(runs[0].run_id, 1);
    assert_int_equal(runs[1].run_id, 3);
    assert_int_equal(runs[2].run_id, 4);
    free_runs(runs, count);
}

/* ---- pictures ---- */

/* Every series has a style of its own, and the first of a system always has that of its place. */
static void styles_differ(void **state)
{
    (void)state;
    static const uint32_t places[][GNN_STYLES] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
        {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3},
        {8, 8, 8, 8, 15, 15, 15, 15, 15, 15, GNN_STYLE_NONE, 16, GNN_STYLE_NONE, 7, 7, 8},
        {GNN_STYLE_NONE, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30}};
    for (size_t p = 0; p < sizeof places / sizeof places[0]; p++) {
        struct gnn_style styles[GNN_STYLES];
        bool taken[GNN_STYLES][GNN_STYLE_SHADES] = {{false}}, met[GNN_STYLES] = {false};
        gnn_styles_choose(places[p], GNN_STYLES, styles);
        for (uint32_t i = 0; i < GNN_STYLES; i++) {
            assert_true(styles[i].place < GNN_STYLES);
            assert_true(styles[i].shade < GNN_STYLE_SHADES);
            assert_false(taken[styles[i].place][styles[i].shade]);
            taken[styles[i].place][styles[i].shade] = true;
            if (places[p][i] < GNN_STYLES && !met[places[p][i]])
                assert_true(styles[i].place == places[p][i] && styles[i].shade == 0);
            if (places[p][i] < GNN_STYLES)
                met[places[p][i]] = true;
        }
    }
}

struct pictures {
    char *dir; /* with the database, and the pictures below it */
    char pictures[600];
    struct gnn_db *handle;
};

static int make_pictures(void **state)
{
    struct pictures *const place = calloc(1, sizeof *place);
    struct gnn_err err = {0};
    char db[600];
    assert_non_null(place);
    *state = place;
    place->dir = process_temp_dir();
    (void)snprintf(db, sizeof db, "%s/runs.db", place->dir);
    (void)snprintf(place->pictures, sizeof place->pictures, "%s/pictures", place->dir);
    return gnn_db_open(db, GNN_DB_WRITE, &place->handle, &err) != GNN_OK;
}

static int remove_pictures(void **state)
{
    struct pictures *const place = *state;
    gnn_db_close(place->handle);
    process_remove_tree(place->dir);
    free(place->dir);
    free(place);
    return 0;
}

static int64_t store(struct gnn_db *db, struct gnn_run_record *run)
{
    struct gnn_err err = {0};
    const enum gnn_run_status final = run->status;
    assert_int_equal(gnn_db_begin(db, run, &err), GNN_OK);
    run->status = final;
    for (uint32_t e = 0; e < run->epoch_count; e++)
        assert_int_equal(gnn_db_epoch(db, run->run_id, &run->epochs[e], &err), GNN_OK);
    assert_int_equal(gnn_db_finish(db, run, &err), GNN_OK);
    const int64_t run_id = run->run_id;
    gnn_run_record_free(run);
    return run_id;
}

static bool have_gnuplot(void)
{
    return system("gnuplot --version >/dev/null 2>&1") == 0;
}

static char *file_text(const struct pictures *place, const char *name)
{
    char path[700];
    (void)snprintf(path, sizeof path, "%s/%s", place->pictures, name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("%s is missing", path);
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    (void)fclose(file);
    return text;
}

static void assert_file_shows(const struct pictures *place, const char *name, const char *wanted)
{
    char *text = file_text(place, name);
    must_show(text, wanted);
    free(text);
}

/* Loads the runs and draws them. */
static enum gnn_status plot(const struct pictures *place, const int64_t *ids, uint32_t count, struct gnn_err *err)
{
    struct gnn_run_record *runs = NULL;
    if (count > 0)
        GNN_TRY(gnn_db_load_all(place->handle, ids, count, &runs, err));
    const enum gnn_status status = gnn_plot_comparison(runs, count, gnn_system_place, place->pictures, err);
    gnn_run_records_free(runs, count);
    return status;
}

static void pictures_of_a_comparison(void **state)
{
    struct pictures *place = *state;
    if (!have_gnuplot())
        skip_test("gnuplot is not installed");
    int64_t ids[8];
    uint32_t count = 0;
    for (uint64_t seed = 0; seed < 2; seed++) {
        struct gnn_run_record run;
        fake_run(&run, "pygplus", 60 + 4 * (double)seed, 3, seed);
        ids[count++] = store(place->handle, &run);
        fake_run(&run, "gnndrive", 10, 3, seed);
        ids[count++] = store(place->handle, &run);
    }
    struct gnn_run_record run;
    fake_run(&run, "gin\"ex\\", 25, 0, 1); /* a name gnuplot would trip over */
    run.status = GNN_RUN_OOM;
    ids[count++] = store(place->handle, &run);
    struct gnn_err err = {0};
    must(plot(place, ids, count, &err), &err);
    /* median of 60 and 64, least, most, label above, label; a word where there is no time */
    assert_file_shows(place, "epoch-time.dat",
                      "later epochs (median)\t62\t60\t64\t64\t62\t10\t10\t10\t10\t10\tNaN\tNaN\tNaN\t0\tOOM\n");
    assert_file_shows(place, "epoch-time.dat", "first epoch\t71.3\t69\t73.6\t73.6\t71.3\t11.5\t");
    /* places in the registry, from 1; what it lacks has the last one */
    assert_file_shows(place, "epoch-time.gp", "array places[3] = [2, 4, 16]\narray shades[3] = [0, 0, 0]\n");
    assert_file_shows(place, "epoch-time.svg", "seconds");
    assert_file_shows(place, "epoch-time.svg", "gnndrive");
    assert_file_shows(place, "epoch-time.svg", "OOM");
    assert_file_shows(place, "epoch-time.svg", "scale 1/100");
    assert_file_shows(place, "epoch-time.svg", "memory limit 320 MiB (cgroup-v1)");
    assert_file_shows(place, "epoch-time.svg", "1 to 2 runs of each series");
    assert_file_shows(place, "stage-split.svg", "wait: I/O");
    assert_file_shows(place, "stage-split.svg", "extract");
    char *split = file_text(place, "stage-split.svg");
    assert_null(strstr(split, "accelerator")); /* nobody waited for one: not in the legend */
    free(split);
    /* One worker's extract stage of gnndrive: 10.5 s mean wall; 0.1 work, 0.6 I/O, 0.2 queue, 0.1 resource. */
    assert_file_shows(place, "stage-split.dat", "5\textract\t1.05\t6.3\t2.1\t1.05\n");
    char *png = file_text(place, "stage-split.png");
    assert_memory_equal(png, "\x89PNG", 4);
    free(png);
}

/* Sixteen series of long names: names that would touch are upright, and the picture has room for them and for a caption
 * that does not repeat them. One more is refused. */
static void sixteen_series_are_legible(void **state)
{
    struct pictures *place = *state;
    if (!have_gnuplot())
        skip_test("gnuplot is not installed");
    int64_t ids[17];
    struct gnn_err err = {0};
    for (uint32_t i = 0; i < 17; i++) {
        struct gnn_run_record run;
        fake_run(&run, i % 2 == 0 ? "pygplus" : "gnndrive", 10 + i, 2, 1);
        run.cap_bytes = (uint64_t)(32 + i) << 20;
        must(gnn_kv_setf(&run.config, &err, "hidden", "%u", 16 + i), &err);
        ids[i] = store(place->handle, &run);
    }
    must(plot(place, ids, 16, &err), &err);
    assert_file_shows(place, "stage-split.gp", "\"pygplus memory=32.0 MiB\\nhidden=16\"");
    assert_file_shows(place, "stage-split.gp", "stage_width = 7\nname_width = 24\nname_lines = 2\n");
    assert_file_shows(place, "stage-split.gp", "caption_lines = 2\n");
    assert_file_shows(place, "stage-split.svg", "transform=\"translate(");
    char *const text = file_text(place, "epoch-time.gp");
    assert_null(strstr(text, "memory limit"));
    free(text);
    assert_int_equal(plot(place, ids, 17, &err), GNN_EUSAGE);
    must_show(err.message,
              "17 series, but a picture has at most 16. Choose runs with --where, or draw one option along x "
              "with `oocgnn plot`.");
}

/* A bar of a part of an epoch has the height of the whole; what is not common to all runs is said with each. */
static void a_picture_of_two_worlds(void **state)
{
    struct pictures *place = *state;
    if (!have_gnuplot())
        skip_test("gnuplot is not installed");
    struct gnn_run_record run;
    struct gnn_err err = {0};
    int64_t ids[2];
    fake_run(&run, "pygplus", 60, 1, 1);
    must(gnn_kv_set(&run.config, "max-batches", "7", &err), &err);
    ids[0] = store(place->handle, &run);
    fake_run(&run, "gnndrive", 10, 1, 1);
    (void)snprintf(run.world, sizeof run.world, "simulated");
    (void)snprintf(run.profile, sizeof run.profile, "agnes-paper");
    (void)snprintf(run.compute, sizeof run.compute, "model:agnes-paper/gpu");
    fake_figure(&run.epochs[0], "full_epoch_ns", UINT64_C(23000000000));
    fake_figure(&run.epochs[0], "full_epoch_settled", 1);
    fake_figure(&run.epochs[0], "full_epoch_low_ns", UINT64_C(22000000000));
    fake_figure(&run.epochs[0], "full_epoch_high_ns", UINT64_C(24000000000));
    fake_figure(&run.epochs[0], "warmup_batches", 5);
    fake_figure(&run.epochs[0], "extrapolated_from_batches", 50);
    ids[1] = store(place->handle, &run);
    must(plot(place, ids, 2, &err), &err);
    assert_file_shows(place, "epoch-time.dat", "first epoch\t69\t69\t69\t69\t69\t23\t23\t23\t23\t23\n");
    char *text = file_text(place, "epoch-time.gp");
    for (char *c = text; (c = strstr(c, "\\n")) != NULL;)
        memcpy(c, " ", 1), memmove(c + 1, c + 2, strlen(c + 2) + 1); /* where lines are broken is free */
    must_show(text, "\"papers100m, scale 1/100, dim 128, model sage, batch 10, fan-out 10,10,10, memory limit 320 MiB "
                    "(cgroup-v1), cold start; pygplus: measured world, compute cpu, only the first 7 mini-batches of "
                    "each epoch; gnndrive: simulated world, "
                    "compute model:agnes-paper/gpu, profile agnes-paper, epoch extrapolated from 50 mini-batches "
                    "after 5, 95 % interval of the first epoch 22 to 24 s if mini-batches stay alike, "
                    "counters and stages of those mini-batches alone. One run of each series.\"");
    free(text);
}

/* The estimate is in the run's own block, with what to do; tables have two words, and no bar stands for it. */
static void a_time_that_is_not_settled_is_marked(void **state)
{
    struct pictures *place = *state;
    struct gnn_run_record runs[2];
    int64_t ids[2];
    struct gnn_err err = {0};
    fake_run(&runs[0], "pygplus", 6, 1, 1);
    fake_run(&runs[1], "gnndrive", 10, 1, 1);
    struct gnn_record_epoch *const epoch = &runs[0].epochs[0];
    fake_figure(epoch, "full_epoch_ns", UINT64_C(23000000000));
    fake_figure(epoch, "full_epoch_settled", 0);
    fake_figure(epoch, "full_epoch_groups", 10);
    fake_figure(epoch, "warmup_batches", 5);
    fake_figure(epoch, "extrapolated_from_batches", 50);
    assert_true(gnn_run_epoch_ns(&runs[0]) == GNN_UNKNOWN);
    char *text = report_text(runs, 2, GNN_REPORT_TEXT);
    must_show(text, "  pygplus (extrapolated from 50 mini-batches)  papers100m sage    not settled  ");
    must_show(text, "  papers100m sage          11.50  ");
    must_show(text, "epoch extrapolated from 50 mini-batches after 5, not settled: mini-batches get faster or slower "
                    "(raise --warmup), counters and stages of those mini-batches alone");
    free(text);
    text = run_text(&runs[0]);
    must_show(text, "  epoch time      about 23.00 s (epoch 1), not settled\n");
    free(text);
    for (int i = 0; i < 2; i++)
        ids[i] = store(place->handle, &runs[i]);
    if (have_gnuplot()) {
        must(plot(place, ids, 2, &err), &err);
        assert_file_shows(place, "epoch-time.dat", "epoch\tNaN\tNaN\tNaN\t0\tnot settled\t11.5\t");
    }
}

/* Why: by the groups of the first epoch, or in a later one; older records were not tested. */
static void captions_say_why_it_is_not_settled(void **state)
{
    (void)state;
    char caption[GNN_CAPTION_BYTES];
    struct gnn_run_record run;
    fake_run(&run, "pygplus", 6, 2, 1);
    fake_figure(&run.epochs[0], "full_epoch_ns", UINT64_C(23000000000));
    fake_figure(&run.epochs[0], "full_epoch_low_ns", UINT64_C(22000000000));
    fake_figure(&run.epochs[0], "full_epoch_high_ns", UINT64_C(24000000000));
    gnn_run_caption(&run, caption, sizeof caption);
    must_show(caption, "interval of the first epoch 22 to 24 s (not tested for drift), ");
    assert_true(gnn_run_epoch_ns(&run) != GNN_UNKNOWN);
    fake_figure(&run.epochs[1], "full_epoch_settled", 0);
    gnn_run_caption(&run, caption, sizeof caption);
    must_show(caption, ", a later epoch not settled, ");
    assert_true(gnn_run_epoch_ns(&run) == GNN_UNKNOWN);
    fake_figure(&run.epochs[0], "full_epoch_settled", 0);
    fake_figure(&run.epochs[0], "full_epoch_groups", 0);
    gnn_run_caption(&run, caption, sizeof caption);
    must_show(caption, ", not settled: too few independent mini-batches (raise --batches), ");
    gnn_run_record_free(&run);
}

/* Names of somebody else's database are never run, and never end a string. */
static void names_are_data_for_gnuplot(void **state)
{
    static const char *const names[] = {"`touch pwned`",
                                        "\"; system('touch pwned'); \"",
                                        "a:b",
                                        "<script>alert(1)</script>",
                                        "two\nlines\tand a tab",
                                        "@data",
                                        "%s%n",
                                        "\xff\xfe no \xc3 text",
                                        "'; !touch pwned"};
    struct pictures *place = *state;
    if (!have_gnuplot())
        skip_test("gnuplot is not installed");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct gnn_run_record run;
        struct gnn_err err = {0};
        fake_run(&run, i % 2 == 0 ? "gnndrive" : names[i], 10, 1, 1);
        (void)snprintf(run.dataset, sizeof run.dataset, "%s", names[i]);
        (void)snprintf(run.epochs[0].stages[0].stage, GNN_NAME_MAX, "%s", names[i]);
        const int64_t id = store(place->handle, &run);
        must(plot(place, &id, 1, &err), &err);
        char path[700];
        (void)snprintf(path, sizeof path, "%s/pwned", place->pictures);
        assert_int_not_equal(access(path, F_OK), 0);
        assert_int_not_equal(access("pwned", F_OK), 0);
        char *const svg = file_text(place, "epoch-time.svg");
        assert_null(strstr(svg, "<script>"));
        if (i == 0)
            must_show(svg, "`touch pwned`");
        free(svg);
    }
}

/* A cap that only the program keeps left the page cache the whole machine: the run is marked wherever it stands, and no
 * bar sets it beside one whose cap was enforced. */
static void a_cap_that_nothing_enforced_is_marked(void **state)
{
    struct pictures *place = *state;
    struct gnn_run_record runs[2];
    int64_t ids[2];
    fake_run(&runs[0], "pygplus", 6, 1, 1);
    (void)snprintf(runs[0].cap_enforcement, sizeof runs[0].cap_enforcement, "in-program");
    fake_run(&runs[1], "gnndrive", 10, 1, 1);
    char *text = report_text(runs, 2, GNN_REPORT_TEXT);
    must_show(text, "pygplus (limit not enforced)  papers100m sage ");
    must_show(text, "  gnndrive                      papers100m sage ");
    must_show(text, "memory limit 320 MiB (not enforced; the page cache has the whole machine)");
    must_show(text, "had the whole machine's page cache: do not compare it with other runs\n");
    free(text);
    for (int i = 0; i < 2; i++)
        ids[i] = store(place->handle, &runs[i]);
    struct gnn_err err = {0};
    assert_int_equal(plot(place, ids, 1, &err), GNN_EFORMAT); /* alone, too */
    if (!have_gnuplot())
        skip_test("gnuplot is not installed");
    err = (struct gnn_err){0};
    must(plot(place, ids, 2, &err), &err);
    assert_file_shows(place, "epoch-time.dat", "first epoch\tNaN\tNaN\tNaN\t0\tlimit not enforced\t11.5\t");
    char *split = file_text(place, "stage-split.dat");
    assert_null(strstr(split, "pygplus"));
    free(split);
}

/* A run without a limit of its own in a container that has one is marked in tables and named in the caption. No picture
 * has it beside runs that have the whole machine. */
static void an_inherited_limit_is_marked(void **state)
{
    struct pictures *place = *state;
    struct gnn_run_record runs[2];
    struct gnn_err err = {0};
    int64_t ids[2];
    for (int i = 0; i < 2; i++) {
        fake_run(&runs[i], "pygplus", 6, 1, 1);
        runs[i].cap_bytes = GNN_UNKNOWN;
        (void)snprintf(runs[i].cap_enforcement, sizeof runs[i].cap_enforcement, "none");
    }
    must(gnn_kv_set(&runs[1].environment, GNN_ENVIRONMENT_INHERITED, "41943040", &err), &err);
    assert_int_equal(gnn_run_inherited_bytes(&runs[0]), GNN_UNKNOWN);
    assert_int_equal(gnn_run_inherited_bytes(&runs[1]), 41943040);
    char *text = report_text(runs, 2, GNN_REPORT_TEXT);
    must_show(text, "pygplus (limit inherited)  papers100m sage ");
    must_show(text, "fan-out 10,10,10, no memory limit, cold start");
    must_show(text, "fan-out 10,10,10, memory limit 40.0 MiB (inherited), cold start");
    must_show(text, "inherited a memory limit of 40.0 MiB from its container or control group: do not compare it");
    must_show(text, "pygplus inherited-memory=none: run 0\npygplus inherited-memory=40.0 MiB: run 0\n");
    free(text);
    for (int i = 0; i < 2; i++)
        ids[i] = store(place->handle, &runs[i]);
    for (int i = 0; i < 2; i++) {
        const int64_t swapped[] = {ids[i], ids[1 - i]};
        err = (struct gnn_err){0};
        assert_int_equal(plot(place, swapped, 2, &err), GNN_EUSAGE);
        must_show(err.message, "run 2 inherited a memory limit of 40.0 MiB from its container or control group, and "
                               "run 1 did not");
    }
}

/* Its own limit decides, unless nothing but the program observes it. */
static void an_inherited_limit_above_a_runs_own(void **state)
{
    (void)state;
    struct gnn_run_record run;
    struct gnn_err err = {0};
    char caption[GNN_CAPTION_BYTES];
    fake_run(&run, "pygplus", 6, 1, 1);
    must(gnn_kv_set(&run.environment, GNN_ENVIRONMENT_INHERITED, "1073741824", &err), &err);
    assert_int_equal(gnn_run_inherited_bytes(&run), GNN_UNKNOWN);
    gnn_run_caption(&run, caption, sizeof caption);
    must_show(caption, "memory limit 320 MiB (cgroup-v1), cold start");
    (void)snprintf(run.cap_enforcement, sizeof run.cap_enforcement, "in-program");
    assert_int_equal(gnn_run_inherited_bytes(&run), 1 << 30);
    gnn_run_caption(&run, caption, sizeof caption);
    must_show(caption, "memory limit 320 MiB (not enforced), memory limit 1.00 GiB (inherited), cold start");
    gnn_run_record_free(&run);
}

static void nothing_to_draw_is_an_error(void **state)
{
    struct pictures *place = *state;
    struct gnn_err err = {0};
    assert_int_equal(plot(place, NULL, 0, &err), GNN_EFORMAT);
    struct gnn_run_record run;
    fake_run(&run, "ginex", 25, 1, 1);
    run.status = GNN_RUN_INVALID;
    run.valid = 0;
    int64_t ids[2];
    ids[0] = store(place->handle, &run);
    err = (struct gnn_err){0};
    assert_int_equal(plot(place, ids, 1, &err), GNN_EFORMAT);
    if (!have_gnuplot())
        skip_test("gnuplot is not installed");
    fake_run(&run, "pygplus", 60, 1, 1);
    run.epochs[0].stage_count = 0;
    ids[1] = store(place->handle, &run);
    err = (struct gnn_err){0};
    assert_int_equal(plot(place, ids, 2, &err), GNN_EFORMAT);
    must_show(err.message, "empty");
    fake_run(&run, "pygplus", 60, 1, 1);
    run.epochs[0].stages[0].wait_lock_ns = GNN_UNKNOWN;
    ids[1] = store(place->handle, &run);
    err = (struct gnn_err){0};
    assert_int_equal(plot(place, ids, 2, &err), GNN_EFORMAT);
    must_show(err.message, "wait: lock");
}

static void missing_gnuplot_is_told(void **state)
{
    struct pictures *place = *state;
    struct gnn_run_record run;
    fake_run(&run, "pygplus", 60, 1, 1);
    const int64_t id = store(place->handle, &run);
    const char *path = getenv("PATH");
    char *saved = strdup(path == NULL ? "" : path);
    assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
    struct gnn_err err = {0};
    const enum gnn_status status = plot(place, &id, 1, &err);
    assert_int_equal(setenv("PATH", saved, 1), 0);
    free(saved);
    assert_int_equal(status, GNN_ENOTSUP);
    must_show(err.message, "gnuplot-nox");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_of_a_comparison),
        cmocka_unit_test(a_part_of_an_epoch_has_its_name),
        cmocka_unit_test(a_part_of_an_epoch_is_named),
        cmocka_unit_test(a_shared_dataset_is_a_note),
        cmocka_unit_test(one_run_is_a_block),
        cmocka_unit_test(epochs_that_count),
        cmocka_unit_test(the_gpu_has_a_row_of_its_own),
        cmocka_unit_test(what_was_timed_has_percentiles),
        cmocka_unit_test(words_instead_of_times),
        cmocka_unit_test(summaries),
        cmocka_unit_test(styles_differ),
        cmocka_unit_test(unlike_runs_are_series_of_their_own),
        cmocka_unit_test(labels_are_short),
        cmocka_unit_test(columns_keep_runs_apart_too),
        cmocka_unit_test(systems_of_unlike_options_are_named),
        cmocka_unit_test(labels_name_the_exception),
        cmocka_unit_test(a_series_varies_one_option),
        cmocka_unit_test(captions_say_why_it_is_not_settled),
        cmocka_unit_test_setup_teardown(a_time_that_is_not_settled_is_marked, make_pictures, remove_pictures),
        cmocka_unit_test_setup_teardown(names_are_data_for_gnuplot, make_pictures, remove_pictures),
        cmocka_unit_test_setup_teardown(pictures_of_a_comparison, make_pictures, remove_pictures),
        cmocka_unit_test_setup_teardown(sixteen_series_are_legible, make_pictures, remove_pictures),
        cmocka_unit_test_setup_teardown(a_picture_of_two_worlds, make_pictures, remove_pictures),
        cmocka_unit_test_setup_teardown(a_cap_that_nothing_enforced_is_marked, make_pictures, remove_pictures),
        cmocka_unit_test_setup_teardown(an_inherited_limit_is_marked, make_pictures, remove_pictures),
        cmocka_unit_test(an_inherited_limit_above_a_runs_own),
        cmocka_unit_test_setup_teardown(nothing_to_draw_is_an_error, make_pictures, remove_pictures),
        cmocka_unit_test_setup_teardown(missing_gnuplot_is_told, make_pictures, remove_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
