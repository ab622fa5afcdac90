/* SPDX-License-Identifier: MIT */
/* `oocgnn plot` over a database of made-up runs: medians and ranges, words of runs without a time, conditions, styles,
 * and what it refuses. */
#include "harness/run/config.h"
#include "tests/support/fake_run.h"
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

/* A run of `system` under a memory limit in MiB, 0 for none; "KEY=VALUE" pairs of its configuration, NULL behind. */
static void put(struct gnn_db *db, const char *system, uint64_t memory_mib, uint64_t seed, double epoch_s,
                enum gnn_run_status status, const char *const *pairs)
{
    struct gnn_run_record run;
    struct gnn_err err = {0};
    fake_run(&run, system, epoch_s, status == GNN_RUN_OK ? 2 : 0, seed);
    run.cap_bytes = memory_mib != 0 ? memory_mib << 20 : GNN_UNKNOWN;
    must(gnn_kv_set(&run.config, "system", system, &err), &err);
    must(gnn_kv_setf(&run.config, &err, "memory", memory_mib != 0 ? "%luM" : "%lu", (unsigned long)memory_mib), &err);
    must(gnn_kv_set(&run.config, "hidden", "256", &err), &err);
    must(gnn_kv_setf(&run.config, &err, "seed", "%lu", (unsigned long)seed), &err);
    for (; *pairs != NULL; pairs++) {
        char key[64];
        const char *const sign = strchr(*pairs, '=');
        (void)snprintf(key, sizeof key, "%.*s", (int)(sign - *pairs), *pairs);
        must(gnn_kv_set(&run.config, key, sign + 1, &err), &err);
        if (strcmp(key, "dim") == 0)
            run.dim = strtoul(sign + 1, NULL, 10);
        if (strcmp(key, "batch") == 0)
            run.batch_size = strtoul(sign + 1, NULL, 10);
        if (strcmp(key, "profile") == 0)
            (void)snprintf(run.profile, sizeof run.profile, "%s", sign + 1);
    }
    must(gnn_db_begin(db, &run, &err), &err);
    run.status = status;
    run.valid = status == GNN_RUN_OK ? 1 : status == GNN_RUN_INVALID ? 0 : -1;
    if (status == GNN_RUN_OOM)
        gnn_run_record_reason(&run, "the run needs about 68.0 MiB, the memory limit is %lu.0 MiB",
                              (unsigned long)memory_mib);
    for (uint32_t e = 0; e < run.epoch_count; e++)
        must(gnn_db_epoch(db, run.run_id, &run.epochs[e], &err), &err);
    must(gnn_db_finish(db, &run, &err), &err);
    gnn_run_record_free(&run);
}
#define PAIRS(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct gnn_db *open_db(const struct place *p)
{
    struct gnn_db *db;
    struct gnn_err err = {0};
    must(gnn_db_open(p->db, GNN_DB_WRITE, &db, &err), &err);
    return db;
}

/* Four systems under three limits, with two batches and three seeds each. */
static void put_sweep(struct gnn_db *db)
{
    static const char *const systems[] = {"presort", "pygplus", "ginex", "gnndrive"};
    static const char *const batches[] = {"batch=10", "batch=25"};
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (uint64_t mib = 96; mib >= 32; mib -= 32)
            for (int b = 0; b < 2; b++)
                for (int s = 0; s < 4; s++) {
                    const double epoch_s = (s + 1) * (1.0 + (double)seed / 10) * (128 - (double)mib) / 32 * (1 + b);
                    const enum gnn_run_status status = s == 2 && mib == 32             ? GNN_RUN_OOM
                                                       : s == 1 && mib == 32 && b == 1 ? GNN_RUN_OOT
                                                                                       : GNN_RUN_OK;
                    put(db, systems[s], mib, seed, epoch_s, status,
                        s == 3 ? PAIRS(batches[b], "gnndrive.depth=80") : PAIRS(batches[b]));
                }
}

static int make_place(void **state)
{
    if (figures_set_up(state) != 0)
        return 1;
    struct gnn_db *const db = open_db(*state);
    put_sweep(db);
    gnn_db_close(db);
    return 0;
}

static struct process_result plot(const struct place *p, const char *words)
{
    return process_shell("cd /; %s plot --db %s --out %s/out %s", p->program, p->db, p->dir, words);
}

static void expect(const struct place *p, const char *words, int exit_status, const char *const *parts)
{
    struct process_result r = plot(p, words);
    process_expect_all(&r, exit_status, parts);
    process_free(&r);
}

