/* SPDX-License-Identifier: MIT */
/* Results as data, and pages that are made from them: ratios by method, verdicts, tables between marks. */
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

#define HEADING "figure,predicate,where,published,method,ours,holds,quotient,reason,scale,commit,date\n"
#define OTHER "tiny-fig0,other,dim=64,7,measured 1/100,3.5,no,yes,\"a, b\",1/100,abc,2026-01-31\n"

static int make_place(void **state)
{
    if (figures_set_up(state) != 0)
        return 1;
    const struct place *const p = *state;
    figure_write(
        p, "tiny-fig1",
        "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = papers100m\nbatch = 64000\nhidden = "
        "16\nfanout = 5,5\nevaluate = never\nepochs = 2\nmodel = sage\n[slow]\nsystem = pygplus\ndim = 64, 512\n"
        "[fast]\nsystem = null\ndim = 64, 512\npublished = F\n[figure]\npaper = tiny\nplace = Figure 1\ntitle = "
        "A tiny figure\nchart = bars\nx = dim\ny = epoch_s\npublished = time\nscale = 1/4000\n[holds]\norder = "
        "epoch_s[fast] < epoch_s[slow]\nratio = epoch_s[slow] / epoch_s[fast] ~ 1000\nlast = "
        "epoch_s[slow] < 0.0265\n[says]\norder = Fast is "
        "faster than slow\nratio = Slow takes 1000 times as long as fast\n[reasons]\nratio = the "
        "graph|s size\n");
    published_write(p, "tiny",
                    "figure_id,system,variant,dataset,model,parameter,metric,value,unit,baseline,relation,source\n"
                    "tiny-fig1,F,,Papers100M,,dim=64,time,3.5,s,,exact,Table 9\n"
                    "tiny-fig1,,,,,,growth,1000,x,,about,Section 3\n");
    return 0;
}

/* Fails the test unless a command in the place's folder, where $O is the program, ends so and prints the parts. */
static void expect(const struct place *p, int exit_status, const char *const *parts, const char *command)
{
    struct process_result r =
        process_shell("export XDG_DATA_HOME=%s; cd %s; O=%s; %s", p->dir, p->dir, p->program, command);
    process_expect_all(&r, exit_status, parts);
    process_free(&r);
}

static void ratios_become_rows(void **state)
{
    const struct place *const p = *state;
    process_write_file(p->dir, "bad.csv", 0644, "a,b\n");
    process_write_file(p->dir, "nan.csv", 0644, HEADING "f,p,,0,m,1,no,no,,1/1,c,d\n");
    process_write_file(p->dir, "r.csv", 0644, HEADING OTHER);
#define FIGURE "$O figure tiny-fig1 --jobs 2 --db runs.db --out out "
    expect(p, 2,
           PARTS("--ratios: bad.csv:1: a file of ratios has 12 columns, and column 1 is \"figure\"; name another"),
           FIGURE "--ratios bad.csv");
    expect(p, 2, PARTS("--ratios: nan.csv:2: published is \"0\", expected a number above 0"),
           FIGURE "--ratios nan.csv");
    expect(p, 2, PARTS("--ratios /proc/r.csv: "), FIGURE "--ratios /proc/r.csv");
    expect(p, 2, PARTS("--method x names rows of a file, but neither --ratios FILE nor --findings FILE is given"),
           FIGURE "--method x");
    expect(p, 0, PARTS("order: epoch_s[fast] < epoch_s[slow]\n      Fast is faster than slow\n      judged: 2\n"),
           FIGURE "--ratios r.csv && cp r.csv first.csv");
    /* Two combinations share the printed number: one row, behind the one that was there. */
    expect(p, 0,
           PARTS(HEADING OTHER "tiny-fig1,ratio,,1000,simulated ideal 1/4000,", ",no,yes,the graph|s size,1/4000,"),
           "cat r.csv; [ $(wc -l <r.csv) -eq 3 ] && ls *.partial* 2>&1 | grep -q 'cannot access'");
    /* The same numbers again, of a part of the figure, by another method, and with another value. */
    expect(p, 0, PARTS("same"), FIGURE "--check --ratios r.csv >/dev/null && cmp r.csv first.csv && echo same");
    expect(p, 0, PARTS("one row"),
           FIGURE "--check --fix dim=64 --ratios r.csv >/dev/null && [ $(wc -l <r.csv) -eq 3 ] && "
                  "! cmp -s r.csv first.csv && echo one row");
    expect(p, 0, PARTS(",1000,\"a, b\",", ",1000,simulated ideal 1/4000,"),
           FIGURE "--check --method 'a, b' --ratios r.csv >/dev/null && cat r.csv");
    expect(p, 0, PARTS(",1000,\"simulated 1/4000, costs=released\","),
           FIGURE "--fix costs=released --ratios r.csv >/dev/null && cat r.csv");
    /* What is said of a figure is with its caption and its verdicts. */
    expect(p, 0,
           PARTS("Fast is faster than slow\n", "* **holds**: Fast is faster than slow.\n",
                 "* **DOES NOT HOLD**: Slow takes 1000 times as long as fast. Likely cause: the graph|s size.\n"),
           "cat out/tiny-fig1*.m*");
    expect(
        p, 0, PARTS("figure-tiny-fig1\""),
        "$O report --db runs.db --html page.html --figures out >/dev/null && grep -o 'id=\"figure-.*\"' page.html && "
        "! grep -q 'figure-tiny-fig1.verdicts' page.html");
#undef FIGURE
}

