/* SPDX-License-Identifier: MIT */
/* A tiny figure from its file to its picture: cells are run once, the table, the CSV and the verdicts follow from the
 * records, what cannot be had is told. */
#include "tests/support/figures.h"
#include "tests/support/must.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int make_place(void **state)
{
    if (figures_set_up(state) != 0)
        return 1;
    const struct place *const p = *state;
    figure_write(
        p, "tiny-fig1",
        "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = papers100m\nbatch = 64000\nhidden = 16\n"
        "fanout = 5,5\nevaluate = never\nepochs = 2\nmodel = sage\n[slow]\nsystem = pygplus\ndim = 64, 512\n[fast]\n"
        "system = null\ndim = 64, 512\npublished = F\n[no]\nsystem = null\ntask = link\ndim = 64\n[peer]\npublished "
        "= P/x\n[figure]\npaper = tiny\nplace = Figure 1\ntitle = A tiny figure\nchart = bars\nx = dim\nfacets = "
        "dataset\ny = epoch_s, reads\nx_label = width\ny_label = seconds\nlog = yes\npublished = time\nminutes = "
        "2.5\nscale = "
        "1/4000\n[holds]\norder = epoch_s[fast] < epoch_s[slow]\nratio = epoch_s[slow, dim=512] / epoch_s[slow, "
        "dim=64] ~ 1000\nopen = epoch_s[no] < 1\n[reasons]\nratio = nobody said so\n");
    figure_write(p, "tiny-fig2",
                 "[figure]\npaper = tiny\nplace = Figure 2\ntitle = None\nmissing = it needs a thing nobody has\n");
    published_write(p, "tiny",
                    "figure_id,system,variant,dataset,model,parameter,metric,value,unit,baseline,relation,source\n"
                    "tiny-fig1,F,,Papers100M,,dim=64,time,3.5,s,,exact,Table 9\n"
                    "tiny-fig1,P,x,Papers100M,,dim=512,time,OOM,s,,exact,Section 2\n"
                    "tiny-fig1,,,,,,growth,1000,x,,about,Section 3\n");
    return 0;
}

/* Fails the test unless the file of that name among the results holds each of the parts. */
static void expect_file(const struct place *p, const char *name, const char *const *parts)
{
    char *const text = figure_read(p, name);
    for (; *parts != NULL; parts++)
        must_show(text, *parts);
    free(text);
}

/* The pictures that lack a file, "" where all are there. */
static void expect_pictures(const struct place *p, const char *names, const char *suffixes)
{
    struct process_result r =
        process_shell("cd %s/out && for n in %s; do for s in %s; do [ -s $n.$s ] || echo no $n.$s; done; done", p->dir,
                      names, suffixes);
    assert_string_equal(r.out, "");
    process_free(&r);
}

/* Runs a figure that is drawn; false, and said, where nothing here draws. */
static bool expect_drawn(const struct place *p, const char *words, const char *const *parts)
{
    struct process_result r = figure_run(p, "", words);
    const bool drawn = strstr(r.err, "gnuplot is not installed") == NULL;
    if (!drawn)
        leave_out("the picture: no gnuplot");
    process_expect_all(&r, 0, parts);
    process_free(&r);
    return drawn;
}

static void a_figure_from_file_to_picture(void **state)
{
    const struct place *const p = *state;
    const bool drawn =
        expect_drawn(p, "tiny-fig1 --jobs 2",
                     PARTS("4 runs made", "4 of 4 configurations are recorded", "| fast | papers100m | ",
                           " [3.5 / 4000] |", "[OOM]", "| no | papers100m | N/A |",
                           "profile gnndrive-paper (assumed there:", "scale 1/4000", "device readahead 128 KiB",
                           "holds           order", "DOES NOT HOLD   ratio", "likely cause: nobody said so",
                           "not measurable  open", "epoch_s[fast] < epoch_s[slow]\n      judged: 2\n",
                           "      judged: 0; without a number: "
                           "1 (out of memory, timeout, not possible)\n"));
    expect_file(p, "tiny-fig1.csv",
                PARTS("series,dim,dataset,status,runs,epoch_s,epoch_s_least,epoch_s_most,epoch_s_published,"
                      "epoch_s_source,epoch_s_drawn,reads",
                      "fast,64,papers100m,ok,1,", ",3.5,Table 9,0.000875,",
                      "peer,512,papers100m,,0,,,,OOM,Section 2,"));
    char *const words = figure_read(p, "tiny-fig1"
                                       ".md");
    assert_ptr_equal(strstr(words, "A tiny figure (tiny, Figure 1)\n\nSimulated world, "), words);
    free(words);
    expect_file(p,
                "tiny-fig1"
                ".md",
                PARTS("\n  holds           order: ", "\n  DOES NOT HOLD   ratio: "));
    if (drawn)
        expect_pictures(p, "tiny-fig1", "png svg pdf");
    figure_expect(p, "tiny-fig1", 0, PARTS("0 runs made, 5 skipped", "holds           order"));
}

