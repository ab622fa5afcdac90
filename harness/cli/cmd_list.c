/* oocgnn list: what this build knows. One line per thing on stdout. */
#include "harness/base/data_dirs.h"
#include "harness/base/units.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/dataset/prepare.h"
#include "harness/run/config.h"
#include "harness/run/preset.h"
#include "harness/world/profile.h"

#include <stdio.h>
#include <string.h>

static int list_systems(void)
{
    for (const struct gnn_system *const *s = gnn_systems; *s != NULL; s++)
        (void)printf("%-12s %s\n", (*s)->name, (*s)->title);
    return GNN_EXIT_OK;
}

static int list_datasets(void)
{
    (void)printf("%-16s %13s %15s %5s %8s  %s\n", "name", "nodes", "edges", "dim", "classes", "used by");
    for (const struct gnn_registry_entry *e = gnn_registry; e->name != NULL; e++)
        (void)printf("%-16s %13llu %15llu %5u %8u  %s\n", e->name, (unsigned long long)e->nodes,
                     (unsigned long long)e->edges, e->dim, e->classes, e->papers);
    (void)puts("\nAny of them at any scale: oocgnn prepare NAME --scale 1/K. Imports: oocgnn prepare --help.");
    return GNN_EXIT_OK;
}

static int list_models(void)
{
    static const char *const meanings[GNN_MODEL_KINDS] = {[GNN_MODEL_SAGE] = "GraphSAGE, mean aggregation",
                                                          [GNN_MODEL_GCN] = "GCN, normalised per block",
                                                          [GNN_MODEL_GAT] = "GAT with a linear skip connection"};
    for (int i = 0; i < GNN_MODEL_KINDS; i++)
        (void)printf("%-6s %s\n", gnn_model_names[i], meanings[i]);
    return GNN_EXIT_OK;
}

static void print_preset(void *ctx, const struct gnn_preset *preset)
{
    (void)ctx;
    (void)printf("%-12s %s\n%12s %s\n%12s %s\n", preset->name, preset->title, "", preset->options, "", preset->source);
}

static int list_presets(void)
{
    struct gnn_err err = {0};
    if (gnn_preset_each(print_preset, NULL, &err) != GNN_OK)
        return gnn_cli_failed(&err);
    (void)puts(
        "\nAt --scale 1/K memory and batch are divided by K, lr by the root of the batch's ratio: --preset NAME.");
    return GNN_EXIT_OK;
}

static void print_profile(void *ctx, const char *path, const struct gnn_profile *profile)
{
    (void)ctx;
    (void)printf("%-22s %-24s %s\n%47s %s\n", profile->name, profile->machine_id, profile->title, "", path);
}

static int list_profiles(void)
{
    struct gnn_err err = {0};
    struct gnn_data_dirs places;
    gnn_data_dirs(&places);
    (void)printf("%-22s %-24s %s\n", "name", "machine", "title and file");
    if (gnn_profile_scan(places.dirs, print_profile, NULL, &err) != GNN_OK)
        return gnn_cli_failed(&err);
    (void)puts("\noocgnn run --world simulated --profile NAME; one of this machine: oocgnn calibrate.");
    return GNN_EXIT_OK;
}

static int list_params(const char *name)
{
    struct gnn_err err = {0};
    const struct gnn_system *system;
    if (gnn_system_find(name, &system, &err) != GNN_OK)
        return gnn_cli_failed(&err);
    (void)printf("%s: %s. Set with --set %s.NAME=VALUE.\n\n", system->name, system->title, system->name);
    gnn_option_help(system->options, stdout);
    return GNN_EXIT_OK;
}

static const struct {
    const char *name;
    int (*list)(void);
} lists[] = {{"systems", list_systems},
             {"datasets", list_datasets},
             {"models", list_models},
             {"presets", list_presets},
             {"profiles", list_profiles}};

int gnn_cmd_list(int argc, char **argv)
{
    static const char usage[] = "usage: oocgnn list systems|datasets|models|presets|profiles|params SYSTEM\n";
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        (void)fputs(usage, stdout);
        return GNN_EXIT_OK;
    }
    if (argc == 3 && strcmp(argv[1], "params") == 0)
        return list_params(argv[2]);
    for (size_t i = 0; argc == 2 && i < sizeof lists / sizeof lists[0]; i++)
        if (strcmp(argv[1], lists[i].name) == 0)
            return lists[i].list();
    (void)fputs(usage, stderr);
    return GNN_EXIT_USAGE;
}
