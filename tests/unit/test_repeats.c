/* SPDX-License-Identifier: MIT */
/* Repetitions as one row: numbers by hand, ratios between what is comparable, words instead of times; and the CSV of
 * all runs and of epochs. */
#include "harness/record/csv.h"
#include "harness/record/report.h"
#include "harness/record/summary.h"
#include "tests/support/fake_run.h"
#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RUNS = 6 };

/* Runs 1 to 6: three of one system with 10, 12 and 11 s, one of another with 44 s, two of a third without a time. */
static void six_runs(struct gnn_run_record *runs)
{
    static const char *const systems[RUNS] = {"gnndrive", "pygplus", "gnndrive", "ginex", "gnndrive", "ginex"};
    static const double seconds[RUNS] = {10, 44, 12, 1, 11, 1};
    struct gnn_err err = {0};
    for (uint32_t i = 0; i < RUNS; i++) {
        fake_run(&runs[i], systems[i], seconds[i], 2, 1);
        runs[i].run_id = i + 1;
        runs[i].counters.rows_asked = 1000;
        must(gnn_kv_set(&runs[i].config, "hidden", "256", &err), &err);
        if (strcmp(systems[i], "ginex") != 0)
            continue;
        runs[i].status = GNN_RUN_OOM;
        runs[i].valid = -1;
        gnn_run_record_reason(&runs[i], "it needs 5 MiB. Raise the limit to 5.5 MiB");
        gnn_run_record_reason(&runs[i], "a second line");
    }
}

static void free_runs(struct gnn_run_record *runs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        gnn_run_record_free(&runs[i]);
}

