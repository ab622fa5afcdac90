/* SPDX-License-Identifier: MIT */
/* oocgnn compare: the regression gate. Exact values of the same seed, instruction counts, and measured time of two
 * builds side by side; what got worse ends with status 3. */
#include "harness/base/log.h"
#include "harness/cli/args.h"
#include "harness/cli/builds.h"
#include "harness/cli/commands.h"
#include "harness/cli/operand.h"
#include "harness/cli/outputs.h"
#include "harness/cli/time_builds.h"
#include "harness/compare/baseline.h"
#include "harness/compare/changes.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct compare_config {
    char jobs[GNN_TEXT_MAX], data[GNN_TEXT_MAX];
    bool exact, instructions, time, markdown;
    double tolerance_pct, margin_pct, limit_pct, alpha;
    uint32_t pairs, pairs_max, rows;
    uint64_t seed;
    char require[GNN_TEXT_MAX], samples[GNN_TEXT_MAX], summary[GNN_TEXT_MAX], accept[GNN_TEXT_MAX],
        accepted[GNN_TEXT_MAX];
};

#define OPTION(...) GNN_OPTION(compare_config, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option compare_table[] = {
    OPTION("jobs", TEXT, jobs, "", .unit = "DIR",
           .help = "Directory with exact.ini, instructions.ini and time.ini, which builds run; empty = "
                   "workloads/gate"),
    OPTION("data", TEXT, data, "", .unit = "DIR", .help = "Directory of the datasets for the runs of builds"),
    OPTION("exact", BOOL, exact, "yes",
           .help = "Compare counts, digests and virtual times, which repeat exactly with the same seed; every "
                   "change is red"),
    OPTION("instructions", BOOL, instructions, "yes",
           .help = "Compare instruction counts of the hot loops under valgrind; without valgrind, the part is "
                   "reported as left out"),
    OPTION("tolerance", F64, tolerance_pct, "0.5", .unit = "PERCENT", .max = 100,
           .help = "Growth of an instruction count above which it is red"),
    OPTION("time", BOOL, time, "no",
           .help = "Compare measured times of two builds in interleaved pairs of runs of time.ini. The times are "
                   "the wall time of an epoch and, with a GPU, its kernel and copy times. Requires an idle machine."),
    OPTION("require", TEXT, require, "", .unit = "PARTS",
           .help = "Parts that must be compared, such as instructions,time; a part that is left out is an error with "
                   "exit status 4"),
    OPTION("pairs", U32, pairs, "10", .min = 10, .max = GNN_PAIRS_MAX, .help = "Pairs of runs before the first look"),
    OPTION("pairs-max", U32, pairs_max, "40", .min = 10, .max = GNN_PAIRS_MAX,
           .help = "Largest number of pairs; the number doubles at each look until then, and an undecided time "
                   "stays undecided"),
    OPTION("margin", F64, margin_pct, "1", .unit = "PERCENT", .max = 100,
           .help = "Slowdown above which a time is red, if it is certain"),
    OPTION("limit", F64, limit_pct, "3", .unit = "PERCENT", .min = 0.01, .max = 100,
           .help = "Slowdown below which a time is fine, if it is certain; between --margin and --limit more pairs "
                   "are run"),
    OPTION("alpha", F64, alpha, "0.01", .min = 1e-9, .max = 0.5,
           .help = "Probability of a wrong red verdict among all times together, after its confirmation"),
    OPTION("seed", U64, seed, "1", .help = "Seed for the order within pairs and for the intervals"),
    OPTION("samples", TEXT, samples, "", .unit = "FILE", .help = "Write the times of every pair to this CSV file"),
    OPTION("accept", TEXT, accept, "", .unit = "REASON",
           .help = "Accept red exact values and instruction counts, and store this reason; a baseline file as BASE "
                   "gets the new values"),
    OPTION("accepted", TEXT, accepted, "", .unit = "FILE",
           .help = "File that stores accepted changes; empty = BASE, if that is a baseline file"),
    OPTION("markdown", BOOL, markdown, "no", .help = "Print Markdown"),
    OPTION("summary", TEXT, summary, "", .unit = "FILE",
           .help = "Append Markdown to this file, such as a CI's $GITHUB_STEP_SUMMARY"),
    OPTION("rows", U32, rows, "50", .help = "Largest number of lines shown of each kind"),
    {.name = NULL},
};
/* clang-format on */

