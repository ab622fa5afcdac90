/* SPDX-License-Identifier: MIT */
/* oocgnn bound: the least that any exact system has to read, of a workload or of recorded runs. */
#include "harness/base/plain_text.h"
#include "harness/base/units.h"
#include "harness/cli/args.h"
#include "harness/cli/bound_run.h"
#include "harness/cli/commands.h"
#include "harness/record/report.h"
#include "harness/record/summary.h"
#include "harness/stats/bound_show.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 256, OPTIONS_MAX = 24 };

/* The workload is a run's; what stands in it else is not asked for. */
struct bound_config {
    struct gnn_run_config run;
    uint64_t gpu_memory_bytes, accesses;
};

#define OPTION(...) GNN_OPTION(bound_config, __VA_ARGS__)

/* Options of `oocgnn run` that say what is drawn and with how much memory. */
static const char *const of_run[] = {"dataset", "data",    "scale",  "dim",         "feature-type", "generate",
                                     "fanout",  "batch",   "epochs", "max-batches", "floyd-biased", "seed",
                                     "memory",  "profile", "db",     "json"};
enum { OF_RUN = sizeof of_run / sizeof of_run[0] };
_Static_assert(offsetof(struct bound_config, run) == 0, "options of a run find their fields");

/* clang-format off */
static const struct gnn_option own_table[] = {
    OPTION("gpu-memory", BYTES, gpu_memory_bytes, "0",
           .help = "Memory of GPUs that may hold feature rows in addition to --memory"),
    OPTION("accesses", U64, accesses, "1000000000", .min = 1, .max = 4294967294.0,
           .help = "Row accesses that this program stores, 8.2 bytes of memory each; a workload with more is "
                   "rejected"),
    {.name = NULL},
};
/* clang-format on */

/* Shares of the working set that stand for --memory where none is named. */
static const double shares[] = {0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2};
enum { SHARES = sizeof shares / sizeof shares[0] };

struct request {
    struct bound_config config;
    const char *words[RUNS_MAX]; /* RUN... as typed */
    uint32_t word_count;
};

/* Copies the entries of the run's table, then this command's own; the last one ends the table. */
static void make_table(struct gnn_option table[OPTIONS_MAX])
{
    uint32_t count = 0;
    _Static_assert(OF_RUN + sizeof own_table / sizeof own_table[0] <= OPTIONS_MAX, "the table has room");
    for (uint32_t i = 0; i < OF_RUN; i++)
        for (const struct gnn_option *o = gnn_run_options; o->name != NULL; o++)
            if (strcmp(o->name, of_run[i]) == 0)
                table[count++] = *o;
    assert(count == OF_RUN);
    memcpy(&table[count], own_table, sizeof own_table);
}

static enum gnn_status take_run(void *ctx, const char *word, struct gnn_err *err)
{
    struct request *const r = ctx;
    if (r->word_count == RUNS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "bound: more than %d runs", RUNS_MAX);
    r->words[r->word_count++] = word;
    return GNN_OK;
}

/* ---- of a workload ---- */

/* Lists the one requested size, or all of the working set and those of its shares that hold a mini-batch. */
static void list_memory(const struct bound_config *c, const struct gnn_row_trace *trace,
                        uint64_t memory_bytes[SHARES + 1], struct gnn_bound *bound)
{
    const uint64_t distinct = gnn_row_trace_distinct(trace), row_bytes = gnn_row_trace_row_bytes(trace);
    bound->memory_bytes = memory_bytes;
    if (c->run.memory_bytes > 0) {
        memory_bytes[bound->count++] = gnn_add_bytes(c->run.memory_bytes, c->gpu_memory_bytes);
        return;
    }
    for (uint32_t i = 0; i < SHARES; i++) {
        const uint64_t share_bytes = (uint64_t)(shares[i] * (double)distinct) * row_bytes;
        if (share_bytes >= gnn_row_trace_memory_min(trace))
            memory_bytes[bound->count++] = share_bytes;
        else
            bound->left_out++;
    }
    memory_bytes[bound->count++] = UINT64_MAX;
}

static enum gnn_status show(const struct bound_config *c, const struct gnn_bound_source *source,
                            const struct gnn_profile *profile, struct gnn_err *err)
{
    uint64_t memory_bytes[SHARES + 1], *rows;
    const struct gnn_bound_heading heading = {
        .dataset = gnn_lists_dataset(source->lists), .config = &source->config, .profile = profile};
    struct gnn_bound bound = {.trace = source->trace};
    list_memory(c, source->trace, memory_bytes, &bound);
    GNN_NEW(rows, (uint64_t)bound.count * source->config.epochs, err, "rows of %" PRIu32 " epochs",
            source->config.epochs);
    bound.rows = rows;
    enum gnn_status status = gnn_row_trace_least(source->trace, memory_bytes, bound.count, rows, err);
    if (status == GNN_OK && c->run.json)
        status = gnn_bound_json(&heading, &bound, stdout, err);
    else if (status == GNN_OK)
        gnn_bound_text(&heading, &bound, stdout);
    free(rows);
    return status;
}

