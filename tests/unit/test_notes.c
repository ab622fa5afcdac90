/* SPDX-License-Identifier: MIT */
/* Notes on measured times: load, threads without a core, spread of repetitions; where they are written. */
#include "harness/record/notes.h"
#include "harness/record/page.h"
#include "harness/record/plot.h"
#include "harness/record/report.h"
#include "harness/run/config.h"
#include "tests/support/fake_run.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A run of 10 s an epoch that starts with this /proc/loadavg on 4 cores. */
static void loaded_run(struct gnn_run_record *run, double slow, const char *load)
{
    struct gnn_err err = {0};
    fake_run(run, "gnndrive", slow, 1, 1);
    run->run_id = 7;
    must(gnn_kv_set(&run->environment, "cpu.load", load, &err), &err);
    must(gnn_kv_set(&run->environment, "cpu.online", "4", &err), &err);
}

/* Sets the run queue's share of the stages' time. */
static void queue(struct gnn_run_record *run, double share)
{
    for (uint32_t e = 0; e < run->epoch_count; e++)
        for (uint32_t s = 0; s < run->epochs[e].stage_count; s++)
            run->epochs[e].stages[s].queued_ns = (uint64_t)(share * (double)run->epochs[e].stages[s].wall_ns);
}

static const char *notes_of(const struct gnn_run_record *run, char text[GNN_NOTES_BYTES])
{
    struct gnn_trust trust;
    gnn_trust_init(&trust);
    gnn_trust_add(&trust, run);
    const bool any = gnn_trust_text(&trust, text, GNN_NOTES_BYTES);
    assert_int_equal(any, text[0] != '\0');
    return text;
}

