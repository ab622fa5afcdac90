/* SPDX-License-Identifier: MIT */
/* A figure of both worlds from its file to its ratios: each configuration is run in both, and recorded once. */
#include "tests/support/figures.h"
#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void write_figure(const struct place *p)
{
    figure_write(p, "both",
                 "[global]\nworld = measured, simulated\nprofile = gnndrive-paper\ncompute = cpu\ncompute-threads = 1\n"
                 "dataset = papers100m\ndim = 16\nbatch = 128000\nhidden = 16\nfanout = 5,5\nevaluate = never\n"
                 "epochs = 1\nmemory = 0\n[A]\nsystem = pygplus, gnndrive\n[figure]\npaper = both\nplace = Agreement\n"
                 "title = Both\nchart = bars\nx = system\nfacets = world\nrelative = world=measured\ny = epoch_s\n"
                 "scale = 1/4000\n[holds]\nsame = digest[A, world=simulated] = digest[A, world=measured]\n"
                 "ends = oom[A, world=simulated] = oom[A, world=measured]\n");
}

static void both_worlds_are_run_and_compared(void **state)
{
    const struct place *const p = *state;
    char words[1100];
    write_figure(p);
    (void)snprintf(words, sizeof words, "both --data %s/data", p->dir);
    figure_expect(p, words, 0,
                  PARTS("4 of 4 configurations are recorded", "Measured and simulated world, profile gnndrive-paper",
                        "holds           same", "holds           ends", "| A | simulated | ", " (x ",
                        "[x: over the value at world=measured]", "4 runs made"));
    figure_expect(p, words, 0, PARTS("0 runs made, 4 skipped"));
    (void)snprintf(words, sizeof words, "both --world measured --data %s/data", p->dir);
    figure_expect(p, words, 0, PARTS("0 runs made, 4 skipped")); /* the file decides */
}

static void shell(const struct place *p, const char *command)
{
    struct process_result r = process_shell("cd %s && P=%s && %s", p->dir, p->program, command);
    if (r.exit_status != 0)
        fail_msg("%s:\n%s%s", command, r.out, r.err);
    process_free(&r);
}

/* A measured run is a result of its dataset and of the calibration that its system planned by. */
static void a_record_is_of_its_dataset_and_calibration(void **state)
{
    const struct place *const p = *state;
    char words[1100], any[1120];
    write_figure(p);
    (void)snprintf(words, sizeof words, "both --data %s/data", p->dir);
    (void)snprintf(any, sizeof any, "%s --any-build", words);
    figure_expect(p, words, 0, PARTS("4 runs made"));
    shell(p, "rm -r data/papers100m-1_4000 && $P prepare papers100m --scale 1/4000 --dim 16 --seed 7 --data data");
    figure_expect(p, any, 0, PARTS("2 runs made, 2 skipped", "DOES NOT HOLD   same"));
    shell(p, "$P prepare papers100m --scale 1/4000 --dim 32 --seed 7 --data data"); /* a width that is not read */
    figure_expect(p, words, 0, PARTS("0 runs made, 4 skipped"));
    shell(p, "rm -r data");
    (void)strcat(words, " --no-run");
    figure_expect(p, words, 0, PARTS("4 of 4 configurations are recorded")); /* records are shown without it */
    (void)snprintf(words, sizeof words, "both --data %s/data", p->dir);
    shell(p, "sed 's/^machine_id.*/machine_id = this/' oocgnn/gnndrive-paper.ini >oocgnn/this.ini");
    figure_expect(p, any, 0, PARTS("0 runs made, 4 skipped"));
    figure_expect(p, words, 0, PARTS("2 runs made, 2 skipped"));
    figure_expect(p, words, 0, PARTS("0 runs made, 4 skipped"));
    shell(p, "sed -i 's/^read_iops = [0-9]*/read_iops = 12345/' oocgnn/this.ini && grep -q 12345 oocgnn/this.ini");
    figure_expect(p, words, 0, PARTS("2 runs made, 2 skipped"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_worlds_are_run_and_compared, figures_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(a_record_is_of_its_dataset_and_calibration, figures_set_up, place_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
