/* SPDX-License-Identifier: MIT */
/* oocgnn figure: a paper's figure by its name. Runs what is missing, draws, prints the table, says what holds. */
#include "harness/base/clock.h"
#include "harness/base/data_dirs.h"
#include "harness/base/log.h"
#include "harness/base/near_miss.h"
#include "harness/base/units.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/figure_fit.h"
#include "harness/cli/figure_sensitivity.h"
#include "harness/cli/figure_summary.h"
#include "harness/cli/figure_variants.h"
#include "harness/cli/help.h"
#include "harness/cli/outputs.h"
#include "harness/cli/sweep_run.h"
#include "harness/figure/figure.h"
#include "harness/figure/fio_cells.h"
#include "harness/figure/ratio_file.h"
#include "harness/figure/show.h"
#include "harness/figure/values.h"
#include "harness/record/summary.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IDS_MAX = 128, PATH_BYTES = GNN_DATA_DIR_BYTES + GNN_TEXT_MAX, CAPTION_BYTES = 2000 };

struct figure_config {
    bool list, all, check, run, any_build, sensitivity;
    enum gnn_world_kind world;
    uint32_t repeat, jobs;
    char scale[GNN_TEXT_MAX], fix[GNN_TEXT_MAX], variants[GNN_TEXT_MAX], db[GNN_TEXT_MAX], data_dir[GNN_TEXT_MAX],
        out_dir[GNN_TEXT_MAX], ratios[GNN_TEXT_MAX], method[GNN_TEXT_MAX];
};
_Static_assert(sizeof(enum gnn_world_kind) == sizeof(uint32_t), "GNN_OPT_CHOICE writes 32 bits");

static const char *const worlds[] = {[GNN_WORLD_MEASURED] = "measured", [GNN_WORLD_SIMULATED] = "simulated", NULL};

/* What stands for "not given". */
#define OF_THE_FIGURE "from the figure"
#define USUAL_DB "figures.db or that of FILE"
#define USUAL_DATA "data or that of FILE"

#define OPTION(...) GNN_OPTION(figure_config, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option figure_table[] = {
    OPTION("list", BOOL, list, "no",
           .help = "List every figure and table of the papers, with recorded runs, minutes left, and the reason "
                   "where it cannot be made"),
    OPTION("all", BOOL, all, "no", .help = "Make every figure that can be made"),
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
    OPTION("method", TEXT, method, "", .unit = "NAME",
           .help = "Name of the method in --ratios. Default: world, costs, scale and what --fix overrides, such as "
                   "'simulated ideal 1/100'"),
    {.name = NULL},
};
/* clang-format on */

/* A figure's file. */
struct found {
    char id[GNN_NAME_MAX], path[PATH_BYTES];
    struct gnn_figure_about about;
    struct gnn_figure_left left, own; /* all that is left, and without what a figure before it has left too */
    char trouble[GNN_ERR_MAX];        /* why it is incomplete; "" */
    char needs[4 * GNN_TEXT_MAX];     /* dataset that must be imported, with the command; "" */
};

struct figures {
    struct figure_config config;
    struct gnn_command_words words;
    const char *wanted[IDS_MAX];
    uint32_t wanted_count;
    struct found *found; /* (IDS_MAX) */
    uint32_t found_count;
    struct gnn_papers papers;
    struct gnn_ini *variants;            /* of --variants; NULL: none */
    const char *change, *change_profile; /* of --sensitivity while a figure is made with it; NULL: none */
    struct gnn_tolerances tolerances;
    struct gnn_figure_met met;
    struct gnn_kv_list fix;            /* every --fix */
    uint32_t scale_divisor;            /* 0: each figure's own */
    const char *own_db, *own_data_dir; /* NULL: not given */
    struct gnn_err err;                /* of a file that was looked at */
};

/* ---- files ---- */

static void note_file(void *ctx, const char *path, const char *name)
{
    struct figures *const f = ctx;
    if (strcmp(name, "tolerances") == 0 || f->found_count == IDS_MAX || f->err.status != GNN_OK)
        return;
    for (uint32_t i = 0; i < f->found_count; i++)
        if (strcmp(f->found[i].id, name) == 0)
            return; /* the user's own replaces ours */
    struct found *const found = &f->found[f->found_count];
    (void)snprintf(found->id, sizeof found->id, "%s", name);
    (void)snprintf(found->path, sizeof found->path, "%s", path);
    if (gnn_figure_about(path, &found->about, &f->err) == GNN_OK)
        f->found_count++;
}

