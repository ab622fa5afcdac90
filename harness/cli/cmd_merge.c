/* SPDX-License-Identifier: MIT */
/* oocgnn merge: runs of several databases in one. */
#include "harness/base/log.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/record/merge.h"

#include <stdio.h>

enum { FILES_MAX = 4096 };

struct merge_config {
    bool quiet;
};

#define OPTION(...) GNN_OPTION(merge_config, __VA_ARGS__)

static const struct gnn_option merge_table[] = {
    OPTION("quiet", BOOL, quiet, "no", .help = "Print no line for each database"),
    {.name = NULL},
};

struct merge {
    struct merge_config config;
    const char *files[FILES_MAX]; /* the first is written */
    uint32_t count;
};

static enum gnn_status take_file(void *ctx, const char *word, struct gnn_err *err)
{
    struct merge *const m = ctx;
    if (m->count == FILES_MAX)
        return gnn_fail(err, GNN_EUSAGE, "merge: more than %d databases", FILES_MAX);
    m->files[m->count++] = word;
    return GNN_OK;
}

/* Opens each of the databases to be copied, so that a name that is none makes no database of the others. */
static enum gnn_status check_parts(const struct merge *m, struct gnn_err *err)
{
    for (uint32_t i = 1; i < m->count; i++) {
        struct gnn_db *db;
        GNN_TRY(gnn_db_open(m->files[i], GNN_DB_READ, &db, err));
        gnn_db_close(db);
    }
    return GNN_OK;
}

static enum gnn_status merge_all(const struct merge *m, struct gnn_merged *total, struct gnn_err *err)
{
    struct gnn_db *db = NULL;
    GNN_TRY(gnn_db_check_name(m->files[0], err));
    GNN_TRY(check_parts(m, err));
    GNN_TRY(gnn_db_open(m->files[0], GNN_DB_WRITE, &db, err));
    enum gnn_status status = GNN_OK;
    for (uint32_t i = 1; i < m->count && status == GNN_OK; i++) {
        const struct gnn_merged before = *total;
        status = gnn_db_merge(db, m->files[i], total, err);
        if (status == GNN_OK && !m->config.quiet)
            gnn_log_info("%s: %u runs added, %u known, %u unfinished left out", m->files[i],
                         total->added - before.added, total->known - before.known, total->running - before.running);
    }
    gnn_db_close(db);
    return status;
}

int gnn_cmd_merge(int argc, char **argv)
{
    static const struct gnn_command_line line = {
        .usage =
            "usage: oocgnn merge INTO FROM...\n\n"
            "Copies the runs of databases into one, which is created if it is missing. Runs that are there already\n"
            "are known by their process and the moment of their start, so that merging again adds nothing.\n\n",
        .table = merge_table,
        .word = take_file};
    struct gnn_err err = {0};
    struct merge *m;
    int exit_status;
    m = calloc(1, sizeof *m);
    if (m == NULL) {
        (void)gnn_fail(&err, GNN_ENOMEM, "the list of databases");
        return gnn_cli_failed(&err);
    }
    if (gnn_args_parse(&line, argc, argv, &m->config, m, &exit_status)) {
        struct gnn_merged total = {0};
        enum gnn_status status = GNN_OK;
        if (m->count < 2)
            status = gnn_fail(&err, GNN_EUSAGE, "merge: which databases? oocgnn merge all.db part-1.db part-2.db");
        GNN_NEXT(status, merge_all(m, &total, &err));
        if (status == GNN_OK)
            (void)printf("%u runs added, %u known, %u unfinished left out\n", total.added, total.known, total.running);
        exit_status = status == GNN_OK ? GNN_EXIT_OK : gnn_cli_failed(&err);
    }
    free(m);
    return exit_status;
}
