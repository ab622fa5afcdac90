/* SPDX-License-Identifier: MIT */
/* oocgnn figure: a paper's figure by its name. Runs what is missing, draws, prints the table, says what holds. */
#include "harness/base/clock.h"
#include "harness/base/log.h"
#include "harness/base/units.h"
#include "harness/cli/commands.h"
#include "harness/cli/figure_make.h"
#include "harness/cli/figure_plan.h"
#include "harness/cli/figure_variants.h"
#include "harness/cli/help.h"
#include "harness/cli/outputs.h"
#include "harness/cli/sweep_run.h"
#include "harness/figure/result_file.h"
#include "harness/record/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(enum gnn_world_kind) == sizeof(uint32_t), "GNN_OPT_CHOICE writes 32 bits");

static const char *const worlds[] = {[GNN_WORLD_MEASURED] = "measured", [GNN_WORLD_SIMULATED] = "simulated", NULL};

/* What stands for "not given". */
#define OF_THE_FIGURE "from the figure"
#define USUAL_DB "figures.db or that of FILE"
#define USUAL_DATA "data or that of FILE"

#define OPTION(...) GNN_OPTION(gnn_figure_config, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option figure_table[] = {
    OPTION("list", BOOL, list, "no",
           .help = "List every figure and table of the papers, with recorded runs, minutes left, and the reason "
                   "where it cannot be made"),
    OPTION("all", BOOL, all, "no",
           .help = "Make every figure that can be made; figures whose file measures this machine are run only with "
                   "--world measured or by their name"),
    OPTION("papers", BOOL, papers, "no",
           .help = "Make or list figures of papers only, not our own (with --all or --list)"),
    OPTION("check", BOOL, check, "no",
           .help = "Run and draw nothing: check the papers' findings against the recorded runs; with --all, print a "
                   "summary"),
    OPTION("run", BOOL, run, "yes", .help = "Run the configurations that have no record yet"),
    OPTION("world", CHOICE, world, "simulated", .choices = worlds,
           .help = "World of the runs: `simulated` on the profile of the paper's machine, or `measured` on this "
                   "machine with a model of the paper's accelerator"),
    OPTION("scale", TEXT, scale, OF_THE_FIGURE, .unit = "1/K",
           .help = "Scale of the dataset; memory limits, batch and the values of the preset are divided, too"),
    OPTION("fix", TEXT, fix, "", .unit = "KEY=VALUE",
           .help = "Restrict the figure to configurations with this value, such as dataset=papers100m; may be given "
                   "several times, once for each key. Findings about other values are left out."),
    OPTION("variants", TEXT, variants, "", .unit = "NAME|FILE",
           .help = "Run each configuration under every variant of experiments/variants/NAME.ini, or of a file (with a "
                   "'/'), as columns of the tables; predicates are judged for each variant"),
    OPTION("sensitivity", BOOL, sensitivity, "no",
           .help = "Make the figure again with each assumed parameter of its profiles halved and doubled, and print "
                   "how its ratios to published numbers change"),
    OPTION("repeat", U32, repeat, "1", .min = 1, .max = 64, .unit = "TIMES", .help = "Runs of each configuration"),
    OPTION("jobs", U32, jobs, "1", .min = 1, .max = GNN_SWEEP_JOBS_MAX, .unit = "RUNS",
           .help = "Simulated runs at a time"),
    OPTION("any-build", BOOL, any_build, "no", .help = "Also use recorded runs of other builds and calibrations"),
    OPTION("db", TEXT, db, USUAL_DB, .unit = "FILE",
           .help = "Database of the runs"),
    OPTION("data", TEXT, data_dir, USUAL_DATA, .unit = "DIR",
           .help = "Directory of the datasets for the measured world"),
    OPTION("out", TEXT, out_dir, "figures", .unit = "DIR", .help = "Directory of pictures, CSV files and captions"),
    OPTION("ratios", TEXT, ratios, "", .unit = "FILE",
           .help = "CSV file to put the ratios into, one row for each printed number and method. Rows of other numbers "
                   "and methods are kept"),
    OPTION("findings", TEXT, findings, "", .unit = "FILE",
           .help = "CSV file to put the findings into, one row for each predicate and method. Rows of other predicates "
                   "and methods are kept"),
    OPTION("method", TEXT, method, "", .unit = "NAME",
           .help = "Name of the method in --ratios and --findings. Default: world, costs, scale and what --fix "
                   "overrides, such as 'simulated released 1/100'"),
    {.name = NULL},
};
/* clang-format on */

static enum gnn_status list_all(struct gnn_figures *f, struct gnn_err *err)
{
    char text[200];
    (void)printf("%-20s %-12s %-8s %s\n", "figure", "recorded", "minutes", "what it shows, or why it is not available");
    for (uint32_t i = 0; i < f->found_count; i++)
        GNN_TRY(gnn_figure_plan_print(f, &f->found[i], err));
    (void)printf("\n%s\n", gnn_figure_plan_left(f, 0, (double)NAN, text, sizeof text));
    return GNN_OK;
}