static enum gnn_status find_files(struct figures *f, struct gnn_err *err)
{
    struct gnn_data_dirs dirs;
    char path[PATH_BYTES];
    gnn_figure_dirs(&dirs);
    GNN_NEW(f->found, IDS_MAX, err, "the list of figures");
    GNN_TRY(gnn_data_files(dirs.dirs, note_file, f, err));
    if (f->err.status != GNN_OK)
        return gnn_fail(err, f->err.status, "%s", f->err.message);
    for (const char *const *dir = dirs.dirs; *dir != NULL; dir++) {
        (void)snprintf(path, sizeof path, "%s/tolerances.ini", *dir);
        if (access(path, F_OK) == 0)
            return gnn_tolerances_open(path, &f->tolerances, err);
    }
    return gnn_fail(err, GNN_ENOENT, "no figures found: they are in experiments/papers of the source tree");
}

/* Takes a file that is named by its path: with a '/', or the ending of a figure. */
static enum gnn_status add_path(struct figures *f, const char *path, struct found **out, struct gnn_err *err)
{
    const char *const slash = strrchr(path, '/'), *const name = slash != NULL ? slash + 1 : path;
    const char *const dot = strrchr(name, '.');
    GNN_TRY(gnn_cli_check_file("figure", path, "`oocgnn figure --list` has the names of the supplied figures", err));
    if (f->found_count == IDS_MAX || strlen(path) >= PATH_BYTES)
        return gnn_fail(err, GNN_EUSAGE, "figure %s: more than %d figures, or too long a path", path, IDS_MAX);
    struct found *const found = &f->found[f->found_count++];
    (void)snprintf(found->id, sizeof found->id, "%.*s", (int)(dot != NULL ? dot - name : (ptrdiff_t)strlen(name)),
                   name);
    (void)snprintf(found->path, sizeof found->path, "%s", path);
    *out = found;
    return gnn_figure_about(path, &found->about, err);
}

static bool is_path(const char *id)
{
    const size_t length = strlen(id);
    return strchr(id, '/') != NULL || (length > 4 && strcmp(id + length - 4, ".ini") == 0);
}

static enum gnn_status find_figure(struct figures *f, const char *id, struct found **out, struct gnn_err *err)
{
    struct gnn_near_miss near;
    if (is_path(id))
        return add_path(f, id, out, err);
    gnn_near_miss_start(&near, id);
    for (uint32_t i = 0; i < f->found_count; i++) {
        if (strcmp(f->found[i].id, id) == 0) {
            *out = &f->found[i];
            return GNN_OK;
        }
        gnn_near_miss_offer(&near, f->found[i].id);
    }
    return gnn_fail(err, GNN_EUSAGE, "no figure \"%s\"; `oocgnn figure --list` has them, ./%s.ini names a file%s", id,
                    id, gnn_near_miss_text(&near));
}

/* NULL: there are no published values of this paper. */
static const char *find_published(const char *paper, char *path, size_t path_bytes)
{
    struct gnn_data_dirs dirs;
    gnn_published_dirs(&dirs);
    if (paper[0] == '\0')
        return NULL;
    for (const char *const *dir = dirs.dirs; *dir != NULL; dir++) {
        (void)snprintf(path, path_bytes, "%s/%s.csv", *dir, paper);
        if (access(path, F_OK) == 0)
            return path;
    }
    return NULL;
}

static enum gnn_status open_figure(const struct figures *f, const struct found *found, uint32_t scale_divisor,
                                   struct gnn_paper_figure **out, struct gnn_err *err)
{
    char published[PATH_BYTES];
    const struct gnn_figure_setup setup = {.world = f->config.world,
                                           .scale_divisor = scale_divisor,
                                           .db = f->config.db,
                                           .data_dir = f->config.data_dir,
                                           .own_db = f->own_db,
                                           .own_data_dir = f->own_data_dir,
                                           .fix = &f->fix,
                                           .variants = f->variants,
                                           .change = f->change,
                                           .change_profile = f->change_profile,
                                           .published_path =
                                               find_published(found->about.paper, published, sizeof published)};
    return gnn_figure_open(found->path, &setup, out, err);
}

