/* SPDX-License-Identifier: MIT */
/* oocgnn stats: what a graph is like for out-of-core training, and a recipe that makes another one like it. */
#include "harness/base/units.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/outputs.h"
#include "harness/dataset/missing.h"
#include "harness/dataset/recipe_file.h"
#include "harness/stats/show.h"
#include "harness/stats/twin.h"
#include "harness/world/measured/measured.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct stats_config {
    char data_dir[GNN_TEXT_MAX], recipe[GNN_TEXT_MAX], recipe_from[GNN_TEXT_MAX], plot_dir[GNN_TEXT_MAX];
    uint32_t scale_divisor, dim, batch_size, epochs, batches;
    enum gnn_feature_type feature_type;
    struct gnn_u32_list fanout;
    uint64_t memory_bytes, accesses, window_bytes, seed;
    bool lists, json;
    char settings[GNN_TEXT_MAX];
};

#define OPTION(...) GNN_OPTION(stats_config, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option stats_table[] = {
    OPTION("data", TEXT, data_dir, "data", .unit = "DIR", .help = "Directory of the prepared datasets"),
    OPTION("scale", SCALE, scale_divisor, "1/1", .unit = "1/K",
           .help = "Scale of a registry dataset or of a recipe; a dataset that is not prepared is computed"),
    OPTION("recipe", TEXT, recipe, "", .unit = "FILE", .help = "Analyse the graph that this recipe describes"),
    OPTION("generate", TEXT, settings, "", .unit = "A=B,C=D",
           .help = "Options of `oocgnn prepare` for a computed graph; a prepared dataset is not used"),
    OPTION("recipe_from", TEXT, recipe_from, "", .unit = "FILE",
           .help = "Write a recipe with the statistics of the graph to this new file"),
    OPTION("plot", TEXT, plot_dir, "", .unit = "DIR",
           .help = "Draw hit ratios over cache size into this directory (PNG and SVG)"),
    OPTION("json", BOOL, json, "no", .help = "Print one JSON object"),
    OPTION("lists", BOOL, lists, "yes",
           .help = "Walk the neighbour lists to count who appears in them and what training reaches; --no-lists "
                   "only samples"),
    OPTION("dim", U32, dim, "0", .unit = "FLOATS", .max = GNN_DIM_MAX,
           .help = "Feature width; 0 = the first one that is prepared"),
    OPTION("feature_type", CHOICE, feature_type, "f32", .choices = gnn_feature_type_words,
           .help = "Number format of the features on disk: f32, or f16 (half precision)"),
    OPTION("batch", U32, batch_size, "1000", .unit = "SEEDS", .min = 1, .max = 1e6,
           .help = "Seed nodes in a mini-batch at scale 1/1; divided by the scale"),
    OPTION("fanout", U32_LIST, fanout, "10,10,10", .max = GNN_FANOUT_MAX, .unit = "N,N,N",
           .help = "Neighbours sampled for each hop, from the seed nodes outward"),
    OPTION("epochs", U32, epochs, "2", .max = 1000, .help = "Epochs to sample; 0 = none"),
    OPTION("batches", U32, batches, "0", .help = "Largest number of mini-batches in an epoch; 0 = all"),
    OPTION("accesses", U64, accesses, "200000000", .max = 4294967294.0,
           .help = "Row accesses stored for the curves of LRU and Belady, 8.2 bytes each; 0 = no curves"),
    OPTION("window", BYTES, window_bytes, "128K", .min = 1, .max = 1099511627776.0,
           .help = "Size of the windows of the feature file that are counted as touched or untouched"),
    OPTION("memory", BYTES, memory_bytes, "0",
           .help = "Memory limit of this analysis; a larger one is rejected; 0 = no limit"),
    OPTION("seed", U64, seed, "1", .help = "Seed for the mini-batches and for a computed graph"),
    {.name = NULL},
};
/* clang-format on */

struct request {
    struct stats_config config;
    const char *name; /* the word on the command line, or NULL */
};

static enum gnn_status take_word(void *ctx, const char *word, struct gnn_err *err)
{
    struct request *const r = ctx;
    if (r->name != NULL)
        return gnn_fail(err, GNN_EUSAGE, "stats: one dataset at a time, got \"%s\" and \"%s\"", r->name, word);
    r->name = word;
    return GNN_OK;
}

/* Writes where a prepared dataset of this name would be, and returns whether one is there: a directory that was named,
 * data/NAME-1_K, or at 1/1 data/NAME. */
