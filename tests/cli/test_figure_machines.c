/* SPDX-License-Identifier: MIT */
/* A tiny figure on machines that differ: under variants, with changed parameters of its profile, and with each assumed
 * one halved and doubled. */
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

#define HEAD "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = papers100m\nbatch = 64000\nhidden = 16\n"
#define RUNS "fanout = 5,5\nevaluate = never\nepochs = 2\nmodel = sage\n"
#define ABOUT(number, more)                                                                                            \
    "[figure]\npaper = tiny\nplace = Figure " number "\ntitle = A tiny figure\nchart = bars\ny = epoch_s\nscale = "    \
    "1/4000\npublished = time\n" more

static void write_variants(const struct place *p, const char *name, const char *text)
{
    process_write_file(p->dir, name, 0644, "%s", text);
}

static int make_place(void **state)
{
    if (figures_set_up(state) != 0)
        return 1;
    const struct place *const p = *state;
    struct process_result r = process_shell("mkdir -p %s/oocgnn/variants/common", p->dir);
    process_free(&r);
    figure_write(p, "tiny-fig1",
                 HEAD RUNS "[slow]\nsystem = pygplus\npublished = S\n[fast]\nsystem = gnndrive\npublished = F\n" ABOUT(
                     "1", "x = dim\nfacets = dataset\n") "[holds]\norder = epoch_s[fast] < epoch_s[slow]\nlead = "
                                                         "epoch_s[slow] / epoch_s[fast] ~ 16\ntable = epoch_s[slow] / "
                                                         "epoch_s[fast] ~ published.epoch_s[slow] / "
                                                         "published.epoch_s[fast]\n");
    figure_write(p, "tiny-fig2",
                 HEAD RUNS "[a]\nsystem = gnndrive\n" ABOUT("2", "") "[holds]\nquick = epoch_s[a] < 100\n");
    published_write(p, "tiny",
                    "figure_id,system,variant,dataset,model,parameter,metric,value,unit,baseline,relation,source\n"
                    "tiny-fig1,,,,,,lead,16,x,,about,Section 3\n"
                    "tiny-fig1,S,,Papers100M,,,time,50,s,,exact,Table 9\n"
                    "tiny-fig1,F,,Papers100M,,,time,5,s,,exact,Table 9\n");
    write_variants(p, "oocgnn/variants/windows.ini",
                   "[none]\ndevice-readahead = 0\n[wide]\ninclude = common/serial.ini\ndevice-readahead = 256K\n");
    write_variants(p, "oocgnn/variants/common/serial.ini", "[global]\ngnndrive.serial_extract = yes\n");
    return 0;
}

/* The number in a column of the table's row of a series. */
static double number_in(const char *table, const char *series, int column)
{
    const char *at = strstr(table, series);
    assert_non_null(at);
    for (int i = 0; i < column; i++) {
        at = strchr(at + 1, '|');
        assert_non_null(at);
    }
    return strtod(at + 1, NULL);
}

static void variants_are_columns(void **state)
{
    const struct place *const p = *state;
    struct process_result r = figure_run(p, "", "tiny-fig1 --variants windows --jobs 2");
    process_expect_all(
        &r, 0,
        PARTS("4 runs made", "4 of 4 configurations are recorded",
              "| series | dim | dataset | none | wide |\n|---|---|---|---|---|\n| slow | 0 | papers100m |",
              "device readahead 0 B and 256 KiB", "Variants: windows.ini. One run per configuration",
              "\nvariant none:\n", "\n\nvariant wide:\n  holds           order", " ~ 16 (log2 "));
    assert_true(number_in(r.out, "| fast |", 4) > 1.2 * number_in(r.out, "| fast |", 3)); /* extracts serially */
    process_free(&r);
    char *const csv = figure_read(p, "tiny-fig1-windows.csv");
    must_show(csv, "series,dim,dataset,variant,status,runs,epoch_s,");
    must_show(csv, "\nfast,0,papers100m,wide,ok,1,");
    free(csv);
    char *const words = figure_read(p, "tiny-fig1-windows"
                                       ".md");
    must_show(words, "variant wide:\n");
    free(words);
    /* What a figure has without variants is another run, and has files of its own. */
    figure_expect(p, "tiny-fig1", 0, PARTS("2 runs made", "| series | dataset | dim=0 |"));
    figure_expect(p, "tiny-fig1 --variants windows --check", 0, PARTS("4 of 4 configurations are recorded"));
    figure_expect(p, "tiny-fig2 --variants windows", 0, PARTS("| series | none | wide |\n|---|---|---|\n| a | "));
}

static void all_have_a_row_for_each_variant(void **state)
{
    const struct place *const p = *state;
    figure_expect(p, "--all --variants windows", 0,
                  PARTS("| figure | ratio | where | variant | ours |", "| tiny-fig1 | lead |  | none | ",
                        "| tiny-fig1 | table |  | wide | ", "| tiny, none | 2 | 0 | ", "| tiny, wide | 2 | 0 | ",
                        "| all, none | 2 | 0 | ", "| all, wide | 2 | 0 | "));
}