/* ---- one figure ---- */

static void raise_to(int exit_status, int *worst)
{
    *worst = exit_status > *worst ? exit_status : *worst;
}

/* Without fio there is nothing to show: the error says how to get it. */
static enum gnn_status run_by_fio(const struct figures *f, const struct gnn_paper_figure *figure, int *exit_status,
                                  struct gnn_err *err)
{
    struct gnn_err cause = {0};
    struct gnn_fio_ran ran;
    const enum gnn_status status = gnn_fio_cells_run(figure, f->config.repeat, gnn_cli_stop_on_signals(), &ran, &cause);
    raise_to(ran.failed > 0 ? GNN_EXIT_FAILED : GNN_EXIT_OK, exit_status);
    if (status == GNN_ECANCELLED)
        return gnn_fail(err, status, "%s: interrupted; the same command continues it", figure->id);
    return status == GNN_OK ? GNN_OK : gnn_fail(err, status, "%s: %s", figure->id, cause.message);
}

/* Runs what is missing; *exit_status is raised by cells that failed. */
static enum gnn_status run_cells(const struct figures *f, const struct gnn_paper_figure *figure, int *exit_status,
                                 struct gnn_err *err)
{
    bool interrupted;
    const struct gnn_sweep_settings settings = {.repeat = f->config.repeat,
                                                .jobs = f->config.jobs,
                                                .resume = true,
                                                .any_build = f->config.any_build,
                                                .silent = true,
                                                .keep_going = true,
                                                .prepare = true,
                                                .words = f->words};
    if (figure->by_fio)
        return run_by_fio(f, figure, exit_status, err);
    raise_to(gnn_sweep_run(figure->job, &settings, &interrupted), exit_status);
    return interrupted ? gnn_fail(err, GNN_ECANCELLED, "%s: interrupted", figure->id) : GNN_OK;
}

static enum gnn_status show_figure(const struct figures *f, struct gnn_paper_figure *figure, struct gnn_err *err)
{
    char caption[CAPTION_BYTES];
    struct gnn_err trouble = {0};
    gnn_figure_table(figure, stdout);
    gnn_figure_reasons(figure, stdout);
    gnn_figure_caption(figure, caption, sizeof caption);
    (void)printf("\n%s\n\n", caption);
    GNN_TRY(gnn_figure_csv(figure, f->config.out_dir, err));
    const enum gnn_status drawn = gnn_figure_draw(figure, f->config.out_dir, &trouble);
    if (drawn == GNN_ENOTSUP) { /* the numbers are there all the same */
        gnn_log_warn("%s", trouble.message);
        return GNN_OK;
    }
    return drawn == GNN_OK ? GNN_OK : gnn_fail(err, drawn, "%s", trouble.message);
}

enum { SOURCE_BYTES = 2 * GNN_FIGURE_LINE + 8 };

/* Returns " (paper, place)", or "" for a figure of no paper. */
static const char *source_of(const struct found *found, char text[SOURCE_BYTES])
{
    text[0] = '\0';
    if (found->about.paper[0] != '\0')
        (void)snprintf(text, SOURCE_BYTES, " (%s, %s)", found->about.paper, found->about.place);
    return text;
}

/* Writes what is said of a figure to a Markdown file beside its picture, for the page of `oocgnn report --figures`:
 * title, caption, reasons of configurations that ran out of memory, and which of the paper's findings hold. figure is
 * NULL if it is not available. */