static enum gnn_status bound_of_workload(const struct bound_config *c, struct gnn_err *err)
{
    const struct gnn_bound_room room = {.accesses_max = c->accesses, .stop = gnn_cli_stop_on_signals()};
    struct gnn_bound_source source;
    struct gnn_profile *profile = NULL;
    if (c->run.profile[0] != '\0')
        GNN_TRY(gnn_bound_profile(c->run.profile, c->run.profile_set, &profile, err));
    enum gnn_status status = gnn_bound_source_open(&c->run, &room, &source, err);
    if (status == GNN_OK) {
        status = show(c, &source, profile, err);
        gnn_bound_source_close(&source);
    }
    gnn_profile_close(profile);
    return status;
}

/* ---- of recorded runs ---- */

static enum gnn_status bound_of_record(const struct bound_config *c, int64_t id, struct gnn_err *err)
{
    const struct gnn_bound_room room = {.accesses_max = c->accesses, .stop = gnn_cli_stop_on_signals()};
    char why[GNN_BOUND_WHY_BYTES];
    struct gnn_run_record run;
    struct gnn_db *db;
    GNN_TRY(gnn_db_open(c->run.db, GNN_DB_READ, &db, err));
    enum gnn_status status = gnn_db_load(db, id, &run, err);
    gnn_db_close(db);
    if (status != GNN_OK)
        return status;
    status = gnn_bound_of_run(&run, c->run.db, &room, why, err);
    if (status == GNN_OK && why[0] != '\0')
        (void)fprintf(stderr, "oocgnn: run %" PRId64 " has no bound: %s\n", id, why);
    if (status == GNN_OK && c->run.json)
        status = gnn_run_json(&run, false, stdout, err);
    else if (status == GNN_OK)
        gnn_report_runs(&run, 1, GNN_REPORT_TEXT, stdout);
    gnn_run_record_free(&run);
    return status;
}

static enum gnn_status parse_run(const struct bound_config *c, const char *word, int64_t *out, struct gnn_err *err)
{
    char db[GNN_TEXT_MAX];
    uint64_t id;
    struct gnn_err cause = {0};
    if (gnn_parse_u64(word, &id, &cause) != GNN_OK || id > INT64_MAX)
        return gnn_fail(err, GNN_EUSAGE,
                        "bound: \"%s\" is no run's number; `oocgnn report --last 10 --db %s` shows them", word,
                        gnn_shell_word(c->run.db, db, sizeof db));
    *out = (int64_t)id;
    return GNN_OK;
}

static enum gnn_status bound_of_records(const struct request *r, struct gnn_err *err)
{
    if (r->config.run.dataset[0] != '\0')
        return gnn_fail(err, GNN_EUSAGE, "bound: name runs, or a workload with --dataset, not both");
    int64_t ids[RUNS_MAX];
    for (uint32_t i = 0; i < r->word_count; i++)
        GNN_TRY(parse_run(&r->config, r->words[i], &ids[i], err));
    for (uint32_t i = 0; i < r->word_count; i++)
        GNN_TRY(bound_of_record(&r->config, ids[i], err));
    return GNN_OK;
}

static enum gnn_status run(const struct request *r, struct gnn_err *err)
{
    char db[GNN_TEXT_MAX];
    if (r->word_count > 0)
        return bound_of_records(r, err);
    if (r->config.run.dataset[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE,
                        "bound: name a workload by --dataset (`oocgnn list datasets` prints the names), or runs "
                        "(`oocgnn report --last 10 --db %s` prints their numbers)",
                        gnn_shell_word(r->config.run.db, db, sizeof db));
    return bound_of_workload(&r->config, err);
}

int gnn_cmd_bound(int argc, char **argv)
{
    struct gnn_option table[OPTIONS_MAX];
    const struct gnn_command_line command_line = {
        .usage =
            "usage: oocgnn bound --dataset D [--memory M] [--profile P] [OPTION...]\n"
            "       oocgnn bound RUN... [--db FILE]\n\n"
            "The least feature bytes that any exact system brings in for the mini-batches of a workload, with all\n"
            "memory as cache, and their least device time; of runs: into their records, as bound_ratio.\n"
            "Premise: all rows of a mini-batch are in memory together.\n\n",
        .notes =
            "\nWithout --memory, the limits are shares of the working set. Limits below the largest mini-batch are "
            "rejected.\nThe mini-batches are those of `oocgnn run`.\n",
        .words = "",
        .table = table,
        .word = take_run};
    struct gnn_err err = {0};
    struct request *const r = calloc(1, sizeof *r);
    int exit_status;
    if (r == NULL) {
        (void)gnn_fail(&err, GNN_ENOMEM, "a request");
        return gnn_cli_failed(&err);
    }
    make_table(table);
    gnn_run_config_defaults(&r->config.run);
    if (gnn_args_parse(&command_line, argc, argv, &r->config, r, &exit_status))
        exit_status = run(r, &err) == GNN_OK ? GNN_EXIT_OK : gnn_cli_failed(&err);
    free(r);
    return exit_status;
}