/* Cut off by Ctrl-C, a figure goes on where it was, and what was made is not made again. */
static void a_figure_that_was_cut_goes_on(void **state)
{
    const struct place *const p = *state;
    struct process_result r = figure_run(p, "timeout --preserve-status -s INT 0.3", "tiny-fig1");
    /* The signal may also find the program unready, or done with its runs: then the picture alone is missing. */
    if (r.exit_status == 130 && strstr(r.out, "4 of 4 configurations") == NULL)
        process_expect_all(&r, 130,
                           PARTS("oocgnn: Interrupted: ", " left. Continue with: ", " figure tiny-fig1 --db ",
                                 "tiny-fig1: interrupted"));
    process_free(&r);
    figure_expect(p, "tiny-fig1", 0, PARTS("4 of 4 configurations are recorded"));
    figure_expect(p, "tiny-fig1", 0, PARTS("0 runs made, 5 skipped"));
}

/* An output that cannot be written is reported before the first run. */
static void an_unwritable_directory_is_found_first(void **state)
{
    const struct place *const p = *state;
    static const char *const words[] = {"tiny-fig1 --out /proc/nope", "--all --out /proc/nope",
                                        "tiny-fig1 --db /proc/nope.db"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct process_result r =
            process_shell("export XDG_DATA_HOME=%s; cd /; %s figure --db %s %s; s=$?; ls %s; exit $s", p->dir,
                          p->program, p->db, words[i], p->db);
        process_expect_all(&r, 2, PARTS("/proc/nope", "No such file or directory. Name a ", "ls: cannot access"));
        if (strstr(r.err, "configuration ") != NULL || r.out[0] != '\0')
            fail_msg("%s: it began:\n%s%s", words[i], r.out, r.err);
        process_free(&r);
    }
}

/* A part of a figure is the same cells; findings about the others are left out. */
static void a_part_of_a_figure_can_be_had(void **state)
{
    const struct place *const p = *state;
    struct process_result r = figure_run(p, "", "tiny-fig1 --fix dim=64");
    process_expect_all(&r, 0, PARTS("2 runs made", "2 of 2 configurations are recorded", "holds           order"));
    assert_null(strstr(r.out, "ratio:")); /* of 512 and 64 */
    process_free(&r);
    figure_expect(p, "tiny-fig1", 0, PARTS("2 runs made, 3 skipped", "4 of 4 configurations are recorded"));
}

/* A case that names another value itself is no part of what is fixed; a value that no case has is put over all. */
static void cases_of_other_values_are_no_part(void **state)
{
    const struct place *const p = *state;
    figure_write(
        p, "tiny-fig3",
        "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = papers100m\nmodel = sage, gcn\ndim = 64\n"
        "[fast]\nsystem = gnndrive\n[fast, gat]\nsystem = gnndrive\nmodel = gat\n[other]\nsystem = ginex\n"
        "model = gat | gcn\n[figure]\npaper = tiny\nplace = Figure 3\ntitle = A part\nchart = table\nx = dim\n"
        "y = epoch_s\n");
    figure_expect(p, "tiny-fig3 --check", 0, PARTS("0 of 5 configurations are recorded"));
    figure_expect(p, "tiny-fig3 --check --fix model=sage", 0, PARTS("0 of 1 configurations are recorded"));
    figure_expect(p, "tiny-fig3 --check --fix model=gat", 0, PARTS("0 of 2 configurations are recorded"));
    figure_expect(p, "tiny-fig3 --check --fix model=gcn", 0, PARTS("0 of 2 configurations are recorded"));
    figure_expect(p, "tiny-fig3 --check --fix 'model=gat|gcn'", 0, PARTS("0 of 4 configurations are recorded"));
    figure_expect(p, "tiny-fig3 --check --fix model=gat --fix dim=128", 0, PARTS("0 of 2 configurations are recorded"));
    figure_expect(p, "tiny-fig3 --check --fix system=ginex --fix model=sage", 2,
                  PARTS("tiny-fig3: no configuration has all values of --fix; remove one"));
    figure_write(p, "tiny-fig5",
                 "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = papers100m\ndim = 64\n"
                 "[fast]\nsystem = gnndrive\ngnndrive.depth = 2 | 64\n[other]\nsystem = ginex\n[figure]\npaper = tiny\n"
                 "place = Figure 5\ntitle = A parameter\nchart = table\nx = dim\ny = epoch_s\n");
    figure_expect(p, "tiny-fig5 --check", 0, PARTS("0 of 3 configurations are recorded"));
    figure_expect(p, "tiny-fig5 --check --fix gnndrive.depth=2", 0, PARTS("0 of 2 configurations are recorded"));
    figure_write(p, "tiny-fig4",
                 "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = papers100m\ndim = 64, 128\n"
                 "[fast]\nsystem = gnndrive\n[figure]\npaper = tiny\nplace = Figure 4\ntitle = Broken\nchart = table\n"
                 "x = dim\ny = epoch_s\n[holds]\nleft = epoch_s[fast, dim=128] < 1\nbroken = hardly anything\n");
    figure_expect(p, "tiny-fig4 --check --fix dim=64", 2, PARTS("tiny-fig4.ini:", "found"));
}

