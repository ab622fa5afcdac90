/* SPDX-License-Identifier: MIT */
/* Figures of no paper: read from any path or the user's data directory, with the runs that a sweep of the same file has
 * recorded. */
#include "tests/support/figures.h"
#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define JOB                                                                                                            \
    "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = papers100m\nscale = 1/4000\nbatch = 16\n"        \
    "hidden = 16\nfanout = 5,5\nevaluate = never\nmodel = sage\nmemory = 16M, 64M\n[runs]\nsystem = gnndrive, null\n"
#define FIGURE "[figure]\ntitle = My figure\nchart = lines\nx = memory\ny = epoch_s\n"

static void write_file(const struct place *p, const char *name, const char *text)
{
    process_write_file(p->dir, name, 0644, "%s", text);
}

/* Runs the words in the place's own directory, where $P is the program. */
static void expect(const struct place *p, const char *words, int exit_status, const char *const *parts)
{
    struct process_result r =
        process_shell("export XDG_DATA_HOME=%s P=%s; cd %s; %s", p->dir, p->program, p->dir, words);
    process_expect_all(&r, exit_status, parts);
    process_free(&r);
}

static void wrong_files_are_refused(void **state)
{
    const struct place *const p = *state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {JOB, "wrong.ini: a figure has a section [figure]"},
        {JOB "[figure]\nchart = lines\ny = epoch_s\n",
         "wrong.ini: [figure] needs a title, and for a figure of a paper"},
        {JOB FIGURE "paper = agnes\n", "[figure] needs a title, and for a figure of a paper paper and place"},
        {JOB FIGURE "place = Figure 1\n", "[figure] needs a title, and for a figure of a paper paper and place"},
        {JOB FIGURE "scale = 1/100\n", "[figure] has a scale, but no paper: write scale and sizes to [global]"},
        {JOB FIGURE "colour = red\n", "a figure has no key \"colour\""},
        {JOB "dim = 64, 128\n" FIGURE, "figure wrong: configurations 1 and 2 have the same place, but differ in dim. "
                                       "Make it an axis with x or facets"},
        {JOB "[more]\nsystem = null\nlr = 0.1\n[more, too]\nsystem = null\n" FIGURE,
         "have the same place, but differ in lr."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(p, "wrong.ini", cases[i].text);
        expect(p, "$P figure wrong.ini --no-run", 2, PARTS(cases[i].part));
    }
    expect(p, "$P figure ./nope.ini", 2, PARTS("figure ./nope.ini: No such file or directory; `oocgnn figure --list`"));
    expect(p, "$P figure nope.ini", 2, PARTS("figure nope.ini: No such file or directory; "));
    expect(p, "$P figure ./", 2, PARTS("figure ./: is a directory, a file was expected; "));
    expect(p, "$P figure nope", 2,
           PARTS("no figure \"nope\"; `oocgnn figure --list` has them, ./nope.ini names a file"));
}

/* The sweep and the figure have one database, that of the file or the sweep's own; --db wins over both. */
static void a_figure_recognises_the_runs_of_a_sweep(void **state)
{
    const struct place *const p = *state;
    write_file(p, "mine.ini", JOB FIGURE "log = yes\n");
    write_file(p, "job.ini", JOB);
    expect(p, "$P sweep job.ini", 0, PARTS("4 runs made"));
    expect(p, "$P figure mine.ini --check", 0, PARTS("## mine: My figure\n\n4 of 4 configurations are recorded"));
    expect(p, "$P figure ./mine.ini --out there && cat there/mine.[gm]*", 0,
           PARTS("0 runs made, 4 skipped", "| series | memory=16M | memory=64M |", "| gnndrive |", "| null |",
                 ", scale 1/4000, ", "My figure\n\nSimulated world, ", "heading = \"My figure\"\n"));
    expect(p, "$P figure mine.ini --check --db figures.db", 0, PARTS("0 of 4 configurations are recorded"));
    expect(p, "$P sweep job.ini --db other.db", 0, PARTS("4 runs made"));
    write_file(p, "mine.ini", JOB "db = other.db\n" FIGURE);
    expect(p, "$P figure mine.ini --check", 0, PARTS("4 of 4 configurations are recorded"));
    expect(p, "$P figure mine.ini --check --db no.db", 0, PARTS("0 of 4 configurations are recorded"));
    expect(p, "$P figure mine.ini --check --scale 1/8000", 0, PARTS("0 of 4 configurations are recorded"));
    expect(p, "$P figure mine.ini --check --fix memory=64M", 0, PARTS("2 of 2 configurations are recorded"));
}

static void a_figure_of_the_users_directory_has_a_name(void **state)
{
    const struct place *const p = *state;
    figure_write(p, "users", JOB FIGURE "[holds]\nfaster = epoch_s[null] < epoch_s[gnndrive]\n");
    figure_expect(p, "--list", 0, PARTS("users                0 of 4 ", " My figure\n"));
    figure_expect(p, "users", 0, PARTS("4 runs made", "## users: My figure\n", "holds           faster"));
    figure_expect(p, "--all", 0, PARTS("0 runs made, 4 skipped", "| own | 1 | 0 | 1 | 0 | 0 | 0 |"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(wrong_files_are_refused, figures_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(a_figure_recognises_the_runs_of_a_sweep, figures_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(a_figure_of_the_users_directory_has_a_name, figures_set_up, place_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