static char *table_of(const struct gnn_run_record *runs, uint32_t count, const char *over, enum gnn_report_style style)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    assert_non_null(out);
    gnn_report_repeats(runs, count, over, style, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Makes the table, expects the parts in it (the list ends with NULL), and frees the runs. */
static void expect_table(struct gnn_run_record *runs, const char *over, enum gnn_report_style style,
                         const char *const *parts)
{
    char *const text = table_of(runs, RUNS, over, style);
    for (; *parts != NULL; parts++)
        must_show(text, *parts);
    free(text);
    free_runs(runs, RUNS);
}
#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void rows_by_hand(void **state)
{
    (void)state;
    struct gnn_run_record runs[RUNS];
    six_runs(runs);
    expect_table(
        runs, "", GNN_REPORT_TEXT,
        PARTS(
            "system      n  epoch s  least   most  ratio  first epoch s  I/O wait %  peak memory  test acc %  runs\n",
            "\ngnndrive    3    11.00  10.00  12.00   1.00          12.65        43.7      320 MiB       62.00  1 3 "
            "5\n",
            "\npygplus     1    44.00  44.00  44.00   4.00          50.60        50.0      320 MiB       62.00  2\n",
            "\nginex       2      oom      -      -      -              -           -            -           -  4 6\n",
            "\n\nconditions of all rows: measured world, papers100m, scale 1/100, dim 128, ",
            "\nginex: run 6 is oom: it needs 5 MiB\n",
            "\nnote: epoch times of repetitions spread by up to 18.2 % of their median\n"));
    six_runs(runs);
    expect_table(runs, "", GNN_REPORT_MARKDOWN,
                 PARTS("| system   |   n | epoch s |", "\n| gnndrive |   3 |   11.00 | 10.00 | 12.00 |  1.00 |"));
    six_runs(runs);
    expect_table(runs, "", GNN_REPORT_CSV,
                 PARTS("system,dataset,scale,dim,world,memory_bytes,batch,status,n,epoch_s,epoch_s_least,epoch_s_"
                       "most,ratio,first_epoch_s,",
                       "\ngnndrive,papers100m,1/100,128,measured,335544320,10,ok,3,11,10,12,1,12.65,",
                       "\npygplus,papers100m,1/100,128,measured,335544320,10,ok,1,44,44,44,4,50.6,",
                       "\nginex,papers100m,1/100,128,measured,335544320,10,oom,0,,,,,,,,,,,,,,4 6\r\n"));
}

/* Of several repetitions, those without a time are counted apart; the others have median and range. */
static void some_have_no_time(void **state)
{
    (void)state;
    struct gnn_run_record runs[RUNS];
    six_runs(runs);
    runs[4].status = GNN_RUN_OOT;
    gnn_run_record_reason(&runs[4], "after 30 s");
    runs[1].valid = 0; /* though its status is ok */
    runs[5].run_id = 5;
    runs[4].run_id = 4;
    runs[3].run_id = 9;
    expect_table(runs, "", GNN_REPORT_TEXT,
                 PARTS("\ngnndrive  2 of 3    11.00  10.00  12.00   1.00", "  1 3 4\n", "\npygplus        1  invalid ",
                       "\ngnndrive: run 4 is oot: after 30 s\n", "\npygplus: run 2 is invalid: -\n"));
}

/* A long list of runs is cut. */
static void numbers_of_runs_are_cut(void **state)
{
    (void)state;
    struct gnn_run_record runs[40];
    for (uint32_t i = 0; i < 40; i++) {
        fake_run(&runs[i], "gnndrive", 10, 1, 1);
        runs[i].run_id = 1000 + 2 * i;
    }
    char *const text = table_of(runs, 40, "", GNN_REPORT_TEXT);
    must_show(text, "  1000 1002 1004 1006 1008 1010 1012 1014 101 ...\n");
    free(text);
    free_runs(runs, 40);
}

/* A faster row of another world, dataset, scale, variant, memory limit, option or build is no measure. One of another
 * parameter of a system, tag or engine of reads is. */
static void only_alike_rows_have_a_ratio(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++) {
        struct gnn_run_record runs[RUNS];
        six_runs(runs);
        struct gnn_run_record *const other = &runs[1];
        (void)snprintf(other->world, sizeof other->world, i == 0 ? "simulated" : "measured");
        (void)snprintf(other->dataset, sizeof other->dataset, i == 1 ? "twitter" : "papers100m");
        (void)snprintf(other->variant, sizeof other->variant, i == 2 ? "sample-only" : "");
        other->scale_divisor = i == 3 ? 200 : 100;
        (void)snprintf(other->cap_enforcement, sizeof other->cap_enforcement, i == 4 ? "in-program" : "cgroup-v1");
        other->counters.rows_asked = i == 5 ? GNN_UNKNOWN : 1000;
        other->cap_bytes = i == 6 ? 2 * runs[0].cap_bytes : runs[0].cap_bytes;
        (void)snprintf(other->tag, sizeof other->tag, i == 9 ? "tuned" : "");
        if (i == 10)
            (void)snprintf(other->io_engine, sizeof other->io_engine, "other");
        if (i == 11)
            (void)snprintf(other->system, sizeof other->system, "%s", runs[0].system);
        for (int run = 0; run < RUNS; run++) {
            struct gnn_err err = {0};
            const bool is_other = run == 1;
            must(gnn_kv_set(&runs[run].config, "hidden", i == 7 && is_other ? "32" : "16", &err), &err);
            must(gnn_kv_set(&runs[run].environment, "build.revision", i == 8 && is_other ? "b" : "a", &err), &err);
            if (strcmp(runs[run].system, "gnndrive") == 0)
                must(gnn_kv_set(&runs[run].config, "gnndrive.samplers", is_other ? "4" : "2", &err), &err);
        }
        char *const text = table_of(runs, RUNS, "", GNN_REPORT_CSV);
        must_show(text, i < 9 ? ",ok,1,44,44,44,1," : ",ok,1,44,44,44,4,");
        free(text);
        free_runs(runs, RUNS);
    }
}

/* Seeds are configurations of their own, unless they are what runs are repeated over. */
static void seeds_and_options(void **state)
{
    (void)state;
    struct gnn_run_record runs[RUNS];
    six_runs(runs);
    runs[2].seed = 2;
    expect_table(runs, "", GNN_REPORT_TEXT,
                 PARTS("system    seed    n  epoch s", "\ngnndrive  1       2    10.50",
                       "\ngnndrive  2       1    12.00", "  1 5\n"));
    six_runs(runs);
    runs[2].seed = 2;
    expect_table(runs, "seed", GNN_REPORT_TEXT, PARTS("\ngnndrive    3    11.00  10.00  12.00"));
    six_runs(runs);
    runs[1].cap_bytes = 64 << 20;
    struct gnn_err err = {0};
    must(gnn_kv_set(&runs[0].config, "lr", "0.00030000000000000003", &err), &err);
    must(gnn_kv_set(&runs[1].config, "lr", "0.01", &err), &err);
    must(gnn_kv_set(&runs[1].config, "pygplus.order", "file", &err), &err); /* only this system has it */
    expect_table(runs, "", GNN_REPORT_TEXT,
                 PARTS("system    memory    lr        n", "\ngnndrive  320 MiB   0.0003    3",
                       "\npygplus   64.0 MiB  0.01", "\nginex     320 MiB   -  "));
    six_runs(runs);
    runs[1].cap_bytes = GNN_UNKNOWN;
    expect_table(runs, "", GNN_REPORT_CSV, PARTS("\npygplus,papers100m,1/100,128,measured,,10,ok,"));
}

