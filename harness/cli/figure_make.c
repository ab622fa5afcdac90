/* SPDX-License-Identifier: MIT */
#include "harness/cli/figure_make.h"

#include "harness/base/log.h"
#include "harness/base/out_file.h"
#include "harness/cli/figure_fit.h"
#include "harness/cli/figure_plan.h"
#include "harness/cli/figure_sensitivity.h"
#include "harness/cli/sweep_run.h"
#include "harness/figure/fio_cells.h"
#include "harness/figure/result_file.h"
#include "harness/figure/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPTION_BYTES = 2000, SOURCE_BYTES = 2 * GNN_FIGURE_LINE + 8 };

static void raise_to(int exit_status, int *worst)
{
    *worst = exit_status > *worst ? exit_status : *worst;
}

/* Without fio there is nothing to show: the error says how to get it. */
static enum gnn_status run_by_fio(const struct gnn_figures *f, const struct gnn_paper_figure *figure, int *exit_status,
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
static enum gnn_status run_cells(const struct gnn_figures *f, const struct gnn_paper_figure *figure, int *exit_status,
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

static enum gnn_status show_figure(const struct gnn_figures *f, struct gnn_paper_figure *figure, struct gnn_err *err)
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

/* Returns " (paper, place)", or "" for a figure of no paper. */
static const char *source_of(const struct gnn_figure_file *found, char text[SOURCE_BYTES])
{
    text[0] = '\0';
    if (found->about.paper[0] != '\0')
        (void)snprintf(text, SOURCE_BYTES, " (%s, %s)", found->about.paper, found->about.place);
    return text;
}

/* Writes what is said of a figure to a Markdown file beside its picture, for the page of `oocgnn report --figures`:
 * title, caption, reasons of configurations that ran out of memory, and which of the paper's findings hold. figure is
 * NULL if it is not available. */
static enum gnn_status write_words(const struct gnn_figures *f, const struct gnn_figure_file *found,
                                   const struct gnn_paper_figure *figure, const char *caption, const char *findings,
                                   struct gnn_err *err)
{
    const char *const name = figure != NULL ? figure->file : found->id;
    char source[SOURCE_BYTES];
    FILE *out;
    GNN_TRY(gnn_make_dirs(f->config.out_dir, err));
    GNN_TRY(gnn_out_file_open(f->config.out_dir, name, "md", &out, err));
    (void)fprintf(out, "%s%s\n\n%s\n", found->about.title, source_of(found, source), caption);
    if (figure != NULL)
        gnn_figure_reasons(figure, out);
    (void)fputs(findings, out);
    return gnn_out_file_close(out, f->config.out_dir, name, "md", err);
}

static enum gnn_status judge_variants(struct gnn_figures *f, const struct gnn_figure_file *found,
                                      struct gnn_paper_figure *figure, FILE *out, struct gnn_err *err)
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
        if (f->config.findings[0] != '\0')
            GNN_TRY(gnn_finding_file_update(f->config.findings, f->config.method, figure, err));
        if (!f->config.check && figure->variant == 0)
            GNN_TRY(gnn_figure_verdicts(figure, f->config.out_dir, err));
    }
    figure->variant = 0;
    return GNN_OK;
}

/* Prints which findings hold, and keeps that with the caption. */
static enum gnn_status judge_figure(struct gnn_figures *f, const struct gnn_figure_file *found,
                                    struct gnn_paper_figure *figure, struct gnn_err *err)
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
    free(findings);
    return status;
}

static void print_heading(const struct gnn_figure_file *found)
{
    char source[SOURCE_BYTES];
    (void)printf("## %s: %s%s\n", found->id, found->about.title, source_of(found, source));
}

/* Notes why a figure is incomplete. */
static void note_gaps(const struct gnn_paper_figure *figure, struct gnn_figure_file *found)
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
    const struct gnn_figures *figures;
    const struct gnn_figure_file *found;
};

static enum gnn_status open_scaled(void *ctx, uint32_t scale_divisor, struct gnn_paper_figure **out,
                                   struct gnn_err *err)
{
    const struct scaled *const scaled = ctx;
    return gnn_figure_file_open(scaled->figures, scaled->found, scale_divisor, out, err);
}

