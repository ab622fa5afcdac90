/* SPDX-License-Identifier: MIT */
/* oocgnn prepare: generate a registry dataset, import one, or check what is there. */
#include "harness/base/data_dirs.h"
#include "harness/base/log.h"
#include "harness/base/units.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/help.h"
#include "harness/dataset/exported.h"
#include "harness/dataset/missing.h"
#include "harness/dataset/prepare.h"
#include "harness/dataset/published.h"
#include "harness/dataset/recipe_file.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The command's own options; those of generating and importing are in their tables. */
struct prepare_config {
    char data_dir[GNN_TEXT_MAX], out_dir[GNN_TEXT_MAX], from[GNN_TEXT_MAX], split[GNN_TEXT_MAX], recipe[GNN_TEXT_MAX];
    char edges[GNN_TEXT_MAX], features[GNN_TEXT_MAX], labels[GNN_TEXT_MAX];
    uint64_t raw_rows;
    uint32_t format, scale_divisor, raw_dim, labelled;
    bool split_by_id, check, quick, add_checksums, quiet;
};

enum { GIVEN_MAX = 48 };

#define OPTION(...) GNN_OPTION(prepare_config, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option prepare_table[] = {
    OPTION("data", TEXT, data_dir, "data", .unit = "DIR", .help = "Directory of the prepared datasets"),
    OPTION("out", TEXT, out_dir, "", .unit = "DIR",
           .help = "Write the dataset to this directory instead of below --data"),
    OPTION("scale", SCALE, scale_divisor, "1/1", .unit = "1/K", .help = "Scale of the generated dataset"),
    OPTION("recipe", TEXT, recipe, "", .unit = "FILE",
           .help = "Generate by this recipe (`oocgnn stats --recipe-from` writes one). Values of the recipe win "
                   "over options."),
    OPTION("from", TEXT, from, "", .unit = "DIR|FILE", .help = "Directory or file to import"),
    OPTION("format", CHOICE, format, "ogb", .choices = gnn_import_formats,
           .help = "Format of the input: NumPy directory, SNAP edge list, or triples of a knowledge graph"),
    OPTION("split", TEXT, split, "", .unit = "SUBDIR|FILE",
           .help = "Subdirectory of --from that holds the splits, or a dictionary of torch.save"),
    OPTION("split-by-id", BOOL, split_by_id, "no",
           .help = "Assign splits in the order of the IDs: the first share of the nodes trains, the next ones validate "
                   "and test"),
    OPTION("edges", TEXT, edges, "", .unit = "FILE|DIR",
           .help = "Edges of an import from arrays, if they have another name or another directory. A path, or a path "
                   "below --from."),
    OPTION("features", TEXT, features, "", .unit = "FILE",
           .help = "Features of an import from arrays, likewise; none = ignore them"),
    OPTION("labels", TEXT, labels, "", .unit = "FILE",
           .help = "Labels of an import from arrays, likewise; none = ignore them"),
    OPTION("labelled", U32, labelled, "0", .unit = "nodes", .min = 0, .max = GNN_NODE_NONE - 1,
           .help = "Only the first nodes have labels, this many; 0 = all"),
    OPTION("raw-rows", U64, raw_rows, "0", .unit = "rows", .min = 0, .max = GNN_NODE_NONE - 1,
           .help = "Rows of features and labels without a NumPy header; 0 = from the size of the file"),
    OPTION("raw-dim", U32, raw_dim, "0", .unit = "floats", .min = 0, .max = GNN_DIM_MAX,
           .help = "Width of features without a NumPy header, which hold float32 (IGB-large, IGB260M); 0 = every file "
                   "has one"),
    OPTION("check", BOOL, check, "no",
           .help = "Verify checksums and invariants of the named dataset; change nothing"),
    OPTION("quick", BOOL, quick, "no", .help = "Check only meta and file sizes, with --check"),
    OPTION("add-checksums", BOOL, add_checksums, "no",
           .help = "Add checksums of blocks to the named dataset, which an earlier build prepared without them"),
    OPTION("quiet", BOOL, quiet, "no", .help = "Print no progress"),
    {.name = NULL},
};
/* clang-format on */