#define FINDINGS "paper,place,figure,predicate,method,published,ours,verdict,finding,reason,scale,commit,date\n"
#define OTHER_FINDING "tiny,Figure 10,tiny-fig10,other,measured,,,holds,,,1/100,abc,2026-01-31\n"

static void findings_become_rows(void **state)
{
    const struct place *const p = *state;
#define FIGURE "$O figure tiny-fig1 --jobs 2 --db runs.db --out out --findings "
#define ORDER "tiny,Figure 1,tiny-fig1,order,"
#define RATIO "tiny,Figure 1,tiny-fig1,ratio,"
    process_write_file(p->dir, "bad.csv", 0644, "a,b\n");
    process_write_file(p->dir, "f.csv", 0644, FINDINGS OTHER_FINDING);
    expect(p, 2,
           PARTS("--findings: bad.csv:1: a file of findings has 13 columns, and column 1 is \"paper\"; name another"),
           FIGURE "bad.csv");
    expect(p, 2, PARTS("--findings /proc/f.csv: "), FIGURE "/proc/f.csv");
    expect(p, 0, PARTS("none yet"), FIGURE "none.csv --check >/dev/null; [ ! -e none.csv ] && echo none yet");
    expect(p, 0, PARTS("kept"), FIGURE "f.csv >/dev/null && cp f.csv first.csv && echo kept");
    /* The order of the predicates is that of the file; places are in the order of their numbers. */
    expect(p, 0,
           PARTS(FINDINGS ORDER "simulated ideal 1/4000,,dim=64: ", ",holds,Fast is faster than slow,,1/4000,",
                 RATIO "simulated ideal 1/4000,1000,",
                 ",does not hold,Slow takes 1000 times as long as fast,the graph|s size,1/4000,",
                 "last,simulated ideal 1/4000,,dim=512: ", " < 0.0265,does not hold,,,1/4000,", OTHER_FINDING),
           "cat f.csv; [ $(wc -l <f.csv) -eq 5 ]");
    /* The same findings again, and by another method. */
    expect(p, 0, PARTS("same"), FIGURE "f.csv --check >/dev/null && cmp f.csv first.csv && echo same");
    expect(p, 0, PARTS(ORDER "m,,dim=64: ", RATIO "m,1000,", "order,m\nratio,m\nlast,m\nother,measured\n"),
           FIGURE "f.csv --check --method m >/dev/null && cat f.csv && cut -d, -f4,5 f.csv");
    expect(p, 0, PARTS(OTHER_FINDING), "grep -q 'Figure 1,.*,simulated' f.csv && cat f.csv");
#undef FIGURE
#undef ORDER
#undef RATIO
}

