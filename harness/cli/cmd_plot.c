/* SPDX-License-Identifier: MIT */
/* oocgnn plot: a picture of recorded runs over one of their options. */
#include "harness/base/data_dirs.h"
#include "harness/base/log.h"
#include "harness/base/plain_text.h"
#include "harness/base/words.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/outputs.h"
#include "harness/cli/plot_ratios.h"
#include "harness/cli/plot_runs.h"
#include "harness/cli/where.h"
#include "harness/figure/show.h"
#include "harness/record/summary.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 2048 };

struct plot_config {
    char db[GNN_TEXT_MAX], x[GNN_TEXT_MAX], y[GNN_TEXT_MAX], series[GNN_TEXT_MAX], facet[GNN_TEXT_MAX];
    char where[GNN_TEXT_MAX], title[GNN_TEXT_MAX], x_label[GNN_TEXT_MAX], y_label[GNN_TEXT_MAX], out[GNN_TEXT_MAX];
    char ratios[GNN_TEXT_MAX], paper[GNN_TEXT_MAX], methods[GNN_TEXT_MAX];
    bool log;
    uint32_t chart;
};

static const char *const charts[] = {"auto", "lines", "bars", "heat", "table", NULL};

#define OPTION(...) GNN_OPTION(plot_config, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option plot_table[] = {
    OPTION("db", TEXT, db, "oocgnn.db", .unit = "FILE", .help = "Database to read"),
    OPTION("x", TEXT, x, "memory", .unit = "OPTION",
           .help = "Option of `oocgnn run`, or parameter SYSTEM.NAME, along the x axis"),
    OPTION("y", TEXT, y, "epoch_s", .unit = "METRIC,...",
           .help = "Metrics of `oocgnn list metrics`, such as epoch_s; the first is drawn, the table and the CSV file "
                   "have all"),
    OPTION("series", TEXT, series, "system", .unit = "OPTION,...",
           .help = "Options that make a series: one for each combination of their values"),
    OPTION("facet", TEXT, facet, "", .unit = "OPTION,...",
           .help = "Options that make a panel: one for each combination of their values"),
    OPTION("where", TEXT, where, "", .unit = "OPTION=VALUE",
           .help = "Restrict the picture to runs with this value of an option, or with one of several: memory=64M,96M; "
                   "may be given once for each option"),
    OPTION("log", BOOL, log, "no", .help = "Draw a logarithmic y axis"),
    OPTION("chart", CHOICE, chart, "auto", .choices = charts,
           .help = "Shape of the picture; auto is lines over numbers and bars over names, table draws nothing"),
    OPTION("title", TEXT, title, "", .unit = "TEXT", .help = "Heading of the picture; empty = metric over option"),
    OPTION("x-label", TEXT, x_label, "", .unit = "TEXT", .help = "Label of the x axis; empty = the option in words"),
    OPTION("y-label", TEXT, y_label, "", .unit = "TEXT", .help = "Label of the y axis; empty = the metric in words"),
    OPTION("out", TEXT, out, "figures", .unit = "FILE|DIR",
           .help = "Directory of the files, or one of them, such as time.png; PNG, SVG, PDF and CSV are written "
                   "with the same name"),
    OPTION("ratios", TEXT, ratios, "", .unit = "FILE.csv",
           .help = "Draw published numbers against ours from a file that `oocgnn figure --ratios` wrote, instead of "
                   "recorded runs"),
    OPTION("paper", TEXT, paper, "", .unit = "NAME", .help = "Paper of the numbers that --ratios draws; empty = all"),
    OPTION("methods", TEXT, methods, "", .unit = "A|B", .help = "Methods that --ratios draws; empty = all"),
    {.name = NULL},
};
/* clang-format on */

struct plot {
    struct plot_config config;
    struct gnn_db_choice choice;
    char dir[GNN_TEXT_MAX], id[GNN_NAME_MAX];
};

/* ---- where the files go ---- */

static bool is_picture(const char *suffix)
{
    static const char *const suffixes[] = {".png", ".svg", ".pdf", ".csv"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcmp(suffixes[i], suffix) == 0)
            return true;
    return false;
}