static void expect_file(const struct place *p, const char *name, const char *const *parts)
{
    char *const text = figure_read(p, name);
    for (; *parts != NULL; parts++)
        must_show(text, *parts);
    free(text);
}

static void wrong_words_are_refused(void **state)
{
    const struct place *const p = *state;
    static const struct {
        const char *words, *part;
    } cases[] = {
        {"--db /nowhere.db", "/nowhere.db"},
        {"--x ''", "--x : no option"},
        {"--x memry", "did you mean \"memory\""},
        {"--x memory,dim", "no option \"memory,dim\""},
        {"--series gnndrive.dept", "did you mean \"depth\""},
        {"--series nosuch.depth", "unknown system \"nosuch\""},
        {"--facet batch,hiden", "--facet hiden: no option \"hiden\"; did you mean \"hidden\""},
        {"--facet batch,dim,hidden,lr,heads,fanout,model,seed",
         "seed: a picture has at most 7 facets and 4 options in --series"},
        {"--y epoch", "--y epoch: runs have no such metric; did you mean \"epoch_s\""},
        {"--y zzz", "epoch_s, read_gib and hit_pct are some"},
        {"--y target_s", "--y target_s: runs have no such metric"},
        {"--y ''", "must not be empty"},
        {"--series ''", "must not be empty"},
        {"--chart pie", "pie"},
        {"--where memory", "expected OPTION=VALUE"},
        {"--where memory=lots", "\"lots\" is not a size"},
        {"--where memory=64M,lots", "--where memory=lots: "},
        {"--where memory=64M..32M", "--where memory=64M..32M: "},
        {"--where hiden=16", "did you mean \"hidden\""},
        {"--where memory=64M --where memory=96M",
         "memory is restricted to 64M already; write both as --where 'memory=A|B'"},
        {"--where memory=7M", "has no finished run with these values; `oocgnn report --last 20 --db "},
        {"--out time.jpg", "expected a directory, or a name that ends in .png, .svg, .pdf or .csv"},
        {"--facet batch --out /proc/nope", "--out: /proc/nope: cannot be made a directory"},
        {"--facet batch --out /proc/nope/time.png", "--out: /proc/nope: cannot be made a directory"},
        {"word", "unexpected argument \"word\""},
        {"--x gnndrive.depth", "(presort) has no gnndrive.depth. Choose runs that have it, as in --where system=NAME."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct process_result r = plot(p, cases[i].words);
        process_expect(r, 2, cases[i].part, cases[i].words);
    }
}

/* Runs of one place that differ in an option are never averaged, and the message names the option. */
static void unlike_runs_are_not_averaged(void **state)
{
    const struct place *const p = *state;
    expect(
        p, "", 2,
        PARTS("Runs 1 and 5 have one place in the picture (presort, memory=96M), but differ: \"presort batch=10\" and "
              "\"presort batch=25\". Choose runs with --where OPTION=VALUE, or add the option to --facet."));
    expect(p, "--where batch=10", 0, PARTS("| presort |"));
    struct gnn_db *const db = open_db(p);
    put(db, "pygplus", 64, 9, 5, GNN_RUN_OK, PAIRS("batch=10", "hidden=16"));
    gnn_db_close(db);
    expect(p, "--facet batch", 2,
           PARTS("(pygplus, memory=64M), but differ: \"pygplus hidden=256\" and \"pygplus hidden=16\"."));
    expect(p, "--facet batch --where hidden=256", 0, PARTS("| pygplus | 10 |"));
    expect(p, "--facet batch,hidden", 0, PARTS("| pygplus | 10 | 16 |"));
    expect(p, "--series batch --where hidden=256", 2, PARTS("(batch=10, memory=96M), but differ: \"presort"));
    expect(p, "--where hidden=16", 0, PARTS("| pygplus |"));
}

/* Median, least and most over the seeds; a run without a time has its word; the caption names what all share. */
static void repetitions_are_a_median_and_a_range(void **state)
{
    const struct place *const p = *state;
    expect(p, "--facet batch --log --y epoch_s,reads", 0,
           PARTS("| pygplus | 10 | 7.2 (6.6 to 7.8) | 4.8 (4.4 to 5.2) | 2.4 (2.2 to 2.6) |",
                 "| ginex | 25 | OOM | 14.4 (13.2 to 15.6) | ", "| pygplus | 25 | OOT | ",
                 "* ginex (2 configurations): the run needs about 68.0 MiB, the memory limit is 32.0 MiB",
                 "Measured world, compute cpu, papers100m, scale 1/100, dim 128, sage, fan-out 10,10,10; "
                 "memory limits: see x axis. Median and range of 3 runs. OOM: out of memory. OOT: timeout. "
                 "Build 0123456789ab.\n",
                 "/out/epoch_s-reads-over-memory."));
    expect_file(p, "epoch_s-reads-over-memory.csv",
                PARTS("series,memory,batch,status,runs,epoch_s,epoch_s_least,epoch_s_most,",
                      "\npygplus,32M,10,ok,3,7.2,6.6,7.8,", "\nginex,32M,25,OOM,0,,,,"));
    expect_file(p, "epoch_s-reads-over-memory.gp",
                PARTS("heading = \"Epoch time over memory limit\"\n", "xlabel = \"memory limit\"\n",
                      "ylabel = \"epoch time (s)\"\n", "caption_lines = 2\n", "logarithmic = 1\n",
                      "\"32M\" 0, \"64M\" 1, \"96M\" 2", "panel_names[2] = \"batch=25\"\n"));
}

static void several_values_are_chosen(void **state)
{
    const struct place *const p = *state;
    static const char *const words[] = {"memory=64M,96M", "'memory=64M|96M'", "memory=65536K..96M+32M"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "--where batch=10 --where %s", words[i]);
        expect(p, text, 0, PARTS("| series | memory=64M | memory=96M |\n"));
    }
    expect(p, "--where batch=10 --where system=presort,pygplus", 0,
           PARTS("---|\n| pygplus | 7.2 (6.6 to 7.8) | 4.8 (4.4 to 5.2) | 2.4 (2.2 to 2.6) |\n| presort |"));
    expect(p, "--where batch=10 --where 'build.revision=0123456789ab|other'", 0, PARTS("| pygplus |"));
    expect(p, "--where batch=10 --where build.revision=0123", 2, PARTS("no finished run with these values"));
    struct process_result r =
        process_shell("%s report --db %s --where memory=64M,96M --where batch=10 --json | wc -l", p->program, p->db);
    assert_string_equal(r.out, "24\n"); /* four systems, two limits, three seeds */
    process_free(&r);
}