#define ORIGIN "Made 2026-01-31 of commit 0123abc by `oocgnn figure tiny-fig1`.\n"
#define FIGURE_MARK "<!-- figure tiny-fig1 -->\n"
#define END_MARK "<!-- end -->\n"

static void write_data(const struct place *p)
{
    expect(p, 0, PARTS(""), "mkdir -p data");
    process_write_file(
        p->dir, "data/tiny-fig1.csv", 0644,
        "series,dim,dataset,status,runs,epoch_s,epoch_s_least,epoch_s_most,epoch_s_published,epoch_s_source,"
        "epoch_s_drawn\n"
        "slow,64,papers100m,ok,3,1.23456,1.2,1.3,,,\nslow,512,papers100m,OOM,1,,,,2.5,Table 1,0.025\n"
        "fast,64,papers100m,ok,1,12345.6,12345.6,12345.6,12.5,Table 1,12.5\n");
    process_write_file(p->dir,
                       "data/tiny-fig1.verdicts"
                       ".md",
                       0644, "* **holds**: A is fast.\n* **DOES NOT HOLD**: `c < d`. Likely cause: it is small.\n");
    process_write_file(p->dir, "data/findings.csv", 0644,
                       FINDINGS
                       "tiny,Figure 1,tiny-fig1,order,m 1/2,,1 < 2,holds,A is fast,r,1/2,c,d\n"
                       "tiny,Figure 1,tiny-fig1,ratio,m 1/2,4,8,does not hold,It is 4,r,1/2,c,d\n"
                       "tiny,Figure 1,tiny-fig1,each,m 1/2,3 numbers,8,holds,,,1/2,c,d\n"
                       "tiny,Figure 1,tiny-fig1,order,m 1/4,,2 < 1,does not hold,A is fast,it|s small,1/4,c,d\n"
                       "tiny,Figure 2,tiny-fig2,p,m 1/4,,,not measurable,,not shown,1/4,c,d\n"
                       ",,mine,q,m 1/4,,,holds,,,1/4,c,d\nvast,Figure 3,vast-fig3,v,z,,,holds,,,1/4,c,d\n");
    process_write_file(p->dir, "data/ratios.csv", 0644,
                       HEADING "tiny-fig1,ratio,,4,m 1/10,8,no,yes,the|graph,1/10,c,d\n"
                               "tiny-fig1,ratio,,4,m 1/2,4,yes,yes,,1/2,c,d\n"
                               "tiny-fig1,ratio,,4,other,0.5,no,yes,later,1/2,c,d\n"
                               "tiny-fig10,twice,,50,m 1/2,50,yes,no,,1/2,c,d\n"
                               "tiny-table2,gone,A / B at 64,12345.6,other,2,no,yes,,1/1,c,d\n"
                               "vast-fig1,ratio,dim=64,2,other,2,yes,yes,,1/1,c,d\n");
}