/* Prints the figures that are missing or incomplete, with the reason. */
static void print_gaps(const struct gnn_figures *f)
{
    uint32_t gaps = 0;
    for (uint32_t i = 0; i < f->found_count; i++) {
        if (f->found[i].trouble[0] == '\0')
            continue;
        if (gaps++ == 0)
            (void)printf("\n| incomplete | reason |\n|---|---|\n");
        (void)printf("| %s | %.*s |\n", f->found[i].id, (int)strcspn(f->found[i].trouble, "\n"), f->found[i].trouble);
    }
}

/* The mean of what cells took that were run since; NAN: none was. */
static double minutes_of_a_cell(const struct gnn_figures *f, uint64_t start_ns, uint32_t cells)
{
    const double minutes = (double)(gnn_host_now_ns() - start_ns) / 60e9;
    return cells > 0 ? minutes * f->config.jobs / cells : (double)NAN;
}

static enum gnn_status make_all(struct gnn_figures *f, int *exit_status, struct gnn_err *err)
{
    const bool runs = f->config.run && !f->config.check;
    uint32_t cells = 0; /* until here */
    char text[200];
    if (runs)
        gnn_figure_plan_all(f);
    const uint64_t start_ns = gnn_host_now_ns();
    for (uint32_t i = 0; i < f->found_count; i++) {
        if (runs && f->found[i].about.missing[0] == '\0')
            gnn_log_info("figure %u of %u, %s; %s", i + 1, f->found_count, f->found[i].id,
                         gnn_figure_plan_left(f, i, minutes_of_a_cell(f, start_ns, cells), text, sizeof text));
        GNN_TRY(gnn_figure_make_of_all(f, &f->found[i], exit_status, err));
        cells += f->found[i].own.cells;
    }
    GNN_TRY(gnn_papers_print(&f->papers, &f->tolerances, err));
    print_gaps(f);
    return GNN_OK;
}

static enum gnn_status take_scale(struct gnn_figures *f, struct gnn_err *err)
{
    struct gnn_err cause = {0};
    const enum gnn_status status = gnn_parse_scale(f->config.scale, &f->scale_divisor, &cause);
    return status == GNN_OK ? GNN_OK : gnn_fail(err, status, "--scale: %s", cause.message);
}

typedef enum gnn_status open_fn(const char *path, struct gnn_csv *out, struct gnn_err *err);

/* Checks that a file of results can be read and written. path "": none is given. */
static enum gnn_status check_results(const char *option, const char *path, open_fn *open_file, struct gnn_err *err)
{
    struct gnn_csv csv = {.rows = 0};
    struct gnn_err cause = {0};
    if (path[0] == '\0')
        return GNN_OK;
    const enum gnn_status status = open_file(path, &csv, &cause);
    gnn_csv_close(&csv);
    if (status != GNN_OK && status != GNN_ENOENT)
        return gnn_fail(err, GNN_EUSAGE, "%s: %s; name another file", option, cause.message);
    return gnn_cli_check_out_file(option, path, err);
}

/* Fails before the first run, not after the last. */
static enum gnn_status check_outputs(const struct gnn_figures *f, struct gnn_err *err)
{
    GNN_TRY(check_results("--ratios", f->config.ratios, gnn_ratio_file_open, err));
    GNN_TRY(check_results("--findings", f->config.findings, gnn_finding_file_open, err));
    if (f->config.check || (f->wanted_count == 0 && !f->config.all))
        return GNN_OK;
    if (f->config.run)
        GNN_TRY(gnn_cli_check_out_file("--db", f->config.db, err));
    return gnn_cli_check_out_dir("--out", f->config.out_dir, err);
}

/* Replaces the words for "not given" by the usual name. Returns NULL then, else the text. */
static const char *settle(char text[GNN_TEXT_MAX], const char *words, const char *usual)
{
    if (strcmp(text, words) != 0)
        return text;
    (void)snprintf(text, GNN_TEXT_MAX, "%s", usual);
    return NULL;
}

