/* SPDX-License-Identifier: MIT */
/* Searches of a job file from outside: the least limit and the first possible value are found, every run is recorded,
 * what is recorded is not run again, and figures show the result. */
#include "tests/support/figures.h"
#include "tests/support/must.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KIB(mib) ((int)((mib)*1024))

static const char head[] =
    "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = papers100m\nscale = 1/4000\nbatch = 8\n"
    "hidden = 16\nfanout = 5,5\nevaluate = never\nepochs = 1\nsystem = gnndrive\n";

static void write_job(const struct place *p, const char *rest)
{
    process_write_file(p->dir, "job.ini", 0644, "%sdb = %s\n%s", head, p->db, rest);
}

/* Runs the job file twice: without --resume, then with it. The second time it says the part. */
static void expect_sweep(const struct place *p, const char *options, const char *part)
{
    struct process_result r = process_shell(
        "export XDG_DATA_HOME=%s; %s sweep %s/job.ini --json %s >/dev/null && %s sweep %s/job.ini --json --resume %s",
        p->dir, p->program, p->dir, options, p->program, p->dir, options);
    process_expect_all(&r, 0, PARTS(part));
    process_free(&r);
}

/* Returns the number that a statement finds. */
static int64_t ask(const struct place *p, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(p->db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA foreign_keys = ON", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    const int64_t found = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return found;
}

/* Under the limit that is found the run ends ok, and under the next smaller one that the search tries it does not. */
static void the_least_limit_is_found(void **state)
{
    const struct place *const p = *state;
    write_job(p, "[a]\nmemory = least 1M..64M\n");
    expect_sweep(p, "", "0 runs made, 1 skipped");
    const int64_t runs = ask(p, "SELECT count(*) FROM runs");
    const int64_t passes = ask(p, "SELECT min(cap_bytes) / 1024 FROM runs WHERE status = 'ok'");
    assert_in_range(passes, KIB(6), KIB(32));
    assert_int_equal(ask(p, "SELECT max(cap_bytes) / 1024 FROM runs WHERE status = 'oom'"), passes - 256);
    assert_in_range(runs, 5, 12);
    assert_int_equal(ask(p, "SELECT count(DISTINCT cap_bytes) FROM runs"), runs); /* none was run twice */
    /* A search that was interrupted goes on where its records end. */
    assert_int_equal(ask(p, "DELETE FROM runs WHERE run_id > 4"), -1);
    write_job(p, "[a]\nmemory = least 1M..64M\n[b]\nmemory = least 1M..64M\nseed = 2\n");
    expect_sweep(p, "--jobs 2", "0 runs made, 2 skipped");
    assert_int_equal(ask(p, "SELECT count(*) FROM runs JOIN config USING (run_id) WHERE key = 'seed' AND value = '1'"),
                     runs);
    assert_int_equal(ask(p, "SELECT min(cap_bytes) / 1024 FROM runs WHERE status = 'ok'"), passes);
    /* Repetitions are of the result. */
    expect_sweep(p, "--repeat 3 --cell 1", "0 runs made, 3 skipped");
    assert_int_equal(ask(p, "SELECT count(*) FROM runs JOIN config USING (run_id) WHERE key = 'seed' AND value = '1'"),
                     runs + 2);
    /* Runs of another build are other runs. */
    assert_int_equal(ask(p, "UPDATE environment SET value = 'another' WHERE key = 'build.revision'"), -1);
    expect_sweep(p, "--any-build --cell 1", "0 runs made, 1 skipped");
    assert_int_equal(ask(p, "SELECT count(*) FROM environment WHERE key = 'build.revision' AND value <> 'another'"), 0);
    expect_sweep(p, "--cell 1", "0 runs made, 1 skipped");
    assert_int_equal(ask(p, "SELECT count(*) FROM environment WHERE key = 'build.revision' AND value <> 'another'"),
                     runs);
}

/* A range in which nothing ends ok, and one in which everything does. */
static void the_ends_of_a_range_are_limits(void **state)
{
    const struct place *const p = *state;
    write_job(p, "[none]\nmemory = least 1M..3M\n[all]\nmemory = least 100M..400M\n");
    expect_sweep(p, "", "0 runs made, 2 skipped");
    assert_int_equal(ask(p, "SELECT count(*) FROM runs WHERE status = 'oom' AND cap_bytes = 3 << 20"), 1);
    assert_int_equal(ask(p, "SELECT min(cap_bytes) >> 20 FROM runs WHERE status = 'ok'"), 100);
    assert_int_equal(ask(p, "SELECT count(*) FROM runs WHERE cap_bytes > 400 << 20"), 0);
}

/* Values that are refused are passed over, and so are those that run out of memory. */
static void the_first_possible_value_is_found(void **state)
{
    const struct place *const p = *state;
    write_job(p, "[a]\nmemory = 8M\nfirst_of = gnndrive.samplers: 100000, 64, 16, 1\n");
    expect_sweep(p, "", "0 runs made, 1 skipped");
    assert_int_equal(ask(p, "SELECT count(*) FROM runs WHERE status = 'oom'"), ask(p, "SELECT count(*) - 1 FROM runs"));
    assert_int_equal(
        ask(p, "SELECT count(*) FROM config WHERE key = 'gnndrive.samplers' AND value NOT IN ('64', '16', '1')"), 0);
    assert_in_range(ask(p, "SELECT count(*) FROM runs"), 2, 3);
}

/* A figure shows the result of a search, at its scale; --fix sets what is searched. */
static void a_figure_shows_the_result(void **state)
{
    const struct place *const p = *state;
    figure_write(p, "tiny",
                 "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = papers100m\nbatch = 32000\nhidden = "
                 "16\nfanout = 5,5\nevaluate = never\nepochs = 1\nsystem = gnndrive\n[least]\nmemory = least "
                 "4000M..128000M\n[none]\nmemory = least 4000M..12000M\n[first]\nmemory = 32000M\nfirst_of = "
                 "gnndrive.samplers: 64, 1\n[figure]\npaper = tiny\nplace = Figure 1\ntitle = T\nchart = table\ny = "
                 "limit_mib, option.gnndrive.samplers\nscale = 1/4000\n");
    struct process_result r = figure_run(p, "", "tiny");
    process_expect_all(&r, 0, PARTS("| none | OOM |", "3 of 3 configurations are recorded"));
    const int64_t kib =
        ask(p, "SELECT min(cap_bytes) / 1024 FROM runs WHERE status = 'ok' AND NOT EXISTS (SELECT 1 FROM config WHERE "
               "key = 'gnndrive.samplers' AND value = '1' AND config.run_id = runs.run_id)");
    char line[64];
    (void)snprintf(line, sizeof line, "| least | %.4g |\n", (double)kib / 1024);
    must_show(r.out, line);
    must_show(r.out, "\noption.gnndrive.samplers\n");
    must_show(r.out, "| first | 1 |\n");
    process_free(&r);
    figure_expect(p, "tiny", 0, PARTS("0 runs made, 3 skipped", "| none | OOM |"));
    figure_expect(p, "tiny --fix memory=100000M --fix gnndrive.samplers=2", 0,
                  PARTS("| least | 25 |\n", "| first | 2 |\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_least_limit_is_found, figures_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(the_ends_of_a_range_are_limits, figures_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(the_first_possible_value_is_found, figures_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(a_figure_shows_the_result, figures_set_up, place_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
