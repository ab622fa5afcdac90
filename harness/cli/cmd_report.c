/* SPDX-License-Identifier: MIT */
/* oocgnn report: tables and plots of recorded runs. */
#include "harness/base/plain_text.h"
#include "harness/base/units.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/outputs.h"
#include "harness/cli/where.h"
#include "harness/measure/environment.h"
#include "harness/record/csv.h"
#include "harness/record/page.h"
#include "harness/record/plot.h"
#include "harness/record/record.h"
#include "harness/record/report.h"
#include "harness/record/series.h"
#include "harness/run/config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* RUNS_MAX are the cells of all the papers' figures, and more; before ALL_MAX, of --all, memory ends. */
enum { RUNS_MAX = 2048, ALL_MAX = 1 << 20 };

struct report_config {
    char db[GNN_TEXT_MAX], plot_dir[GNN_TEXT_MAX], series[GNN_TEXT_MAX], where[GNN_TEXT_MAX], over[GNN_TEXT_MAX];
    char html[GNN_TEXT_MAX], figures[GNN_TEXT_MAX];
    uint32_t last;
    bool comparison, markdown, json, points, csv, runs, all, per_epoch;
};

#define OPTION(...) GNN_OPTION(report_config, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option report_table[] = {
    OPTION("db", TEXT, db, "oocgnn.db", .unit = "FILE", .help = "Database to read"),
    OPTION("last", U32, last, "0", .unit = "RUNS", .max = RUNS_MAX, .help = "Show the last N runs"),
    OPTION("comparison", BOOL, comparison, "no",
           .help = "Compare every run of the newest run's workload; the default without RUN and --last"),
    OPTION("series", TEXT, series, "", .unit = "OPTION",
           .help = "Compare runs over the values of this option of `oocgnn run` (memory, SYSTEM.NAME). Runs that "
                   "differ from their system's newest run in another option are left out."),
    OPTION("where", TEXT, where, "", .unit = "OPTION=VALUE",
           .help = "Restrict the comparison to runs with this value of an option, or with one of several: "
                   "memory=64M,96M; may be given once for each option"),
    OPTION("over", TEXT, over, "", .unit = "OPTION",
           .help = "Runs that differ only in this option repeat each other, too: `--over seed`"),
    OPTION("runs", BOOL, runs, "no",
           .help = "Print a row for each run, with reads, stages and percentiles; the default for a single run and for "
                   "RUN. Otherwise a row has median and range of all runs of a configuration."),
    OPTION("plot", TEXT, plot_dir, "", .unit = "DIR",
           .help = "Draw epoch time and stage split into this directory (PNG, SVG and PDF)"),
    OPTION("markdown", BOOL, markdown, "no", .help = "Print a Markdown table"),
    OPTION("json", BOOL, json, "no", .help = "Print one JSON object for each run"),
    OPTION("csv", BOOL, csv, "no",
           .help = "Print comma-separated values, one row for each configuration; with --runs one for each run, with "
                   "the percentiles of timed operations"),
    OPTION("all", BOOL, all, "no",
           .help = "Choose all runs of the database. With --csv a row is a run, with columns for machine, build and "
                   "every option that varies."),
    OPTION("per-epoch", BOOL, per_epoch, "no", .help = "Print a row for each epoch of the runs, with --csv"),
    OPTION("html", TEXT, html, "", .unit = "FILE",
           .help = "Write one self-contained page with summary, runs, time series and the difference of two runs; "
                   "without RUN, of the last 2048 runs"),
    OPTION("figures", TEXT, figures, "", .unit = "DIR",
           .help = "Include the pictures of this directory with their CSV files and captions, with --html"),
    OPTION("points", BOOL, points, "no", .help = "Include the time series of the probes, with --json"),
    {.name = NULL},
};
/* clang-format on */

struct report {
    struct report_config config;
    struct gnn_db_choice choice;
    const char *words[RUNS_MAX]; /* RUN... as typed */
    uint32_t word_count;
    int64_t *ids; /* (ALL_MAX) */
    uint32_t count;
};

static enum gnn_status add_where(void *ctx, const char *word, struct gnn_err *err)
{
    struct report *const r = ctx;
    return gnn_where_add(&r->choice.where, word, err);
}

