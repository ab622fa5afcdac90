/* A tiny figure from its file to its picture: cells are run once, the table, the CSV and the verdicts follow from the
 * records, what cannot be had is told. */
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
    char *dir;
    char prefix[1500]; /* of every command: whose files are looked at, where results go */
};

static void write_text(const struct place *p, const char *name, const char *text)
{
    char path[700];
    (void)snprintf(path, sizeof path, "%s/%s", p->dir, name);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int make_place(void **state)
{
    struct place *const p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->dir = process_temp_dir();
    (void)snprintf(p->prefix, sizeof p->prefix,
                   "export XDG_DATA_HOME=%s; cd /; O=%s/%s; [ -x $O ] || O=%s; DB='--db %s/f.db --out %s/out';", p->dir,
                   getenv("PWD") != NULL ? getenv("PWD") : ".", process_program(), process_program(), p->dir, p->dir);
    struct process_result r = process_shell("mkdir -p %s/oocgnn/figures %s/oocgnn/published", p->dir, p->dir);
    assert_int_equal(r.exit_status, 0);
    process_free(&r);
    write_text(
        p, "oocgnn/figures/tiny-fig1.ini",
        "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = papers100m\nbatch = 64000\nhidden = 16\n"
        "fanout = 5,5\nevaluate = never\nepochs = 2\nmodel = sage\n[slow]\nsystem = pygplus\ndim = 64, 512\n[fast]\n"
        "system = null\ndim = 64, 512\npublished = F\n[no]\nsystem = null\ntask = link\ndim = 64\n[peer]\npublished "
        "= P/x\n[figure]\npaper = tiny\nplace = Figure 1\ntitle = A tiny figure\nchart = bars\nx = dim\nfacets = "
        "dataset\ny = epoch_s, reads\nx_label = width\ny_label = seconds\nlog = yes\npublished = time\nminutes = "
        "2.5\nscale = "
        "1/4000\n[holds]\norder = epoch_s[fast] < epoch_s[slow]\nratio = epoch_s[slow, dim=512] / epoch_s[slow, "
        "dim=64] ~ 1000\nopen = epoch_s[no] < 1\n[reasons]\nratio = nobody said so\n");
    write_text(p, "oocgnn/figures/tiny-fig2.ini",
               "[figure]\npaper = tiny\nplace = Figure 2\ntitle = None\nmissing = it needs a thing nobody has\n");
    write_text(p, "oocgnn/published/tiny.csv",
               "figure_id,system,variant,dataset,model,parameter,metric,value,unit,baseline,relation,source\n"
               "tiny-fig1,F,,Papers100M,,dim=64,time,3.5,s,,exact,Table 9\n"
               "tiny-fig1,P,x,Papers100M,,dim=512,time,OOM,s,,exact,Section 2\n");
    *state = p;
    return 0;
}

static int remove_place(void **state)
{
    struct place *const p = *state;
    process_remove_tree(p->dir);
    free(p->dir);
    free(p);
    return 0;
}

static struct process_result figure(const struct place *p, const char *words)
{
    return process_shell("%s $O figure %s $DB", p->prefix, words);
}

static void expect(const struct process_result *r, int exit_status, const char *const *parts)
{
    bool all = r->exit_status == exit_status;
    for (; all && *parts != NULL; parts++)
        all = strstr(r->out, *parts) != NULL || strstr(r->err, *parts) != NULL;
    if (!all)
        fail_msg("exit %d, expected %d and \"%s\":\n%s%s", r->exit_status, exit_status, *parts != NULL ? *parts : "",
                 r->out, r->err);
}

static char *read_out(const struct place *p, const char *name)
{
    struct process_result r = process_shell("cat %s/out/%s", p->dir, name);
    char *const text = strdup(r.out);
    process_free(&r);
    assert_non_null(text);
    return text;
}

static void a_figure_from_file_to_picture(void **state)
{
    const struct place *const p = *state;
    static const char *const first[] = {"4 runs made",
                                        "4 of 4 cells are recorded",
                                        "| fast | papers100m | ",
                                        " [3.5] |",
                                        "[OOM]",
                                        "| no | papers100m | N/A |",
                                        "profile gnndrive-paper (assumed there:",
                                        "scale 1/4000",
                                        "holds           order",
                                        "DOES NOT HOLD   ratio",
                                        "likely cause: nobody said so",
                                        "not measurable  open",
                                        NULL};
    static const char *const again[] = {"0 runs made, 5 passed over", "holds           order", NULL};
    struct process_result r = figure(p, "tiny-fig1 --jobs 2");
    if (strstr(r.err, "gnuplot is not installed") != NULL)
        leave_out("the picture: no gnuplot");
    expect(&r, 0, first);
    const bool drawn = strstr(r.err, "gnuplot") == NULL;
    process_free(&r);
    char *const csv = read_out(p, "tiny-fig1.csv");
    assert_non_null(strstr(csv, "series,dim,dataset,status,runs,epoch_s,epoch_s_least,epoch_s_most,epoch_s_published,"
                                "epoch_s_source,reads"));
    assert_non_null(strstr(csv, "fast,64,papers100m,ok,1,"));
    assert_non_null(strstr(csv, ",3.5,Table 9,"));
    assert_non_null(strstr(csv, "peer,512,papers100m,,0,,,,OOM,Section 2,"));
    free(csv);
    char *const words = read_out(p, "tiny-fig1" ".md");
    assert_ptr_equal(strstr(words, "A tiny figure (tiny, Figure 1)\n\nsimulated world, "), words);
    assert_non_null(strstr(words, "\n  holds           order: "));
    assert_non_null(strstr(words, "\n  DOES NOT HOLD   ratio: "));
    free(words);
    r = process_shell("cd %s/out && for f in png svg pdf; do [ -s tiny-fig1.$f ] || echo no $f; done", p->dir);
    if (drawn)
        assert_string_equal(r.out, "");
    process_free(&r);
    r = figure(p, "tiny-fig1");
    expect(&r, 0, again);
    process_free(&r);
}

/* Cut off by Ctrl-C, a figure goes on where it was, and what was made is not made again. */
static void a_figure_that_was_cut_goes_on(void **state)
{
    const struct place *const p = *state;
    static const char *const rest[] = {"4 of 4 cells are recorded", NULL};
    static const char *const nothing[] = {"0 runs made, 5 passed over", NULL};
    struct process_result r = process_shell("%s timeout -s INT 0.3 $O figure tiny-fig1 $DB", p->prefix);
    process_free(&r);
    r = figure(p, "tiny-fig1");
    expect(&r, 0, rest);
    process_free(&r);
    r = figure(p, "tiny-fig1");
    expect(&r, 0, nothing);
    process_free(&r);
}

/* A part of a figure is the same cells; findings about the others are left out. */
static void a_part_of_a_figure_can_be_had(void **state)
{
    const struct place *const p = *state;
    static const char *const part[] = {"2 runs made", "2 of 2 cells are recorded", "holds           order", NULL};
    static const char *const wrong[] = {"expected KEY=VALUE", NULL};
    struct process_result r = figure(p, "tiny-fig1 --fix dim=64");
    expect(&r, 0, part);
    assert_null(strstr(r.out, "ratio:")); /* of 512 and 64 */
    process_free(&r);
    r = figure(p, "tiny-fig1");
    static const char *const others[] = {"2 runs made, 3 passed over", "4 of 4 cells are recorded", NULL};
    expect(&r, 0, others);
    process_free(&r);
    r = figure(p, "tiny-fig1 --fix dim");
    expect(&r, 2, wrong);
    process_free(&r);
}

static void what_is_recorded_is_checked_and_listed(void **state)
{
    const struct place *const p = *state;
    static const char *const nothing[] = {"0 of 4 cells are recorded", "not measurable  order", NULL};
    static const char *const listed[] = {"tiny-fig1            0 of 4       2.0      A tiny figure",
                                         "tiny-fig2            -            -        it needs a thing",
                                         "minutes of a core, ", NULL};
    static const char *const not_had[] = {"tiny-fig2 is not to be had: it needs a thing nobody has", NULL};
    static const char *const unknown[] = {"no figure \"tiny-fig3\"", "did you mean", NULL};
    static const char *const none[] = {"name some, or --all", NULL};
    struct process_result r = figure(p, "tiny-fig1 --check");
    expect(&r, 0, nothing);
    process_free(&r);
    r = figure(p, "--list --jobs 2");
    expect(&r, 0, listed);
    process_free(&r);
    r = figure(p, "tiny-fig2");
    expect(&r, 4, not_had);
    process_free(&r);
    r = figure(p, "tiny-fig3");
    expect(&r, 2, unknown);
    process_free(&r);
    r = figure(p, "");
    expect(&r, 2, none);
    process_free(&r);
}

static void all_of_them_end_in_a_summary(void **state)
{
    const struct place *const p = *state;
    static const char *const parts[] = {"| figure | ratio | where | ours | published | log2 | holds |",
                                        "| tiny-fig1 | ratio |",
                                        "| 1000 | -",
                                        "| no | nobody said so |",
                                        "| paper | figures |",
                                        "| tiny | 2 | 1 | 1 | 1 | 1 | 1 |",
                                        "not to be had: it needs a thing nobody has",
                                        NULL};
    struct process_result r = figure(p, "tiny-fig1");
    process_free(&r);
    r = figure(p, "--all --no-run");
    process_free(&r);
    char *const words = read_out(p, "tiny-fig2" ".md");
    assert_string_equal(words, "None (tiny, Figure 2)\n\nnot to be had:\nit needs a thing nobody has");
    free(words);
    r = figure(p, "--all --check --any-build");
    expect(&r, 0, parts);
    process_free(&r);
}

#define TINY "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = papers100m\nbatch = 16\nhidden = 16\n"
#define ABOUT(number, chart) ABOUT_OVER(number, chart, "dataset")
#define ABOUT_OVER(number, chart, x)                                                                                   \
    "[figure]\npaper = tiny\nplace = Figure " number "\ntitle = T\nchart = " chart "\nx = " x "\nscale = 1/4000\n"

/* The lines of a picture's data that hold numbers; a block's end counts as none. */
static uint32_t data_lines(const struct place *p, const char *name)
{
    uint32_t count = 0;
    char *const text = read_out(p, name), *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n"))
        count += line[0] >= '0' && line[0] <= '9' ? 1 : 0;
    free(text);
    return count;
}

/* Courses of runs, distributions, heat maps: what their data files hold, and that a picture came out. */
static void shapes_of_other_kinds_are_drawn(void **state)
{
    const struct place *const p = *state;
    static const char *const course[] = {"2 of 2 cells", "holds           waits", NULL};
    static const char *const quantiles[] = {"1 of 1 cells", NULL};
    static const char *const heat[] = {"4 of 4 cells", NULL};
    write_text(
        p, "oocgnn/figures/tiny-time.ini",
        TINY "fanout = 5,5\nevaluate = never\nmodel = sage\n[a]\nsystem = pygplus\n[b]\nsystem = gnndrive\n" ABOUT(
            "3", "time") "y = series.cpu_pct, series.iowait_pct, series.gpu_busy_pct, waits.cpu_pct, "
                         "series.read_gbps\n[holds]\nwaits = series.cpu_pct[a] + series.iowait_pct[a] <= 100.001\n");
    write_text(p, "oocgnn/figures/tiny-cdf.ini",
               TINY "fanout = 5,5\nsample-only = yes\nepochs = 1\n[a]\nsystem = ringsampler\nringsampler.requests = "
                    "50\n" ABOUT("4", "cdf") "y = own.stream_p10_ns, own.stream_p50_ns, own.stream_p999_ns, "
                                             "own.latency_p50_ns\n");
    write_text(p, "oocgnn/figures/tiny-heat.ini",
               TINY "fanout = 5,5\nevaluate = never\nmodel = sage\ndim = 64, 128\n[a]\nsystem = pygplus\n[b]\nsystem = "
                    "gnndrive\n" ABOUT_OVER("5", "heat", "dim") "y = epoch_s\n");
    struct process_result r = figure(p, "tiny-time --jobs 2");
    if (strstr(r.err, "gnuplot is not installed") != NULL)
        leave_out("the pictures: no gnuplot");
    expect(&r, 0, course);
    process_free(&r);
    r = figure(p, "tiny-cdf");
    expect(&r, 0, quantiles);
    process_free(&r);
    r = figure(p, "tiny-heat --jobs 2");
    expect(&r, 0, heat);
    process_free(&r);
    assert_in_range(data_lines(p, "tiny-time.dat"), 8, 512);
    assert_int_equal(data_lines(p, "tiny-cdf.dat"), 3); /* the latency is another distribution */
    assert_int_equal(data_lines(p, "tiny-heat.dat"), 2);
    r = process_shell("cd %s/out && for s in time cdf heat; do [ -s tiny-$s.png ] || echo no $s; done", p->dir);
    assert_string_equal(r.out, "");
    process_free(&r);
}

/* Accuracy is of a run that trains on this machine, time of the figure's world; the second command trains no more. */
static void accuracy_is_paired_with_modelled_time(void **state)
{
    const struct place *const p = *state;
    static const char *const first[] = {"2 runs made", "2 of 2 cells", "holds           some",
                                        "holds           in_time", NULL};
    static const char *const again[] = {"0 runs made, 2 passed over", "holds           in_time", NULL};
    write_text(
        p, "oocgnn/figures/tiny-acc.ini",
        TINY "fanout = 5,5\nmodel = sage\nepochs = 2\n[a]\nsystem = pygplus\nevaluate = never\n[a, accuracy]\n"
             "system = pygplus\ntrains = yes\nevaluate = each\nmemory = 0\n" ABOUT(
                 "6", "accuracy") "y = accuracy_pct, target_s, target_epochs, epoch_s\ntarget = 0\n[holds]\nsome = "
                                  "accuracy_pct[a] >= 0\nin_time = target_s[a] / target_epochs[a] / epoch_s[a] = 1\n");
    char words[800];
    (void)snprintf(words, sizeof words, "tiny-acc --data %s/data", p->dir);
    struct process_result r = figure(p, words);
    expect(&r, 0, first);
    process_free(&r);
    r = figure(p, words);
    expect(&r, 0, again);
    process_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shapes_of_other_kinds_are_drawn, make_place, remove_place),
        cmocka_unit_test_setup_teardown(accuracy_is_paired_with_modelled_time, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_figure_from_file_to_picture, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_figure_that_was_cut_goes_on, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_part_of_a_figure_can_be_had, make_place, remove_place),
        cmocka_unit_test_setup_teardown(what_is_recorded_is_checked_and_listed, make_place, remove_place),
        cmocka_unit_test_setup_teardown(all_of_them_end_in_a_summary, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