static void marks_are_filled(void **state)
{
    const struct place *const p = *state;
    write_data(p);
    process_write_file(
        p->dir, "p.markdown", 0644,
        "# A page\n\n" FIGURE_MARK END_MARK
        "\n<!-- figure tiny-fig1 columns=dim,epoch_s where=series=fast|none where=dim=64 -->\nold\n" END_MARK
        "\n<!-- ratios tiny -->\n" END_MARK "<!-- ratios tiny methods=\"other|m 1/2\" -->\n" END_MARK
        "<!-- merit -->\n" END_MARK "<!-- merit tiny methods=other -->\n" END_MARK "<!-- findings tiny -->\n" END_MARK
        "<!-- findings tiny-fig1 methods=\"m 1/4\" -->\n" END_MARK "<!-- findings mine -->\n" END_MARK ORIGIN);
    expect(p, 0,
           PARTS("p.markdown:4: the page has \"<!-- end -->\", the data in data give:\n\n| series |",
                 "p.markdown:7: the page has \"old\", the data in data give:\n\n| dim |"),
           "cp p.markdown before.markdown; $O page p.markdown && cmp p.markdown before.markdown");
    expect(p, 1, PARTS("p.markdown:4: "), "$O page p.markdown --check");
    expect(p, 0, PARTS("filled"), "$O page p.markdown --write >/dev/null && $O page p.markdown --check && echo filled");
    expect(
        p, 0,
        PARTS("\n\n| series | dim | dataset | epoch_s |\n|---|---|---|---|\n| slow | 64 | papers100m | 1.235 (1.2 to "
              "1.3) |\n"
              "| slow | 512 | papers100m | OOM [2.5 / 100] |\n| fast | 64 | papers100m | 12346 [12.5] |\n\n* "
              "**holds**: A is fast.\n"
              "* **DOES NOT HOLD**: `c < d`. Likely cause: it is small.\n\n" END_MARK,
              " -->\n\n| dim | epoch_s |\n|---|---|\n| 64 | 12346 [12.5] |\n\n" END_MARK,
              "| figure | finding | published | m 1/2 | m 1/10 | other | verdict | likely cause |\n"
              "|---|---|---|---|---|---|---|---|\n| tiny-fig1 | Slow takes 1000 times as long as fast | 4 | **4** | 8 "
              "| 0.5 | holds in 1 of 3 | the\\|graph |\n| tiny-fig10 | `twice` | 50 | **50** | | | holds |  |\n"
              "| tiny-table2 | A / B at 64 | 12346 | | | 2 | does not hold |  |\n\nBold: the finding holds.\n",
              "| figure | finding | published | other | m 1/2 | verdict | likely cause |\n",
              "| m 1/2 | 2 | 0.00 | 2 | 2 | tiny-fig1 ratio: 4 for 4 | 1 | 0 | 0.00 | 2.00 |\n"
              "| m 1/10 | 1 | 1.00 | 0 | 1 | tiny-fig1 ratio: 8 for 4 | 1 | 0 | 1.00 | 2.00 |\n"
              "| other | 3 | 3.00 | 1 | 1 | tiny-table2 gone: 2 for 1.235e+04 | 3 | 1 | 3.00 | 2.00 |\n",
              "| other | 2 | 7.80 | 0 | 0 | tiny-table2 gone: 2 for 1.235e+04 | 2 | 1 | 7.80 | 7.80 |\n\n" END_MARK,
              "| place | finding | m 1/2 | m 1/4 | likely cause |\n|---|---|---|---|---|\n"
              "| Figure 1 | A is fast | holds | does not hold | it\\|s small |\n"
              "| Figure 2 | `p` |  | not measurable |  |\n\n" END_MARK,
              "| place | finding | m 1/4 | likely cause |\n|---|---|---|---|\n"
              "| Figure 1 | A is fast | does not hold | it\\|s small |\n\n" END_MARK,
              "| place | finding | m 1/4 | likely cause |\n|---|---|---|---|\n"
              "| mine | `q` | holds |  |\n\n" END_MARK ORIGIN),
        "cat p.markdown");
    /* A number that changes is found, in its line; another folder of data gives other numbers. */
    expect(p, 1,
           PARTS("q.markdown:9: the page has \"| fast | 64 | papers100m | 12347 |\", the data in data give:\n"
                 "| fast | 64 | papers100m | 12346 [12.5] |\n\n* **holds**"),
           "sed 's/12346 .12.5. |/12347 |/' p.markdown >q.markdown && $O page p.markdown q.markdown --check");
    expect(p, 1, PARTS("p.markdown:8: "),
           "cp -r data other && sed -i s/OOM/OOT/ other/*1.csv && $O page p.markdown --check --from other");
    expect(p, 0, PARTS("no marks"), "printf 'Text.\\n' >n.markdown && $O page n.markdown --check && echo no marks");
}