static enum gnn_status do_all(struct gnn_figures *f, int *exit_status, struct gnn_err *err)
{
    f->own_db = settle(f->config.db, USUAL_DB, "figures.db");
    f->own_data_dir = settle(f->config.data_dir, USUAL_DATA, "data");
    GNN_TRY(gnn_db_check_name(f->config.db, err));
    if (strcmp(f->config.scale, OF_THE_FIGURE) != 0)
        GNN_TRY(take_scale(f, err));
    if (f->config.papers && !f->config.list && !f->config.all)
        return gnn_fail(err, GNN_EUSAGE, "figure: --papers selects figures of --all or --list; add one of the two");
    if (f->wanted_count > 0 && (f->config.list || f->config.all))
        return gnn_fail(err, GNN_EUSAGE, "figure: %s and --%s: the one or the other", f->wanted[0],
                        f->config.list ? "list" : "all");
    if (f->config.sensitivity && (f->config.variants[0] != '\0' || f->config.world == GNN_WORLD_MEASURED))
        return gnn_fail(err, GNN_EUSAGE,
                        "figure: --sensitivity changes the profile of simulated runs without variants; leave out "
                        "--world measured and --variants (--fix sets what a variant sets)");
    if (f->config.method[0] != '\0' && f->config.ratios[0] == '\0' && f->config.findings[0] == '\0')
        return gnn_fail(
            err, GNN_EUSAGE,
            "figure: --method %s names rows of a file, but neither --ratios FILE nor --findings FILE is given",
            f->config.method);
    GNN_TRY(gnn_figure_files_find(f, err));
    if (f->config.variants[0] != '\0')
        GNN_TRY(gnn_figure_variants(f->config.variants, &f->fix, &f->variants, err));
    f->papers.variants = f->variants;
    if (f->config.list)
        return list_all(f, err);
    GNN_TRY(check_outputs(f, err));
    if (f->config.all)
        return make_all(f, exit_status, err);
    if (f->wanted_count == 0)
        return gnn_fail(err, GNN_EUSAGE, "figure: name some, or --all of them; `oocgnn figure --list` has them");
    for (uint32_t i = 0; i < f->wanted_count; i++) {
        struct gnn_figure_file *found = NULL;
        GNN_TRY(gnn_figure_file_find(f, f->wanted[i], &found, err));
        GNN_TRY(gnn_figure_make(f, found, exit_status, err));
    }
    return GNN_OK;
}

static enum gnn_status take_id(void *ctx, const char *word, struct gnn_err *err)
{
    struct gnn_figures *const f = ctx;
    if (f->wanted_count == GNN_FIGURE_IDS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "figure: more than %d at a time; --all makes all", GNN_FIGURE_IDS_MAX);
    f->wanted[f->wanted_count++] = word;
    return GNN_OK;
}

/* Takes a KEY=VALUE. What the command has options for is refused: the figure would be recorded in one place and
 * looked for in another. */
static enum gnn_status take_fix(void *ctx, const char *word, struct gnn_err *err)
{
    static const char *const own[] = {"db", "data", "scale", "world"};
    struct gnn_figures *const f = ctx;
    char key[GNN_NAME_MAX];
    const char *const sign = strchr(word, '=');
    if (sign == NULL || sign == word || sign - word >= (ptrdiff_t)sizeof key)
        return gnn_fail(err, GNN_EUSAGE, "--fix %s: expected KEY=VALUE, as in dataset=twitter", word);
    (void)snprintf(key, sizeof key, "%.*s", (int)(sign - word), word);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(key, own[i]) == 0)
            return gnn_fail(err, GNN_EUSAGE, "--fix %s: the figure has an option for it; write --%s %s", word, key,
                            sign + 1);
    const char *const before = gnn_kv_get(&f->fix, key);
    if (before != NULL)
        return gnn_fail(err, GNN_EUSAGE, "--fix %s: %s is fixed to \"%s\" already; leave one out, or write '%s=A|B'",
                        word, key, before, key);
    return gnn_kv_set(&f->fix, key, sign + 1, err);
}

int gnn_cmd_figure(int argc, char **argv)
{
    static const struct gnn_command_line line = {
        .usage = "usage: oocgnn figure ID|FILE.ini... [OPTION...]\n       oocgnn figure --list | --all [OPTION...]\n\n"
                 "Reproduces a figure of a paper. Runs the configurations that have no record yet, prints the table,\n"
                 "draws PNG, SVG and PDF with their CSV, and checks which of the paper's findings hold.\n"
                 "An interrupted command continues where it stopped when it is repeated.\n"
                 "FILE.ini is a figure of your own: a job file of `oocgnn sweep` with a section [figure].\n\n",
        .table = figure_table,
        .words = GNN_HELP_FIGURES,
        .word = take_id,
        .repeated = "fix",
        .value = take_fix};
    struct gnn_err err = {0};
    struct gnn_figures *const f = calloc(1, sizeof *f);
    int exit_status;
    if (f == NULL) {
        (void)gnn_fail(&err, GNN_ENOMEM, "the figures");
        return gnn_cli_failed(&err);
    }
    f->words = (struct gnn_command_words){argc, argv};
    if (gnn_args_parse(&line, argc, argv, &f->config, f, &exit_status) && do_all(f, &exit_status, &err) != GNN_OK)
        exit_status = gnn_cli_failed(&err);
    gnn_papers_close(&f->papers);
    gnn_ini_close(f->variants);
    gnn_kv_clear(&f->fix);
    gnn_figure_met_close(&f->met);
    free(f->found);
    free(f);
    return exit_status;
}
