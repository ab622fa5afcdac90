/* SPDX-License-Identifier: MIT */
/* oocgnn sweep: every cell of a job file (harness/run/sweep/job_file.h). */
#include "harness/base/units.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/plan_fit.h"
#include "harness/cli/sweep_run.h"
#include "harness/run/sweep/dataset.h"
#include "harness/run/sweep/lookup.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sweep_config {
    char db[GNN_TEXT_MAX], data_dir[GNN_TEXT_MAX];
    bool dry_run, resume, any_build, json, keep_going, prepare;
    uint32_t repeat, jobs, cell;
};

/* What stands for "not given": an empty name is one that was given. */
#define IN_JOB_FILE "as in the job file"

#define OPTION(...) GNN_OPTION(sweep_config, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option sweep_table[] = {
    OPTION("db", TEXT, db, IN_JOB_FILE, .unit = "FILE", .help = "Database of all runs; wins over the job file"),
    OPTION("data", TEXT, data_dir, IN_JOB_FILE, .unit = "DIR",
           .help = "Directory of the datasets; wins over the job file"),
    OPTION("dry-run", BOOL, dry_run, "no",
           .help = "Check every configuration, its dataset and its memory plan. Print the commands, and estimate time "
                   "and disk space from earlier runs."),
    OPTION("resume", BOOL, resume, "no",
           .help = "Skip configurations with a recorded result (ok, oom, gpu_oom or timeout) of the same build, "
                   "profile, options and parameters"),
    OPTION("any-build", BOOL, any_build, "no",
           .help = "Also skip configurations with a result of another build or calibration, with --resume"),
    OPTION("json", BOOL, json, "no", .help = "Print one JSON object for each run"),
    OPTION("keep-going", BOOL, keep_going, "yes", .help = "Continue after a failed run"),
    OPTION("prepare", BOOL, prepare, "yes", .help = "Generate the registry datasets that the runs need"),
    OPTION("repeat", U32, repeat, "1", .min = 1, .max = 1000, .unit = "TIMES",
           .help = "Rounds over all configurations. The systems of one workload run one after the other, and each "
                   "round changes their order."),
    OPTION("jobs", U32, jobs, "1", .min = 1, .max = GNN_SWEEP_JOBS_MAX, .unit = "RUNS",
           .help = "Simulated runs at a time, each in a process of its own; measured runs have the machine alone"),
    OPTION("cell", U32, cell, "0", .unit = "NUMBER", .help = "Run only this configuration of the plan; 0 = all"),
    {.name = NULL},
};
/* clang-format on */

struct sweep_request {
    struct sweep_config config;
    const char *job_file;
    struct gnn_command_words words;
};

/* ---- the plan ---- */

static void print_cell(uint32_t number, const struct gnn_job_cell *cell)
{
    char value[GNN_TEXT_MAX], def[GNN_TEXT_MAX];
    const struct gnn_run_config *const c = &cell->config;
    struct gnn_run_config plain;
    gnn_run_config_defaults(&plain);
    (void)printf("configuration %u [%s]: oocgnn run", number, cell->section);
    for (const struct gnn_option *o = gnn_run_options; o->name != NULL; o++) {
        gnn_option_format(o, c, value, sizeof value);
        gnn_option_format(o, &plain, def, sizeof def);
        if (strcmp(value, def) != 0)
            (void)printf(" --%s=%s", o->name, value);
    }
    for (uint32_t k = 0; k < c->set_count; k++)
        (void)printf(" --set %s", c->sets[k]);
    if (cell->search.option[0] != '\0')
        (void)printf(" # and other runs: searches %s", cell->search.option);
}

/* Of all cells that are planned. */
struct estimate {
    uint64_t known_ns, dataset_bytes, prepared_bytes;
    uint32_t unknown; /* cells of which nothing is known */
    uint32_t unfit;   /* cells that run out of memory by their plans */
};

/* Whether a cell before this one reads the same dataset at the same widths: it is made once. */
static bool dataset_counted(const struct gnn_job *job, uint32_t cell)
{
    const struct gnn_run_config *const mine = &job->cells[cell].config;
    for (uint32_t i = 0; i < cell; i++) {
        const struct gnn_run_config *const other = &job->cells[i].config;
        if (other->scale_divisor == mine->scale_divisor && gnn_run_dim(other) == gnn_run_dim(mine) &&
            other->id_width == mine->id_width && other->feature_type == mine->feature_type &&
            strcmp(other->dataset, mine->dataset) == 0 && strcmp(other->data_dir, mine->data_dir) == 0)
            return true;
    }
    return false;
}