/* A system has its place in the registry, whatever else is in the picture; its further series have its shades. */
static void a_system_always_looks_the_same(void **state)
{
    const struct place *const p = *state;
    const uint32_t presort = gnn_system_place("presort") + 1, pygplus = gnn_system_place("pygplus") + 1;
    char line[200];
    expect(p, "--where batch=10 --where system=presort", 0, PARTS("| presort |"));
    (void)snprintf(line, sizeof line, "places[1] = [%u]\narray shades[1] = [0]\n", presort);
    expect_file(p, "epoch_s-over-memory.gp", PARTS(line));
    expect(p, "--series system,batch --where system=presort,pygplus", 0,
           PARTS("| pygplus, batch=10 |", "| pygplus, batch=25 |", "| presort, batch=10 |"));
    (void)snprintf(line, sizeof line, "places[4] = [%u, %u, %u, %u]\narray shades[4] = [0, 1, 0, 1]\n", pygplus,
                   pygplus, presort, presort);
    expect_file(p, "epoch_s-over-memory.gp", PARTS(line));
}

/* Sixteen series of one system have sixteen styles; one more has none, and the message has a way out. */
static void as_many_series_as_a_reader_can_distinguish(void **state)
{
    const struct place *const p = *state;
    struct gnn_db *const db = open_db(p);
    for (int depth = 1; depth <= 17; depth++) {
        char pair[64];
        (void)snprintf(pair, sizeof pair, "gnndrive.depth=%d", depth);
        for (uint64_t mib = 96; mib >= 32; mib -= 32)
            put(db, "gnndrive", mib, 1, depth + 1.0 / (double)mib,
                mib > 32 || depth % 2 == 0 ? GNN_RUN_OK : GNN_RUN_OOM, PAIRS("batch=7", pair));
    }
    gnn_db_close(db);
    expect(
        p, "--where batch=7 --series system,gnndrive.depth", 2,
        PARTS("--series system,gnndrive.depth makes 17 series, but a picture has at most 16. Choose runs with --where "
              "'OPTION=A|B', or draw an option in panels with --facet."));
    expect(p, "--where batch=7 --where gnndrive.depth=1..16 --series system,gnndrive.depth --log", 0,
           PARTS("| gnndrive, depth=1 |", "| gnndrive, depth=16 |"));
    expect_file(p, "epoch_s-over-memory.gp",
                PARTS("places[16] = [4, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 3, 2, 1]\n", "words = 8\n"));
    expect(p, "--where batch=7 --facet gnndrive.depth", 0, PARTS("| gnndrive | 17 |"));
    expect(p, "--where batch=7 --x gnndrive.depth --series memory --chart bars", 0,
           PARTS("| series | gnndrive.depth=1 | gnndrive.depth=2 |", "| memory=32M |", "; memory limits: see legend."));
}