static enum gnn_status write_words(const struct figures *f, const struct found *found,
                                   const struct gnn_paper_figure *figure, const char *caption, const char *findings,
                                   struct gnn_err *err)
{
    char path[PATH_BYTES], source[SOURCE_BYTES];
    GNN_TRY(gnn_make_dirs(f->config.out_dir, err));
    (void)snprintf(path, sizeof path, "%s/%s.md", f->config.out_dir, figure != NULL ? figure->file : found->id);
    FILE *const out = fopen(path, "we");
    if (out == NULL)
        return gnn_fail(err, errno == EACCES ? GNN_EPERM : gnn_errno_status(errno, GNN_EIO),
                        "%s: %s; --out names another folder", path, strerror(errno));
    (void)fprintf(out, "%s%s\n\n%s\n", found->about.title, source_of(found, source), caption);
    if (figure != NULL)
        gnn_figure_reasons(figure, out);
    (void)fputs(findings, out);
    const bool bad = ferror(out) != 0;
    if (fclose(out) != 0 || bad)
        return gnn_fail(err, GNN_EIO, "%s: cannot be written; is the disk full?", path);
    return GNN_OK;
}

static enum gnn_status judge_variants(struct figures *f, const struct found *found, struct gnn_paper_figure *figure,
                                      FILE *out, struct gnn_err *err)
{
    struct gnn_paper *const paper = gnn_papers_find(&f->papers, found->about.paper);
    const struct gnn_axis *const variants = figure->has_variants ? &figure->axes[figure->axis_count - 1] : NULL;
    for (figure->variant = 0; figure->variant < (variants != NULL ? variants->count : 1); figure->variant++) {
        if (variants != NULL)
            (void)fprintf(out, "%svariant %s:\n", figure->variant > 0 ? "\n" : "", variants->values[figure->variant]);
        struct gnn_figure_verdicts *const verdicts = &paper->verdicts[figure->variant];
        const uint32_t first = verdicts->ratios.count;
        GNN_TRY(gnn_figure_judge(figure, &f->tolerances, out, verdicts, err));
        if (f->config.ratios[0] != '\0')
            GNN_TRY(gnn_ratio_file_update(f->config.ratios, f->config.method, figure, &verdicts->ratios, first, err));
    }
    figure->variant = 0;
    return GNN_OK;
}

/* Prints which findings hold, and keeps that with the caption. */
static enum gnn_status judge_figure(struct figures *f, const struct found *found, struct gnn_paper_figure *figure,
                                    struct gnn_err *err)
{
    char caption[CAPTION_BYTES], *findings = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&findings, &bytes);
    if (out == NULL)
        return gnn_fail(err, GNN_ENOMEM, "the findings of %s", found->id);
    enum gnn_status status = judge_variants(f, found, figure, out, err);
    if (fclose(out) != 0 && status == GNN_OK)
        status = gnn_fail(err, GNN_ENOMEM, "the findings of %s", found->id);
    if (status == GNN_OK) {
        (void)fputs(findings, stdout);
        gnn_figure_caption(figure, caption, sizeof caption);
    }
    if (status == GNN_OK && !f->config.check)
        status =
            write_words(f, found, figure, caption[0] != '\0' ? caption : "no configuration is recorded", findings, err);
    if (!f->config.check)
        GNN_NEXT(status, gnn_figure_verdicts(figure, &f->tolerances, f->config.out_dir, err));
    free(findings);
    return status;
}

static void print_heading(const struct found *found)
{
    char source[SOURCE_BYTES];
    (void)printf("## %s: %s%s\n", found->id, found->about.title, source_of(found, source));
}

/* Notes why a figure is incomplete. */
static void note_gaps(const struct gnn_paper_figure *figure, struct found *found)
{
    uint32_t cells, recorded, refused = 0;
    const char *why = "";
    gnn_figure_count(figure, &cells, &recorded);
    for (uint32_t i = 0; i < figure->job->count; i++)
        if (figure->job->cells[i].refusal[0] != '\0') {
            why = refused == 0 ? figure->job->cells[i].refusal : why;
            refused++;
        }
    if (recorded < cells)
        (void)snprintf(found->trouble, sizeof found->trouble, "%u of %u configurations are recorded", recorded, cells);
    else if (refused > 0)
        (void)snprintf(found->trouble, sizeof found->trouble, "%u of %u configurations cannot be run: %.600s", refused,
                       figure->job->count, why);
}

struct scaled {
    const struct figures *figures;
    const struct found *found;
};

static enum gnn_status open_scaled(void *ctx, uint32_t scale_divisor, struct gnn_paper_figure **out,
                                   struct gnn_err *err)
{
    const struct scaled *const scaled = ctx;
    return open_figure(scaled->figures, scaled->found, scale_divisor, out, err);
}