/* Forms exclude each other: one would be lost without a word. */
static enum gnn_status check_form(const struct report_config *c, struct gnn_err *err)
{
    const int forms = (c->markdown ? 1 : 0) + (c->json ? 1 : 0) + (c->csv ? 1 : 0) + (c->html[0] != '\0' ? 1 : 0);
    if (forms > 1)
        return gnn_fail(err, GNN_EUSAGE, "report: one of --markdown, --json, --csv and --html at a time");
    if (c->figures[0] != '\0' && c->html[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE, "--figures %s: pictures go into a page; add --html FILE", c->figures);
    if (c->per_epoch && !c->csv)
        return gnn_fail(err, GNN_EUSAGE, "report: --per-epoch is a form of --csv; add --csv");
    if (c->over[0] != '\0' && (c->runs || c->per_epoch))
        return gnn_fail(err, GNN_EUSAGE, "--over %s: rows of runs have no repetitions; leave out --over or --%s",
                        c->over, c->runs ? "runs" : "per-epoch");
    return GNN_OK;
}

static enum gnn_status check_series(struct report *r, struct gnn_err *err)
{
    r->choice.series = r->config.series;
    if (r->config.over[0] != '\0')
        GNN_TRY(gnn_where_check_key("--over", r->config.over, err));
    return r->config.series[0] == '\0' ? GNN_OK : gnn_where_check_key("--series", r->config.series, err);
}

/* ---- the runs ---- */

/* The words are numbers of runs in the database, whose option may follow. */
static enum gnn_status add_word(void *ctx, const char *word, struct gnn_err *err)
{
    struct report *const r = ctx;
    if (r->word_count == RUNS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "report: more than %d runs; name fewer, or --last %d", RUNS_MAX, RUNS_MAX);
    r->words[r->word_count++] = word;
    return GNN_OK;
}

/* One run is no repetition of itself. */
static void add_run(struct report *r, int64_t id)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (r->ids[i] == id)
            return;
    r->ids[r->count++] = id;
}

static enum gnn_status add_runs(struct report *r, struct gnn_err *err)
{
    char db[GNN_TEXT_MAX];
    for (uint32_t i = 0; i < r->word_count; i++) {
        uint64_t id;
        struct gnn_err cause = {0};
        if (gnn_parse_u64(r->words[i], &id, &cause) != GNN_OK)
            return gnn_fail(err, GNN_EUSAGE,
                            "report: \"%s\" is no run's number; `oocgnn report --last 10 --db %s` shows them",
                            r->words[i], gnn_shell_word(r->config.db, db, sizeof db));
        add_run(r, (int64_t)id);
    }
    return GNN_OK;
}

static enum gnn_status no_runs(const struct report *r, bool chosen, struct gnn_err *err)
{
    char db[GNN_TEXT_MAX];
    if (!chosen)
        return gnn_fail(err, GNN_ENOENT, "%s holds no finished run; `oocgnn run --help` shows how to record one",
                        r->config.db);
    return gnn_fail(err, GNN_ENOENT,
                    "%s holds no finished run with those values; `oocgnn report --last 20 --db %s` lists the recorded "
                    "values",
                    r->config.db, gnn_shell_word(r->config.db, db, sizeof db));
}

static enum gnn_status choose_runs(struct report *r, struct gnn_db *db, struct gnn_err *err)
{
    const bool chosen = r->choice.where.count > 0 || r->config.series[0] != '\0';
    if (chosen && (r->count > 0 || r->config.last > 0))
        return gnn_fail(err, GNN_EUSAGE, "--where and --series choose from the comparison: leave RUN and --last out");
    if (r->config.all && (chosen || r->count > 0 || r->config.last > 0))
        return gnn_fail(err, GNN_EUSAGE, "--all chooses every run: leave out RUN, --last, --where and --series");
    if (r->count > 0)
        return GNN_OK;
    const uint32_t most = r->config.last > 0 ? r->config.last : r->config.all ? ALL_MAX : RUNS_MAX;
    const bool all = r->config.html[0] != '\0' && !chosen && !r->config.comparison;
    if (r->config.last > 0 || r->config.all || all)
        GNN_TRY(gnn_db_last(db, most, r->ids, &r->count, err));
    else
        GNN_TRY(gnn_db_comparison(db, &r->choice, RUNS_MAX, r->ids, &r->count, err));
    return r->count > 0 ? GNN_OK : no_runs(r, chosen, err);
}

/* Writes the page beside its place first: a page that is there is whole. */
static enum gnn_status write_page(const struct report *r, const struct gnn_run_record *runs, struct gnn_err *err)
{
    const char *const path = r->config.html;
    char beside[GNN_TEXT_MAX + 8];
    struct stat found;
    if (lstat(path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) /* rename would replace it */
        return gnn_fail(err, GNN_EUSAGE, "--html %s: exists and is no file; name a file that may be replaced", path);
    (void)snprintf(beside, sizeof beside, "%s.new", path);
    FILE *const out = fopen(beside, "we");
    if (out == NULL)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "--html %s: %s; name a file in a folder you may write",
                        path, strerror(errno));
    enum gnn_status status =
        gnn_page_write(runs, r->count, gnn_build_revision(), gnn_system_place, r->config.figures, out, err);
    if ((fclose(out) != 0 || (status == GNN_OK && rename(beside, path) != 0)) && status == GNN_OK)
        status = gnn_fail(err, GNN_EIO, "--html %s: cannot be written: %s; name another file", path, strerror(errno));
    if (status != GNN_OK)
        (void)unlink(beside);
    else
        (void)printf("%s\n", path);
    return status;
}

