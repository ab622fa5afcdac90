/* SPDX-License-Identifier: MIT */
/* `oocgnn report --html` and --csv from outside; the page in a browser, where one is installed. */
#include "tests/support/browser.h"
#include "tests/support/must.h"
#include "tests/support/place.h"
#include "tests/support/process.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct pages {
    struct place *place;
    char shell[2600]; /* names for the commands below: P the program, D the folder, B the database */
};

static int set_up(void **state)
{
    void *place;
    struct pages *const p = calloc(1, sizeof *p);
    assert_non_null(p);
    (void)place_set_up(&place);
    p->place = place;
    (void)snprintf(p->shell, sizeof p->shell, "P=%s D=%s B=%s; ", p->place->program, p->place->dir, p->place->db);
    *state = p;
    return place_run(p->place, PLACE_CELLS("3") "[pygplus]\nsystem = pygplus\nmemory = 8M\n"
                                                "[gnndrive]\nsystem = gnndrive\nmemory = 12M\nseed = 1, 2\n"
                                                "[ginex]\nsystem = ginex\nmemory = 1M\n")
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    struct pages *const p = *state;
    void *place = p->place;
    (void)place_tear_down(&place);
    free(p);
    return 0;
}

static void a_page_is_written(void **state)
{
    const struct pages *const p = *state;
    struct process_result r = process_shell("%s $P report --db $B --html $D/page.html && cat $D/page.html", p->shell);
    if (r.exit_status != 0)
        fail_msg("exit %d: %s", r.exit_status, r.err);
    must_show(r.out, "page.html\n<!DOCTYPE html>");
    must_show(r.out, "<tr data-run=\"1\">");
    must_show(r.out, "<tr data-run=\"4\">"); /* all of them, oom too */
    must_show(r.out, "<td class=\"bad\">oom</td>");
    process_free(&r);
    r = process_shell("%s $P report 2 3 --db $B --html $D/two.html && grep -c '<tr data-run' $D/two.html", p->shell);
    must_show(r.out, "two.html\n2\n");
    process_free(&r);
}

static void csv_is_printed(void **state)
{
    const struct pages *const p = *state;
    struct process_result r = process_shell("%s $P report --runs --last 4 --db $B --csv", p->shell);
    if (r.exit_status != 0)
        fail_msg("exit %d: %s", r.exit_status, r.err);
    must_show(r.out, "run_id,status,valid,reasons,");
    must_show(r.out, ",epoch_p90_ns,");
    must_show(r.out, ",batch_p99_ns,");
    must_show(r.out, ",read_p99_ns,read_p999_ns,read_max_ns");
    int lines = 0;
    for (const char *at = r.out; (at = strstr(at, "\r\n")) != NULL; at += 2)
        lines++;
    assert_int_equal(lines, 5);
    process_free(&r);
}