/* Warns of systems that run out of memory only because of this scale. If no configuration is left, those that fit at no
 * scale are named, too. GNN_ENOTSUP: all of them need a larger scale. */
static enum gnn_status check_scale(const struct figures *f, const struct found *found, struct gnn_paper_figure *figure,
                                   struct gnn_err *err)
{
    struct scaled scaled = {f, found};
    struct gnn_figure_fit fit;
    char text[GNN_ERR_MAX / 2];
    uint32_t cells, recorded;
    GNN_TRY(gnn_figure_load(figure, f->config.any_build, 1, err));
    gnn_figure_fit(figure, open_scaled, &scaled, &fit);
    gnn_figure_count(figure, &cells, &recorded);
    for (uint32_t s = 0; s < figure->series_count; s++) {
        const struct gnn_series_fit *const series = &fit.series[s];
        if (series->too_large == 0 && (series->never == 0 || fit.too_large + fit.never < cells))
            continue;
        gnn_series_fit_text(figure, s, series, text, sizeof text);
        if (fit.too_large == cells)
            return gnn_fail(err, GNN_ENOTSUP, "%s: every configuration would run out of memory: %s", found->id, text);
        gnn_log_warn("%s: %s", found->id, text);
    }
    return GNN_OK;
}

struct changed {
    struct figures *figures;
    const struct found *found;
    int *exit_status;
};

/* Runs, loads and judges an opened figure without printing. */
static enum gnn_status judge_silently(const struct changed *c, struct gnn_paper_figure *figure,
                                      struct gnn_figure_verdicts *out, struct gnn_err *err)
{
    const struct figures *const f = c->figures;
    char *text = NULL;
    size_t bytes = 0;
    if (f->config.run && !f->config.check)
        GNN_TRY(run_cells(f, figure, c->exit_status, err));
    GNN_TRY(gnn_figure_load(figure, f->config.any_build, f->config.repeat, err));
    FILE *const ignored = open_memstream(&text, &bytes);
    if (ignored == NULL)
        return gnn_fail(err, GNN_ENOMEM, "the findings of %s", figure->id);
    const enum gnn_status status = gnn_figure_judge(figure, &f->tolerances, ignored, out, err);
    (void)fclose(ignored);
    free(text);
    return status;
}

static enum gnn_status make_changed(void *ctx, const char *profile, const char *change, struct gnn_figure_verdicts *out,
                                    struct gnn_err *err)
{
    const struct changed *const c = ctx;
    struct figures *const f = c->figures;
    struct gnn_paper_figure *figure;
    f->change = change[0] != '\0' ? change : NULL;
    f->change_profile = profile;
    enum gnn_status status = open_figure(f, c->found, f->scale_divisor, &figure, err);
    f->change = NULL;
    GNN_TRY(status);
    status = judge_silently(c, figure, out, err);
    gnn_figure_close(figure);
    return status;
}

/* Does what was asked with an opened figure; *exit_status is raised by cells that failed. */
static enum gnn_status do_figure(struct figures *f, struct found *found, struct gnn_paper_figure *figure,
                                 int *exit_status, struct gnn_err *err)
{
    uint32_t cells, recorded;
    if (f->config.run && !f->config.check) {
        GNN_TRY(check_scale(f, found, figure, err));
        GNN_TRY(run_cells(f, figure, exit_status, err));
    }
    GNN_TRY(gnn_figure_load(figure, f->config.any_build, f->config.repeat, err));
    gnn_figure_count(figure, &cells, &recorded);
    if (cells == 0 && figure->job->count > 0)
        return gnn_fail(err, f->fix.count > 0 ? GNN_EUSAGE : GNN_ENOTSUP,
                        "%s: none of its %u configurations can be run: %s", found->id, figure->job->count,
                        figure->job->cells[0].refusal);
    note_gaps(figure, found);
    print_heading(found);
    (void)printf("\n%u of %u configurations are recorded\n", recorded, cells);
    if (!f->config.check && recorded > 0)
        GNN_TRY(show_figure(f, figure, err));
    GNN_TRY(judge_figure(f, found, figure, err));
    struct changed changed = {f, found, exit_status};
    if (f->config.sensitivity)
        GNN_TRY(gnn_figure_sensitivity(figure, make_changed, &changed, f->config.out_dir, err));
    (void)putchar('\n');
    (void)fflush(stdout);
    return GNN_OK;
}