/* A part of an epoch, which only scale 1 has: what was counted of it is multiplied up to the whole, as its time is, and
 * the caption says so. */
static void extrapolated_epochs_are_whole(void **state)
{
    const struct place *const p = *state;
    figure_write(p, "tiny-fig6",
                 "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = livejournal\nbatch = 100\n"
                 "hidden = 16\nfanout = 2,2\nevaluate = never\nmodel = sage\ndim = 64\nepochs = 1\nwarmup = 100\n"
                 "batches = 300\n[a]\nsystem = gnndrive\n[figure]\npaper = tiny\nplace = Figure 6\ntitle = A part\n"
                 "chart = table\nx = dim\ny = reads\nscale = 1\n");
    figure_expect(p, "tiny-fig6", 0, PARTS(". Epochs extrapolated from mini-batches: 300. One run per configuration"));
    struct process_result r = process_shell("%s report --last 1 --json --db %s", p->program, p->db);
    json_t *const run = json_loads(r.out, 0, NULL);
    const json_t *const counters = json_object_get(json_array_get(json_object_get(run, "epochs"), 0), "counters");
    const char *const whole =
        json_string_value(json_object_get(json_object_get(run, "environment"), "epoch.whole_batches"));
    assert_non_null(whole);
    assert_int_equal(json_integer_value(json_object_get(counters, "batches")), 400);
    assert_true(strtod(whole, NULL) > 400);
    const double reads = json_number_value(json_object_get(counters, "device_read_ios")) * strtod(whole, NULL) / 400;
    json_decref(run);
    process_free(&r);
    char *const csv = figure_read(p, "tiny-fig6.csv"), *const row = strchr(csv, '\n');
    assert_non_null(row);
    double drawn;
    assert_int_equal(sscanf(row + 1, "a,64,ok,1,%lf", &drawn), 1);
    assert_true(fabs(drawn - reads) <= 1e-6 * reads);
    free(csv);
}

static void parts_are_named_by_several_keys(void **state)
{
    const struct place *const p = *state;
    figure_expect(p, "tiny-fig1 --fix dim=64 --fix dataset=twitter", 0,
                  PARTS("2 runs made", "2 of 2 configurations are recorded", "| twitter |", "holds           order"));
    figure_expect(p, "tiny-fig1 --fix dim=64 --fix dataset=twitter", 0,
                  PARTS("0 runs made",
                        ". All runs with dataset=twitter. One run per configuration.")); /* 64 is a value of the file */
    figure_expect(p, "tiny-fig1 --fix dim=64 --fix max-batches=3", 0,
                  PARTS(". Parts of epochs, in mini-batches: 3. All runs with max-batches=3."));
    figure_expect(p, "tiny-fig1 --check --fix 'dim=64|512' --fix dataset=twitter", 0,
                  PARTS("2 of 4 configurations are recorded"));
    figure_expect(p, "tiny-fig1 --fix dim", 2, PARTS("--fix dim: expected KEY=VALUE"));
    figure_expect(p, "tiny-fig1 --fix dim=64 --fix epochs=1 --fix dim=512", 2,
                  PARTS("--fix dim=512: dim is fixed to \"64\" already; leave one out"));
    figure_expect(p, "tiny-fig1 --fix dim=64 --fix memry=1G", 2,
                  PARTS("--fix memry=1G: tiny-fig1 has no key \"memry\"", "did you mean \"memory\"?"));
    figure_expect(p, "tiny-fig1 --fix pygplus.memry=1G", 2,
                  PARTS("no key \"pygplus.memry\"", "oocgnn list params SYSTEM"));
    figure_expect(p, "tiny-fig1 --fix system=pygpluss", 2, PARTS("tiny-fig1: none of its "));
    figure_expect(p, "tiny-fig1 --fix scale=1/100", 2, PARTS("--fix scale=1/100: ", "write --scale 1/100"));
}

/* Figures may share cells, which run once: each tells all of its own, the sum counts them once. */
static void cells_of_two_figures_are_counted_once(void **state)
{
    const struct place *const p = *state;
    struct process_result r = process_shell("cd %s/oocgnn/figures && cp tiny-fig1.ini tiny-twin.ini", p->dir);
    process_free(&r);
    figure_expect(p, "--list --scale 1/8000", 0,
                  PARTS("tiny-fig1            0 of 4 ", "tiny-twin            0 of 4 ", "\n4 configurations to run: "));
}