/* Rows of configurations, of all runs and of epochs, each with the same header however many runs there are. */
static void csv_has_three_kinds_of_rows(void **state)
{
    const struct pages *const p = *state;
    static const struct {
        const char *options;
        int lines;
        const char *parts[4];
    } cases[] = {
        {"--csv --last 4", 5, {"system,dataset,scale,dim,world,memory_bytes,batch,", ",epoch_s,", ",oom,0,,,,,"}},
        {"--csv --last 4 --over seed", 4, {",ok,2,", ",2 3\n"}},
        {"--csv --last 1", 2, {"system,dataset,scale,dim,world,memory_bytes,batch,"}},
        {"--csv --last 1 --runs", 2, {"run_id,status,valid,"}},
        {"--csv 4", 2, {"run_id,status,valid,"}},
        {"--csv --all", 5, {",build.revision,dataset.digest,run.identity,", ",memory\n", ",8M\n", ",1M\n"}},
        {"--csv --all --per-epoch",
         10,
         {"run_id,system,status,epoch,counted,complete,wall_ns,", "1,pygplus,ok,2,1,1,"}},
        {"--csv --per-epoch 2 3", 7, {"3,gnndrive,ok,0,0,1,"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct process_result r = process_shell("%s $P report %s --db $B | tr -d '\\r'", p->shell, cases[i].options);
        int lines = 0;
        for (const char *at = r.out; (at = strchr(at, '\n')) != NULL; at++)
            lines++;
        if (lines != cases[i].lines)
            fail_msg("%s: %d lines:\n%s%s", cases[i].options, lines, r.out, r.err);
        for (int part = 0; part < 4 && cases[i].parts[part] != NULL; part++)
            must_show(r.out, cases[i].parts[part]);
        process_free(&r);
    }
}

/* A single run has its tables; several are rows of configurations, from which --runs leads to the tables. */
static void a_report_summarises(void **state)
{
    const struct pages *const p = *state;
    struct process_result r = process_shell("%s $P report --db $B --last 4 --over seed", p->shell);
    process_expect_all(&r, 0,
                       (const char *const[]){"system    memory      n  epoch s", "\ngnndrive  12.0 MiB    2  ",
                                             "\nginex     1.00 MiB    1      oom  ", "  2 3\n", ": --runs\n",
                                             "\nconditions of all rows: simulated world, ", NULL});
    assert_null(strstr(r.out, "Stages"));
    process_free(&r);
    r = process_shell("%s for o in '--last 1' '2 3' '--last 2 --runs'; do $P report --db $B $o | grep -c '^Reads'; "
                      "done; $P report --db $B --last 3 --markdown | head -2",
                      p->shell);
    must_show(r.out, "1\n1\n1\n| system ");
    process_free(&r);
}

static json_int_t figure_of(const json_t *epoch, const char *name)
{
    const json_t *const value = json_object_get(json_object_get(epoch, "figures"), name);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

/* Time from step to step: its percentiles ascend, and with one step it is the time up to that step. */
static void mini_batches_have_percentiles(void **state)
{
    const struct pages *const p = *state;
    static const char *const more[] = {"", "--max-batches 1"};
    for (int one = 0; one < 2; one++) {
        struct process_result r = process_shell(
            "%s $P run --system gnndrive --dataset papers100m --scale 1/4000 --dim 100 --world simulated --profile "
            "tests/golden/machine.ini --batch 32 --fanout 5,5 --hidden 16 --db $D/steps.db --quiet --json %s",
            p->shell, more[one]);
        json_t *const run = json_loads(r.out, 0, NULL);
        assert_non_null(run);
        const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
        const json_int_t p50 = figure_of(epoch, "batch_p50_ns"), p90 = figure_of(epoch, "batch_p90_ns"),
                         p99 = figure_of(epoch, "batch_p99_ns"), most = figure_of(epoch, "batch_max_ns"),
                         wall = json_integer_value(json_object_get(epoch, "wall_ns"));
        assert_true(0 < p50);
        assert_true(p50 <= p90);
        assert_true(p90 <= p99);
        assert_true(p99 <= most);
        assert_true(most <= wall);
        if (one == 1)
            assert_int_equal(p50, most);
        else
            assert_true(p50 < most); /* the first waits for the pipeline to fill */
        json_decref(run);
        process_free(&r);
    }
}

static void wrong_usage(void **state)
{
    const struct pages *const p = *state;
    static const struct {
        const char *arguments; /* $B: the database, $D: the test's folder */
        int exit_status;
        const char *message;
    } cases[] = {
        {"--db $B --csv --json", 2, "one of --markdown"},
        {"--db $B --figures $D", 2, "add --html"},
        {"--db $B --html $D/in-the-way", 2, "in-the-way: exists and is no file"},
        {"--db $B --html $D/no/page.html", 1, "No such file or directory; name a file in a folder you may write"},
        {"--db $B --html $D", 1, "Is a directory; name another file"},
        {"--db $B --html $D/full.html", 1, "cannot be written: No space left on device; free space or name another"},
        {"--db $B --html $D/x.html --figures $D/no", 2, "--figures"},
        {"--db $B --html $D/x.html --figures $D/bare", 2,
         "no picture, CSV file or caption there; `oocgnn figure --list`"},
        {"--db $B --plot /proc/nope", 2,
         "--plot: /proc/nope: cannot be made a directory: No such file or directory. Name"},
        {"--db $D/nosuch.db", 2, "no such database; name another"},
        {"--db $D/empty", 2, "no run was ever recorded in it; `oocgnn run --help` shows how"},
        {"--db $D", 2, "is a directory; name a file"},
        {"--db README.md", 1, "file is not a database; choose another"},
        {"--per-epoch --json --db $B", 2, "--per-epoch is a form of --csv"},
        {"--all 3 --db $B", 2, "leave out RUN, --last"},
        {"--all --csv --where hidden=16 --db $B", 2, "leave out RUN, --last, --where"},
        {"--over sed --db $B", 2, "--over sed: no option \"sed\""},
        {"--over seed --runs --db $B", 2, "--over seed: rows of runs have no repetitions"},
        {"99 --db $B", 2, "has no run 99; `oocgnn report --last 20 --db "},
        {"x --db $B", 2, "\"x\" is no run's number; `oocgnn report --last 10 --db "},
        {"--db $B --where hidden=7", 2, "with those values; `oocgnn report --last 20 --db "},
        {"--db $B --where nosuch=7", 2, "--where nosuch=7: no option \"nosuch\""},
        {"--db $B --where nosuch.x=7", 2, "--where nosuch.x=7: "},
        {"--db $B --series nosuch", 2, "--series nosuch: no option \"nosuch\""},
        {"--db $B --last 10000", 2, "is outside 0 to 2048"},
    };
    process_write_file(p->place->dir, "empty", 0644, "%s", "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        process_expect(
            process_shell(
                "%s mkdir -p $D/bare; ln -sf /dev/full $D/full.html.new; ln -sf $D/x $D/in-the-way; $P report %s",
                p->shell, cases[i].arguments),
            cases[i].exit_status, cases[i].message, cases[i].arguments);
    struct process_result r = process_shell("%s ls $D | grep -c 'x.html'", p->shell);
    assert_string_equal(r.out, "0\n"); /* no half page */
    process_free(&r);
    r = process_shell("%s $P report --db $B --plot /proc/nope", p->shell);
    assert_string_equal(r.out, ""); /* it fails before the table */
    process_free(&r);
}

/* The script ran to its end and threw nothing, and what it fills is filled. */
static void a_browser_shows_it(void **state)
{
    const struct pages *const p = *state;
    browser_need();
    struct process_result r = process_shell("%s $P report --db $B --html $D/page.html", p->shell);
    assert_int_equal(r.exit_status, 0);
    process_free(&r);
    r = browser_load(p->place->dir, "page.html");
    assert_string_equal(r.err, "");
    must_show(r.out, "data-ready=\"1\"");
    assert_null(strstr(r.out, "data-error"));
    must_show(r.out, "Stage times and waits");
    must_show(r.out, "4 of 4 runs");
    must_show(r.out, "values differ");
    process_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_written),
        cmocka_unit_test(csv_is_printed),
        cmocka_unit_test(csv_has_three_kinds_of_rows),
        cmocka_unit_test(a_report_summarises),
        cmocka_unit_test(mini_batches_have_percentiles),
        cmocka_unit_test(wrong_usage),
        cmocka_unit_test(a_browser_shows_it),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
