/* SPDX-License-Identifier: MIT */
/* oocgnn export: a dataset, or its mini-batches, as NumPy arrays. */
#include "harness/base/log.h"
#include "harness/base/plain_text.h"
#include "harness/base/units.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/help.h"
#include "harness/export/export.h"
#include "harness/run/config.h"
#include "harness/world/measured/measured.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPTIONS_MAX = 16 };

/* Which of the two a given option is for. */
enum option_kind { FOR_BOTH, FOR_ARRAYS, FOR_BATCHES, OPTION_KINDS };

/* The dataset and the mini-batches are stated as for a run; its other fields are not used. */
struct export_config {
    struct gnn_run_config run;
    char out_dir[GNN_TEXT_MAX];
    enum gnn_export_format format;
    uint32_t batches, epoch;
};

_Static_assert(offsetof(struct export_config, run) == 0, "options of a run find their fields");

#define OPTION(...) GNN_OPTION(export_config, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option own_table[] = {
    OPTION("out", TEXT, out_dir, "", .unit = "DIR", .help = "New folder for the arrays"),
    OPTION("format", CHOICE, format, "npy", .choices = gnn_export_formats,
           .help = "Form of the edges: npy, pairs in edge_index.npy; csc, neighbour lists in indptr.npy and "
                   "indices.npy"),
    OPTION("batches", U32, batches, "0",
           .help = "Write the first N mini-batches of an epoch instead of the dataset; a number above that of the "
                   "epoch writes all; 0 = the dataset"),
    OPTION("epoch", U32, epoch, "0", .help = "Epoch of the mini-batches, with --batches; a run's first one is 0"),
    OPTION("seed", U64, run.seed, "1", .help = "Seed of the mini-batches, with --batches"),
    OPTION("dim", U32, run.dim, "0", .unit = "floats", .max = GNN_DIM_MAX,
           .help = "Feature width; 0 = the first one that is prepared"),
    OPTION("feature-type", CHOICE, run.feature_type, "f32", .choices = gnn_feature_type_words,
           .help = "Number format of the features; without it, that of the first features that are prepared"),
    {.name = NULL},
};
/* clang-format on */

/* Options of `oocgnn run`. */
static const char *const of_run[] = {"data", "scale", "fanout", "batch", "floyd-biased", "quiet"};
enum { OF_RUN = sizeof of_run / sizeof of_run[0] };

struct request {
    struct export_config config;
    struct gnn_option table[OPTIONS_MAX];
    enum gnn_help help;
    bool named, has_type;
    char given[OPTION_KINDS][GNN_NAME_MAX]; /* the last option of each kind; "" for none */
    char dir[GNN_TEXT_MAX * 2];             /* of the dataset */
};

static void make_table(struct gnn_option table[OPTIONS_MAX])
{
    uint32_t count = sizeof own_table / sizeof *own_table - 1;
    _Static_assert(OF_RUN + sizeof own_table / sizeof *own_table <= OPTIONS_MAX, "the table has room");
    memcpy(table, own_table, sizeof own_table);
    for (uint32_t i = 0; i < OF_RUN; i++)
        for (const struct gnn_option *o = gnn_run_options; o->name != NULL; o++)
            if (strcmp(o->name, of_run[i]) == 0) {
                table[count] = *o;
                table[count++].group = NULL;
            }
    assert(count == OF_RUN + sizeof own_table / sizeof *own_table - 1);
    table[count] = (struct gnn_option){.name = NULL};
}

/* ---- the command line ---- */

static enum option_kind kind_of(const char *name)
{
    static const struct {
        const char *name;
        enum option_kind kind;
    } kinds[] = {{"format", FOR_ARRAYS}, {"dim", FOR_ARRAYS},          {"feature-type", FOR_ARRAYS},
                 {"epoch", FOR_BATCHES}, {"seed", FOR_BATCHES},        {"fanout", FOR_BATCHES},
                 {"batch", FOR_BATCHES}, {"floyd-biased", FOR_BATCHES}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name + (strncmp(name, "no-", 3) == 0 ? 3 : 0), kinds[i].name) == 0)
            return kinds[i].kind;
    return FOR_BOTH;
}