static void what_is_recorded_is_checked_and_listed(void **state)
{
    const struct place *const p = *state;
    figure_expect(p, "tiny-fig1 --check", 0, PARTS("0 of 4 configurations are recorded", "not measurable  order"));
    figure_expect(p, "--list --jobs 2", 0,
                  PARTS("tiny-fig1            0 of 4       2.0      A tiny figure",
                        "tiny-fig2            -            -        it needs a thing", "minutes of a core, "));
    figure_expect(p, "tiny-fig2", 4, PARTS("tiny-fig2 is not available: it needs a thing nobody has"));
    figure_expect(p, "tiny-fig3", 2, PARTS("no figure \"tiny-fig3\"", "did you mean"));
    figure_expect(p, "", 2, PARTS("name some, or --all"));
}

/* The list names a graph that must be imported first, with the command; once it is there, it does not. */
static void a_missing_import_is_listed(void **state)
{
    const struct place *const p = *state;
    figure_write(p, "tiny-import",
                 "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = mine\nbatch = 8\nhidden = 4\nfanout "
                 "= 2,2\nevaluate = never\nmodel = sage\n[a]\nsystem = null\nepochs = 1, 2\n[figure]\npaper = "
                 "tiny\nplace = Figure 3\ntitle = Imported\nchart = bars\nx = epochs\ny = epoch_s\nimport = --format "
                 "snap --dim 4\n");
    figure_expect(p, "--list --data '/my data'", 0,
                  PARTS("tiny-import          0 of 2 ",
                        "Imported; needs mine: `oocgnn prepare mine --from DIR --format "
                        "snap --dim 4 --data '/my data'`\n"));
    figure_expect(
        p, "tiny-import --data '/my data'", 4,
        PARTS("tiny-import needs the graph mine, which is not in /my data; download it to a directory DIR, and "
              "`oocgnn prepare mine --from DIR --format snap --dim 4 --data '/my data'` imports it\n"));
    struct process_result r = process_shell("mkdir -p %s/data/mine && touch %s/data/mine/meta", p->dir, p->dir);
    process_free(&r);
    char list[1000];
    (void)snprintf(list, sizeof list, "--list --data %s/data", p->dir);
    r = figure_run(p, "", list);
    process_expect_all(&r, 0, PARTS("Imported\n"));
    assert_null(strstr(r.out, "needs mine"));
    process_free(&r);
    r = process_shell("rm %s/oocgnn/figures/tiny-import.ini", p->dir);
    process_free(&r);
}

static void all_of_them_end_in_a_summary(void **state)
{
    const struct place *const p = *state;
    struct process_result r = figure_run(p, "", "tiny-fig1");
    process_free(&r);
    r = figure_run(p, "", "--all --no-run");
    process_free(&r);
    char *const words = figure_read(p, "tiny-fig2"
                                       ".md");
    assert_string_equal(words, "None (tiny, Figure 2)\n\nnot available:\nit needs a thing nobody has");
    free(words);
    figure_expect(p, "--all --check --any-build", 0,
                  PARTS("| figure | ratio | where | ours | published | log2 | holds |", "| tiny-fig1 | ratio |",
                        "| 1000 | -", "| no | nobody said so |", "| paper | figures |",
                        "| tiny | 2 | 1 | 1 | 1 | 1 | 1 | ", " | 0 | 0 | tiny-fig1 ratio: ", " for 1000 (-",
                        ") | 1 | 0 | ", " | 9.97 |\n\nRatios: ours over the printed number",
                        "not available: it needs a thing nobody has"));
}

#define TINY "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = papers100m\nbatch = 16\nhidden = 16\n"
#define ABOUT(number, chart) ABOUT_OVER(number, chart, "dataset")
#define ABOUT_OVER(number, chart, x)                                                                                   \
    "[figure]\npaper = tiny\nplace = Figure " number "\ntitle = T\nchart = " chart "\nx = " x "\nscale = 1/4000\n"

/* What it will take is told, a cell that fails, a file that is none and a missing fio keep nothing else from being
 * made, and what is not whole stands at the end. */