struct request {
    struct compare_config config;
    const char *paths[2];
    uint32_t path_count;
    struct gnn_gate_jobs jobs;
    struct gnn_operand base, head;
    struct gnn_changes changes;
    json_t *accepted; /* of --accepted or BASE; NULL: neither */
};

static enum gnn_status take_word(void *ctx, const char *word, struct gnn_err *err)
{
    struct request *const r = ctx;
    if (r->path_count == 2)
        return gnn_fail(err, GNN_EUSAGE, "compare: unexpected argument \"%s\"; see `oocgnn compare --help`", word);
    r->paths[r->path_count++] = word;
    return GNN_OK;
}

static bool are_builds(const struct request *r)
{
    return r->base.kind == GNN_OPERAND_BUILD && r->head.kind == GNN_OPERAND_BUILD;
}

/* ---- the three parts ---- */

/* A part of the comparison: whether it was requested, whether something was compared, and why not. */
struct part {
    const char *name;
    bool requested, compared;
    const char *reason;
};

enum { PARTS = 3 };

static void list_parts(const struct request *r, struct part parts[PARTS])
{
    const struct compare_config *const c = &r->config;
    const char *const base_reason = r->base.facts.no_instructions, *const head_reason = r->head.facts.no_instructions;
    parts[0] = (struct part){"exact", c->exact, r->changes.cells > 0, "there is no run"};
    parts[1] = (struct part){"instructions", c->instructions, r->changes.functions > 0,
                             head_reason[0] != '\0' ? head_reason : base_reason};
    parts[2] = (struct part){"time", c->time, r->changes.series > 0, "the runs have no time"};
}

/* Fails if a part of --require was not requested, or, after the comparison, was left out. */
static enum gnn_status check_required(const struct request *r, bool compared, struct gnn_err *err)
{
    struct part parts[PARTS];
    char words[GNN_TEXT_MAX], *rest = words;
    list_parts(r, parts);
    (void)snprintf(words, sizeof words, "%s", r->config.require);
    for (const char *word = strsep(&rest, ","); word != NULL && r->config.require[0] != '\0';
         word = strsep(&rest, ",")) {
        const struct part *at = parts;
        while (at < parts + PARTS && strcmp(at->name, word) != 0)
            at++;
        if (at == parts + PARTS)
            return gnn_fail(err, GNN_EUSAGE, "--require %s: \"%s\" is no part; parts are exact, instructions and time",
                            r->config.require, word);
        if (!at->requested)
            return gnn_fail(err, GNN_EUSAGE, "--require %s: this part is switched off; add --%s", word, word);
        if (compared && !at->compared)
            return gnn_fail(err, GNN_ENOTSUP, "--require %s: the part was left out: %s", word, at->reason);
    }
    return GNN_OK;
}

/* A silent zero would be green for ever. */
static void explain_no_common_counts(struct request *r)
{
    struct gnn_facts *const base = &r->base.facts;
    if (r->changes.functions == 0 && base->no_instructions[0] == '\0' && r->head.facts.no_instructions[0] == '\0')
        (void)snprintf(base->no_instructions, sizeof base->no_instructions,
                       "%.100s and %.100s have none in common; write baseline files again", base->name,
                       r->head.facts.name);
}

static enum gnn_status compare_exact(struct request *r, const char *dir, struct gnn_err *err)
{
    const struct compare_config *const c = &r->config;
    GNN_TRY(gnn_operand_run(&r->base, &r->jobs, c->exact, c->instructions, c->data, dir, err));
    GNN_TRY(gnn_operand_run(&r->head, &r->jobs, c->exact, c->instructions, c->data, dir, err));
    if (c->exact)
        GNN_TRY(gnn_compare_exact(&r->base.facts, &r->head.facts, &r->changes, err));
    if (!c->instructions)
        return GNN_OK;
    GNN_TRY(gnn_compare_instructions(&r->base.facts, &r->head.facts, 0.01 * c->tolerance_pct, &r->changes, err));
    explain_no_common_counts(r);
    return GNN_OK;
}

