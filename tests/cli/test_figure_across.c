/* SPDX-License-Identifier: MIT */
/* `oocgnn figure` over files with metrics of their own, one table for all of them, and medians over seeds: from the
 * file through runs to the table and the CSV. */
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

#define TINY                                                                                                           \
    "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = papers100m\nbatch = 64000\nhidden = 16\n"        \
    "fanout = 5,5\nevaluate = never\nepochs = 2\nmodel = sage\nmemory = 60000M | 120000M\nseed = 1 | 2 | 3\n"          \
    "[slow]\nsystem = pygplus\n[fast]\nsystem = null\n[figure]\npaper = tiny\nplace = Table 1\ntitle = A tiny table\n" \
    "chart = table\nscale = 1/4000\nlayout = across\nrows = memory, series\norder = memory desc\nover = seed\n"

static void what_a_file_may_not_have_is_named(void **state)
{
    const struct place *const p = *state;
    figure_write(p, "bad1", TINY "y = speed\n[metrics]\nspeed = 1 / epoc_s\n");
    figure_write(p, "bad2", TINY "y = reads@one\n");
    figure_expect(p, "bad1", 2, PARTS("bad1.ini:29: \"1 / epoc_s\": no metric \"epoc_s\""));
    figure_expect(p, "bad2", 2, PARTS("figure bad2: y: no metric \"reads@one\""));
}

/* Reads a number of the CSV: row and column count from 0. */
static double number_in(const char *csv, int row, int column)
{
    for (; row > 0; row--)
        csv = strchr(csv, '\n') + 1;
    for (; column > 0; column--)
        csv = strchr(csv, ',') + 1;
    return strtod(csv, NULL);
}

static void a_table_across_from_file_to_csv(void **state)
{
    const struct place *const p = *state;
    figure_write(p, "tiny-table1",
                 TINY "y = per_read_s, share, over_fast, iops, runs\n[metrics]\nper_read_s = epoch_s@1 / reads@1\n"
                      "share = stage.sample.work_s@1 / stage.*.work_s@1\nover_fast = epoch_s@1 / epoch_s@1[fast]\n"
                      "iops = profile.storage.read_iops / 1000\n[holds]\nslower = over_fast[slow] > 1\n");
    figure_expect(p, "tiny-table1 --jobs 2", 0,
                  PARTS("12 of 12 configurations are recorded",
                        "\n| memory | series | per_read_s | share | over_fast | "
                        "iops | runs |\n|---|---|---|---|---|---|---|\n| 30.0 MiB | slow | ",
                        "Median and range over seed. One run per configuration", "holds           slower",
                        " | 98 (98 to 98) | 3 |\n"));
    char *const csv = figure_read(p, "tiny-table1.csv");
    must_show(csv, "series,x,memory,status,runs,per_read_s,per_read_s_least,");
    must_show(csv, "\nslow,,120000M,ok,3,");
    const double least = number_in(csv, 3, 18), median = number_in(csv, 3, 17), most = number_in(csv, 3, 19);
    assert_true(1 < least && least < median && median < most); /* three seeds, of which no two are alike */
    assert_float_equal(number_in(csv, 4, 17), 1, 1e-9);        /* fast over fast: its median */
    assert_true(number_in(csv, 3, 11) > 0 && number_in(csv, 3, 11) < 1);
    free(csv);
    figure_expect(p, "tiny-table1 --fix seed=2", 0, PARTS("4 of 4 configurations are recorded", " | 98 | 1 |\n"));
}

/* Each section may have options of its own for the import of its dataset. */
static void each_imported_graph_is_asked_for(void **state)
{
    const struct place *const p = *state;
    figure_write(p, "graphs",
                 "[global]\nworld = measured\nsystem = null\n[A]\ndataset = first\n[B]\ndataset = second\nimport = "
                 "--add-reverse\n[figure]\npaper = tiny\nplace = Table 2\ntitle = Two graphs\nchart = table\ny = "
                 "epoch_s\nimport = --row-normalise\n");
    char words[600];
    (void)snprintf(words, sizeof words, "graphs --data %s/data", p->dir);
    figure_expect(p, words, 4,
                  PARTS("graphs needs the graph first", "prepare first --from DIR --row-normalise --data"));
    process_expect(process_shell("mkdir -p %s/data/first && touch %s/data/first/meta", p->dir, p->dir), 0, "", "mkdir");
    figure_expect(p, words, 4,
                  PARTS("graphs needs the graph second", "prepare second --from DIR --add-reverse --data"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_a_file_may_not_have_is_named, figures_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(a_table_across_from_file_to_csv, figures_set_up, place_tear_down),
        cmocka_unit_test_setup_teardown(each_imported_graph_is_asked_for, figures_set_up, place_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