/* Prints what the cell will take behind its line. An estimate is no reason to fail: what cannot be found is unknown. */
static void estimate_cell(const struct gnn_job *job, uint32_t cell, uint32_t repeat, struct estimate *total)
{
    char text[64];
    struct gnn_err ignored = {0};
    struct gnn_run_cost cost = {.host_ns = GNN_UNKNOWN};
    uint64_t bytes = 0;
    const struct gnn_run_config *const config = &job->cells[cell].config;
    (void)!gnn_sweep_cost(config, &cost, &ignored);
    if (!dataset_counted(job, cell) && gnn_sweep_dataset_missing(config, &bytes, &ignored) == GNN_OK)
        total->dataset_bytes += bytes;
    total->prepared_bytes += cost.disk_bytes;
    if (cost.host_ns == GNN_UNKNOWN) {
        total->unknown++;
        return;
    }
    total->known_ns += repeat * cost.host_ns;
    (void)printf(" # about %s: median of %u %s%s", gnn_format_duration(cost.host_ns, text, sizeof text), cost.runs,
                 cost.same ? "such run" : "like run", cost.runs == 1 ? "" : "s");
}

/* This process holds up to so much more than the worker of a measured run, whose need is then overestimated. */
static const uint64_t own_memory_margin_bytes = UINT64_C(2) << 20;

/* Prints why the cell will run out of memory, below its line. */
static void check_fit(const struct gnn_run_config *config, struct estimate *total)
{
    struct gnn_run_need need;
    const uint64_t margin_bytes = config->world == GNN_WORLD_MEASURED ? own_memory_margin_bytes : 0;
    if (config->memory_bytes == 0 || !gnn_plan_is_quick(gnn_plan_nodes(config, config->scale_divisor)))
        return;
    (void)gnn_plan_share(config, &need);
    const bool is_close = need.bytes > config->memory_bytes && need.bytes - config->memory_bytes < margin_bytes;
    if (need.reason[0] == '\0' || is_close)
        return;
    (void)printf("    out of memory by its plan: %s\n", need.reason);
    total->unfit++;
}

static void print_plan(const struct gnn_job *job, const struct sweep_config *config)
{
    char time[64], disk[64], prepared[64];
    struct estimate total = {0};
    uint32_t cells = 0;
    for (uint32_t i = 0; i < job->count; i++) {
        if (config->cell != 0 && config->cell != i + 1)
            continue;
        cells++;
        print_cell(i + 1, &job->cells[i]);
        estimate_cell(job, i, config->repeat, &total);
        (void)putchar('\n');
        if (job->cells[i].search.values[0] == '\0') /* else it has another value than those that run */
            check_fit(&job->cells[i].config, &total);
    }
    (void)printf("%u configuration%s, %u run%s\n", cells, cells == 1 ? "" : "s", cells * config->repeat,
                 cells * config->repeat == 1 ? "" : "s");
    if (total.unfit > 0)
        (void)printf("memory: %u configuration%s will run out of memory\n", total.unfit, total.unfit == 1 ? "" : "s");
    if (total.unknown == cells)
        (void)printf("time: unknown, no such run in the database\n");
    else
        (void)printf("time: about %s of this machine%s\n",
                     gnn_format_duration(total.known_ns / config->jobs, time, sizeof time),
                     total.unknown > 0 ? ", without the configurations that no earlier run resembles" : "");
    (void)printf("disk: %s for datasets to prepare, %s of systems' own files at most\n",
                 gnn_format_bytes(total.dataset_bytes, disk, sizeof disk),
                 gnn_format_bytes(total.prepared_bytes, prepared, sizeof prepared));
}

/* ---- the command ---- */