static void all_are_made_whatever_fails(void **state)
{
    const struct place *const p = *state;
    static const char *const gaps[] = {
        "figure 1 of 6, tiny-fail; 9 configurations to run: about 5 minutes of a core, and 1 without an estimate",
        "figure 2 of 6, tiny-fig1; 8 configurations to run: about 5 minutes of a core\n",
        "4 of 4 configurations are recorded",
        "not available: tiny-fio: fio is not there; install it",
        "| paper | figures |",
        "| tiny | 6 | 2 | 1 | 1 | 1 | 1 |",
        "0 of 1 configurations are recorded",
        "| tiny-here | it is measured on this machine: `oocgnn figure tiny-here` runs it |",
        "| incomplete | reason |\n|---|---|\n| tiny-fail | 0 of 1 configurations are recorded |\n"
        "| tiny-fig1 | 1 of 5 configurations cannot be run: ",
        "| tiny-fig2 | it needs a thing nobody has |",
        "| tiny-wrong | ",
        "no metric \"speed\"",
        NULL};
    figure_write(p, "tiny-fail",
                 TINY "fanout = 5,5\nevaluate = never\nmodel = sage\n[a]\nsystem = gnndrive\nfault = eio-at=1\n" ABOUT(
                     "7", "bars") "y = epoch_s\n");
    figure_write(p, "tiny-fio",
                 "[global]\nsize = 1G\nnumjobs = 1 | 2\n[a]\ndirect = 0\n[b]\ndirect = 1\n" ABOUT_OVER(
                     "8", "lines", "numjobs") "y = fio.read_us\nmeasured_by = fio\nminutes = 3\n");
    figure_write(
        p, "tiny-here",
        TINY "[a]\nsystem = null\nworld = measured\ncompute = cpu\nprofile = \n" ABOUT("8", "bars") "y = epoch_s\n");
    figure_write(p, "tiny-wrong", TINY "[a]\nsystem = null\n" ABOUT("9", "bars") "y = speed\n");
    struct process_result r = figure_run(p, "PATH=/nonexistent", "--all");
    process_expect_all(&r, 2, gaps);
    process_free(&r);
    r = figure_run(p, "PATH=/nonexistent", "--all");
    process_expect_all(&r, 2, PARTS("0 runs made, 5 skipped", "figure 2 of 6, tiny-fig1; 4 configurations to run"));
    process_free(&r);
}

/* The lines of a picture's data that hold numbers; a block's end counts as none. */
static uint32_t data_lines(const struct place *p, const char *name)
{
    uint32_t count = 0;
    char *const text = figure_read(p, name), *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n"))
        count += line[0] >= '0' && line[0] <= '9' ? 1 : 0;
    free(text);
    return count;
}

/* Times are drawn as seconds, bytes as GiB; the CSV keeps the metric's unit. A log axis below two decades has marks all
 * the same. */
static void units_are_a_readers(void **state)
{
    const struct place *const p = *state;
    figure_write(p, "tiny-unit",
                 TINY "fanout = 5,5\nevaluate = never\nmodel = sage\n[a]\nsystem = agnes\nagnes.block = 4K\n" ABOUT(
                     "9", "lines") "y = own.block_bytes\nlog = yes\n");
    const bool drawn = expect_drawn(p, "tiny-unit", PARTS("1 of 1 configurations", "4096 |"));
    expect_file(p, "tiny-unit.csv", PARTS("a,papers100m,ok,1,4096,4096,4096,"));
    expect_file(p, "tiny-unit.dat", PARTS("papers100m\t3.81469727e-06\t3.81469727e-06\t3.81469727e-06\t"));
    if (drawn)
        expect_file(p, "tiny-unit.svg", PARTS(">5e-06<"));
}

/* A run out of memory has a word above the lines and its meaning in the caption; bars start at zero, each panel's axis
 * ends where the figure asks for it, and a logarithmic axis has marks instead. */
static void nothing_drawn_misleads(void **state)
{
    const struct place *const p = *state;
    figure_write(p, "tiny-oom",
                 TINY "fanout = 5,5\nevaluate = never\nmodel = sage\nmemory = 64M, 100G\n[a]\nsystem = gnndrive\n[b]\n"
                      "system = null\n" ABOUT_OVER("9", "lines", "memory") "y = epoch_s\nlog = yes\n");
    figure_write(p, "tiny-own",
                 TINY
                 "fanout = 5,5\nevaluate = never\nmodel = sage\n[a]\nsystem = agnes\nagnes.block = 4K, 8K\n" ABOUT_OVER(
                     "9", "bars", "dataset") "facets = agnes.block\ny = own.block_bytes\nown_axis = yes\n");
    const bool drawn = expect_drawn(p, "tiny-oom",
                                    PARTS("4 of 4 configurations", "OOM", "per configuration. OOM: out of memory.",
                                          "\nOut of memory:\n\n* a, b (2 configurations): the process itself takes"));
    figure_expect(p, "tiny-own", 0, PARTS("2 of 2 configurations"));
    expect_file(p, "tiny-oom.gp", PARTS("words = 2\n", "logarithmic = 1\n"));
    expect_file(p, "tiny-own.gp",
                PARTS("bottom = 0\n", "tops[1] = 4.27246094e-06\n", "tops[2] = 8.54492188e-06\n",
                      "bar(i) = logarithmic ? NaN"));
    if (drawn)
        expect_file(p, "tiny-oom.svg", PARTS(">a OOM<"));
}

/* A part of an epoch that is too short is recorded with its time, and the figure has a word in its place. Parts are run
 * at scale 1 alone. */
