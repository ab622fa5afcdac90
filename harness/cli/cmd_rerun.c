/* SPDX-License-Identifier: MIT */
/* oocgnn rerun: repeats a recorded run and compares the results. */
#include "harness/base/log.h"
#include "harness/base/plain_text.h"
#include "harness/base/units.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/rerun_compare.h"
#include "harness/run/plugin.h"
#include "harness/run/record_config.h"
#include "harness/run/supervisor/supervisor.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_SHOWN = 20 };

struct rerun_config {
    char db[GNN_TEXT_MAX], data_dir[GNN_TEXT_MAX], system[GNN_TEXT_MAX];
    bool json, quiet;
};

#define OPTION(...) GNN_OPTION(rerun_config, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option rerun_table[] = {
    OPTION("db", TEXT, db, "oocgnn.db", .unit = "FILE",
           .help = "SQLite file that has the run; the repetition is recorded there, too"),
    OPTION("data", TEXT, data_dir, "", .unit = "DIR",
           .help = "Directory of the prepared datasets; empty = that of the run"),
    OPTION("system", TEXT, system, "", .unit = "FILE",
           .help = "Shared object of the run's system, such as ./mine.so; required if the system is not built in"),
    OPTION("json", BOOL, json, "no", .help = "Print one JSON object"),
    OPTION("quiet", BOOL, quiet, "no", .help = "Print no progress"),
    {.name = NULL},
};
/* clang-format on */

struct request {
    struct rerun_config config;
    const char *word; /* RUN as typed, or NULL */
};

static enum gnn_status take_run(void *ctx, const char *word, struct gnn_err *err)
{
    struct request *const r = ctx;
    if (r->word != NULL)
        return gnn_fail(err, GNN_EUSAGE, "rerun: one run at a time, got \"%s\" and \"%s\"", r->word, word);
    r->word = word;
    return GNN_OK;
}

/* ---- the run ---- */

static enum gnn_status load_run(const struct request *r, struct gnn_run_record *run, struct gnn_err *err)
{
    char db[GNN_TEXT_MAX * 2];
    struct gnn_db *opened;
    uint64_t id;
    (void)gnn_shell_word(r->config.db, db, sizeof db);
    if (r->word == NULL)
        return gnn_fail(err, GNN_EUSAGE, "rerun: which run? `oocgnn report --last 10 --db %s` prints their numbers",
                        db);
    if (gnn_parse_u64(r->word, &id, NULL) != GNN_OK || id > INT64_MAX)
        return gnn_fail(err, GNN_EUSAGE,
                        "rerun: \"%s\" is no run's number; `oocgnn report --last 10 --db %s` prints the numbers",
                        r->word, db);
    GNN_TRY(gnn_db_open(r->config.db, GNN_DB_READ, &opened, err));
    const enum gnn_status status = gnn_db_load(opened, (int64_t)id, run, err);
    gnn_db_close(opened);
    return status;
}

/* Loads the object of a run whose system came from one. Its name has to be that of the run's system. */
static enum gnn_status open_object(const struct request *r, const struct gnn_run_record *then, struct gnn_err *err)
{
    const char *const file = gnn_kv_get(&then->environment, GNN_PLUGIN_FILE_KEY), *const path = r->config.system;
    const struct gnn_system *system;
    char shown[GNN_TEXT_MAX];
    if (file == NULL && path[0] == '\0')
        return GNN_OK;
    if (file == NULL)
        return gnn_fail(err, GNN_EUSAGE, "rerun: the system of run %" PRId64 ", %s, is built in; remove --system",
                        then->run_id, then->system);
    if (!gnn_plugin_is_path(path))
        return gnn_fail(err, GNN_EUSAGE,
                        "rerun: the system of run %" PRId64
                        " is in %s; give the path of this file, with a '/': --system "
                        "./%s",
                        then->run_id, gnn_text_plain(file, shown, sizeof shown), shown);
    GNN_TRY(gnn_plugin_open(path, &system, err));
    if (strcmp(system->name, then->system) != 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "rerun: --system %s has the system %s, but run %" PRId64 " is of %s; give its file, %s", path,
                        system->name, then->run_id, then->system, gnn_text_plain(file, shown, sizeof shown));
    return GNN_OK;
}

/* Makes the configuration of the repetition. */
static enum gnn_status configure(const struct request *r, const struct gnn_run_record *then,
                                 struct gnn_run_config *config, struct gnn_err *err)
{
    char missing[GNN_TEXT_MAX];
    if (then->status == GNN_RUN_RUNNING)
        return gnn_fail(err, GNN_EUSAGE,
                        "rerun: run %" PRId64 " has not ended; wait until `oocgnn report` shows its end", then->run_id);
    GNN_TRY(open_object(r, then, err));
    GNN_TRY(gnn_record_config(then, config, missing, sizeof missing, err));
    if (r->config.system[0] != '\0')
        (void)snprintf(config->system, sizeof config->system, "%s", r->config.system);
    if (missing[0] != '\0' && !r->config.quiet)
        gnn_log_info("run %" PRId64 " is older than these options, which keep their defaults: %s", then->run_id,
                     missing);
    (void)snprintf(config->db, sizeof config->db, "%s", r->config.db);
    if (r->config.data_dir[0] != '\0')
        (void)snprintf(config->data_dir, sizeof config->data_dir, "%s", r->config.data_dir);
    config->quiet = r->config.quiet;
    return GNN_OK;
}

