/* oocgnn report: tables and plots of recorded runs. */
#include "harness/base/units.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/record/plot.h"
#include "harness/record/record.h"
#include "harness/record/report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 256 };

struct report_config {
    char db[GNN_TEXT_MAX], plot_dir[GNN_TEXT_MAX];
    uint32_t last;
    bool comparison, markdown, json, series;
};

#define OPTION(...) GNN_OPTION(report_config, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option report_table[] = {
    OPTION("db", TEXT, db, "oocgnn.db", .unit = "FILE", .help = "database to read"),
    OPTION("last", U32, last, "0", .unit = "RUNS", .max = RUNS_MAX, .help = "the last N runs"),
    OPTION("comparison", BOOL, comparison, "no",
           .help = "every run of the newest run's workload; the default without RUN and --last"),
    OPTION("plot", TEXT, plot_dir, "", .unit = "DIR",
           .help = "draw epoch time and stage split into this directory (PNG and SVG)"),
    OPTION("markdown", BOOL, markdown, "no", .help = "a Markdown table"),
    OPTION("json", BOOL, json, "no", .help = "one JSON object per run"),
    OPTION("series", BOOL, series, "no", .help = "with --json: the time series too"),
    {.name = NULL},
};
/* clang-format on */

struct report {
    struct report_config config;
    int64_t ids[RUNS_MAX];
    uint32_t count;
};

static enum gnn_status add_run(void *ctx, const char *word, struct gnn_err *err)
{
    struct report *const r = ctx;
    uint64_t id;
    struct gnn_err cause = {0};
    if (gnn_parse_u64(word, &id, &cause) != GNN_OK)
        return gnn_fail(err, GNN_EUSAGE, "report: \"%s\" is no run's number; `oocgnn report --last 10` shows them",
                        word);
    if (r->count == RUNS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "report: more than %d runs", RUNS_MAX);
    r->ids[r->count++] = (int64_t)id;
    return GNN_OK;
}

static enum gnn_status choose_runs(struct report *r, struct gnn_db *db, struct gnn_err *err)
{
    if (r->count > 0)
        return GNN_OK;
    if (r->config.last > 0)
        GNN_TRY(gnn_db_last(db, r->config.last, r->ids, &r->count, err));
    else
        GNN_TRY(gnn_db_comparison(db, RUNS_MAX, r->ids, &r->count, err));
    return r->count > 0 ? GNN_OK : gnn_fail(err, GNN_ENOENT, "%s holds no finished run", r->config.db);
}

static enum gnn_status print_runs(const struct report *r, const struct gnn_run_record *runs, struct gnn_err *err)
{
    if (!r->config.json) {
        gnn_report_runs(runs, r->count, r->config.markdown ? GNN_REPORT_MARKDOWN : GNN_REPORT_TEXT, stdout);
        return GNN_OK;
    }
    for (uint32_t i = 0; i < r->count; i++)
        GNN_TRY(gnn_run_json(&runs[i], r->config.series, stdout, err));
    return GNN_OK;
}

static enum gnn_status show(struct report *r, struct gnn_db *db, struct gnn_err *err)
{
    GNN_TRY(choose_runs(r, db, err));
    struct gnn_run_record *runs;
    assert(r->count <= RUNS_MAX);
    enum gnn_status status = gnn_db_load_all(db, r->ids, r->count, &runs, err);
    GNN_NEXT(status, print_runs(r, runs, err));
    if (status == GNN_OK && r->config.plot_dir[0] != '\0')
        status = gnn_plot_comparison(runs, r->count, r->config.plot_dir, err);
    gnn_run_records_free(runs, r->count);
    return status;
}

int gnn_cmd_report(int argc, char **argv)
{
    static const struct gnn_command_line line = {
        .usage = "usage: oocgnn report [RUN...] [OPTION...]\n\n", .table = report_table, .word = add_run};
    struct gnn_err err = {0};
    struct report r = {.count = 0};
    int exit_status;
    if (!gnn_args_parse(&line, argc, argv, &r.config, &r, &exit_status))
        return exit_status;
    struct gnn_db *db = NULL;
    enum gnn_status status = gnn_db_open(r.config.db, GNN_DB_READ, &db, &err);
    GNN_NEXT(status, show(&r, db, &err));
    gnn_db_close(db);
    return status == GNN_OK ? GNN_EXIT_OK : gnn_cli_failed(&err);
}