static enum gnn_status take_option(struct gnn_args *args, struct request *r, struct gnn_err *err)
{
    const struct gnn_option *const tables[] = {r->table, NULL};
    char name[GNN_NAME_MAX];
    bool known;
    if (strcmp(args->name, "help") == 0)
        return gnn_help_kind(args->value, &r->help, err);
    (void)snprintf(name, sizeof name, "%s", args->name);
    for (char *at = name; (at = strchr(at, '_')) != NULL;)
        *at = '-';
    r->has_type = r->has_type || strcmp(name, "feature-type") == 0;
    (void)snprintf(r->given[kind_of(name)], GNN_NAME_MAX, "%s", name);
    GNN_TRY(gnn_args_set(args, r->table, &r->config, &known, err));
    return known ? GNN_OK : gnn_args_unknown(args, "export", tables, err);
}

static enum gnn_status take_word(struct request *r, const char *word, struct gnn_err *err)
{
    char *const dataset = r->config.run.dataset;
    if (r->named)
        return gnn_fail(err, GNN_EUSAGE, "export: one dataset at a time, got \"%s\" and \"%s\"", dataset, word);
    if (strlen(word) >= GNN_TEXT_MAX)
        return gnn_fail(err, GNN_EUSAGE, "export: the path of the dataset has %zu bytes, at most %d are possible",
                        strlen(word), GNN_TEXT_MAX - 1);
    (void)snprintf(dataset, GNN_TEXT_MAX, "%s", word);
    r->named = true;
    return GNN_OK;
}

