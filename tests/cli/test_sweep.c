/* SPDX-License-Identifier: MIT */
/* Sweeps from outside: what is done is passed over, failures too; several at a time give the same records; datasets are
 * prepared; databases are joined. */
#include "tests/support/must.h"
#include "tests/support/place.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A small simulated workload; `rest` follows. */
static void write_job(const struct place *p, const char *rest)
{
    process_write_file(
        p->dir, "job.ini", 0644,
        "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = papers100m\nscale = 1/4000\nbatch = 32\n"
        "hidden = 16\nfanout = 5,5\nevaluate = never\ndata = %s/data\ndb = %s\n%s",
        p->dir, p->db, rest);
}

static struct process_result sweep(const struct place *p, const char *options)
{
    return process_shell("%s sweep %s/job.ini %s", p->program, p->dir, options);
}

static int lines(const char *text)
{
    int count = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++)
        count++;
    return count;
}

/* Runs it and expects so many records on stdout and this part on stderr. */
static void expect_sweep(const struct place *p, const char *options, int exit_status, int runs, const char *part)
{
    struct process_result r = sweep(p, options);
    if (r.exit_status != exit_status || lines(r.out) != runs || strstr(r.err, part) == NULL)
        fail_msg("sweep %s: exit %d, %d records, expected %d, %d and \"%s\":\n%s", options, r.exit_status, lines(r.out),
                 exit_status, runs, part, r.err);
    process_free(&r);
}

static void expect_plan(const struct place *p, const char *options, const char *part)
{
    struct process_result r = process_shell("%s sweep %s/job.ini --dry-run %s", p->program, p->dir, options);
    if (r.exit_status != 0 || strstr(r.out, part) == NULL)
        fail_msg("plan %s: exit %d, no \"%s\":\n%s%s", options, r.exit_status, part, r.out, r.err);
    process_free(&r);
}

/* A cell that fails is recorded, told and passed over; resumed, it is the one that is run again. */
static void failures_are_passed_over(void **state)
{
    const struct place *const p = *state;
    write_job(p, "[bad]\nsystem = gnndrive\nfault = eio-at=1\n[good]\nsystem = null | pygplus\n[none]\nsystem = "
                 "pygplus\nmemory = 4M\n");
    expect_plan(p, "", "time: unknown");
    expect_sweep(p, "--json", 1, 4, "3 runs made, 0 skipped, 1 failed");
    expect_sweep(p, "--json --resume", 1, 1, "0 runs made, 3 skipped, 1 failed"); /* oom is a result */
    expect_sweep(p, "--json --no-keep-going", 1, 1, "0 runs made, 0 skipped, 1 failed");
    expect_sweep(p, "--json --resume --cell 2", 0, 0, "0 runs made, 1 skipped");
    expect_plan(p, "", "of 1 such run");
    expect_plan(p, "--cell 2", "1 configuration, 1 run\ntime: about");
}