static enum gnn_status compare_time(struct request *r, const char *dir, struct gnn_err *err)
{
    const struct compare_config *const c = &r->config;
    const struct gnn_ab_plan plan = {.pairs = c->pairs,
                                     .pairs_max = gnn_max_u32(c->pairs, c->pairs_max),
                                     .margin = 0.01 * c->margin_pct,
                                     .limit = 0.01 * c->limit_pct,
                                     .alpha = c->alpha,
                                     .seed = c->seed};
    const struct gnn_time_request request = {.base = r->base.path,
                                             .head = r->head.path,
                                             .job_file = r->jobs.time,
                                             .data = c->data,
                                             .dir = dir,
                                             .samples = c->samples,
                                             .plan = &plan};
    return c->time ? gnn_time_builds(&request, &r->changes, err) : GNN_OK;
}

/* ---- what was accepted ---- */

static enum gnn_status read_accepted(struct request *r, struct gnn_err *err)
{
    const char *const path = r->config.accepted;
    if (path[0] == '\0') {
        r->accepted = json_incref(r->base.accepted);
        return GNN_OK;
    }
    if (access(path, F_OK) == 0)
        return gnn_baseline_read(path, NULL, &r->accepted, err);
    if (r->config.accept[0] == '\0')
        return gnn_fail(err, GNN_ENOENT, "--accepted %s: no such file; --accept REASON makes it", path);
    r->accepted = json_array();
    return r->accepted != NULL ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "a list");
}

/* Writes the accepted changes into a file whose other contents, if it has any, stay. */
static enum gnn_status keep_beside(const char *path, const json_t *accepted, struct gnn_err *err)
{
    struct gnn_facts facts = {.count = 0};
    json_t *before = NULL;
    enum gnn_status status = access(path, F_OK) == 0 ? gnn_baseline_read(path, &facts, &before, err) : GNN_OK;
    GNN_NEXT(status, gnn_baseline_write(path, &facts, accepted, err));
    gnn_facts_clear(&facts);
    json_decref(before);
    return status;
}

/* Writes the reason where it is kept. A baseline gets HEAD's values with it: the next comparison begins from there. */
static enum gnn_status keep_reason(struct request *r, struct gnn_err *err)
{
    struct gnn_facts *const head = &r->head.facts;
    if (r->config.accept[0] == '\0' || gnn_changes_red(&r->changes) == 0)
        return GNN_OK;
    GNN_TRY(
        gnn_changes_accept(&r->changes, r->accepted, r->config.accept, r->base.facts.revision, head->revision, err));
    if (r->config.accepted[0] != '\0')
        return keep_beside(r->config.accepted, r->accepted, err);
    struct gnn_facts next = *head;
    if (next.instructions.count == 0) /* not counted this time: those of BASE stay */
        next.instructions = r->base.facts.instructions;
    return gnn_baseline_write(r->base.path, &next, r->accepted, err);
}

/* ---- telling ---- */

static enum gnn_status tell(const struct request *r, struct gnn_err *err)
{
    const struct compare_config *const c = &r->config;
    gnn_changes_print(&r->changes, &r->base.facts, &r->head.facts, c->markdown, c->rows, stdout);
    if (c->summary[0] == '\0')
        return GNN_OK;
    FILE *const out = fopen(c->summary, "ae");
    if (out == NULL)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO),
                        "--summary %s: %s; name a file in a folder you may write", c->summary, strerror(errno));
    gnn_changes_print(&r->changes, &r->base.facts, &r->head.facts, true, c->rows, out);
    const bool failed = ferror(out) != 0;
    return fclose(out) == 0 && !failed
               ? GNN_OK
               : gnn_fail(err, GNN_EIO, "--summary %s: cannot be written; is the disk full?", c->summary);
}