static void wrong_pages_are_named(void **state)
{
    const struct place *const p = *state;
    static const struct {
        const char *page, *part;
        int exit_status;
    } cases[] = {
        {"", "page w.markdown: it is empty", 1},
        {"\n" FIGURE_MARK, "w.markdown:2: no line `<!-- end -->` ends the part of this mark", 2},
        {FIGURE_MARK FIGURE_MARK END_MARK, "w.markdown:1: no line `<!-- end -->`", 2},
        {"<!-- figure -->\n" END_MARK, "w.markdown:1: a mark \"figure\" names a figure", 2},
        {"<!-- ratios -->\n" END_MARK, "w.markdown:1: a mark \"ratios\" names a paper", 2},
        {"<!-- figure tiny-fig2 -->\n" END_MARK,
         "w.markdown:1: data/tiny-fig2.csv: No such file or directory; `oocgnn figure tiny-fig2 --out data` writes it",
         2},
        {"<!-- figure tiny-fig1 colums=dim -->\n" END_MARK, "\"colums=dim\": expected columns=A,B, methods=", 2},
        {"<!-- figure tiny-fig1 columns=dmi -->\n" END_MARK,
         "w.markdown:1: data/tiny-fig1.csv has no column \"dmi\"; did you", 2},
        {"<!-- figure tiny-fig1 where=dmi=1 -->\n" END_MARK, "has no column \"dmi\"", 2},
        {"<!-- figure tiny-fig1 where=dim=1 -->\n" END_MARK, "no row has all values of `where`", 2},
        {"<!-- figure tiny-fig1 where=dim -->\n" END_MARK, "expected columns=A,B, methods=", 2},
        {"<!-- ratios tin -->\n" END_MARK, "w.markdown:1: no row is of a figure \"tin\" or \"tin-...\"", 2},
        {"<!-- ratios tiny methods=othr -->\n" END_MARK, "no row has the method \"othr\"", 2},
        {"<!-- findings -->\n" END_MARK, "w.markdown:1: a mark \"findings\" names a paper", 2},
        {"<!-- findings tin -->\n" END_MARK, "no row is of a figure \"tin\" or \"tin-...\"", 2},
        {FIGURE_MARK END_MARK, "w.markdown:2: the last line of a page with marks needs a date", 1},
        {FIGURE_MARK END_MARK "Made 2026-1-31 of 0123abc by `x`.\n\n", "w.markdown:3: the last line", 1},
        {FIGURE_MARK END_MARK "Made 2026-01-31 of 0123ab by `x`.\n", "w.markdown:3: the last line", 1},
        {FIGURE_MARK END_MARK "Made 2026-01-31 of 0123abc by x.\n", "w.markdown:3: the last line", 1},
    };
    write_data(p);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        process_write_file(p->dir, "w.markdown", 0644, "%s", cases[i].page);
        expect(p, cases[i].exit_status, PARTS(cases[i].part), "$O page w.markdown --check");
    }
    process_write_file(p->dir, "w.markdown", 0644, "%s", "<!-- findings tiny -->\n" END_MARK);
    expect(p, 2,
           PARTS("data/findings.csv: No such file or directory; `oocgnn figure --all --findings data/findings.csv` "
                 "writes it"),
           "rm data/findings.csv; $O page w.markdown --check");
    expect(p, 2, PARTS("page: which pages?"), "$O page");
    expect(p, 2, PARTS("--check and --write: the one or the other"), "$O page w.markdown --check --write");
    expect(p, 2, PARTS("page none.markdown: No such file", "w.markdown:3: the last line"),
           "printf '<!-- figure tiny-fig1 -->\\n<!-- end -->\\nx\\n' >w.markdown; $O page none.markdown w.markdown "
           "--check");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ratios_become_rows, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(findings_become_rows, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(marks_are_filled, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(wrong_pages_are_named, make_place, place_tear_down),
    };
    return cmocka_run_group_tests_name("results", tests, NULL, NULL);
}