/* The spread is that of all recorded repetitions: one has twice the time of the others. */
static void a_spread_of_repetitions_is_noted(void **state)
{
    const struct place *const p = *state;
    sqlite3 *db;
    write_job(p, "[n]\nsystem = null | pygplus\n");
    struct process_result r = sweep(p, "--json --repeat 2");
    assert_int_equal(r.exit_status, 0);
    assert_null(strstr(r.err, "note:"));
    must_show(r.err, "\nsystem     n  epoch s  "); /* stdout has JSON objects only */
    process_free(&r);
    assert_int_equal(sqlite3_open(p->db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "UPDATE epochs SET wall_ns = 2 * wall_ns WHERE run_id = (SELECT max(run_id) FROM "
                                  "runs WHERE system = 'pygplus')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    expect_sweep(p, "--json --repeat 3 --resume", 0, 2,
                 "note: epoch times of repetitions spread by up to 100 % of their median\n");
    expect_sweep(p, "--json --cell 1", 0, 1, "1 run made");
}

/* A sweep ends with a row for each configuration that has a result, those that are skipped and repeated included. */
static void a_sweep_ends_with_its_table(void **state)
{
    const struct place *const p = *state;
    write_job(p, "[a]\nsystem = null | pygplus\nseed = 1 | 2\n[b]\nsystem = pygplus\nmemory = 4M\n[c]\nsystem = "
                 "pygplus\nfault = eio-at=1\n[again]\nsystem = null\n");
    struct process_result r = sweep(p, "--repeat 2");
    assert_int_equal(r.exit_status, 1);
    const char *const table = strstr(r.out, "\n\nsystem   memory    seed    n  epoch s");
    if (table == NULL || lines(table) < 9 || strstr(table, "Stages") != NULL)
        fail_msg("no table at the end:\n%s", r.out);
    must_show(table, "\nnull     none      1       4  "); /* of two sections, and each once */
    must_show(table, "\nnull     none      2       2  ");
    must_show(table, "\npygplus  none      1       2  ");
    must_show(table, "\npygplus  4.00 MiB  1       2      oom  ");
    must_show(table, "\npygplus memory=4.00 MiB seed=1: run ");
    process_free(&r);
    r = sweep(p, "--cell 5 --resume --repeat 2"); /* made already */
    must_show(r.out, "\nsystem     n  epoch s");
    must_show(r.out, "\npygplus    2      oom  ");
    assert_null(strstr(r.out, "null"));
    process_free(&r);
}

/* A run that ends at once, out of memory, is no measure of those that are left. */
static void the_time_left_is_of_runs_with_a_time(void **state)
{
    const struct place *const p = *state;
    static const char *const options[] = {"--json", "--json --jobs 2"};
    for (int i = 0; i < 2; i++) {
        write_job(p, "[none]\nsystem = pygplus | gnndrive\nmemory = 1M\n[a]\nsystem = pygplus\nseed = 1 | 2\n");
        struct process_result r =
            process_shell("rm -f %s; %s sweep %s/job.ini %s", p->db, p->program, p->dir, options[i]);
        assert_int_equal(r.exit_status, 0);
        must_show(r.err, "oocgnn: 1 of 4 runs\n");
        must_show(r.err, "oocgnn: 3 of 4 runs, time left about ");
        process_free(&r);
    }
}

/* In one file with the messages a cell's record stands between its own line and that of the next. */
static void records_and_messages_stay_in_order(void **state)
{
    const struct place *const p = *state;
    write_job(p, "[n]\nsystem = null\nseed = 1 | 2\n");
    struct process_result r =
        process_shell("%s sweep %s/job.ini --json >%s/log 2>&1; cat %s/log", p->program, p->dir, p->dir, p->dir);
    const char *const first = strstr(r.out, "{\""), *const second = strstr(r.out, "configuration 2 of 2");
    if (first == NULL || second == NULL || first > second || strstr(r.out, "configuration 1 of 2") > first)
        fail_msg("not in order:\n%s", r.out);
    process_free(&r);
}

/* Another option, another build or another machine is another cell; another place to tell it is not. */
static void what_is_done_is_known_by_all_that_it_is(void **state)
{
    const struct place *const p = *state;
    write_job(p, "[n]\nsystem = null\n");
    expect_sweep(p, "--json --repeat 2", 0, 2, "again");
    expect_sweep(p, "--json --repeat 2 --resume", 0, 0, "0 runs made, 2 skipped");
    expect_sweep(p, "--json --repeat 3 --resume", 0, 1, "1 run made, 2 skipped");
    write_job(p, "[n]\nsystem = null\nseed = 2\n");
    expect_sweep(p, "--json --resume", 0, 1, "");
    write_job(p, "[n]\nsystem = null\nquiet = yes\n");
    expect_sweep(p, "--json --resume", 0, 0, "");
    struct process_result r = process_shell("type sqlite3 >/dev/null || exit 127; sqlite3 %s \"UPDATE "
                                            "environment SET value = 'another' WHERE key = "
                                            "'build.revision'\"",
                                            p->db);
    if (r.exit_status == 127)
        skip_test("no sqlite3");
    assert_int_equal(r.exit_status, 0);
    process_free(&r);
    expect_sweep(p, "--json --resume --any-build", 0, 0, "");
    expect_sweep(p, "--json --resume", 0, 1, "");
}

/* The records of a sweep without what belongs to this machine's clock, sorted. */
static char *records(const struct place *p, const char *options)
{
    struct process_result r =
        process_shell("type jq >/dev/null || exit 127; %s sweep %s/job.ini %s --json --db %s/other.db 2>/dev/null | jq "
                      "-cS '[.system, .dim, "
                      ".wall_ns, .epochs[0].wall_ns, .epochs[0].counters.batch_digest]' | sort; rm %s/other.db*",
                      p->program, p->dir, options, p->dir, p->dir);
    if (r.exit_status == 127)
        skip_test("no jq");
    char *const text = strdup(r.out);
    process_free(&r);
    assert_non_null(text);
    return text;
}

static void several_at_a_time_are_the_same_runs(void **state)
{
    const struct place *const p = *state;
    write_job(p, "[a]\nsystem = null | pygplus | gnndrive\ndim = 32, 64\n");
    char *const one = records(p, "");
    char *const three = records(p, "--jobs 3");
    assert_int_equal(lines(one), 6);
    assert_string_equal(one, three);
    free(one);
    free(three);
    expect_sweep(p, "--json --jobs 3 --repeat 2", 0, 12, "12 of 12 runs");
    expect_sweep(p, "--json --jobs 2 --repeat 2 --resume", 0, 0, "0 runs made, 12 skipped");
}

/* A signal ends the sweep and everything it started. */
static void a_signal_ends_all_of_it(void **state)
{
    const struct place *const p = *state;
    write_job(p, "[a]\nsystem = pygplus | gnndrive\nepochs = 100000\n");
    struct process_result r =
        process_shell("%s sweep %s/job.ini --jobs 2 --json & S=$!; for i in {1..300}; do [ $(pgrep -f "
                      "'[e]pochs=100000.*%s/runs' | wc -l) -ge 2 ] "
                      "&& break; sleep 0.1; done; kill -TERM $S; wait $S; echo exit $?; sleep "
                      "0.2; pgrep -fc '[e]pochs=100000.*%s/runs'",
                      p->program, p->dir, p->dir, p->dir);
    if (strstr(r.out, "exit 143\n0\n") == NULL)
        fail_msg("%s%s", r.out, r.err);
    must_show(r.err, "oocgnn: Interrupted: 0 runs made, 2 left. Continue with: ");
    must_show(r.err, "/job.ini --jobs 2 --json --resume\n");
    process_free(&r);
}

/* After a Ctrl-C the last line has a command to paste, and that runs what is left. */
static void an_interrupted_sweep_says_how_to_continue(void **state)
{
    const struct place *const p = *state;
    write_job(p, "[a]\nsystem = null\n[b]\nsystem = null\nepochs = 100000\n[c]\nsystem = null\nseed = 2\n");
    struct process_result r = process_shell(
        "cd %s; mkdir 'it'\\''s'; mv job.ini 'it'\\''s/job.ini'; %s sweep 'it'\\''s/job.ini' 2>told & "
        "S=$!; for i in {1..300}; do grep -q 'configuration 2 of 3' told && break; sleep 0.1; done; sleep 0.1; "
        "kill -INT $S; wait $S; echo exit $?; cat told >&2; sed -i s/100000/2/ it*/job.ini; "
        "C=$(sed -n 's/.*Continue with: //p' told); eval \"$C\" >/dev/null",
        p->dir, p->program);
    must_show(r.out, "exit 130\n");
    must_show(r.err, "oocgnn: Interrupted: 1 run made, 2 left. Continue with: ");
    must_show(r.err, " sweep 'it'\\''s/job.ini' --resume\n");
    must_show(r.err, "oocgnn: 2 runs made, 1 skipped, 0 failed\n");
    assert_int_equal(r.exit_status, 0);
    process_free(&r);
}

/* A database that cannot be written is reported before anything is prepared or run. */
static void an_unwritable_database_is_found_first(void **state)
{
    const struct place *const p = *state;
    write_job(p, "[a]\nworld = measured\nprofile =\nsystem = null\nseed = 1 | 2\n");
    struct process_result r = sweep(p, "--db /proc/nope.db");
    process_expect_all(&r, 2,
                       (const char *const[]){"--db /proc/nope.db: No such file or directory. Name a file", NULL});
    if (strstr(r.err, "preparing") != NULL || strstr(r.err, "configuration ") != NULL)
        fail_msg("it began:\n%s", r.err);
    process_free(&r);
}

/* A measured cell's dataset is generated, with the width it reads, once. */
static void missing_datasets_are_prepared(void **state)
{
    const struct place *const p = *state;
    write_job(p, "[a]\nworld = measured\nprofile =\ncold = no\nsystem = null\ndim = 32, 16\n");
    expect_sweep(p, "--json --no-prepare", 2, 0, "is not prepared");
    expect_plan(p, "", "MiB for datasets to prepare");
    expect_sweep(p, "--json", 0, 2, "is needed: preparing it");
    expect_plan(p, "", "disk: 0 B for datasets");
    struct process_result r = sweep(p, "--json");
    assert_null(strstr(r.err, "preparing"));
    process_free(&r);
}

/* A dataset that is neither there nor generated is found before the first run, by file and line. */
static void datasets_are_looked_for_first(void **state)
{
    const struct place *const p = *state;
    static const struct {
        const char *sections, *options, *part;
    } bad[] = {
        {"[a]\nsystem = null\n[b]\nsystem = null\ndataset = nosuch\n", "--dry-run",
         "/job.ini:16: dataset nosuch: nothing of that name in "},
        {"[a]\nsystem = null\n[b]\nsystem = null\ndataset = nosuch\n", "", "`oocgnn prepare nosuch --from DIR --data "},
        {"[a]\nsystem = null\n[b]\nsystem = null\ndataset = \"papers100m\"\n", "--dry-run",
         "job.ini:16: dataset \"papers100m\": nothing"},
        {"[a]\nsystem = null\nworld = measured\nprofile =\n", "--dry-run --no-prepare",
         "job.ini:4: dataset papers100m is not prepared"},
        {"[a]\nsystem = null\ndataset = ./nowhere\n", "--dry-run", "job.ini:14: ./nowhere: no dataset there"},
        {"[a]\nsystem = null\ninclude = more.ini\n", "--dry-run", "/more.ini:2: dataset kg: nothing of that name"},
        {"[a]\nsystem = null\nworld = measured\nprofile =\ndataset = kron\n", "--dry-run",
         "job.ini:16: dataset kron has no scale"},
    };
    process_write_file(p->dir, "more.ini", 0644, "[global]\ndataset = kg\n");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_job(p, bad[i].sections);
        expect_sweep(p, bad[i].options, 2, 0, bad[i].part);
    }
    write_job(p, "[a]\nsystem = null\n[b]\nsystem = null\ndataset = nosuch\n");
    expect_sweep(p, "--json --cell 1", 0, 1, "1 run made"); /* another configuration's */
    write_job(p, "[a]\nsystem = null\nworld = measured\nprofile =\ncold = no\n");
    expect_plan(p, "", "1 configuration, 1 run\n"); /* it will be generated */
    expect_sweep(p, "--json", 0, 1, "preparing");
    struct process_result r = process_shell("rm -r %s/data", p->dir);
    process_free(&r);
    expect_sweep(p, "--json --no-prepare --resume", 0, 0, "1 skipped"); /* no run needs it */
    expect_sweep(p, "--json --no-prepare --resume --repeat 2", 2, 0, "is not prepared");
}