/* ---- results ---- */

static void print_value(const json_t *value)
{
    char shown[GNN_TEXT_MAX];
    if (value == NULL || json_is_null(value)) {
        (void)fputs("-", stdout);
        return;
    }
    if (json_is_string(value)) {
        (void)fputs(gnn_text_plain(json_string_value(value), shown, sizeof shown), stdout);
        return;
    }
    (void)json_dumpf(value, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
}

static void print_list(const char *title, const json_t *list)
{
    const size_t count = json_array_size(list);
    if (count == 0)
        return;
    (void)printf("%s\n", title);
    for (size_t i = 0; i < count && i < LINES_SHOWN; i++) {
        const json_t *const entry = json_array_get(list, i);
        (void)printf("  %s: ", json_string_value(json_object_get(entry, "what")));
        print_value(json_object_get(entry, "then"));
        (void)fputs(", now ", stdout);
        print_value(json_object_get(entry, "now"));
        (void)putchar('\n');
    }
    if (count > LINES_SHOWN)
        (void)printf("  and %zu more; --json has them\n", count - LINES_SHOWN);
}

static void print_text(const struct gnn_run_record *then, const struct gnn_run_record *now, bool exact,
                       const json_t *conditions, const json_t *results)
{
    print_list("conditions that differ:", conditions);
    print_list("results that differ:", results);
    if (json_array_size(results) > 0)
        (void)printf("Run %" PRId64 " does not repeat run %" PRId64 ".\n", now->run_id, then->run_id);
    else if (exact)
        (void)printf("Run %" PRId64 " repeats run %" PRId64 " to the nanosecond.\n", now->run_id, then->run_id);
    else
        (void)printf("Run %" PRId64 " has the digests and losses of run %" PRId64 ".\n", now->run_id, then->run_id);
}

static int print_json(const struct gnn_run_record *then, const struct gnn_run_record *now, bool exact,
                      json_t *conditions, json_t *results)
{
    json_t *const root =
        json_pack("{s:I, s:I, s:b, s:b, s:O, s:O}", "run", (json_int_t)then->run_id, "rerun", (json_int_t)now->run_id,
                  "exact", exact, "same", json_array_size(results) == 0, "conditions", conditions, "results", results);
    const int failed = root == NULL ? -1 : json_dumpf(root, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
    (void)putchar('\n');
    json_decref(root);
    return failed;
}

/* Prints the comparison. Returns the exit status. */
static int compare(const struct request *r, const struct gnn_run_record *then, const struct gnn_run_record *now)
{
    struct gnn_err err = {0};
    const bool exact = strcmp(then->world, "simulated") == 0;
    json_t *const conditions = gnn_rerun_conditions(then, now), *const results = gnn_rerun_results(then, now, exact);
    int exit_status = json_array_size(results) == 0 ? GNN_EXIT_OK : GNN_EXIT_FAILED;
    if (conditions == NULL || results == NULL ||
        (r->config.json && print_json(then, now, exact, conditions, results) != 0)) {
        (void)gnn_fail(&err, GNN_ENOMEM, "the comparison of two runs");
        exit_status = gnn_cli_failed(&err);
    } else if (!r->config.json) {
        print_text(then, now, exact, conditions, results);
    }
    json_decref(conditions);
    json_decref(results);
    return exit_status;
}

/* ---- both ---- */

static int repeat(const struct request *r, const struct gnn_run_record *then, const struct gnn_run_config *config)
{
    struct gnn_err err = {0};
    struct gnn_run_record now;
    int exit_status;
    const enum gnn_status status = gnn_run_supervised(config, &now, &err);
    if (status != GNN_OK)
        exit_status = gnn_cli_failed(&err);
    else if (now.status == GNN_RUN_INTERRUPTED) {
        gnn_cli_note_signal(now.signal);
        exit_status = gnn_cli_exit_interrupted();
    } else
        exit_status = compare(r, then, &now);
    gnn_run_record_free(&now);
    return exit_status;
}

int gnn_cmd_rerun(int argc, char **argv)
{
    static const struct gnn_command_line command_line = {
        .usage =
            "usage: oocgnn rerun RUN [--db FILE] [--data DIR] [--system FILE] [--json]\n\n"
            "Repeats a run with all options of its record, records the repetition, and compares the two. A simulated\n"
            "run has to repeat to the nanosecond, a measured one in the digests of its mini-batches and in its "
            "losses.\n"
            "If results differ, the exit status is 1.\n\n",
        .notes =
            "\nRelative paths in the record, such as --data, start at the current directory. Traces are not written\n"
            "again. Losses of a measured run can differ if its system trains mini-batches out of order.\n",
        .words = "",
        .table = rerun_table,
        .word = take_run};
    struct gnn_err err = {0};
    struct request r = {.word = NULL};
    struct gnn_run_record then;
    struct gnn_run_config config;
    int exit_status;
    if (!gnn_args_parse(&command_line, argc, argv, &r.config, &r, &exit_status))
        return exit_status;
    if (load_run(&r, &then, &err) != GNN_OK)
        return gnn_cli_failed(&err);
    exit_status = configure(&r, &then, &config, &err) == GNN_OK ? repeat(&r, &then, &config) : gnn_cli_failed(&err);
    gnn_run_record_free(&then);
    return exit_status;
}