/* What rows share is said once; what they differ in is not among it. Of a reason the first sentence is enough. */
static void below_the_table(void **state)
{
    (void)state;
    struct gnn_run_record runs[RUNS];
    six_runs(runs);
    runs[1].batch_size = 20;
    runs[3].seed = 3;
    char *const text = table_of(runs, RUNS, "", GNN_REPORT_TEXT);
    must_show(text,
              "\nconditions of all rows: measured world, papers100m, scale 1/100, dim 128, model sage, hidden 256, "
              "fan-out 10,10,10, memory limit 320 MiB (cgroup-v1), cold start, compute cpu\n");
    must_show(text, "\nginex seed=3: run 4 is oom: it needs 5 MiB\nginex seed=1: run 6 is oom: it needs 5 MiB\n");
    free(text);
    free_runs(runs, RUNS);
    fake_run(&runs[0], "gnndrive", 10, 1, 1);
    char *const one = table_of(runs, 1, "", GNN_REPORT_TEXT);
    must_show(one, "\nconditions: measured world");
    assert_null(strstr(one, "first epoch")); /* it has no other */
    assert_null(strstr(one, "note: "));
    free(one);
    free_runs(runs, 1);
}

/* ---- CSV ---- */

static char *csv_of(enum gnn_csv_rows rows, const struct gnn_run_record *runs, uint32_t count)
{
    char *text = NULL;
    size_t bytes = 0;
    struct gnn_err err = {0};
    FILE *const out = open_memstream(&text, &bytes);
    must(gnn_runs_csv(rows, runs, count, out, &err), &err);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Expects the value of a column in a row (from 0); no value has a comma. */
static void expect_field(const char *csv, uint32_t row, const char *name, const char *wanted)
{
    char *const copy = strdup(csv);
    char *rest = copy, *header = strsep(&rest, "\r"), *word, *line = NULL;
    uint32_t column = 0;
    while ((word = strsep(&header, ",")) != NULL && strcmp(word, name) != 0)
        column++;
    if (word == NULL)
        fail_msg("no column %s", name);
    for (uint32_t r = 0; r <= row; r++)
        line = strsep(&rest, "\r");
    for (uint32_t c = 0; c <= column; c++)
        word = strsep(&line, ",");
    if (word == NULL || strcmp(word, wanted) != 0)
        fail_msg("%s of row %u is \"%s\", expected \"%s\"", name, row, word == NULL ? "?" : word, wanted);
    free(copy);
}

/* A mean over a column of times is one over whole runs. */
static void incomplete_runs_have_no_times(void **state)
{
    (void)state;
    static const enum gnn_run_status ends[] = {GNN_RUN_OOT,         GNN_RUN_OOM,     GNN_RUN_GPU_OOM, GNN_RUN_FAILED,
                                               GNN_RUN_INTERRUPTED, GNN_RUN_RUNNING, GNN_RUN_INVALID};
    static const char *const times[] = {
        "wall_ns", "elapsed_ns",     "cpu_ns",       "before_elapsed_ns", "floor_ns",     "floor_ratio", "io_wait_pct",
        "cpu_pct", "first_epoch_ns", "epoch_min_ns", "epoch_p50_ns",      "epoch_max_ns", "read_p50_ns"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct gnn_run_record run;
        fake_run(&run, "gnndrive", 10, 3, 1);
        (void)snprintf(run.fanout, sizeof run.fanout, "10");
        for (uint32_t e = 0; e < 3; e++)
            fake_figure(&run.epochs[e], GNN_FIGURE_FLOOR, 1000);
        fake_figure(&run.epochs[2], "read_p50_ns", 17);
        char *text = csv_of(GNN_CSV_RUNS, &run, 1);
        expect_field(text, 0, "epoch_p50_ns", "10000000000");
        expect_field(text, 0, "io_wait_pct", "43.75");
        free(text);
        run.status = ends[i];
        run.valid = -1;
        text = csv_of(GNN_CSV_RUNS, &run, 1);
        for (size_t t = 0; t < sizeof times / sizeof *times; t++)
            expect_field(text, 0, times[t], "");
        expect_field(text, 0, "device_read_bytes", "57900000000"); /* counts are counts of what was done */
        free(text);
        text = csv_of(GNN_CSV_EPOCHS, &run, 1);
        expect_field(text, 2, "wall_ns", "");
        expect_field(text, 2, "batches", "1208");
        free(text);
        gnn_run_record_free(&run);
    }
}

static void options_that_vary_are_columns(void **state)
{
    (void)state;
    struct gnn_run_record runs[RUNS];
    struct gnn_err err = {0};
    six_runs(runs);
    for (uint32_t i = 0; i < RUNS; i++) {
        (void)snprintf(runs[i].fanout, sizeof runs[i].fanout, "10");
        runs[i].reasons[0] = '\0';
        must(gnn_kv_set(&runs[i].config, "seed", i == 3 ? "7" : "1", &err), &err); /* a column has it */
        if (strcmp(runs[i].system, "gnndrive") == 0)
            must(gnn_kv_set(&runs[i].config, "gnndrive.extractors", i == 2 ? "8" : "4", &err), &err);
    }
    must(gnn_kv_set(&runs[5].config, "hidden", "16", &err), &err);
    must(gnn_kv_set(&runs[0].environment, "host.name", "one", &err), &err);
    must(gnn_kv_set(&runs[0].environment, GNN_ENVIRONMENT_INHERITED, "1048576", &err), &err);
    runs[0].started_unix_ns = UINT64_C(1795944249571046493);
    char *const text = csv_of(GNN_CSV_OPTIONS, runs, RUNS);
    must_show(text, ",started,host.name,cpu.model,cpu.online,kernel.release,device.name,device.model,build.version,"
                    "build.revision,dataset.digest,run.identity,memory.inherited_limit_bytes,gnndrive.extractors,hidden"
                    "\r\n");
    expect_field(text, 0, "started", "2026-11-29T09:24:09Z");
    expect_field(text, 0, "host.name", "one");
    expect_field(text, 1, "host.name", "");
    expect_field(text, 0, "memory.inherited_limit_bytes", "1048576");
    expect_field(text, 0, "build.revision", "0123456789ab");
    expect_field(text, 0, "gnndrive.extractors", "4");
    expect_field(text, 1, "gnndrive.extractors", "");
    expect_field(text, 2, "gnndrive.extractors", "8");
    expect_field(text, 0, "hidden", "256");
    expect_field(text, 5, "hidden", "16");
    free(text);
    char *const alike = csv_of(GNN_CSV_OPTIONS, runs, 1);
    must_show(alike, ",memory.inherited_limit_bytes\r\n"); /* nothing varies */
    free(alike);
    free_runs(runs, RUNS);
}

static void epochs_are_rows(void **state)
{
    (void)state;
    struct gnn_run_record runs[RUNS];
    six_runs(runs);
    runs[2].epochs[1].complete = 0;
    char *const text = csv_of(GNN_CSV_EPOCHS, runs, 3);
    expect_field(text, 0, "run_id", "\n1");
    expect_field(text, 0, "epoch", "0");
    expect_field(text, 0, "counted", "0");
    expect_field(text, 0, "wall_ns", "11500000000");
    expect_field(text, 1, "epoch", "1");
    expect_field(text, 1, "counted", "1");
    expect_field(text, 1, "wall_ns", "10000000000");
    expect_field(text, 1, "loss", "1.25");
    expect_field(text, 2, "system", "pygplus");
    expect_field(text, 5, "counted", "0");
    expect_field(text, 5, "complete", "0");
    expect_field(text, 5, "batch_digest", "fedcba9876543210");
    free(text);
    free_runs(runs, RUNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_by_hand),
        cmocka_unit_test(some_have_no_time),
        cmocka_unit_test(numbers_of_runs_are_cut),
        cmocka_unit_test(only_alike_rows_have_a_ratio),
        cmocka_unit_test(seeds_and_options),
        cmocka_unit_test(below_the_table),
        cmocka_unit_test(incomplete_runs_have_no_times),
        cmocka_unit_test(options_that_vary_are_columns),
        cmocka_unit_test(epochs_are_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