/* What the plan refuses is known before it runs, with the reason that the run has: in both worlds, for datasets that
 * are not there yet. */
static void the_plan_names_what_runs_out_of_memory(void **state)
{
    const struct place *const p = *state;
    write_job(p, "[a]\nsystem = gnndrive\nmemory = 8M, 64M\n[b]\nsystem = null\nmemory = 64M\n");
    struct process_result r = sweep(p, "--dry-run");
    const char *const reason = strstr(r.out, "    out of memory by its plan: the run needs about ");
    must_show(r.out, "\nmemory: 1 configuration will run out of memory\n");
    if (reason == NULL || strstr(reason, "configuration 2 [a]: ") == NULL || strstr(reason + 40, "by its plan") != NULL)
        fail_msg("the plan:\n%s", r.out);
    char said[400];
    (void)snprintf(said, sizeof said, "%.*s", (int)strcspn(reason, "\n"), reason);
    process_free(&r);
    r = sweep(p, "--cell 1");
    must_show(r.out, strstr(said, "the run needs"));
    process_free(&r);
    write_job(p, "[a]\nworld = measured\nprofile =\nsystem = gnndrive | null\nmemory = 1M | 512M\n");
    expect_plan(p, "", "\nmemory: 2 configurations will run out of memory\n");
    write_job(p, "[a]\nsystem = gnndrive\nmemory = 1M\nscale = 1/20\n"); /* a graph that takes a while */
    r = sweep(p, "--dry-run");
    assert_null(strstr(r.out, "out of memory"));
    process_free(&r);
}

