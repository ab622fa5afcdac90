/* SPDX-License-Identifier: MIT */
/* oocgnn list: what this build knows. One line per thing on stdout. */
#include "harness/base/data_dirs.h"
#include "harness/base/near_miss.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/dataset/prepare.h"
#include "harness/figure/metric.h"
#include "harness/run/config.h"
#include "harness/run/preset.h"
#include "harness/world/profile.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* "cpu, gpu, sampling only" */
static const char *variants_of(const struct gnn_system *system, char *text, size_t bytes)
{
    static const struct {
        enum gnn_variant variant;
        const char *word;
    } words[] = {{GNN_VARIANT_CPU, "cpu"},
                 {GNN_VARIANT_GPU, "gpu"},
                 {GNN_VARIANT_SAMPLE_ONLY, "sampling only"},
                 {GNN_VARIANT_LINK, "links"},
                 {GNN_VARIANT_OWN_SAMPLES, "own samples"}};
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if ((system->variants & words[i].variant) != 0 && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s", used > 0 ? ", " : "", words[i].word);
    if (system->workers_max > 1 && used < bytes)
        (void)snprintf(text + used, bytes - used, ", workers");
    return text;
}

static void print_system(const struct gnn_system *system)
{
    char text[80];
    (void)printf("%-12s %-43s %s\n", system->name, variants_of(system, text, sizeof text),
                 system->title == NULL ? "" : system->title);
}

static enum gnn_status list_systems(struct gnn_err *err)
{
    (void)err;
    for (const struct gnn_system *const *s = gnn_systems; *s != NULL; s++)
        print_system(*s);
    return GNN_OK;
}

static enum gnn_status list_datasets(struct gnn_err *err)
{
    (void)err;
    (void)printf("%-16s %13s %15s %5s %8s  %s\n", "name", "nodes", "edges", "dim", "classes", "used by");
    for (const struct gnn_registry_entry *e = gnn_registry; e->name != NULL; e++)
        (void)printf("%-16s %13llu %15llu %5u %8u  %s\n", e->name, (unsigned long long)e->nodes,
                     (unsigned long long)e->edges, e->dim, e->classes, e->papers);
    (void)puts(
        "\nAny of them at any scale: oocgnn prepare NAME --scale 1/K. Half-precision features: --feature-type f16. "
        "Imports:\noocgnn prepare --help.");
    return GNN_OK;
}

static enum gnn_status list_models(struct gnn_err *err)
{
    (void)err;
    static const char *const meanings[GNN_MODEL_KINDS] = {[GNN_MODEL_SAGE] = "GraphSAGE, mean aggregation",
                                                          [GNN_MODEL_GCN] = "GCN, normalised per block",
                                                          [GNN_MODEL_GAT] = "GAT with a linear skip connection"};
    for (int i = 0; i < GNN_MODEL_KINDS; i++) {
        assert(gnn_model_names[i] != NULL);
        assert(meanings[i] != NULL);
        (void)printf("%-6s %s\n", gnn_model_names[i], meanings[i]);
    }
    return GNN_OK;
}

static void print_preset(void *ctx, const struct gnn_preset *preset)
{
    (void)ctx;
    (void)printf("%-12s %s\n%12s %s\n", preset->name, preset->title, "", preset->options);
    if (preset->parameters[0] != '\0')
        (void)printf("%12s %s\n", "", preset->parameters);
    (void)printf("%12s %s\n", "", preset->source);
}

static enum gnn_status list_presets(struct gnn_err *err)
{
    GNN_TRY(gnn_preset_each(print_preset, NULL, err));
    (void)puts("\nAt --scale 1/K memory and batch are divided by K, lr is multiplied by the root of the batch's ratio. "
               "Options on "
               "the command line win.");
    return GNN_OK;
}

/* Of a machine that was calibrated also when: its figures are those of that day. */
static void print_profile(void *ctx, const char *path, const struct gnn_profile *profile)
{
    const uint64_t *const now_s = ctx;
    char age[GNN_PROFILE_AGE_BYTES];
    (void)printf("%-22s %-24s %s\n%47s %s\n", profile->name, profile->machine_id, profile->title, "", path);
    if (profile->calibrated_s != 0 || strcmp(profile->machine_id, "this") == 0)
        (void)printf("%47s %s\n", "", gnn_profile_age_text(profile, *now_s, age, sizeof age));
}

static enum gnn_status list_profiles(struct gnn_err *err)
{
    struct gnn_data_dirs found;
    uint64_t now_s = (uint64_t)time(NULL);
    gnn_data_dirs(&found);
    (void)printf("%-22s %-24s %s\n", "name", "machine", "title and file");
    GNN_TRY(gnn_profile_scan(found.dirs, print_profile, &now_s, err));
    (void)puts("\noocgnn run --world simulated --profile NAME; one of this machine: oocgnn calibrate.");
    return GNN_OK;
}

static enum gnn_status list_metrics(struct gnn_err *err)
{
    (void)err;
    gnn_metrics_print(stdout);
    (void)puts("\nMetrics of `oocgnn plot --y` and of figures. Those with @N are of an epoch: NAME@0 is the value of "
               "epoch 0, NAME@last that of the last complete epoch.");
    return GNN_OK;
}

static enum gnn_status list_params(const char *name, bool markdown, struct gnn_err *err)
{
    const struct gnn_system *system;
    if (name == NULL)
        return gnn_fail(err, GNN_EUSAGE, "list params: which system? `oocgnn list systems` names them");
    GNN_TRY(gnn_system_find(name, &system, err));
    if (markdown) {
        gnn_option_markdown(system->options, stdout);
        return GNN_OK;
    }
    (void)printf("%s: %s. Set with --set %s.NAME=VALUE.\n\n", system->name, system->title, system->name);
    gnn_option_help(system->options, stdout);
    return GNN_OK;
}

static enum gnn_status list_system(const char *name, struct gnn_err *err)
{
    const struct gnn_system *system;
    GNN_TRY(gnn_system_find(name, &system, err));
    print_system(system);
    return GNN_OK;
}

static const struct {
    const char *name;
    enum gnn_status (*list)(struct gnn_err *err);
} lists[] = {{"systems", list_systems}, {"datasets", list_datasets}, {"models", list_models},
             {"presets", list_presets}, {"profiles", list_profiles}, {"metrics", list_metrics}};

struct words {
    const char *list, *system;
};

static enum gnn_status take_word(void *ctx, const char *word, struct gnn_err *err)
{
    struct words *const w = ctx;
    if (w->list == NULL)
        w->list = word;
    else if ((strcmp(w->list, "params") == 0 || strcmp(w->list, "systems") == 0) && w->system == NULL)
        w->system = word;
    else
        return gnn_fail(err, GNN_EUSAGE, "list: unexpected argument \"%s\"; see `oocgnn list --help`", word);
    return GNN_OK;
}

static enum gnn_status show_list(const struct words *words, bool markdown, struct gnn_err *err)
{
    struct gnn_near_miss near;
    assert(words->list != NULL);
    gnn_near_miss_start(&near, words->list);
    if (strcmp(words->list, "params") == 0)
        return list_params(words->system, markdown, err);
    if (words->system != NULL)
        return list_system(words->system, err);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        if (strcmp(words->list, lists[i].name) == 0)
            return lists[i].list(err);
        gnn_near_miss_offer(&near, lists[i].name);
    }
    gnn_near_miss_offer(&near, "params");
    return gnn_fail(err, GNN_EUSAGE, "list: no list \"%s\"; see `oocgnn list --help`%s", words->list,
                    gnn_near_miss_text(&near));
}

int gnn_cmd_list(int argc, char **argv)
{
    /* clang-format off */
    static const struct gnn_option table[] = {
        {.name = "markdown", .type = GNN_OPT_BOOL, .def = "no", .help = "Print parameters as the table of a README"},
        {.name = NULL},
    };
    /* clang-format on */
    static const struct gnn_command_line line = {
        .usage = "usage: oocgnn list systems|datasets|models|presets|profiles|metrics\n"
                 "       oocgnn list systems SYSTEM\n"
                 "       oocgnn list params SYSTEM [--markdown]\n\n"
                 "SYSTEM: a name, or the path of a shared object, such as ./mine.so.\n",
        .words = "systems datasets models presets profiles metrics params",
        .table = table,
        .word = take_word};
    struct gnn_err err = {0};
    struct words words = {NULL, NULL};
    bool markdown;
    int exit_status;
    if (!gnn_args_parse(&line, argc, argv, &markdown, &words, &exit_status))
        return exit_status;
    if (words.list != NULL)
        return show_list(&words, markdown, &err) == GNN_OK ? GNN_EXIT_OK : gnn_cli_failed(&err);
    (void)fputs(line.usage, stderr);
    return GNN_EXIT_USAGE;
}