static enum gnn_status open_job(const struct sweep_request *s, struct gnn_job **job, struct gnn_err *err)
{
    struct gnn_kv_list overrides = {0};
    const struct gnn_job_options options = {.overrides = &overrides};
    enum gnn_status status = GNN_OK;
    if (s->job_file == NULL)
        return gnn_fail(err, GNN_EUSAGE, "sweep: which job file? workloads/smoke.ini is one");
    GNN_TRY(gnn_cli_check_file("job file", s->job_file, "name one that is there: workloads/smoke.ini is one", err));
    if (strcmp(s->config.db, IN_JOB_FILE) != 0)
        status = gnn_kv_set(&overrides, "db", s->config.db, err);
    if (strcmp(s->config.data_dir, IN_JOB_FILE) != 0)
        GNN_NEXT(status, gnn_kv_set(&overrides, "data", s->config.data_dir, err));
    GNN_NEXT(status, gnn_job_open(s->job_file, &options, job, err));
    gnn_kv_clear(&overrides);
    if (status == GNN_OK && s->config.cell > (*job)->count)
        return gnn_fail(err, GNN_EUSAGE, "--cell %u: %s has %u configurations", s->config.cell, s->job_file,
                        (*job)->count);
    return status;
}

/* Fails before the first run if the dataset of a run is neither there nor can be generated. */
static enum gnn_status check_datasets(const struct gnn_job *job, const struct sweep_config *config, struct gnn_err *err)
{
    for (uint32_t i = 0; i < job->count; i++) {
        const struct gnn_job_cell *const cell = &job->cells[i];
        struct gnn_search_state state;
        struct gnn_err cause = {0};
        uint32_t done = 0;
        if (config->cell != 0 && config->cell != i + 1)
            continue;
        if (config->resume &&
            gnn_search_look_up(&cell->search, &cell->config, config->any_build, &state, &cause) == GNN_OK &&
            gnn_sweep_find(&state.config, config->any_build, 0, NULL, &done, &cause) == GNN_OK &&
            done >= config->repeat)
            continue;
        const enum gnn_status status = gnn_sweep_dataset_check(&cell->config, config->prepare, &cause);
        if (status != GNN_OK)
            return gnn_fail(err, status, "%s: %s", cell->dataset_at[0] != '\0' ? cell->dataset_at : cell->section,
                            cause.message);
    }
    return GNN_OK;
}

static enum gnn_status take_job_file(void *ctx, const char *word, struct gnn_err *err)
{
    struct sweep_request *const s = ctx;
    if (s->job_file != NULL)
        return gnn_fail(err, GNN_EUSAGE, "sweep: one job file at a time, got \"%s\" and \"%s\"", s->job_file, word);
    s->job_file = word;
    return GNN_OK;
}

static int run_job(const struct gnn_job *job, const struct sweep_request *s)
{
    const struct sweep_config *const config = &s->config;
    const struct gnn_sweep_settings settings = {.repeat = config->repeat,
                                                .jobs = config->jobs,
                                                .only = config->cell,
                                                .resume = config->resume,
                                                .any_build = config->any_build,
                                                .json = config->json,
                                                .keep_going = config->keep_going,
                                                .prepare = config->prepare,
                                                .words = s->words,
                                                .more = config->resume ? NULL : "--resume"};
    if (!config->dry_run)
        return gnn_sweep_run(job, &settings, NULL);
    print_plan(job, config);
    return GNN_EXIT_OK;
}

int gnn_cmd_sweep(int argc, char **argv)
{
    static const struct gnn_command_line line = {
        .usage = "usage: oocgnn sweep JOBFILE [OPTION...]\n\n",
        .notes =
            "\nA job file is INI: first [global], then one section for each case. Keys are options of `oocgnn run` or\n"
            "system.key. Several values make a grid: `a | b`, `a, b`, `1..8`, `8G..128G*2`, `10..50+20`.\n"
            "`memory = least 4M..1G` searches the least memory limit under which a run ends ok, and\n"
            "`first_of = KEY: 16, 8, 4` the first value that does not run out of memory.\n"
            "`include = FILE` reads the [global] of another file; in [global], also the other file's cases.\n",
        .table = sweep_table,
        .word = take_job_file};
    struct gnn_err err = {0};
    struct sweep_request s = {.words = {argc, argv}};
    struct gnn_job *job = NULL;
    int exit_status;
    if (!gnn_args_parse(&line, argc, argv, &s.config, &s, &exit_status))
        return exit_status;
    enum gnn_status status = open_job(&s, &job, &err);
    GNN_NEXT(status, check_datasets(job, &s.config, &err));
    exit_status = status == GNN_OK ? run_job(job, &s) : gnn_cli_failed(&err);
    gnn_job_close(job);
    return exit_status;
}