/* A preparation that fails ends with its command, to be pasted. */
static void a_failed_preparation_has_its_command(void **state)
{
    const struct place *const p = *state;
    write_job(p, "[a]\nsystem = null\nworld = measured\nprofile =\ndim = 32\nid-bytes = 8\ndata = /proc/my data\n");
    struct process_result r = process_shell("mkdir '%s/d e'; touch '%s/d e/papers100m-1_4000'; sed -i 's#^data = "
                                            "/proc.*#data = %s/d e#' %s/job.ini",
                                            p->dir, p->dir, p->dir, p->dir);
    assert_int_equal(r.exit_status, 0);
    process_free(&r);
    r = sweep(p, "");
    must_show(r.err, "; `oocgnn prepare papers100m --scale 1/4000 --data '");
    must_show(r.err, "/d e' --dim 32 --id-bytes 8` prepares it\n");
    process_free(&r);
}

static void databases_are_joined(void **state)
{
    const struct place *const p = *state;
    write_job(p, "[a]\nsystem = null | pygplus\n");
    expect_sweep(p, "--json --cell 1", 0, 1, "");
    struct process_result r = process_shell(
        "cd %s; O=%s; $O sweep job.ini --cell 2 --db two.db --json >/dev/null 2>&1; $O "
        "merge "
        "all.db runs.db two.db; $O merge all.db two.db runs.db; $O report --last 9 --json --db all.db | grep -c "
        "batch_digest; $O merge all.db all.db; $O merge all.db; $O merge all.db nothing.db; $O merge new.db runs.db "
        "nothing.db; test "
        "! -e new.db || echo made; $O sweep job.ini --resume --json --db all.db | wc -l",
        p->dir, p->program);
    if (strcmp(r.out,
               "2 runs added, 0 known, 0 unfinished left out\n0 runs added, 2 known, 0 unfinished left out\n2\n0\n") !=
            0 ||
        strstr(r.err, "into itself") == NULL || strstr(r.err, "which databases?") == NULL ||
        strstr(r.err, "nothing.db") == NULL)
        fail_msg("%s%s", r.out, r.err);
    process_free(&r);
}

static void a_cell_that_is_not_there_is_refused(void **state)
{
    const struct place *const p = *state;
    write_job(p, "[a]\nsystem = null\n");
    expect_sweep(p, "--cell 2", 2, 0, "job.ini has 1 configurations");
    expect_sweep(p, "--jobs 0", 2, 0, "outside 1 to 64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(failures_are_passed_over, place_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(a_spread_of_repetitions_is_noted, place_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(a_sweep_ends_with_its_table, place_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(the_time_left_is_of_runs_with_a_time, place_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(records_and_messages_stay_in_order, place_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(what_is_done_is_known_by_all_that_it_is, place_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(several_at_a_time_are_the_same_runs, place_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(a_signal_ends_all_of_it, place_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(an_unwritable_database_is_found_first, place_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(an_interrupted_sweep_says_how_to_continue, place_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(missing_datasets_are_prepared, place_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(datasets_are_looked_for_first, place_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(the_plan_names_what_runs_out_of_memory, place_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(a_failed_preparation_has_its_command, place_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(databases_are_joined, place_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(a_cell_that_is_not_there_is_refused, place_set_up, place_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