/* Warns of systems that run out of memory only because of this scale. If no configuration is left, those that fit at no
 * scale are named, too. GNN_ENOTSUP: all of them need a larger scale. */
static enum gnn_status check_scale(const struct gnn_figures *f, const struct gnn_figure_file *found,
                                   struct gnn_paper_figure *figure, struct gnn_err *err)
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
    struct gnn_figures *figures;
    const struct gnn_figure_file *found;
    int *exit_status;
};

/* Runs, loads and judges an opened figure without printing. */
static enum gnn_status judge_silently(const struct changed *c, struct gnn_paper_figure *figure,
                                      struct gnn_figure_verdicts *out, struct gnn_err *err)
{
    const struct gnn_figures *const f = c->figures;
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
    struct gnn_figures *const f = c->figures;
    struct gnn_paper_figure *figure;
    f->change = change[0] != '\0' ? change : NULL;
    f->change_profile = profile;
    enum gnn_status status = gnn_figure_file_open(f, c->found, f->scale_divisor, &figure, err);
    f->change = NULL;
    GNN_TRY(status);
    status = judge_silently(c, figure, out, err);
    gnn_figure_close(figure);
    return status;
}

/* Does what was asked with an opened figure; *exit_status is raised by cells that failed. */
static enum gnn_status do_figure(struct gnn_figures *f, struct gnn_figure_file *found, struct gnn_paper_figure *figure,
                                 int *exit_status, struct gnn_err *err)
{
    uint32_t cells, recorded;
    const bool left_out = gnn_figure_plan_leaves_out(f, figure);
    if (f->config.run && !f->config.check && !left_out) {
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
    if (left_out && recorded < cells)
        (void)snprintf(found->trouble, sizeof found->trouble,
                       "it is measured on this machine: `oocgnn figure %s` runs it", found->id);
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
static enum gnn_status pass_over(struct gnn_figures *f, struct gnn_figure_file *found, const char *why,
                                 struct gnn_err *err)
{
    gnn_papers_find(&f->papers, found->about.paper)->missing++;
    (void)snprintf(found->trouble, sizeof found->trouble, "%s", why);
    print_heading(found);
    (void)printf("\nnot available: %s\n\n", why);
    return f->config.check ? GNN_OK : write_words(f, found, NULL, "not available:", why, err);
}

/* An imported dataset is needed by what is not recorded yet. */
static enum gnn_status check_import(const struct gnn_figures *f, const struct gnn_figure_file *found,
                                    struct gnn_err *err)
{
    struct gnn_paper_figure *figure;
    uint32_t cells, recorded;
    if (found->about.import[0] == '\0' || !f->config.run || f->config.check || gnn_kv_get(&f->fix, "dataset") != NULL)
        return GNN_OK;
    GNN_TRY(gnn_figure_file_open(f, found, f->scale_divisor, &figure, err));
    enum gnn_status status = gnn_figure_load(figure, f->config.any_build, f->config.repeat, err);
    gnn_figure_count(figure, &cells, &recorded);
    if (status == GNN_OK && recorded < cells)
        status = gnn_figure_check_import(figure, err);
    gnn_figure_close(figure);
    return status;
}

enum gnn_status gnn_figure_make(struct gnn_figures *f, struct gnn_figure_file *found, int *exit_status,
                                struct gnn_err *err)
{
    struct gnn_paper_figure *figure;
    gnn_papers_find(&f->papers, found->about.paper)->figures++;
    if (found->about.missing[0] != '\0') {
        if (!f->config.all)
            return gnn_fail(err, GNN_ENOTSUP, "%s is not available: %s", found->id, found->about.missing);
        return pass_over(f, found, found->about.missing, err);
    }
    GNN_TRY(check_import(f, found, err));
    GNN_TRY(gnn_figure_file_open(f, found, f->scale_divisor, &figure, err));
    const enum gnn_status status = do_figure(f, found, figure, exit_status, err);
    gnn_figure_close(figure);
    return status;
}

enum gnn_status gnn_figure_make_of_all(struct gnn_figures *f, struct gnn_figure_file *found, int *exit_status,
                                       struct gnn_err *err)
{
    struct gnn_err cause = {0};
    enum gnn_status status = gnn_figure_make(f, found, exit_status, &cause);
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