/* Options that differ between places are named, since the picture does not show them. */
static void what_else_differs_is_named(void **state)
{
    const struct place *const p = *state;
    struct gnn_db *const db = open_db(p);
    put(db, "gnndrive", 0, 1, 3, GNN_RUN_OK, PAIRS("batch=8", "dim=64", "lr=0.0030000000000000005", "profile=fast"));
    put(db, "gnndrive", 0, 1, 4, GNN_RUN_OK, PAIRS("batch=8", "dim=512", "lr=0.1", "profile=fast"));
    put(db, "gnndrive", 4096, 1, 5, GNN_RUN_INVALID, PAIRS("batch=8", "dim=64", "lr=0.1", "profile=fast"));
    gnn_db_close(db);
    expect(
        p, "--where batch=8 --x dim", 0,
        PARTS(
            "because their memory limit was not enforced: 1\n", "| series | dim=64 | dim=512 |",
            "\nMeasured world, profile fast, compute cpu, papers100m, scale 1/100, memory limit none, sage, batch 8, ",
            "Places also differ in lr. Build 0123456789ab.\n"));
    expect(p, "--where batch=8", 2, PARTS("but differ: \"gnndrive dim=64 lr=0.003\" and \"gnndrive dim=512 lr=0.1\""));
    struct gnn_db *const again = open_db(p);
    put(again, "gnndrive", 0, 2, 3, GNN_RUN_OOM,
        PAIRS("batch=8", "dim=64", "lr=0.0030000000000000005", "profile=fast"));
    gnn_db_close(again);
    expect(p, "--where batch=8 --x dim", 0,
           PARTS("| gnndrive | OOM | 4 |",
                 ". Median and range of up to 2 runs, which ended differently at 1 place. OOM: "));
    expect(p, "--where batch=8 --series lr", 0, PARTS("| series | memory=none |", "| lr=0.003 |", "| lr=0.1 |"));
}

static void files_go_where_they_are_named(void **state)
{
    const struct place *const p = *state;
    struct process_result r =
        process_shell("cd %s && %s plot --db %s --facet batch --title 'A title' --x-label limit --y-label time --out "
                      "my.plots/time.svg && ls my.plots && cat my.plots/time.gp",
                      p->dir, p->program, p->db);
    process_expect_all(
        &r, 0,
        PARTS("my.plots/time.", "time.csv\n", "heading = \"A title\"", "xlabel = \"limit\"", "ylabel = \"time\""));
    process_free(&r);
    r = process_shell("cd %s && PATH=/nonexistent %s plot --db %s --facet batch --out new/deep; /bin/ls new/deep",
                      p->dir, p->program, p->db);
    process_expect_all(&r, 0, PARTS("new/deep/epoch_s-over-memory.csv", "gnuplot is not installed", ".csv\n"));
    process_free(&r);
}

static void pictures_are_drawn(void **state)
{
    const struct place *const p = *state;
    static const char *const charts[] = {"lines", "bars", "heat"};
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) {
        struct process_result r =
            process_shell("cd %s && %s plot --db %s --facet batch --log --chart %s --out pictures && "
                          "cd pictures && [ -s epoch_s-over-memory.png ] && [ -s "
                          "epoch_s-over-memory.svg ] && [ -s epoch_s-over-memory.pdf ] && rm *",
                          p->dir, p->program, p->db, charts[i]);
        if (strstr(r.err, "gnuplot is not installed") != NULL)
            skip_test("no gnuplot");
        process_expect_all(&r, 0, PARTS("{png,svg,pdf,csv}"));
        process_free(&r);
    }
}

/* ---- --ratios ---- */

#define RATIO_COLUMNS "figure,predicate,where,published,method,ours,holds,quotient,reason,scale,commit,date\n"
#define RATIO(figure, published, method, ours)                                                                         \
    figure ",p,," published "," method "," ours ",no,yes,,1/1,0123456789ab,2026-01-02\n"