static bool find_prepared(const struct request *r, char *dir, size_t dir_bytes)
{
    char meta[GNN_TEXT_MAX * 2 + 8];
    struct stat info;
    for (int imported = 0; imported < 2; imported++) {
        if (strchr(r->name, '/') != NULL)
            (void)snprintf(dir, dir_bytes, "%s", r->name);
        else if (imported == 0)
            (void)snprintf(dir, dir_bytes, "%s/%s-1_%u", r->config.data_dir, r->name, r->config.scale_divisor);
        else if (r->config.scale_divisor == 1)
            (void)snprintf(dir, dir_bytes, "%s/%s", r->config.data_dir, r->name);
        (void)snprintf(meta, sizeof meta, "%s/meta", dir);
        if (stat(meta, &info) == 0)
            return true;
    }
    return false;
}

static enum gnn_status open_computed(struct gnn_world *world, const struct request *r,
                                     const struct gnn_registry_entry *entry, struct gnn_lists **out,
                                     struct gnn_err *err)
{
    struct gnn_generate_options options;
    gnn_option_defaults(gnn_generate_table, &options);
    options.seed = r->config.seed;
    options.dim = r->config.dim;
    options.feature_type = r->config.feature_type;
    GNN_TRY(gnn_generate_set(&options, r->config.settings, err));
    return gnn_lists_open_computed(world, entry, &options, r->config.scale_divisor, out, err);
}

static enum gnn_status missing(const struct request *r, const char *dir, struct gnn_err *err)
{
    const struct gnn_dataset_wanted wanted = {.name = r->name,
                                              .data_dir = r->config.data_dir,
                                              .dir = dir,
                                              .scale_divisor = r->config.scale_divisor,
                                              .dim = r->config.dim,
                                              .feature_type = r->config.feature_type,
                                              .id_bytes = sizeof(gnn_node)};
    return gnn_dataset_missing(&wanted, err);
}

/* A recipe's graph, a prepared one, or a computed one of the registry. *file: the recipe, to be freed behind the
 * lists. */
static enum gnn_status open_lists(struct gnn_world *world, const struct request *r, struct gnn_recipe_file **file,
                                  struct gnn_lists **out, struct gnn_err *err)
{
    const struct gnn_registry_entry *entry;
    char dir[GNN_TEXT_MAX * 2];
    if (r->config.recipe[0] != '\0') {
        GNN_TRY(gnn_cli_check_recipe(r->config.recipe, err));
        GNN_TRY(gnn_recipe_file_open(r->config.recipe, file, err));
        return open_computed(world, r, &(*file)->entry, out, err);
    }
    const bool prepared = find_prepared(r, dir, sizeof dir);
    if (r->config.settings[0] == '\0' && prepared)
        return gnn_lists_open_prepared(world, dir, r->config.dim, r->config.feature_type, out, err);
    const bool known = gnn_registry_find(r->name, &entry, NULL) == GNN_OK;
    if (!prepared && (!known || entry->kind != GNN_REGISTRY_PROCEDURAL))
        return missing(r, dir, err);
    GNN_TRY(gnn_registry_find(r->name, &entry, err));
    return open_computed(world, r, entry, out, err);
}

/* ---- results ---- */

/* Writes a new file; what is there is left alone. */
static enum gnn_status write_recipe(struct gnn_world *world, const struct stats_config *c,
                                    const struct gnn_dataset *dataset, const struct gnn_stats *stats,
                                    struct gnn_err *err)
{
    struct gnn_recipe_file *file;
    char comment[GNN_NAME_MAX + 64];
    GNN_NEW(file, 1, err, "recipe");
    enum gnn_status status = gnn_twin_of(world, dataset, stats, c->window_bytes, file, err);
    FILE *out = status == GNN_OK ? fopen(c->recipe_from, "wxe") : NULL;
    if (status == GNN_OK && out == NULL)
        status = gnn_fail(err,
                          errno == EEXIST   ? GNN_EUSAGE
                          : errno == EACCES ? GNN_EPERM
                                            : gnn_errno_status(errno, GNN_EIO),
                          "--recipe-from %s: %s; name a new file in a folder you may write", c->recipe_from,
                          strerror(errno));
    if (out != NULL) {
        (void)snprintf(comment, sizeof comment, "oocgnn stats %s", dataset->name);
        gnn_recipe_file_write(file, comment, out);
        const bool bad = ferror(out) != 0;
        if (fclose(out) != 0 || bad) {
            status = gnn_fail(err, GNN_EIO, "--recipe-from %s: %s", c->recipe_from, strerror(errno));
            (void)unlink(c->recipe_from);
        }
    }
    free(file);
    return status;
}

