/* SPDX-License-Identifier: MIT */
/* oocgnn baseline: keeps what a build or a database says, for later comparisons. */
#include "harness/base/log.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/operand.h"
#include "harness/cli/outputs.h"
#include "harness/compare/baseline.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct baseline_config {
    char jobs[GNN_TEXT_MAX], data[GNN_TEXT_MAX];
    bool instructions;
};

#define OPTION(...) GNN_OPTION(baseline_config, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option baseline_table[] = {
    OPTION("jobs", TEXT, jobs, "", .unit = "DIR",
           .help = "Directory with exact.ini and instructions.ini, which a build runs; empty = those of "
                   "workloads/gate"),
    OPTION("data", TEXT, data, "", .unit = "DIR", .help = "Directory of the datasets for the runs of a build"),
    OPTION("instructions", BOOL, instructions, "yes", .help = "Also count the instructions of a build's hot loops"),
    {.name = NULL},
};
/* clang-format on */

struct request {
    struct baseline_config config;
    const char *source, *out;
};

static enum gnn_status take_word(void *ctx, const char *word, struct gnn_err *err)
{
    struct request *const r = ctx;
    if (r->source != NULL && r->out != NULL)
        return gnn_fail(err, GNN_EUSAGE, "baseline: unexpected argument \"%s\"; see `oocgnn baseline --help`", word);
    if (r->source == NULL)
        r->source = word;
    else
        r->out = word;
    return GNN_OK;
}

/* Reasons that are kept already stay: *accepted is those of OUT, or a new list. */
static enum gnn_status read_accepted(const char *path, json_t **accepted, struct gnn_err *err)
{
    if (access(path, F_OK) == 0)
        return gnn_baseline_read(path, NULL, accepted, err);
    *accepted = json_array();
    return *accepted != NULL ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "a list");
}

static enum gnn_status keep(const struct request *r, const char *dir, struct gnn_err *err)
{
    struct gnn_gate_jobs jobs = {.exact = ""};
    struct gnn_operand source = {.path = NULL};
    json_t *accepted = NULL;
    GNN_TRY(gnn_cli_check_out_file("baseline: OUT", r->out, err));
    GNN_TRY(gnn_gate_jobs(r->config.jobs, &jobs, err));
    enum gnn_status status = read_accepted(r->out, &accepted, err);
    GNN_NEXT(status, gnn_operand_open("BUILD or DATABASE", r->source, &source, err));
    GNN_NEXT(status, gnn_operand_run(&source, &jobs, true, r->config.instructions, r->config.data, dir, err));
    GNN_NEXT(status, gnn_baseline_write(r->out, &source.facts, accepted, err));
    if (status == GNN_OK) {
        (void)printf("%s\n", r->out);
        gnn_log_info(
            "%u runs of %s%s%s", source.facts.count,
            source.facts.revision[0] == '\0' ? "an unknown revision" : source.facts.revision,
            source.facts.no_instructions[0] == '\0' ? "" : "; no instruction counts: ", source.facts.no_instructions);
    }
    gnn_operand_close(&source);
    json_decref(accepted);
    return status;
}

int gnn_cmd_baseline(int argc, char **argv)
{
    static const struct gnn_command_line line = {.usage = "usage: oocgnn baseline BUILD|DATABASE OUT [OPTION...]\n\n"
                                                          "Writes the baseline file OUT for `oocgnn compare OUT HEAD`. "
                                                          "Accepted changes in an existing OUT are kept.\n",
                                                 .table = baseline_table,
                                                 .word = take_word};
    struct gnn_err err = {0};
    struct request r = {.source = NULL};
    char dir[1024];
    int exit_status;
    if (!gnn_args_parse(&line, argc, argv, &r.config, &r, &exit_status))
        return exit_status;
    if (r.out == NULL) {
        (void)gnn_fail(&err, GNN_EUSAGE, "baseline: expected BUILD or DATABASE, and OUT; see `oocgnn baseline --help`");
        return gnn_cli_failed(&err);
    }
    (void)gnn_cli_stop_on_signals();
    if (gnn_work_dir_make(dir, sizeof dir, &err) != GNN_OK)
        return gnn_cli_failed(&err);
    const enum gnn_status status = keep(&r, dir, &err);
    gnn_work_dir_remove(dir);
    return status == GNN_OK ? GNN_EXIT_OK : gnn_cli_failed(&err);
}
