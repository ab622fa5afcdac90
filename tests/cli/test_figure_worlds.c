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

static void both_worlds_are_run_and_compared(void **state)
{
    const struct place *const p = *state;
    char words[1100];
    (void)snprintf(words, sizeof words, "both --data %s/data", p->dir);
    figure_write(p, "both",
                 "[global]\nworld = measured, simulated\nprofile = gnndrive-paper\ncompute = cpu\ncompute-threads = 1\n"
                 "dataset = papers100m\ndim = 16\nbatch = 128000\nhidden = 16\nfanout = 5,5\nevaluate = never\n"
                 "epochs = 1\nmemory = 0\n[A]\nsystem = pygplus, gnndrive\n[figure]\npaper = both\nplace = Agreement\n"
                 "title = Both\nchart = bars\nx = system\nfacets = world\nrelative = world=measured\ny = epoch_s\n"
                 "scale = 1/4000\n[holds]\nsame = digest[A, world=simulated] = digest[A, world=measured]\n"
                 "ends = oom[A, world=simulated] = oom[A, world=measured]\n");
    figure_expect(p, words, 0,
                  PARTS("4 of 4 configurations are recorded", "Measured and simulated world, profile gnndrive-paper",
                        "holds           same", "holds           ends", "| A | simulated | ", " (x ",
                        "[x: over the value at world=measured]", "4 runs made"));
    figure_expect(p, words, 0, PARTS("0 runs made, 4 skipped"));
    (void)snprintf(words, sizeof words, "both --world measured --data %s/data", p->dir);
    figure_expect(p, words, 0, PARTS("0 runs made, 4 skipped")); /* the file decides */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_worlds_are_run_and_compared, figures_set_up, place_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