static enum gnn_status show(struct gnn_world *world, const struct stats_config *c,
                            const struct gnn_stats_heading *heading, const struct gnn_stats *stats, struct gnn_err *err)
{
    if (c->json)
        GNN_TRY(gnn_stats_json(heading, stats, stdout, err));
    else
        gnn_stats_text(heading, stats, stdout);
    if (c->recipe_from[0] != '\0')
        GNN_TRY(write_recipe(world, c, heading->dataset, stats, err));
    return c->plot_dir[0] == '\0' ? GNN_OK : gnn_stats_plot(heading, stats, c->plot_dir, err);
}

static enum gnn_status measure(struct gnn_world *world, const struct request *r, struct gnn_lists *lists,
                               struct gnn_err *err)
{
    const struct stats_config *const c = &r->config;
    const struct gnn_dataset *const dataset = gnn_lists_dataset(lists);
    const struct gnn_stats_config config = {.seed = c->seed,
                                            .batch_size = gnn_max_u32(c->batch_size / dataset->scale_divisor, 1),
                                            .fanout = c->fanout,
                                            .epochs = c->epochs,
                                            .batches = c->batches,
                                            .accesses_max = c->accesses,
                                            .window_bytes = c->window_bytes,
                                            .lists = c->lists,
                                            .mixing = c->recipe_from[0] != '\0',
                                            .stop = gnn_cli_stop_on_signals()};
    const struct gnn_stats_heading heading = {.dataset = dataset, .config = &config};
    struct gnn_stats *stats;
    GNN_NEW(stats, 1, err, "statistics");
    enum gnn_status status = gnn_stats_measure(world, lists, &config, stats, err);
    GNN_NEXT(status, show(world, c, &heading, stats, err));
    free(stats);
    return status;
}

static enum gnn_status check_together(const struct request *r, struct gnn_err *err)
{
    const struct stats_config *const c = &r->config;
    if ((r->name == NULL) == (c->recipe[0] == '\0'))
        return gnn_fail(err, GNN_EUSAGE, "stats: name a dataset, or a recipe with --recipe");
    if (c->recipe_from[0] != '\0' && !c->lists)
        return gnn_fail(err, GNN_EUSAGE, "stats: --recipe-from takes the lists' statistics: leave --no-lists out");
    if (c->plot_dir[0] != '\0')
        GNN_TRY(gnn_cli_check_out_dir("--plot", c->plot_dir, err));
    if (c->recipe_from[0] == '\0')
        return GNN_OK;
    if (access(c->recipe_from, F_OK) == 0)
        return gnn_fail(err, GNN_EUSAGE, "--recipe-from %s: %s. Name a new file in a directory that you may write to.",
                        c->recipe_from, strerror(EEXIST));
    return gnn_cli_check_out_file("--recipe-from", c->recipe_from, err);
}

static enum gnn_status run(const struct request *r, struct gnn_err *err)
{
    struct gnn_world *world = NULL;
    struct gnn_recipe_file *file = NULL;
    struct gnn_lists *lists = NULL;
    const struct gnn_measured_config measured = {.memory_limit_bytes = r->config.memory_bytes};
    GNN_TRY(check_together(r, err));
    GNN_TRY(gnn_world_measured_open(&measured, &world, err));
    enum gnn_status status = open_lists(world, r, &file, &lists, err);
    GNN_NEXT(status, measure(world, r, lists, err));
    gnn_lists_close(lists);
    free(file);
    gnn_world_measured_close(world);
    return status;
}

int gnn_cmd_stats(int argc, char **argv)
{
    static const struct gnn_command_line command_line = {
        .usage = "usage: oocgnn stats DATASET|DIR [--scale 1/K] [--recipe-from FILE] [OPTION...]\n"
                 "       oocgnn stats --recipe FILE [--scale 1/K] [OPTION...]\n\n",
        .table = stats_table,
        .word = take_word};
    struct gnn_err err = {0};
    struct request r = {.name = NULL};
    int exit_status;
    if (!gnn_args_parse(&command_line, argc, argv, &r.config, &r, &exit_status))
        return exit_status;
    return run(&r, &err) == GNN_OK ? GNN_EXIT_OK : gnn_cli_failed(&err);
}