static void a_part_that_is_not_settled_has_no_number(void **state)
{
    const struct place *const p = *state;
    figure_write(p, "tiny-part",
                 "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = livejournal\nhidden = 16\n"
                 "batch = 16\nfanout = 5,5\nevaluate = never\nmodel = sage\nepochs = 1\nwarmup = 1\nbatches = 4\n"
                 "[short]\nsystem = gnndrive\n[figure]\npaper = tiny\nplace = Figure 9\ntitle = T\nchart = bars\n"
                 "x = dataset\nscale = 1\ny = epoch_s, asks\n[holds]\nfast = epoch_s[short] < 1\n");
    const bool drawn = expect_drawn(
        p, "tiny-part",
        PARTS("1 of 1 configurations", "| short | not settled |", "not measurable  fast",
              "per configuration. Not settled: in the part of an epoch that ran, mini-batches get faster"));
    expect_file(p, "tiny-part.csv", PARTS("short,livejournal,not settled,0,,,,,,,,,,,,\n"));
    if (drawn)
        expect_file(p, "tiny-part.svg", PARTS("not settled"));
}

/* A run's fixed memory exceeds a limit that shrinks with the graph. The figure names a scale before it runs, and at
 * that scale everything fits. */
static void a_scale_that_is_too_small_is_named(void **state)
{
    static const char tiny[] =
        TINY "fanout = 5,5\nevaluate = never\nmodel = sage\nmemory = 32G\n[a]\nsystem = gnndrive\nbatch = 64000\n";
    static const char *const warning =
        "tiny-fit: at 1/4000 the memory limit is 8.19 MiB, but a needs at least 8.70 MiB "
        "(1 of 1 configurations): use --scale 1/3000 or larger";
    const struct place *const p = *state;
    char text[2048];
    (void)snprintf(text, sizeof text, "%s[b]\nsystem = null\n%sy = epoch_s\n", tiny, ABOUT("9", "table"));
    figure_write(p, "tiny-fit", text);
    struct process_result r = figure_run(p, "", "tiny-fit");
    process_expect_all(&r, 0,
                       PARTS(warning, "2 of 2 configurations", "| a | OOM |", "\n* a, dataset=papers100m: the run "));
    assert_true(strstr(r.err, warning) < strstr(r.err, "configuration 1 of 2")); /* before it runs */
    assert_null(strstr(r.err, "but b needs"));
    process_free(&r);
    r = figure_run(p, "", "tiny-fit"); /* nothing is left to run */
    assert_null(strstr(r.err, "the memory limit is"));
    process_free(&r);
    r = figure_run(p, "", "tiny-fit --scale 1/3000");
    process_expect_all(&r, 0, PARTS("2 of 2 configurations"));
    assert_null(strstr(r.err, "the memory limit is"));
    assert_null(strstr(r.out, "OOM"));
    process_free(&r);
    figure_expect(p, "tiny-fit --scale 1/3900", 0, PARTS("use --scale 1/3000 or larger", "OOM"));
    figure_expect(p, "tiny-fit --scale 1/8000", 4, PARTS("use --scale 1/3000 or larger"));
}

/* The graphs at which it fits have more than three million nodes: the scale is estimated, and the run fits. */
static void a_large_least_scale_is_estimated(void **state)
{
    const struct place *const p = *state;
    figure_write(p, "tiny-far",
                 TINY "fanout = 5,5\nevaluate = never\nmodel = sage\nmemory = 1450M\n[a]\nsystem = null\n" ABOUT(
                     "9", "table") "y = epoch_s\n");
    figure_expect(p, "tiny-far --scale 1/100", 4, PARTS("use --scale 1/25 or larger"));
    figure_expect(p, "tiny-far --scale 1/30", 0, PARTS("| a | OOM |"));
    struct process_result r = figure_run(p, "", "tiny-far --scale 1/25");
    process_expect_all(&r, 0, PARTS("1 of 1 configurations are recorded"));
    assert_null(strstr(r.out, "OOM"));
    process_free(&r);
}

/* Nothing would be left of this figure, so it is not run; among all figures it is not available. What fits at no scale
 * is a result, which is only named. */
static void a_figure_of_nothing_but_oom_is_refused(void **state)
{
    const struct place *const p = *state;
    figure_write(p, "tiny-all",
                 TINY "fanout = 5,5\nevaluate = never\nmodel = sage\nlr = 0.25\nmemory = 32G\n[a]\nsystem = "
                      "gnndrive\nbatch = 64000\n" ABOUT("9", "table") "y = epoch_s\n");
    figure_write(p, "tiny-never",
                 TINY "fanout = 5,5\nevaluate = never\nmodel = sage\nlr = 0.25\nmemory = 64M\n[a]\nsystem = "
                      "gnndrive\nbatch = 64000\n" ABOUT("9", "table") "y = epoch_s\n");
    static const char refusal[] =
        "tiny-all: every configuration would run out of memory: at 1/4000 the memory limit is "
        "8.19 MiB, but a needs at least 8.70 MiB (1 of 1 configurations): use --scale 1/3000";
    figure_expect(p, "tiny-all", 4, PARTS(refusal));
    figure_expect(p, "tiny-all --no-run", 0, PARTS("0 of 1 configurations"));
    figure_expect(p, "tiny-never", 0,
                  PARTS("tiny-never: at 1/4000 the memory limit is 16.0 KiB, but a needs at least 8.70 MiB (1 of 1 "
                        "configurations): it does not fit at any scale",
                        "1 of 1 configurations", "OOM"));
    struct process_result r = figure_run(p, "", "--all");
    must_show(r.out, "| tiny-all | tiny-all: every configuration would run out of memory");
    process_free(&r);
}