static enum gnn_status check(const struct request *r, struct gnn_err *err)
{
    const struct compare_config *const c = &r->config;
    if (!c->exact && !c->instructions && !c->time)
        return gnn_fail(err, GNN_EUSAGE, "compare: --no-exact and --no-instructions leave nothing; add --time");
    GNN_TRY(check_required(r, false, err));
    if (c->samples[0] != '\0' && !c->time)
        return gnn_fail(err, GNN_EUSAGE, "--samples %s: there are samples of measured times alone; add --time",
                        c->samples);
    if (c->time && !are_builds(r))
        return gnn_fail(
            err, GNN_EUSAGE,
            "--time: times are judged from interleaved runs of two builds alone; name two programs as BASE and "
            "HEAD");
    if (c->accept[0] != '\0' && c->accepted[0] == '\0' && r->base.kind != GNN_OPERAND_BASELINE)
        return gnn_fail(err, GNN_EUSAGE,
                        "--accept: %s is no baseline file that could keep the reason; name one: --accepted FILE",
                        r->base.path);
    return GNN_OK;
}

/* Fails before any run, not after all of them. */
static enum gnn_status check_outputs(const struct compare_config *c, struct gnn_err *err)
{
    if (c->summary[0] != '\0')
        GNN_TRY(gnn_cli_check_out_file("--summary", c->summary, err));
    if (c->samples[0] != '\0')
        GNN_TRY(gnn_cli_check_out_file("--samples", c->samples, err));
    return c->accepted[0] != '\0' && c->accept[0] != '\0' ? gnn_cli_check_out_file("--accepted", c->accepted, err)
                                                          : GNN_OK;
}

static enum gnn_status compare(struct request *r, const char *dir, struct gnn_err *err)
{
    GNN_TRY(gnn_operand_open("BASE", r->paths[0], &r->base, err));
    GNN_TRY(gnn_operand_open("HEAD", r->paths[1], &r->head, err));
    GNN_TRY(check(r, err));
    GNN_TRY(check_outputs(&r->config, err));
    if (r->base.kind == GNN_OPERAND_BUILD || r->head.kind == GNN_OPERAND_BUILD)
        GNN_TRY(gnn_gate_jobs(r->config.jobs, &r->jobs, err));
    GNN_TRY(read_accepted(r, err));
    GNN_TRY(compare_exact(r, dir, err));
    GNN_TRY(compare_time(r, dir, err));
    if (r->accepted != NULL)
        gnn_changes_accept_known(&r->changes, r->accepted, 0.01 * r->config.tolerance_pct);
    const enum gnn_status required = check_required(r, true, err);
    if (required == GNN_OK)
        GNN_TRY(keep_reason(r, err));
    const enum gnn_status told = tell(r, err);
    return required == GNN_OK ? told : required;
}

int gnn_cmd_compare(int argc, char **argv)
{
    static const struct gnn_command_line line = {
        .usage =
            "usage: oocgnn compare BASE HEAD [OPTION...]\n\n"
            "BASE and HEAD are builds (programs), databases of runs, or baseline files of `oocgnn baseline`. Exit\n"
            "status 3 means that something got worse. Times are compared between two builds only, over many runs.\n\n",
        .table = compare_table,
        .word = take_word};
    struct gnn_err err = {0};
    struct request r = {.path_count = 0};
    char dir[1024];
    int exit_status;
    if (!gnn_args_parse(&line, argc, argv, &r.config, &r, &exit_status))
        return exit_status;
    if (r.path_count < 2) {
        (void)gnn_fail(&err, GNN_EUSAGE, "compare: expected BASE and HEAD; see `oocgnn compare --help`");
        return gnn_cli_failed(&err);
    }
    (void)gnn_cli_stop_on_signals(); /* what runs then ends as interrupted, and that ends the comparison */
    enum gnn_status status = gnn_work_dir_make(dir, sizeof dir, &err);
    if (status == GNN_OK) {
        status = compare(&r, dir, &err);
        gnn_work_dir_remove(dir);
    }
    const bool red = gnn_changes_red(&r.changes) > 0;
    gnn_operand_close(&r.base);
    gnn_operand_close(&r.head);
    gnn_changes_clear(&r.changes);
    json_decref(r.accepted);
    if (status != GNN_OK)
        return gnn_cli_failed(&err);
    return red ? GNN_EXIT_REGRESSION : GNN_EXIT_OK;
}