/* A load of half the cores is no note. Nor is one that nobody else causes, as after a run that ended. */
static void a_load_is_noted_from_half_the_cores_on(void **state)
{
    (void)state;
    static const struct {
        const char *load, *note;
    } cases[] = {
        {"2.01 9.00 9.00 2/345 678", "load 2.0 on 4 cores at the start"},
        {"2.00 9.00 9.00 9/345 678", ""},
        {"9.00 0.00 0.00 1/345 678", ""},
        {"9.00 0.00 0.00 2/345 678", "load 9.0 on 4 cores at the start"},
        {"nonsense", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_run_record run;
        char text[GNN_NOTES_BYTES];
        loaded_run(&run, 10, cases[i].load);
        assert_string_equal(notes_of(&run, text), cases[i].note);
        run.status = GNN_RUN_RUNNING; /* it is noted as the run starts */
        assert_string_equal(notes_of(&run, text), cases[i].note);
        run.status = GNN_RUN_OOM; /* no time that could be wrong */
        assert_string_equal(notes_of(&run, text), "");
        run.status = GNN_RUN_OK;
        run.valid = 0;
        assert_string_equal(notes_of(&run, text), "");
        run.valid = 1;
        (void)snprintf(run.world, sizeof run.world, "simulated");
        assert_string_equal(notes_of(&run, text), "");
        gnn_run_record_free(&run);
    }
}

static void a_run_queue_is_noted_from_a_tenth_on(void **state)
{
    (void)state;
    struct gnn_run_record run;
    char text[GNN_NOTES_BYTES];
    loaded_run(&run, 10, "0.50 0.00 0.00 1/345 678");
    queue(&run, 0.099);
    assert_string_equal(notes_of(&run, text), "");
    assert_true(gnn_trust_state(&run, text, sizeof text));
    assert_string_equal(text, "load 0.5 on 4 cores at the start, workers waited for a core 9.9 % of their time");
    queue(&run, 0.25);
    assert_string_equal(notes_of(&run, text), "workers waited for a core 25 % of their time");
    run.epochs[0].stages[0].queued_ns = GNN_UNKNOWN;
    assert_string_equal(notes_of(&run, text), "");
    assert_true(gnn_trust_state(&run, text, sizeof text));
    assert_string_equal(text, "load 0.5 on 4 cores at the start");
    gnn_run_record_free(&run);
    fake_run(&run, "gnndrive", 10, 0, 1);
    assert_false(gnn_trust_state(&run, text, sizeof text));
    gnn_run_record_free(&run);
}

/* 10, 10.5 and 11 s: 1 of 10.5. Runs without a time are left out. */
static void the_spread_is_a_share_of_the_median(void **state)
{
    (void)state;
    struct gnn_run_record runs[4];
    const struct gnn_run_record *const alike[] = {&runs[0], &runs[1], &runs[2], &runs[3]};
    for (uint32_t i = 0; i < 4; i++)
        loaded_run(&runs[i], 10 + 0.5 * i, "0.00 0.00 0.00 1/345 678");
    runs[3].status = GNN_RUN_FAILED;
    assert_true(fabs(gnn_runs_spread_pct(alike, 4) - 100 / 10.5) < 1e-6);
    assert_true(fabs(gnn_runs_spread_pct(alike + 1, 2) - 50 / 10.75) < 1e-6);
    assert_true(isnan(gnn_runs_spread_pct(alike, 1)));
    assert_true(isnan(gnn_runs_spread_pct(alike + 2, 2)));
    assert_true(isnan(gnn_runs_spread_pct(alike, 0)));
    for (uint32_t i = 0; i < 4; i++)
        gnn_run_record_free(&runs[i]);
}

/* Of several runs the largest values are named. */
static void many_runs_have_one_text(void **state)
{
    (void)state;
    struct gnn_run_record runs[3];
    const struct gnn_run_record *const alike[] = {&runs[0], &runs[1], &runs[2]};
    char text[GNN_NOTES_BYTES];
    struct gnn_trust trust;
    loaded_run(&runs[0], 10, "3.00 0.00 0.00 2/345 678");
    loaded_run(&runs[1], 12, "5.00 0.00 0.00 2/345 678");
    loaded_run(&runs[2], 11, "4.00 0.00 0.00 2/345 678");
    queue(&runs[0], 0.2);
    queue(&runs[2], 0.3);
    gnn_trust_init(&trust);
    for (uint32_t i = 0; i < 3; i++)
        gnn_trust_add(&trust, &runs[i]);
    gnn_trust_add_spread(&trust, alike, 3);
    gnn_trust_add_spread(&trust, alike, 1);
    assert_true(gnn_trust_text(&trust, text, sizeof text));
    assert_string_equal(text, "load up to 5.0 on 4 cores at the start, workers waited for a core up to 30 % of their "
                              "time, epoch times of repetitions spread by up to 18.2 % of their median");
    for (uint32_t i = 0; i < 3; i++)
        gnn_run_record_free(&runs[i]);
}

static char *printed(const struct gnn_run_record *runs, uint32_t count,
                     void (*print)(const struct gnn_run_record *, uint32_t, FILE *))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    print(runs, count, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void print_report(const struct gnn_run_record *runs, uint32_t count, FILE *out)
{
    gnn_report_runs(runs, count, GNN_REPORT_TEXT, out);
}

static void print_one(const struct gnn_run_record *runs, uint32_t count, FILE *out)
{
    assert_int_equal(count, 1);
    gnn_report_run(runs, out);
}

static void print_json(const struct gnn_run_record *runs, uint32_t count, FILE *out)
{
    struct gnn_err err = {0};
    assert_int_equal(count, 1);
    must(gnn_run_json(runs, false, out, &err), &err);
}

static void print_page(const struct gnn_run_record *runs, uint32_t count, FILE *out)
{
    struct gnn_err err = {0};
    must(gnn_page_data(runs, count, "revision", gnn_system_place, out, &err), &err);
}

/* The run stays valid, and its time stays. */
static void notes_are_written_where_times_are(void **state)
{
    (void)state;
    struct gnn_run_record runs[2];
    loaded_run(&runs[0], 10, "3.00 0.00 0.00 2/345 678");
    loaded_run(&runs[1], 12, "0.00 0.00 0.00 1/345 678");
    runs[1].run_id = 8;
    char *text = printed(runs, 2, print_report);
    must_show(text, "11.50");
    must_show(text, "note on run 7: load 3.0 on 4 cores at the start\n");
    assert_null(strstr(text, "note on run 8"));
    must_show(text, "note on gnndrive: the epoch times of its 2 runs spread by 18.2 % of their median\n");
    free(text);
    text = printed(&runs[0], 1, print_one);
    must_show(text, "  result          ok\n");
    must_show(text,
              "  machine         load 3.0 on 4 cores at the start, workers waited for a core 0 % of their time: the");
    must_show(text, "times may not repeat");
    free(text);
    text = printed(&runs[1], 1, print_one);
    must_show(text, "  machine         load 0.0 on 4 cores at the start");
    assert_null(strstr(text, "may not repeat"));
    free(text);
    text = printed(&runs[0], 1, print_json);
    must_show(text, "\"notes\":\"load 3.0 on 4 cores at the start\",");
    free(text);
    text = printed(&runs[1], 1, print_json);
    must_show(text, "\"notes\":null,");
    free(text);
    text = printed(runs, 2, print_page);
    must_show(text, "compute cpu. Note: load 3.0 on 4 cores at the start\"");
    must_show(text, "compute cpu\"");
    free(text);
    for (int i = 0; i < 2; i++)
        gnn_run_record_free(&runs[i]);
}

static void a_picture_has_the_notes_of_its_runs(void **state)
{
    (void)state;
    struct gnn_run_record runs[2];
    struct gnn_err err = {0};
    char *const dir = process_temp_dir();
    loaded_run(&runs[0], 10, "3.00 0.00 0.00 2/345 678");
    loaded_run(&runs[1], 12, "0.00 0.00 0.00 1/345 678");
    const enum gnn_status status = gnn_plot_comparison(runs, 2, gnn_system_place, dir, &err);
    if (status != GNN_OK && status != GNN_ENOTSUP) /* without gnuplot, its script is written all the same */
        must(status, &err);
    struct process_result script = process_shell("tr -d '\\n' <%s/epoch-time.gp", dir);
    must_show(script.out, "2 runs of each series. Note: load up to 3.0 on 4 cores at the start, epoch times of");
    process_free(&script);
    process_remove_tree(dir);
    free(dir);
    for (int i = 0; i < 2; i++)
        gnn_run_record_free(&runs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_is_noted_from_half_the_cores_on),
        cmocka_unit_test(a_run_queue_is_noted_from_a_tenth_on),
        cmocka_unit_test(the_spread_is_a_share_of_the_median),
        cmocka_unit_test(many_runs_have_one_text),
        cmocka_unit_test(notes_are_written_where_times_are),
        cmocka_unit_test(a_picture_has_the_notes_of_its_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