/* Splits --out into a directory and the name of the files, which is made from y and x if only a directory is named. */
static enum gnn_status find_out(struct plot *p, struct gnn_err *err)
{
    const char *const out = p->config.out, *const slash = strrchr(out, '/');
    const char *const name = slash != NULL ? slash + 1 : out, *const suffix = strrchr(name, '.');
    if (p->config.ratios[0] != '\0')
        (void)snprintf(p->id, sizeof p->id, "%.50s", p->config.paper[0] != '\0' ? p->config.paper : "ratios");
    else
        (void)snprintf(p->id, sizeof p->id, "%.30s-over-%.25s", p->config.y, p->config.x);
    for (char *c = p->id; *c != '\0'; c++)
        *c = isalnum((unsigned char)*c) || strchr("-_.", *c) != NULL ? *c : '-';
    (void)snprintf(p->dir, sizeof p->dir, "%s", out);
    if (suffix == NULL || suffix == name || gnn_is_dir(out))
        return GNN_OK;
    if (!is_picture(suffix) || suffix - name >= GNN_NAME_MAX)
        return gnn_fail(err, GNN_EUSAGE,
                        "--out %s: expected a directory, or a name that ends in .png, .svg, .pdf or .csv", out);
    (void)snprintf(p->id, sizeof p->id, "%.*s", (int)(suffix - name), name);
    (void)snprintf(p->dir, sizeof p->dir, "%.*s", slash == NULL ? 1 : (int)(slash - out), slash == NULL ? "." : out);
    if (slash == out)
        (void)snprintf(p->dir, sizeof p->dir, "/");
    return GNN_OK;
}

/* ---- the runs ---- */

/* Loads the chosen runs. Those whose times must not be compared with others are left out, which is reported. */
static enum gnn_status load_runs(const struct plot *p, struct gnn_db *db, struct gnn_run_record **runs, uint32_t *count,
                                 struct gnn_err *err)
{
    int64_t ids[RUNS_MAX + 1];
    uint32_t all;
    char word[GNN_TEXT_MAX];
    GNN_TRY(gnn_db_comparison(db, &p->choice, RUNS_MAX + 1, ids, &all, err));
    if (all > RUNS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%s has more than %d such runs. Choose fewer with --where.", p->config.db,
                        RUNS_MAX);
    *count = 0;
    *runs = NULL;
    if (all > 0)
        GNN_TRY(gnn_db_load_all(db, ids, all, runs, err));
    for (uint32_t i = 0; i < all; i++)
        if (gnn_run_withholds_times(&(*runs)[i]) || gnn_run_cap_not_enforced(&(*runs)[i]))
            gnn_run_record_free(&(*runs)[i]);
        else
            (*runs)[(*count)++] = (*runs)[i];
    if (*count < all)
        gnn_log_warn("Runs left out because they are invalid, or because their memory limit was not enforced: %u",
                     all - *count);
    if (*count > 0)
        return GNN_OK;
    free(*runs);
    return gnn_fail(err, GNN_ENOENT,
                    "%s has no finished run%s; `oocgnn report --last 20 --db %s` lists the latest runs", p->config.db,
                    p->choice.where.count > 0 ? " with these values" : "",
                    gnn_shell_word(p->config.db, word, sizeof word));
}

/* ---- output ---- */

static enum gnn_status show(const struct plot *p, const struct gnn_paper_figure *figure, struct gnn_err *err)
{
    struct gnn_err trouble = {0};
    gnn_figure_table(figure, stdout);
    gnn_figure_reasons(figure, stdout);
    (void)printf("\n%s\n\n", figure->caption);
    GNN_TRY(gnn_figure_csv(figure, p->dir, err));
    const enum gnn_status drawn = gnn_figure_draw(figure, p->dir, &trouble);
    if (drawn == GNN_ENOTSUP) /* the numbers are there all the same */
        gnn_log_warn("%s", trouble.message);
    else if (drawn != GNN_OK)
        return gnn_fail(err, drawn, "%s", trouble.message);
    (void)printf("%s/%s.%s\n", p->dir, p->id,
                 drawn == GNN_OK && strcmp(figure->about.chart, "table") != 0 ? "{png,svg,pdf,csv}" : "csv");
    return GNN_OK;
}