static enum gnn_status check_together(const struct request *r, struct gnn_err *err)
{
    const bool batches = r->config.batches > 0;
    if (!r->named)
        return gnn_fail(err, GNN_EUSAGE,
                        "export: which dataset? Name one in --data, such as papers100m with --scale 1/100, or a "
                        "directory");
    if (r->config.out_dir[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE, "export: where to? Name a new folder with --out DIR");
    if (!batches && r->given[FOR_BATCHES][0] != '\0')
        return gnn_fail(err, GNN_EUSAGE, "export: --%s is for mini-batches; state how many with --batches N",
                        r->given[FOR_BATCHES]);
    if (batches && r->given[FOR_ARRAYS][0] != '\0')
        return gnn_fail(err, GNN_EUSAGE, "export: --%s is for the dataset; mini-batches have one form and no features",
                        r->given[FOR_ARRAYS]);
    if (r->config.run.seed > INT64_MAX)
        return gnn_fail(err, GNN_EUSAGE, "--seed %" PRIu64 ": at most %" PRId64, r->config.run.seed, INT64_MAX);
    return GNN_OK;
}

static enum gnn_status parse(int argc, char **argv, struct request *r, struct gnn_err *err)
{
    struct gnn_args args = {.argc = argc, .argv = argv, .at = 1};
    make_table(r->table);
    gnn_run_config_defaults(&r->config.run);
    gnn_option_defaults(r->table, &r->config);
    while (gnn_args_next(&args))
        GNN_TRY(args.name[0] != '\0' ? take_option(&args, r, err) : take_word(r, args.value, err));
    return r->help != GNN_HELP_NONE ? GNN_OK : check_together(r, err);
}

/* ---- the work ---- */

static enum gnn_status find_dataset(struct request *r, struct gnn_err *err)
{
    char meta[sizeof r->dir + 8];
    gnn_run_dataset_dir(&r->config.run, r->dir, sizeof r->dir);
    (void)snprintf(meta, sizeof meta, "%s/meta", r->dir);
    return access(meta, F_OK) == 0 ? GNN_OK : gnn_run_dataset_missing(&r->config.run, r->dir, err);
}

static enum gnn_status export_arrays(const struct request *r, const struct gnn_prepare_job *job, struct gnn_err *err)
{
    const struct gnn_export_config config = {.dir = r->dir,
                                             .format = r->config.format,
                                             .dim = r->config.run.dim,
                                             .has_type = r->has_type,
                                             .feature_type = r->config.run.feature_type};
    struct gnn_export_result result;
    char bytes[32], word[GNN_TEXT_MAX];
    GNN_TRY(gnn_export_dataset(&config, job, &result, err));
    gnn_log_info("%s of arrays, digest %s; `oocgnn prepare NAME --from %s` imports them with this digest",
                 gnn_format_bytes(result.bytes, bytes, sizeof bytes), result.digest,
                 gnn_shell_word(job->out_dir, word, sizeof word));
    return GNN_OK;
}

static enum gnn_status export_batches(const struct request *r, const struct gnn_prepare_job *job, struct gnn_err *err)
{
    const struct gnn_run_config *const run = &r->config.run;
    const struct gnn_export_batches_config config = {.dir = r->dir,
                                                     .seed = run->seed,
                                                     .epoch = r->config.epoch,
                                                     .batch_size = run->batch_size,
                                                     .batches = r->config.batches,
                                                     .fanout = run->fanout,
                                                     .floyd_biased = run->floyd_biased};
    struct gnn_export_batches_result result;
    struct gnn_world *world;
    GNN_TRY(gnn_world_measured_open(&(struct gnn_measured_config){.memory_limit_bytes = 0}, &world, err));
    const enum gnn_status status = gnn_export_batches(world, &config, job, &result, err);
    gnn_world_measured_close(world);
    if (status == GNN_OK)
        gnn_log_info("%" PRIu32 " of %" PRIu32 " mini-batches of epoch %" PRIu32 " with %" PRIu64 " nodes and %" PRIu64
                     " edges, batch digest %016" PRIx64,
                     result.batches, result.epoch_batches, config.epoch, result.nodes, result.edges, result.digest);
    return status;
}

static enum gnn_status run(struct request *r, struct gnn_err *err)
{
    const struct gnn_prepare_job job = {.out_dir = r->config.out_dir,
                                        .progress = r->config.run.quiet ? NULL : gnn_progress_terminal,
                                        .progress_ctx = stderr,
                                        .stop = gnn_cli_stop_on_signals()};
    GNN_TRY(find_dataset(r, err));
    GNN_TRY(r->config.batches > 0 ? export_batches(r, &job, err) : export_arrays(r, &job, err));
    (void)printf("%s\n", job.out_dir);
    return GNN_OK;
}

int gnn_cmd_export(int argc, char **argv)
{
    static const char usage[] =
        "usage: oocgnn export DATASET|DIR --out DIR [--format npy|csc] [OPTION...]        write the dataset\n"
        "       oocgnn export DATASET|DIR --out DIR --batches N [--seed S] [OPTION...]   write mini-batches\n\n"
        "`oocgnn prepare NAME --from DIR` imports an exported dataset; it has the digest of the original. The\n"
        "mini-batches are those that every exact system trains with the same options. docs/export.md has the "
        "files.\n\n";
    struct gnn_err err = {0};
    struct request *const r = calloc(1, sizeof *r);
    int exit_status = GNN_EXIT_OK;
    if (r == NULL) {
        (void)gnn_fail(&err, GNN_ENOMEM, "a request");
        return gnn_cli_failed(&err);
    }
    if (parse(argc, argv, r, &err) != GNN_OK || (r->help == GNN_HELP_NONE && run(r, &err) != GNN_OK))
        exit_status = gnn_cli_failed(&err);
    const struct gnn_help_page page = {.usage = usage, .parts = {{NULL, r->table}}};
    if (exit_status == GNN_EXIT_OK && r->help != GNN_HELP_NONE)
        gnn_help_print("export", &page, r->help, stdout);
    free(r);
    return exit_status;
}