static void wrong_variants(void **state)
{
    const struct place *const p = *state;
    char words[300];
    write_variants(p, "mine.ini", "[a]\nmemry = 1G\n");
    write_variants(p, "global.ini", "[global]\ndim = 3\n[a]\ndim = 3\n");
    write_variants(p, "none.ini", "; nothing\n");
    figure_expect(p, "tiny-fig1 --variants window", 2,
                  PARTS("--variants window: there are windows; ", "did you mean \"windows\"?"));
    figure_expect(p, "tiny-fig1 --variants ./windows.ini", 2, PARTS("--variants: ./windows.ini: No such file"));
    (void)snprintf(words, sizeof words, "tiny-fig1 --variants %s/mine.ini", p->dir);
    figure_expect(p, words, 2, PARTS("mine.ini:2: ", "memry", "did you mean \"memory\""));
    (void)snprintf(words, sizeof words, "tiny-fig1 --variants %s/global.ini", p->dir);
    figure_expect(p, words, 2, PARTS("expected 1 to 16 sections, each a variant, and no [global]"));
    (void)snprintf(words, sizeof words, "tiny-fig1 --variants %s/none.ini", p->dir);
    figure_expect(p, words, 2, PARTS("expected 1 to 16 sections"));
    figure_expect(p, "tiny-fig1 --variants windows --fix device-readahead=128K", 2,
                  PARTS("--fix device-readahead=128K: variant \"none\" of ", "sets it; leave one out"));
    figure_expect(p, "tiny-fig1 --variants windows --sensitivity", 2,
                  PARTS("leave out --world measured and --variants"));
    figure_expect(p, "tiny-fig1 --world measured --sensitivity", 2, PARTS("leave out --world measured and --variants"));
}

/* A changed profile is a key like any other, and the caption has it. */
static void a_figure_has_changed_profiles(void **state)
{
    const struct place *const p = *state;
    figure_write(p, "tiny-fig3",
                 HEAD RUNS "system = gnndrive\nprofile-set = storage.read_latency=x2,storage.read_iops=x0.5 | "
                           "storage.read_latency=90us\n[a]\n" ABOUT("3", "x = profile-set\n"));
    figure_expect(
        p, "tiny-fig3", 0,
        PARTS("2 runs made", "| series | profile-set=storage.read_latency=x2,storage.read_iops=x0.5 | ",
              "profile changed: storage.read_latency=x2,storage.read_iops=x0.5 and storage.read_latency=90us"));
    figure_expect(p, "tiny-fig2 --fix profile-set=storage.read_latency=1ms", 0,
                  PARTS("All runs with profile-set=storage.read_latency=1ms"));
    figure_expect(p, "tiny-fig2 --fix profile-set=storage.read_latncy=1ms", 2,
                  PARTS("none of its 1 configurations can be run: --profile-set: storage.read_latncy: a profile has no "
                        "such parameter; did you mean \"storage.read_latency\""));
}

static void assumed_parameters_are_halved_and_doubled(void **state)
{
    const struct place *const p = *state;
    struct process_result r = figure_run(p, "", "tiny-fig1 --sensitivity --jobs 2");
    process_expect_all(&r, 0,
                       PARTS("parameter 1 of 12: storage.read_latency of profile gnndrive-paper",
                             "\nRatios with one parameter of a profile halved or doubled\n\nlead: ",
                             ", published 16\n\n| parameter | value | halved | doubled |\n|---|---|---|---|\n",
                             "| gpu.launch (gnndrive-paper) | 3us | ",
                             "\n\n9 other parameters change it by less than 2 %\n"));
    process_free(&r);
    char *const csv = figure_read(p, "tiny-fig1-sensitivity.csv");
    must_show(csv, "figure,ratio,where,published,ours,profile,parameter,value,halved,doubled\ntiny-fig1,lead,\"");
    const char *const row = strstr(csv, ",gnndrive-paper,gpu.launch,3us,");
    assert_non_null(row);
    double halved, doubled;
    assert_int_equal(sscanf(row, ",gnndrive-paper,gpu.launch,3us,%lf,%lf", &halved, &doubled), 2);
    assert_true(doubled < halved); /* of the quick one most of an epoch */
    free(csv);
    figure_expect(p, "tiny-fig1 --sensitivity", 0, PARTS("0 runs made, 2 skipped", "| gpu.launch"));
    figure_expect(p, "tiny-fig1 --sensitivity --check --fix costs=released", 0,
                  PARTS("Ratios with one parameter of a profile halved or doubled: none"));
    figure_expect(p, "tiny-fig1 --sensitivity --fix costs=released --jobs 2", 0,
                  PARTS("parameter 24 of 24: released.cpu_cores of profile gnndrive-paper", "2 runs made, 0 skipped"));
    /* A parameter is changed in the runs of its own profile alone. */
    figure_expect(p, "tiny-fig1 --sensitivity --fix 'profile=gnndrive-paper|agnes-paper' --jobs 2", 0,
                  PARTS("parameter 13 of 27: storage.read_latency of profile agnes-paper", "2 runs made, 2 skipped"));
    figure_expect(p, "tiny-fig2 --sensitivity", 0, PARTS("none, because no ratio to a published number has a value"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(variants_are_columns, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(all_have_a_row_for_each_variant, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(wrong_variants, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(a_figure_has_changed_profiles, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(assumed_parameters_are_halved_and_doubled, make_place, place_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