struct request {
    struct prepare_config config;
    struct gnn_generate_options generate;
    struct gnn_import_options import;
    const char *name; /* the word on the command line, or NULL; "NAME-real" of a published dataset */
    const struct gnn_published *published; /* whose layout the import has; NULL: the user states it */
    bool format_given, given[GIVEN_MAX];   /* options of gnn_import_table, by index */
    char real_name[GNN_NAME_MAX], download[GNN_PUBLISHED_PATH];
    enum gnn_help help;
    char for_import[GNN_NAME_MAX], for_generate[GNN_NAME_MAX]; /* the last option that only one of them knows */
    bool seed_given, id_bytes_given, type_given;
    char out_dir[GNN_TEXT_MAX * 2];
};

static bool is_of_import(const char *name)
{
    static const char *const names[] = {"format", "split",    "split-by-id", "edges",   "features",
                                        "labels", "labelled", "raw-rows",    "raw-dim", NULL};
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static const char *if_given(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

/* Returns the place of an option in the table of imports, or the size of `given` for any other. */
static size_t import_option(const char *name)
{
    char underlined[GNN_NAME_MAX];
    (void)snprintf(underlined, sizeof underlined, "%s", name);
    for (char *at = underlined; (at = strchr(at, '-')) != NULL;)
        *at = '_';
    for (size_t i = 0; gnn_import_table[i].name != NULL; i++)
        if (strcmp(gnn_import_table[i].name, underlined) == 0 && i < GIVEN_MAX)
            return i;
    return GIVEN_MAX;
}

static void note_given(struct request *r, const char *name)
{
    const size_t option = import_option(name);
    if (option < GIVEN_MAX)
        r->given[option] = true;
}

static enum gnn_status take_option(struct gnn_args *args, struct request *r, struct gnn_err *err)
{
    static const struct gnn_option *const tables[] = {prepare_table, gnn_generate_table, gnn_import_table, NULL};
    if (strcmp(args->name, "help") == 0)
        return gnn_help_kind(args->value, &r->help, err);
    bool known, imports;
    GNN_TRY(gnn_args_set(args, prepare_table, &r->config, &known, err));
    if (known) {
        r->format_given = r->format_given || strcmp(args->name, "format") == 0;
        if (is_of_import(args->name))
            (void)snprintf(r->for_import, sizeof r->for_import, "%s", args->name);
        if (strcmp(args->name, "scale") == 0 || strcmp(args->name, "recipe") == 0)
            (void)snprintf(r->for_generate, sizeof r->for_generate, "%s", args->name);
        return GNN_OK;
    }
    /* seed, dim, id_bytes and feature_type mean the same to both: each table takes the option from where it stood. */
    struct gnn_args same = *args;
    r->seed_given = r->seed_given || strcmp(args->name, "seed") == 0;
    r->id_bytes_given = r->id_bytes_given || strcmp(args->name, "id-bytes") == 0;
    r->type_given = r->type_given || strcmp(args->name, "feature-type") == 0;
    GNN_TRY(gnn_args_set(args, gnn_generate_table, &r->generate, &known, err));
    GNN_TRY(gnn_args_set(known ? &same : args, gnn_import_table, &r->import, &imports, err));
    note_given(r, args->name);
    if (known != imports)
        (void)snprintf(known ? r->for_generate : r->for_import, GNN_NAME_MAX, "%s", args->name);
    return known || imports ? GNN_OK : gnn_args_unknown(args, "prepare", tables, err);
}

/* Fails where a run that names the dataset would take another one: the registry's, which is generated. */
static enum gnn_status check_import_name(const struct request *r, struct gnn_err *err)
{
    const struct gnn_registry_entry *entry;
    if (r->name == NULL || gnn_registry_find(r->name, &entry, NULL) != GNN_OK)
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE,
                    "prepare: `--dataset %s` means the dataset that is generated by that name; call the import "
                    "something else, %s-real for one, and state its --format",
                    r->name, r->name);
}

/* An option that would change nothing was meant to change something. */
static enum gnn_status check_together(const struct request *r, struct gnn_err *err)
{
    const bool import = r->config.from[0] != '\0';
    if (r->config.quick && !r->config.check)
        return gnn_fail(err, GNN_EUSAGE, "prepare: --quick goes with --check");
    if (r->config.add_checksums && (r->config.check || import || r->config.recipe[0] != '\0'))
        return gnn_fail(err, GNN_EUSAGE,
                        "prepare: --add-checksums changes nothing else: leave out --check, --from and --recipe");
    if (r->for_import[0] != '\0' && !import)
        return gnn_fail(err, GNN_EUSAGE, "prepare: --%s is for imports; name the input with --from", r->for_import);
    if (r->for_generate[0] != '\0' && import)
        return gnn_fail(err, GNN_EUSAGE, "prepare: --%s is for generated datasets; an import takes --from as it is",
                        r->for_generate);
    return import ? check_import_name(r, err) : GNN_OK;
}

/* Whether the word is the directory of a dataset, to which widths are added. */
static bool names_directory(const struct request *r)
{
    const struct prepare_config *const c = &r->config;
    return strchr(r->name, '/') != NULL && c->from[0] == '\0' && c->recipe[0] == '\0' && c->out_dir[0] == '\0';
}

static enum gnn_status no_dataset(const struct request *r, struct gnn_err *err)
{
    const struct gnn_dataset_wanted wanted = {.name = r->name,
                                              .data_dir = r->config.data_dir,
                                              .dir = r->name,
                                              .scale_divisor = r->config.scale_divisor,
                                              .dim = r->generate.dim,
                                              .feature_type = r->generate.feature_type,
                                              .id_bytes = gnn_id_width_bytes(r->generate.id_width)};
    return gnn_dataset_missing(&wanted, err);
}

/* How the dataset was made is in its meta file, not on the command line. */
static enum gnn_status add_widths(const struct request *r, const struct gnn_prepare_job *job, struct gnn_err *err)
{
    char meta[GNN_TEXT_MAX + 8];
    (void)snprintf(meta, sizeof meta, "%s/meta", r->name);
    if (access(meta, F_OK) != 0)
        return no_dataset(r, err);
    const char *const other = r->for_generate[0] != '\0' ? r->for_generate : r->seed_given ? "seed" : "";
    if (other[0] != '\0')
        return gnn_fail(
            err, GNN_EUSAGE,
            "prepare: --%s: the dataset in %s exists already; only --dim, --feature-type and --id-bytes can add to "
            "it",
            other, r->name);
    const struct gnn_added_widths added = {.dim = r->generate.dim,
                                           .has_type = r->type_given,
                                           .feature_type = r->generate.feature_type,
                                           .id_bytes =
                                               r->id_bytes_given ? gnn_id_width_bytes(r->generate.id_width) : 0};
    return gnn_prepare_widths(&added, job, err);
}

/* ---- published and exported datasets ---- */

struct published_options {
    struct request *request;
    char text[256]; /* those that the user did not give, as on the command line */
};

/* What the user gave wins. */
static enum gnn_status set_published(void *ctx, const char *name, const char *value, struct gnn_err *err)
{
    struct published_options *const o = ctx;
    const size_t option = import_option(name), used = strlen(o->text);
    if (option < GIVEN_MAX && o->request->given[option])
        return GNN_OK;
    (void)snprintf(o->text + used, sizeof o->text - used, " --%s%s%s", name, strcmp(value, "yes") == 0 ? "" : " ",
                   strcmp(value, "yes") == 0 ? "" : value);
    for (char *at = o->text + used + 3; *at != '\0' && *at != ' '; at++)
        if (*at == '_')
            *at = '-';
    return gnn_option_set(gnn_import_table, &o->request->import, name, value, err);
}

/* Of a published dataset the format, the file and the options are available. A dataset of the registry's name is
 * generated, so the import gets a name of its own. */
static enum gnn_status use_published(struct request *r, struct gnn_err *err)
{
    const struct gnn_registry_entry *entry;
    struct published_options options = {.request = r};
    if (r->name == NULL || r->config.from[0] == '\0' || r->format_given)
        return GNN_OK;
    const struct gnn_published *const p = gnn_published_find(r->name);
    if (p == NULL)
        return GNN_OK;
    GNN_TRY(gnn_published_locate(p, r->config.from, r->download, err));
    GNN_TRY(gnn_published_options(p, set_published, &options, err));
    r->published = p;
    r->config.format = p->format;
    if (r->config.labels[0] == '\0' && p->labels != NULL)
        (void)snprintf(r->config.labels, sizeof r->config.labels, "%s", p->labels);
    (void)snprintf(r->real_name, sizeof r->real_name, "%.50s%s", r->name,
                   gnn_registry_find(r->name, &entry, NULL) == GNN_OK ? "-real" : "");
    r->name = r->real_name;
    gnn_log_info("%s: %s from %s, with --format %s%s", r->name, p->title, r->download, gnn_import_formats[p->format],
                 options.text);
    return GNN_OK;
}

/* A folder that `oocgnn export` wrote has a file with the format and the options. */
static enum gnn_status use_exported(struct request *r, bool *used, struct gnn_err *err)
{
    struct published_options options = {.request = r};
    enum gnn_import_format format;
    *used = r->name != NULL && r->config.from[0] != '\0' && !r->format_given && gnn_exported_is(r->config.from);
    if (!*used)
        return GNN_OK;
    GNN_TRY(gnn_exported_options(r->config.from, &format, set_published, &options, err));
    r->config.format = format;
    gnn_log_info("%s: exported dataset in %s, with --format %s%s", r->name, r->config.from, gnn_import_formats[format],
                 options.text);
    return GNN_OK;
}

static enum gnn_status parse(int argc, char **argv, struct request *r, struct gnn_err *err)
{
    struct gnn_args args = {.argc = argc, .argv = argv, .at = 1};
    gnn_option_defaults(prepare_table, &r->config);
    gnn_option_defaults(gnn_generate_table, &r->generate);
    gnn_option_defaults(gnn_import_table, &r->import);
    while (gnn_args_next(&args)) {
        if (args.name[0] != '\0')
            GNN_TRY(take_option(&args, r, err));
        else if (r->name == NULL)
            r->name = args.value;
        else
            return gnn_fail(err, GNN_EUSAGE, "prepare: one dataset at a time, got \"%s\" and \"%s\"", r->name,
                            args.value);
    }
    if (r->name == NULL && r->help == GNN_HELP_NONE)
        return gnn_fail(err, GNN_EUSAGE, "prepare: which dataset? `oocgnn list datasets` names those of the registry");
    bool exported;
    GNN_TRY(use_exported(r, &exported, err));
    if (!exported)
        GNN_TRY(use_published(r, err));
    return check_together(r, err);
}

/* Where the dataset is or will be: --out, a directory that was named, data/NAME-1_K, data/NAME-levelsL, or
 * data/NAME for imports. */
static void choose_dir(struct request *r)
{
    const struct gnn_registry_entry *entry;
    assert(r->name != NULL);
    if (r->config.out_dir[0] != '\0')
        (void)snprintf(r->out_dir, sizeof r->out_dir, "%s", r->config.out_dir);
    else if (strchr(r->name, '/') != NULL)
        (void)snprintf(r->out_dir, sizeof r->out_dir, "%s", r->name);
    else if (r->config.from[0] == '\0' && r->generate.levels > 0)
        (void)snprintf(r->out_dir, sizeof r->out_dir, "%s/%s-levels%u", r->config.data_dir, r->name,
                       r->generate.levels);
    else if (r->config.from[0] == '\0' &&
             (r->config.recipe[0] != '\0' || gnn_registry_find(r->name, &entry, NULL) == GNN_OK))
        (void)snprintf(r->out_dir, sizeof r->out_dir, "%s/%s-1_%u", r->config.data_dir, r->name,
                       r->config.scale_divisor);
    else
        (void)snprintf(r->out_dir, sizeof r->out_dir, "%s/%s", r->config.data_dir, r->name);
}

static enum gnn_status make_parent(const struct request *r, struct gnn_err *err)
{
    if (r->config.out_dir[0] != '\0' || gnn_is_dir(r->config.data_dir) || mkdir(r->config.data_dir, 0777) == 0)
        return GNN_OK;
    return gnn_fail(err, errno == EACCES || errno == EPERM || errno == EROFS ? GNN_EPERM : GNN_EUSAGE,
                    "--data %s: cannot be created (%s); name a directory you may write to", r->config.data_dir,
                    strerror(errno));
}

static enum gnn_status prepare_recipe(const struct request *r, const struct gnn_prepare_job *job, struct gnn_err *err)
{
    struct gnn_recipe_file *file;
    GNN_TRY(gnn_recipe_file_open(r->config.recipe, &file, err));
    const enum gnn_status status = gnn_prepare_generate(&file->entry, r->config.scale_divisor, &r->generate, job, err);
    free(file);
    return status;
}

static struct gnn_import_source source_of(const struct request *r)
{
    const struct prepare_config *const c = &r->config;
    struct gnn_import_source source = {.format = (enum gnn_import_format)c->format,
                                       .from = c->from,
                                       .split = if_given(c->split),
                                       .name = r->name,
                                       .edges = if_given(c->edges),
                                       .features = if_given(c->features),
                                       .labels = if_given(c->labels),
                                       .raw_rows = c->raw_rows,
                                       .raw_dim = c->raw_dim,
                                       .labelled = c->labelled,
                                       .split_by_id = c->split_by_id};
    const struct gnn_published *const p = r->published;
    if (p == NULL)
        return source;
    source.from = r->download;
    source.raw_if_needed = c->raw_dim == 0;
    source.raw_dim = c->raw_dim > 0 ? c->raw_dim : p->raw_dim;
    source.labelled = c->labelled > 0 ? c->labelled : p->labelled;
    source.labelled_of = c->labelled > 0 ? 0 : p->labelled_of;
    source.split_by_id = c->split_by_id || (p->split_by_id && source.split == NULL);
    source.title = p->format == GNN_IMPORT_OGB ? p->title : NULL;
    source.has_splits = !p->split_by_id && !r->given[import_option("train_fraction")];
    source.relation = p->relation;
    return source;
}

static enum gnn_status prepare(struct request *r, const atomic_bool *stop, struct gnn_err *err)
{
    gnn_progress_fn *const progress = r->config.quiet ? NULL : gnn_progress_terminal;
    assert(r->config.scale_divisor > 0);
    choose_dir(r);
    if (r->config.check)
        return gnn_prepare_check(r->out_dir, !r->config.quick, progress, stderr, stop, err);
    const struct gnn_prepare_job job = {
        .out_dir = r->out_dir, .progress = progress, .progress_ctx = stderr, .stop = stop};
    if (r->config.add_checksums)
        return gnn_prepare_add_checksums(&job, err);
    if (r->config.recipe[0] != '\0')
        GNN_TRY(gnn_cli_check_recipe(r->config.recipe, err));
    if (names_directory(r))
        return add_widths(r, &job, err);
    GNN_TRY(make_parent(r, err));
    if (r->config.from[0] != '\0') {
        const struct gnn_import_source source = source_of(r);
        return gnn_prepare_import(&source, &r->import, &job, err);
    }
    if (r->config.recipe[0] != '\0')
        return prepare_recipe(r, &job, err);
    const struct gnn_registry_entry *entry;
    GNN_TRY(gnn_registry_find(r->name, &entry, err));
    return gnn_prepare_generate(entry, r->config.scale_divisor, &r->generate, &job, err);
}

static const struct gnn_help_page page = {
    .usage =
        "usage: oocgnn prepare DATASET [--scale 1/K] [--dim D] [--id-bytes 8] [OPTION...]   generate a registry "
        "dataset\n"
        "       oocgnn prepare NAME --recipe FILE [--scale 1/K] [OPTION...]               generate by a recipe\n"
        "       oocgnn prepare NAME --from DIR|FILE --format ogb|snap|triples [OPTION...] import\n"
        "       oocgnn prepare DATASET --from DOWNLOAD [OPTION...]                        import a published dataset\n"
        "       oocgnn prepare DIR [--dim D] [--feature-type f16] [--id-bytes 8]          add a width to a dataset\n"
        "       oocgnn prepare DATASET|DIR --check [--quick]                              verify\n"
        "       oocgnn prepare DATASET|DIR --add-checksums                                add checksums of blocks\n\n",
    .parts = {{NULL, prepare_table}, {"generating", gnn_generate_table}, {"importing", gnn_import_table}}};

int gnn_cmd_prepare(int argc, char **argv)
{
    struct gnn_err err = {0};
    struct request r = {.name = NULL};
    if (parse(argc, argv, &r, &err) != GNN_OK)
        return gnn_cli_failed(&err);
    if (r.help != GNN_HELP_NONE) {
        gnn_help_print("prepare", &page, r.help, stdout);
        return GNN_EXIT_OK;
    }
    if (prepare(&r, gnn_cli_stop_on_signals(), &err) != GNN_OK)
        return gnn_cli_failed(&err);
    (void)printf("%s\n", r.out_dir);
    gnn_log_info(r.config.check ? "%s is sound" : "%s is ready", r.out_dir);
    return GNN_EXIT_OK;
}