/* ---- the command ---- */

static enum gnn_status check_keys(const char *what, const char *list, struct gnn_err *err)
{
    char key[GNN_TEXT_MAX];
    while (gnn_next_word(&list, key, sizeof key))
        GNN_TRY(gnn_where_check_key(what, key, err));
    return GNN_OK;
}

static enum gnn_status draw(struct plot *p, struct gnn_db *db, struct gnn_err *err)
{
    const struct plot_config *const c = &p->config;
    const struct gnn_runs_request request = {.id = p->id,
                                             .title = c->title,
                                             .x = c->x,
                                             .series = c->series,
                                             .facets = c->facet,
                                             .y = c->y,
                                             .chart = c->chart == 0 ? "" : charts[c->chart],
                                             .x_label = c->x_label,
                                             .y_label = c->y_label,
                                             .logarithmic = c->log};
    struct gnn_run_record *runs;
    struct gnn_paper_figure *figure;
    uint32_t count;
    GNN_TRY(load_runs(p, db, &runs, &count, err));
    GNN_TRY(gnn_figure_of_runs(runs, count, &request, &figure, err));
    enum gnn_status status = gnn_cli_check_out_dir("--out", p->dir, err);
    GNN_NEXT(status, show(p, figure, err));
    gnn_figure_close(figure);
    return status;
}

/* Draws a file of ratios. Options about recorded runs have no effect. */
static enum gnn_status draw_ratios(struct plot *p, struct gnn_err *err)
{
    struct plot_config *const c = &p->config;
    GNN_TRY(gnn_cli_check_out_dir("--out", p->dir, err));
    GNN_TRY(
        gnn_plot_ratios(c->ratios, c->paper, c->methods[0] != '\0' ? c->methods : NULL, c->title, p->dir, p->id, err));
    (void)printf("%s/%s.{png,svg,pdf}\n", p->dir, p->id);
    return GNN_OK;
}

static enum gnn_status draw_runs(struct plot *p, struct gnn_err *err)
{
    struct gnn_db *db = NULL;
    GNN_TRY(gnn_where_check_key("--x", p->config.x, err));
    GNN_TRY(check_keys("--series", p->config.series, err));
    GNN_TRY(check_keys("--facet", p->config.facet, err));
    GNN_TRY(gnn_db_open(p->config.db, GNN_DB_READ, &db, err));
    const enum gnn_status status = draw(p, db, err);
    gnn_db_close(db);
    return status;
}

static enum gnn_status add_where(void *ctx, const char *word, struct gnn_err *err)
{
    struct plot *const p = ctx;
    return gnn_where_add(&p->choice.where, word, err);
}

int gnn_cmd_plot(int argc, char **argv)
{
    static const struct gnn_command_line line = {
        .usage = "usage: oocgnn plot [OPTION...]\n\n"
                 "Draws a metric of recorded runs over one of their options, and writes the numbers.\n"
                 "Runs that differ only in their seed are drawn as their median and range.\n\n",
        .notes = "\nexamples: oocgnn plot --x memory --y epoch_s --series system --facet batch --log --db runs.db\n"
                 "          oocgnn plot --ratios ratios.csv --out ratios.svg\n",
        .words = "",
        .table = plot_table,
        .repeated = "where",
        .value = add_where};
    struct gnn_err err = {0};
    struct plot p = {.choice = {.series = "", .any_workload = true}};
    int exit_status;
    if (!gnn_args_parse(&line, argc, argv, &p.config, &p, &exit_status))
        return gnn_kv_clear(&p.choice.where), exit_status;
    enum gnn_status status = find_out(&p, &err);
    if (status == GNN_OK && p.config.ratios[0] != '\0')
        status = draw_ratios(&p, &err);
    else
        GNN_NEXT(status, draw_runs(&p, &err));
    gnn_kv_clear(&p.choice.where);
    return status == GNN_OK ? GNN_EXIT_OK : gnn_cli_failed(&err);
}