/* Prints a figure that is not available, with the reason. Among all figures this is not a failure. */
static enum gnn_status pass_over(struct figures *f, struct found *found, const char *why, struct gnn_err *err)
{
    gnn_papers_find(&f->papers, found->about.paper)->missing++;
    (void)snprintf(found->trouble, sizeof found->trouble, "%s", why);
    print_heading(found);
    (void)printf("\nnot available: %s\n\n", why);
    return f->config.check ? GNN_OK : write_words(f, found, NULL, "not available:", why, err);
}

/* An imported dataset is needed by what is not recorded yet. */
static enum gnn_status check_import(const struct figures *f, const struct found *found, struct gnn_err *err)
{
    struct gnn_paper_figure *figure;
    uint32_t cells, recorded;
    if (found->about.import[0] == '\0' || !f->config.run || f->config.check || gnn_kv_get(&f->fix, "dataset") != NULL)
        return GNN_OK;
    GNN_TRY(open_figure(f, found, f->scale_divisor, &figure, err));
    enum gnn_status status = gnn_figure_load(figure, f->config.any_build, f->config.repeat, err);
    gnn_figure_count(figure, &cells, &recorded);
    if (status == GNN_OK && recorded < cells)
        status = gnn_figure_check_import(figure, err);
    gnn_figure_close(figure);
    return status;
}

static enum gnn_status make_figure(struct figures *f, struct found *found, int *exit_status, struct gnn_err *err)
{
    struct gnn_paper_figure *figure;
    gnn_papers_find(&f->papers, found->about.paper)->figures++;
    if (found->about.missing[0] != '\0') {
        if (!f->config.all)
            return gnn_fail(err, GNN_ENOTSUP, "%s is not available: %s", found->id, found->about.missing);
        return pass_over(f, found, found->about.missing, err);
    }
    GNN_TRY(check_import(f, found, err));
    GNN_TRY(open_figure(f, found, f->scale_divisor, &figure, err));
    const enum gnn_status status = do_figure(f, found, figure, exit_status, err);
    gnn_figure_close(figure);
    return status;
}

/* ---- the command ---- */

static void print_minutes(const struct gnn_figure_left *left, char *text, size_t text_bytes)
{
    if (left->cells == 0)
        (void)snprintf(text, text_bytes, "-");
    else if (left->unknown == left->cells)
        (void)snprintf(text, text_bytes, "?");
    else
        (void)snprintf(text, text_bytes, "%.1f%s", left->minutes, left->unknown > 0 ? "+?" : "");
}

/* Notes a dataset that must be imported before the runs that are left. */
static void note_import(const struct gnn_paper_figure *figure, struct found *found)
{
    char command[3 * GNN_TEXT_MAX];
    found->needs[0] = '\0';
    if (found->left.cells > 0 && gnn_figure_import_command(figure, command, sizeof command) != NULL)
        (void)snprintf(found->needs, sizeof found->needs, "; needs %.200s: `%s`", figure->job->cells[0].config.dataset,
                       command);
}

/* Looks what is recorded of a figure, and notes what is left to run. */
static enum gnn_status look_at(struct figures *f, struct found *found, uint32_t *cells, uint32_t *recorded,
                               struct gnn_err *err)
{
    struct gnn_paper_figure *figure;
    GNN_TRY(open_figure(f, found, f->scale_divisor, &figure, err));
    enum gnn_status status = gnn_figure_load(figure, f->config.any_build, 1, err);
    gnn_figure_count(figure, cells, recorded);
    GNN_NEXT(status, gnn_figure_left(figure, &f->met, &found->left, &found->own, err));
    if (status == GNN_OK)
        note_import(figure, found);
    gnn_figure_close(figure);
    return status;
}