/* Whether a row is a run. What a CSV has does not depend on how many runs there are. */
static bool has_rows_of_runs(const struct report *r)
{
    const struct report_config *const c = &r->config;
    return c->over[0] == '\0' && (c->runs || r->word_count > 0 || (c->csv ? c->all : r->count == 1));
}

static enum gnn_status print_csv(const struct report *r, const struct gnn_run_record *runs, struct gnn_err *err)
{
    if (r->config.per_epoch || has_rows_of_runs(r))
        return gnn_runs_csv(r->config.per_epoch ? GNN_CSV_EPOCHS
                            : r->config.all     ? GNN_CSV_OPTIONS
                                                : GNN_CSV_RUNS,
                            runs, r->count, stdout, err);
    gnn_report_repeats(runs, r->count, r->config.over, GNN_REPORT_CSV, stdout);
    return GNN_OK;
}

static enum gnn_status print_runs(const struct report *r, const struct gnn_run_record *runs, struct gnn_err *err)
{
    const enum gnn_report_style style = r->config.markdown ? GNN_REPORT_MARKDOWN : GNN_REPORT_TEXT;
    if (r->config.html[0] != '\0')
        return write_page(r, runs, err);
    if (r->config.csv)
        return print_csv(r, runs, err);
    if (!r->config.json && has_rows_of_runs(r)) {
        gnn_report_runs(runs, r->count, style, stdout);
        return GNN_OK;
    }
    if (!r->config.json) {
        gnn_report_repeats(runs, r->count, r->config.over, style, stdout);
        (void)fputs(r->config.markdown ? "" : "single runs, with reads, stages and percentiles: --runs\n", stdout);
        return GNN_OK;
    }
    for (uint32_t i = 0; i < r->count; i++)
        GNN_TRY(gnn_run_json(&runs[i], r->config.points, stdout, err));
    return GNN_OK;
}

static enum gnn_status show(struct report *r, struct gnn_db *db, struct gnn_err *err)
{
    GNN_TRY(add_runs(r, err));
    GNN_TRY(choose_runs(r, db, err));
    struct gnn_run_record *runs;
    assert(r->count <= ALL_MAX);
    enum gnn_status status = gnn_db_load_all(db, r->ids, r->count, &runs, err);
    if (status == GNN_OK && r->config.series[0] != '\0')
        status = gnn_run_series_only(runs, &r->count, r->config.series, err);
    if (status == GNN_OK && r->config.plot_dir[0] != '\0')
        status = gnn_cli_check_out_dir("--plot", r->config.plot_dir, err);
    GNN_NEXT(status, print_runs(r, runs, err));
    if (status == GNN_OK && r->config.plot_dir[0] != '\0')
        status = gnn_plot_comparison(runs, r->count, gnn_system_place, r->config.plot_dir, err);
    gnn_run_records_free(runs, r->count);
    return status;
}

int gnn_cmd_report(int argc, char **argv)
{
    static const struct gnn_command_line line = {.usage = "usage: oocgnn report [RUN...] [OPTION...]\n\n",
                                                 .words = "",
                                                 .table = report_table,
                                                 .word = add_word,
                                                 .repeated = "where",
                                                 .value = add_where};
    struct gnn_err err = {0};
    struct report r = {.count = 0};
    int exit_status;
    if (!gnn_args_parse(&line, argc, argv, &r.config, &r, &exit_status))
        return gnn_kv_clear(&r.choice.where), exit_status;
    struct gnn_db *db = NULL;
    enum gnn_status status = check_form(&r.config, &err);
    r.ids = calloc(ALL_MAX, sizeof *r.ids); /* pages that are not written take no memory */
    if (status == GNN_OK && r.ids == NULL)
        status = gnn_fail(&err, GNN_ENOMEM, "numbers of runs");
    GNN_NEXT(status, check_series(&r, &err));
    GNN_NEXT(status, gnn_db_open(r.config.db, GNN_DB_READ, &db, &err));
    GNN_NEXT(status, show(&r, db, &err));
    gnn_db_close(db);
    gnn_kv_clear(&r.choice.where);
    free(r.ids);
    return status == GNN_OK ? GNN_EXIT_OK : gnn_cli_failed(&err);
}
