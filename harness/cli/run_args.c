#include "harness/cli/run_args.h"

#include "harness/cli/args.h"
#include "harness/run/preset.h"

#include <string.h>

enum gnn_status gnn_run_pair(struct gnn_run_config *config, const char *name, const char *value,
                             struct gnn_err *err)
{
    if (strchr(name, '.') == NULL)
        return gnn_option_set(gnn_run_options, config, name, value, err);
    char text[GNN_SET_MAX];
    if (strlen(name) + strlen(value) + 2 > sizeof text)
        return gnn_fail(err, GNN_EUSAGE, "%s: value is too long", name);
    (void)stpcpy(stpcpy(stpcpy(text, name), "="), value);
    return gnn_run_config_set(config, text, err);
}

static enum gnn_status take(struct gnn_args *args, struct gnn_run_config *config, bool *help,
                            struct gnn_err *err)
{
    static const struct gnn_option *const tables[] = {gnn_run_options, NULL};
    if (strcmp(args->name, "help") == 0) {
        *help = true;
        return gnn_args_flag(args, err);
    }
    if (strcmp(args->name, "set") == 0) {
        const char *value;
        GNN_TRY(gnn_args_value(args, &value, err));
        return gnn_run_config_set(config, value, err);
    }
    bool known;
    GNN_TRY(gnn_args_set(args, gnn_run_options, config, &known, err));
    return known ? GNN_OK : gnn_args_unknown(args, "run", tables, err);
}

static enum gnn_status take_all(int argc, char **argv, struct gnn_run_config *config, bool *help,
                                struct gnn_err *err)
{
    struct gnn_args args = {.argc = argc, .argv = argv, .at = 1};
    while (gnn_args_next(&args))
        GNN_TRY(take(&args, config, help, err));
    return GNN_OK;
}

enum gnn_status gnn_run_args(int argc, char **argv, struct gnn_run_config *config, bool *help,
                             struct gnn_err *err)
{
    *help = false;
    gnn_run_config_defaults(config);
    GNN_TRY(take_all(argc, argv, config, help, err));
    if (config->preset[0] == '\0' || *help)
        return GNN_OK;
    /* Once more over the preset, so that what was typed wins wherever it stood. */
    const struct gnn_run_config typed = *config;
    gnn_run_config_defaults(config);
    config->scale_divisor = typed.scale_divisor;
    GNN_TRY(gnn_preset_apply(typed.preset, config, err));
    return take_all(argc, argv, config, help, err);
}