static enum gnn_status list_figure(struct figures *f, struct found *found, struct gnn_err *err)
{
    uint32_t cells, recorded;
    char state[48], minutes[32];
    if (found->about.missing[0] != '\0') {
        (void)printf("%-20s %-12s %-8s %s\n", found->id, "-", "-", found->about.missing);
        return GNN_OK;
    }
    GNN_TRY(look_at(f, found, &cells, &recorded, err));
    print_minutes(&found->left, minutes, sizeof minutes);
    (void)snprintf(state, sizeof state, "%u of %u", recorded, cells);
    (void)printf("%-20s %-12s %-8s %s%s\n", found->id, state, minutes, found->about.title, found->needs);
    return GNN_OK;
}

/* What all figures from `first` on will take, a cell that several have counted once, as a sentence. A cell of which
 * nothing is known is taken for `a_cell` minutes; NAN: there is no estimate. */
static const char *say_left(const struct figures *f, uint32_t first, double a_cell, char *text, size_t text_bytes)
{
    struct gnn_figure_left total = {.cells = 0};
    char beside[64] = "", unknown[80] = "";
    for (uint32_t i = first; i < f->found_count; i++) {
        total.cells += f->found[i].own.cells;
        total.unknown += f->found[i].own.unknown;
        total.minutes += f->found[i].own.minutes;
    }
    if (total.unknown > 0)
        (void)snprintf(unknown, sizeof unknown,
                       isfinite(a_cell) ? ", %u of them estimated by the average so far"
                                        : ", and %u without an estimate",
                       total.unknown);
    total.minutes += isfinite(a_cell) ? total.unknown * a_cell : 0;
    if (f->config.jobs > 1)
        (void)snprintf(beside, sizeof beside, ", %.0f with %u at a time", total.minutes / f->config.jobs,
                       f->config.jobs);
    (void)snprintf(text, text_bytes, "%u configurations to run: about %.0f minutes of a core%s%s", total.cells,
                   total.minutes, beside, unknown);
    return text;
}

static enum gnn_status list_all(struct figures *f, struct gnn_err *err)
{
    char text[200];
    (void)printf("%-20s %-12s %-8s %s\n", "figure", "recorded", "minutes", "what it shows, or why it is not available");
    for (uint32_t i = 0; i < f->found_count; i++)
        GNN_TRY(list_figure(f, &f->found[i], err));
    (void)printf("\n%s\n", say_left(f, 0, (double)NAN, text, sizeof text));
    return GNN_OK;
}

/* Finds out what all figures will take; one that cannot be read is told when its turn comes. */
static void plan_all(struct figures *f)
{
    for (uint32_t i = 0; i < f->found_count; i++) {
        uint32_t cells, recorded;
        struct gnn_err ignored = {0};
        if (f->found[i].about.missing[0] == '\0')
            (void)!look_at(f, &f->found[i], &cells, &recorded, &ignored);
    }
}

/* Prints the figures that are missing or incomplete, with the reason. */
static void print_gaps(const struct figures *f)
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

/* Makes one of all figures. If this machine lacks what it needs, the figure is reported as not available. Any other
 * failure is noted, and the next figures are made. Only an interruption is an error. */
static enum gnn_status make_one_of_all(struct figures *f, struct found *found, int *exit_status, struct gnn_err *err)
{
    struct gnn_err cause = {0};
    enum gnn_status status = make_figure(f, found, exit_status, &cause);
    if (status == GNN_ECANCELLED)
        return gnn_fail(err, status, "%s", cause.message);
    if (status == GNN_ENOTSUP) {
        struct gnn_err why = cause;
        cause = (struct gnn_err){.status = GNN_OK};
        status = pass_over(f, found, why.message, &cause);
    }
    if (status != GNN_OK) {
        (void)snprintf(found->trouble, sizeof found->trouble, "%s", cause.message);
        raise_to(gnn_cli_failed(&cause), exit_status);
    }
    return GNN_OK;
}

/* The mean of what cells took that were run since; NAN: none was. */
static double minutes_of_a_cell(const struct figures *f, uint64_t start_ns, uint32_t cells)
{
    const double minutes = (double)(gnn_host_now_ns() - start_ns) / 60e9;
    return cells > 0 ? minutes * f->config.jobs / cells : (double)NAN;
}