static struct process_result plot_ratios(const struct place *p, const char *text, const char *words)
{
    process_write_file(p->dir, "ratios.csv", 0644, text);
    return process_shell("cd %s && %s plot --ratios ratios.csv %s", p->dir, p->program, words);
}

static void wrong_ratios_are_refused(void **state)
{
    const struct place *const p = *state;
    static const char good[] = RATIO_COLUMNS RATIO("a-fig1", "2", "m", "3");
    static const struct {
        const char *text, *words, *part;
        int exit_status;
    } cases[] = {
        {good, "--ratios nosuch.csv", "nosuch.csv", 2},
        {"", "", "ratios.csv", 1},
        {"a,b\n", "", "ratios.csv:1: a file of ratios has 12 columns", 1},
        {RATIO_COLUMNS RATIO("a-fig1", "0", "m", "3"), "", "published is \"0\", expected a number above 0", 1},
        {RATIO_COLUMNS RATIO("a-fig1", "2", "m", "x"), "", "ours is \"x\", expected a number", 1},
        {good, "--paper b", "no row is of a figure \"b\" or \"b-...\"", 2},
        {good, "--methods mm", "no row has the method \"mm\"", 2},
        {RATIO_COLUMNS RATIO("a-fig1", "2", "m", "0"), "--paper a", "no ratio of \"a\" is above 0", 2},
        {RATIO_COLUMNS RATIO("a-f", "2", "1", "3") RATIO("a-f", "2", "2", "3") RATIO("a-f", "2", "3", "3")
             RATIO("a-f", "2", "4", "3") RATIO("a-f", "2", "5", "3") RATIO("a-f", "2", "6", "3")
                 RATIO("a-f", "2", "7", "3") RATIO("a-f", "2", "8", "3") RATIO("a-f", "2", "9", "3"),
         "", "9 methods, but a picture has at most 8. Choose some with --methods 'A|B'.", 2},
        {good, "--out a.jpg", "--out a.jpg: expected a directory", 2},
        {good, "--out /proc/nope/a.svg", "--out: /proc/nope: cannot be made a directory", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        process_expect(plot_ratios(p, cases[i].text, cases[i].words), cases[i].exit_status, cases[i].part,
                       cases[i].words);
}

/* A block for each method; a value of 0, which has no place on a logarithmic axis, is left out. */
static void ratios_have_a_marker_for_each_method(void **state)
{
    const struct place *const p = *state;
    static const char text[] = RATIO_COLUMNS RATIO("a-fig1", "2", "m", "3") RATIO("a-fig2", "8", "m", "0.5")
        RATIO("a-fig2", "8", "z", "0") RATIO("a-fig1", "2", "z", "20") RATIO("b-fig1", "100", "m", "1");
    struct process_result r = plot_ratios(p, text, "--paper a --out new/a.svg");
    if (strstr(r.err, "gnuplot is not installed") != NULL) {
        process_free(&r);
        skip_test("no gnuplot");
    }
    process_expect_all(&r, 0, PARTS("new/a.{png,svg,pdf}\n"));
    process_free(&r);
    r = process_shell("cd %s/new && [ -s a.png ] && [ -s a.svg ] && [ -s a.pdf ] && cat a.dat a.gp", p->dir);
    process_expect_all(&r, 0,
                       PARTS("NaN\tNaN\n2\t3\n8\t0.5\n\n\nNaN\tNaN\n2\t20\n# Edit and run again",
                             "heading = \"Published numbers of a against ours\"\n",
                             "left = 2\nright = 8\nbottom = 0.5\ntop = 20\nseries = 2\n", "names[2] = \"z\"\n"));
    process_free(&r);
    r = plot_ratios(p, text, "--methods 'z|m' --title T --out new && cat new/ratios.gp");
    process_expect_all(&r, 0, PARTS("heading = \"T\"\n", "right = 100\n", "names[1] = \"z\"\n"));
    process_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(wrong_ratios_are_refused, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(ratios_have_a_marker_for_each_method, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(wrong_words_are_refused, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(unlike_runs_are_not_averaged, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(repetitions_are_a_median_and_a_range, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(several_values_are_chosen, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(a_system_always_looks_the_same, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(as_many_series_as_a_reader_can_distinguish, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(what_else_differs_is_named, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(files_go_where_they_are_named, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(pictures_are_drawn, make_place, place_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