static void change_records(const struct place *p, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(p->db, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Repetitions that differ, and a memory limit that came from outside. */
static void a_caption_has_what_is_known_against_its_runs(void **state)
{
    const struct place *const p = *state;
    figure_write(p, "tiny-notes",
                 TINY "fanout = 5,5\nevaluate = never\nmodel = sage\nlr = 0.5\n[a]\nsystem = null\n" ABOUT(
                     "9", "lines") "y = epoch_s\n");
    struct process_result r = figure_run(p, "", "tiny-notes --repeat 2");
    process_expect_all(&r, 0, PARTS("up to 2 runs per configuration. Build"));
    process_free(&r);
    change_records(p, "UPDATE epochs SET wall_ns = 2 * wall_ns WHERE run_id = (SELECT max(run_id) FROM runs); "
                      "INSERT INTO environment (run_id, key, value) SELECT run_id, 'memory.inherited_limit_bytes', "
                      "'41943040' FROM runs");
    figure_expect(p, "tiny-notes --repeat 2", 0,
                  PARTS("up to 2 runs per configuration. Note: epoch times of repetitions spread by up to 66.7 % of "
                        "their median. Build",
                        "Memory limit inherited from the container or control group: 40.0 MiB."));
}

/* Courses of runs, distributions, heat maps: what their data files hold, and that a picture came out. */
static void shapes_of_other_kinds_are_drawn(void **state)
{
    const struct place *const p = *state;
    figure_write(
        p, "tiny-time",
        TINY "fanout = 5,5\nevaluate = never\nmodel = sage\n[a]\nsystem = pygplus\n[b]\nsystem = gnndrive\n" ABOUT(
            "3", "time") "y = series.cpu_pct, series.iowait_pct, series.gpu_busy_pct, waits.cpu_pct, "
                         "series.read_gbps\n[holds]\nwaits = series.cpu_pct[a] + series.iowait_pct[a] <= 100.001\n");
    figure_write(p, "tiny-cdf",
                 TINY "fanout = 5,5\nsample-only = yes\nepochs = 1\n[a]\nsystem = ringsampler\nringsampler.requests = "
                      "50\n" ABOUT("4", "cdf") "y = own.stream_p10_ns, own.stream_p50_ns, own.stream_p999_ns, "
                                               "own.latency_p50_ns\n");
    figure_write(p, "tiny-heat",
                 TINY
                 "fanout = 5,5\nevaluate = never\nmodel = sage\ndim = 64, 128\n[a]\nsystem = pygplus\n[b]\nsystem = "
                 "gnndrive\n" ABOUT_OVER("5", "heat", "dim") "y = epoch_s\n");
    figure_write(p, "tiny-none", /* no epoch has an accuracy: nothing to take a logarithm of */
                 TINY "fanout = 5,5\nevaluate = never\nmodel = sage\n[a]\nsystem = null\n" ABOUT(
                     "6", "accuracy") "y = accuracy_pct\nlog = yes\n");
    figure_write(p, "tiny-classes",
                 TINY "fanout = 5,5\nevaluate = never\nmodel = sage\n[a]\nsystem = gnndrive\n" ABOUT(
                     "7", "classes") "y = asks.512, asks.4K, reads.4K, asks\nlog = yes\n[holds]\nall = asks.512[a] = "
                                     "asks[a]\n");
    const bool drawn = expect_drawn(p, "tiny-time --jobs 2", PARTS("2 of 2 configurations", "holds           waits"));
    figure_expect(p, "tiny-cdf", 0, PARTS("1 of 1 configurations"));
    figure_expect(p, "tiny-heat --jobs 2", 0, PARTS("4 of 4 configurations"));
    figure_expect(p, "tiny-none", 0, PARTS("1 of 1 configurations"));
    figure_expect(p, "tiny-classes", 0, PARTS("1 of 1 configurations", "holds           all"));
    assert_int_equal(data_lines(p, "tiny-classes.dat"), 3); /* a line that begins with a digit */
    expect_file(p, "tiny-classes.dat", PARTS("\n4K\t0\t0\t0\tNaN\t ", "asks\t"));
    expect_file(p, "tiny-classes.gp", PARTS("\"512\" 0, \"4K\" 1, \"4K\" 2, \"asks\" 3", "rows = 4"));
    assert_in_range(data_lines(p, "tiny-time.dat"), 8, 512);
    assert_int_equal(data_lines(p, "tiny-cdf.dat"), 3); /* the latency is another distribution */
    assert_int_equal(data_lines(p, "tiny-heat.dat"), 2);
    if (drawn)
        expect_pictures(p, "tiny-time tiny-cdf tiny-heat tiny-none tiny-classes", "png");
}

/* Accuracy is of a run that trains on this machine, time of the figure's world; the second command trains no more. */
static void accuracy_is_paired_with_modelled_time(void **state)
{
    const struct place *const p = *state;
    figure_write(
        p, "tiny-acc",
        TINY "fanout = 5,5\nmodel = sage\nepochs = 2\n[a]\nsystem = pygplus\nevaluate = never\n[a, accuracy]\n"
             "system = pygplus\ntrains = yes\nevaluate = each\nmemory = 0\n" ABOUT(
                 "6", "accuracy") "y = accuracy_pct, target_s, target_epochs, epoch_s\ntarget = 0\n[holds]\nsome = "
                                  "accuracy_pct[a] >= 0\nin_time = target_s[a] / target_epochs[a] / epoch_s[a] = 1\n");
    char words[800];
    (void)snprintf(words, sizeof words, "tiny-acc --data %s/data", p->dir);
    figure_expect(p, words, 0,
                  PARTS("2 runs made", "2 of 2 configurations", "holds           some", "holds           in_time"));
    figure_expect(p, words, 0, PARTS("0 runs made, 2 skipped", "holds           in_time"));
}

/* A figure on an imported graph names the command that imports it, once, and is made when the graph is there. */
static void an_imported_graph_is_asked_for(void **state)
{
    const struct place *const p = *state;
    char words[800];
    figure_write(p, "tiny-real",
                 "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = real\ntask = link\ndim = 8\nbatch = "
                 "8\nevaluate = never\n[a]\nsystem = pygplus\n[b]\nsystem = mariusgnn\n[figure]\npaper = tiny\nplace = "
                 "Figure 9\ntitle = T\nchart = bars\nx = dataset\ny = epoch_s\nimport = --format triples "
                 "--add-reverse\n");
    (void)snprintf(words, sizeof words, "tiny-real --data '%s/my data'", p->dir);
    figure_expect(p, words, 4, PARTS("`oocgnn prepare real --from DIR --format triples --add-reverse --data '"));
    (void)snprintf(words, sizeof words, "--all --data '%s/my data'", p->dir);
    figure_expect(p, words, 0, PARTS("not available: tiny-real needs the graph real, which is not in "));
    struct process_result r = process_shell("cd %s && mkdir in && for f in train valid test; do for i in {1..20}; do "
                                            "printf 'a%%d\\tr%%d\\ta%%d\\n' $i $((i %% 3)) $((i * 7 %% 20)); done "
                                            ">in/$f.txt; done && %s prepare real --from in --format triples "
                                            "--add-reverse --data 'my data' --quiet",
                                            p->dir, p->program);
    process_expect(r, 0, "is ready", "import");
    (void)snprintf(words, sizeof words, "tiny-real --data '%s/my data'", p->dir);
    figure_expect(p, words, 0, PARTS("2 of 2 configurations are recorded"));
    process_expect(process_shell("rm -r '%s/my data'", p->dir), 0, "", "rm");
    figure_expect(p, words, 0, PARTS("2 of 2 configurations are recorded")); /* records need no graph */
}

/* Of the tree, by the program in its own place: no file there keeps a summary from being made. */
static void the_trees_own_are_summed_up(void **state)
{
    const struct place *const p = *state;
    struct process_result r =
        process_shell("%s figure --all --check --db %s --out %s/out", process_program(), p->db, p->dir);
    process_expect_all(&r, 0, PARTS("| ringsampler-table1 | 0 of "));
    process_free(&r);
    r = process_shell("%s figure --list --papers --db %s", process_program(), p->db);
    process_expect_all(&r, 0, PARTS("gnndrive-fig8 ", "mariusgnn-table8 ", "gnndrive-figB1a "));
    assert_null(strstr(r.out, "presort-caps"));
    assert_null(strstr(r.out, "links ")); /* a table of a paper on another graph */
    process_free(&r);
    figure_expect(p, "--papers tiny-fig1", 2, PARTS("--papers selects figures of --all or --list; add one of the two"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_trees_own_are_summed_up, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(shapes_of_other_kinds_are_drawn, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(units_are_a_readers, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(nothing_drawn_misleads, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(a_part_that_is_not_settled_has_no_number, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(a_scale_that_is_too_small_is_named, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(a_large_least_scale_is_estimated, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(a_figure_of_nothing_but_oom_is_refused, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(a_caption_has_what_is_known_against_its_runs, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(accuracy_is_paired_with_modelled_time, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(a_figure_from_file_to_picture, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(a_figure_that_was_cut_goes_on, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(an_unwritable_directory_is_found_first, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(a_part_of_a_figure_can_be_had, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(extrapolated_epochs_are_whole, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(parts_are_named_by_several_keys, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(cases_of_other_values_are_no_part, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(what_is_recorded_is_checked_and_listed, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(cells_of_two_figures_are_counted_once, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(a_missing_import_is_listed, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(all_of_them_end_in_a_summary, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(all_are_made_whatever_fails, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(an_imported_graph_is_asked_for, make_place, place_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