static enum gnn_status make_all(struct figures *f, int *exit_status, struct gnn_err *err)
{
    const bool runs = f->config.run && !f->config.check;
    uint32_t cells = 0; /* until here */
    char text[200];
    if (runs)
        plan_all(f);
    const uint64_t start_ns = gnn_host_now_ns();
    for (uint32_t i = 0; i < f->found_count; i++) {
        if (runs && f->found[i].about.missing[0] == '\0')
            gnn_log_info("figure %u of %u, %s; %s", i + 1, f->found_count, f->found[i].id,
                         say_left(f, i, minutes_of_a_cell(f, start_ns, cells), text, sizeof text));
        GNN_TRY(make_one_of_all(f, &f->found[i], exit_status, err));
        cells += f->found[i].own.cells;
    }
    GNN_TRY(gnn_papers_print(&f->papers, &f->tolerances, err));
    print_gaps(f);
    return GNN_OK;
}

static enum gnn_status take_scale(struct figures *f, struct gnn_err *err)
{
    struct gnn_err cause = {0};
    const enum gnn_status status = gnn_parse_scale(f->config.scale, &f->scale_divisor, &cause);
    return status == GNN_OK ? GNN_OK : gnn_fail(err, status, "--scale: %s", cause.message);
}

/* A file of ratios that cannot be read or written. */
static enum gnn_status check_ratios(const char *path, struct gnn_err *err)
{
    struct gnn_csv csv = {.rows = 0};
    struct gnn_err cause = {0};
    const enum gnn_status status = gnn_ratio_file_open(path, &csv, &cause);
    gnn_csv_close(&csv);
    if (status != GNN_OK && status != GNN_ENOENT)
        return gnn_fail(err, GNN_EUSAGE, "--ratios: %s; name another file", cause.message);
    return gnn_cli_check_out_file("--ratios", path, err);
}

/* Fails before the first run, not after the last. */
static enum gnn_status check_outputs(const struct figures *f, struct gnn_err *err)
{
    if (f->config.ratios[0] != '\0')
        GNN_TRY(check_ratios(f->config.ratios, err));
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

static enum gnn_status do_all(struct figures *f, int *exit_status, struct gnn_err *err)
{
    f->own_db = settle(f->config.db, USUAL_DB, "figures.db");
    f->own_data_dir = settle(f->config.data_dir, USUAL_DATA, "data");
    GNN_TRY(gnn_db_check_name(f->config.db, err));
    if (strcmp(f->config.scale, OF_THE_FIGURE) != 0)
        GNN_TRY(take_scale(f, err));
    if (f->wanted_count > 0 && (f->config.list || f->config.all))
        return gnn_fail(err, GNN_EUSAGE, "figure: %s and --%s: the one or the other", f->wanted[0],
                        f->config.list ? "list" : "all");
    if (f->config.sensitivity && (f->config.variants[0] != '\0' || f->config.world == GNN_WORLD_MEASURED))
        return gnn_fail(err, GNN_EUSAGE,
                        "figure: --sensitivity changes the profile of simulated runs without variants; leave out "
                        "--world measured and --variants (--fix sets what a variant sets)");
    if (f->config.method[0] != '\0' && f->config.ratios[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE, "figure: --method %s names rows of --ratios FILE, which is not given",
                        f->config.method);
    GNN_TRY(find_files(f, err));
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
        struct found *found = NULL;
        GNN_TRY(find_figure(f, f->wanted[i], &found, err));
        GNN_TRY(make_figure(f, found, exit_status, err));
    }
    return GNN_OK;
}

static enum gnn_status take_id(void *ctx, const char *word, struct gnn_err *err)
{
    struct figures *const f = ctx;
    if (f->wanted_count == IDS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "figure: more than %d at a time; --all makes all", IDS_MAX);
    f->wanted[f->wanted_count++] = word;
    return GNN_OK;
}

/* Takes a KEY=VALUE. What the command has options for is refused: the figure would be recorded in one place and
 * looked for in another. */
static enum gnn_status take_fix(void *ctx, const char *word, struct gnn_err *err)
{
    static const char *const own[] = {"db", "data", "scale", "world"};
    struct figures *const f = ctx;
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
    struct figures *const f = calloc(1, sizeof *f);
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
