/* SPDX-License-Identifier: MIT */
#include "harness/cli/run_args.h"

#include "harness/base/log.h"
#include "harness/cli/args.h"
#include "harness/cli/bound_run.h"
#include "harness/cli/cli.h"
#include "harness/record/report.h"
#include "harness/run/plugin.h"
#include "harness/run/preset.h"
#include "harness/run/supervisor/supervisor.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Notes that the current option was given explicitly. */
static void note_given(struct gnn_run_request *request, const struct gnn_args *args)
{
    for (uint32_t i = 0; gnn_run_options[i].name != NULL; i++) {
        assert(i < GNN_RUN_OPTIONS_MAX);
        request->given[i] = request->given[i] || gnn_args_names(args, &gnn_run_options[i]);
    }
}

static enum gnn_status take_all(int argc, char **argv, struct gnn_run_config *config, struct gnn_run_request *request,
                                struct gnn_err *err)
{
    static const struct gnn_option *const tables[] = {gnn_run_options, NULL};
    struct gnn_args args = {.argc = argc, .argv = argv, .at = 1};
    while (gnn_args_next(&args)) {
        const char *value;
        bool known = true;
        note_given(request, &args);
        if (strcmp(args.name, "help") == 0) {
            GNN_TRY(gnn_help_kind(args.value, &request->help, err));
        } else if (strcmp(args.name, "set") == 0) {
            GNN_TRY(gnn_args_value(&args, &value, err));
            GNN_TRY(gnn_run_config_set(config, value, err));
        } else if (strcmp(args.name, "dry-run") == 0) {
            GNN_TRY(gnn_args_flag(&args, err));
            request->dry_run = true;
        } else if (strcmp(args.name, "profile-set") == 0) {
            GNN_TRY(gnn_args_value(&args, &value, err));
            GNN_TRY(gnn_run_config_change(config, value, err));
        } else {
            GNN_TRY(gnn_args_set(&args, gnn_run_options, config, &known, err));
        }
        if (!known)
            return gnn_args_unknown(&args, "run", tables, err);
    }
    return GNN_OK;
}

/* Says which parameters are another system's: they change nothing, and may have been meant to. */
static void tell_unused(const struct gnn_run_config *config)
{
    const char *const name = gnn_run_system_name(config);
    const size_t own = strlen(name);
    for (uint32_t i = 0; i < config->set_count; i++)
        if (strncmp(config->sets[i], name, own) != 0 || config->sets[i][own] != '.')
            gnn_log_warn("--set %s changes nothing: the system that runs is %s", config->sets[i], name);
}

enum gnn_status gnn_run_args(int argc, char **argv, struct gnn_run_config *config, struct gnn_run_request *request,
                             struct gnn_err *err)
{
    *request = (struct gnn_run_request){.help = GNN_HELP_NONE};
    gnn_run_config_defaults(config);
    GNN_TRY(take_all(argc, argv, config, request, err));
    if (request->help == GNN_HELP_NONE && config->system[0] != '\0')
        tell_unused(config);
    if (config->preset[0] == '\0' || request->help != GNN_HELP_NONE)
        return GNN_OK;
    /* Once more over the preset, so that what was typed wins wherever it stood. */
    const struct gnn_run_config typed = *config;
    assert(typed.scale_divisor > 0);
    const struct gnn_system *system;
    if (gnn_plugin_is_path(typed.system)) /* the preset may have a section of its parameters */
        GNN_TRY(gnn_system_find(typed.system, &system, err));
    gnn_run_config_defaults(config);
    config->scale_divisor = typed.scale_divisor;
    GNN_TRY(gnn_preset_apply(typed.preset, config, err));
    request->preset_sets = config->set_count;
    return take_all(argc, argv, config, request, err);
}

/* Returns the exit status: oom and oot are results; other ends are named on stderr too, where a redirected table is
 * not seen. */
static int exit_of_run(const struct gnn_run_record *run)
{
    if (run->status == GNN_RUN_OK || run->status == GNN_RUN_OOM || run->status == GNN_RUN_GPU_OOM ||
        run->status == GNN_RUN_OOT)
        return GNN_EXIT_OK;
    (void)fprintf(stderr, "oocgnn: run %lld is %s: %s\n", (long long)run->run_id, gnn_run_status_name(run->status),
                  run->reasons);
    if (run->status != GNN_RUN_INTERRUPTED)
        return gnn_cli_exit_of(run->failure);
    gnn_cli_note_signal(run->signal);
    return gnn_cli_exit_interrupted();
}

/* Returns the exit status: the run's, which its bound may change, or that of what kept the bound from being counted. */
static int add_bound(const struct gnn_run_config *config, struct gnn_run_record *run, int exit_status)
{
    struct gnn_err err = {0};
    char why[GNN_BOUND_WHY_BYTES];
    if (run->status != GNN_RUN_OK)
        return exit_status;
    if (gnn_bound_of_run(run, config->db, &gnn_bound_room_usual, why, &err) != GNN_OK)
        return gnn_cli_failed(&err);
    if (why[0] != '\0' && !config->quiet)
        gnn_log_info("no bound: %s", why);
    return run->status == GNN_RUN_OK ? exit_status : exit_of_run(run);
}

enum telling { TELL_TABLE, TELL_JSON, TELL_NOTHING };

static int run_and_tell(const struct gnn_run_config *config, enum telling telling, enum gnn_run_status *end)
{
    struct gnn_err err = {0};
    struct gnn_run_record run;
    int exit_status;
    assert(end != NULL);
    const bool recorded = gnn_run_supervised(config, &run, &err) == GNN_OK;
    const bool measured = recorded || run.wall_ns != GNN_UNKNOWN; /* it ran, but could not be stored */
    exit_status = measured ? exit_of_run(&run) : GNN_EXIT_OK;
    if (!recorded)
        exit_status = gnn_cli_failed(&err);
    else if (config->bound)
        exit_status = add_bound(config, &run, exit_status);
    if (measured && telling == TELL_TABLE && config->details)
        gnn_report_runs(&run, 1, GNN_REPORT_TEXT, stdout);
    else if (measured && telling == TELL_TABLE)
        gnn_report_run(&run, stdout);
    err = (struct gnn_err){0};
    if (measured && telling == TELL_JSON && gnn_run_json(&run, false, stdout, &err) != GNN_OK)
        exit_status = gnn_cli_failed(&err);
    *end = run.status;
    gnn_run_record_free(&run);
    return exit_status;
}

int gnn_run_and_show(const struct gnn_run_config *config, bool json, enum gnn_run_status *end)
{
    return run_and_tell(config, json ? TELL_JSON : TELL_TABLE, end);
}

int gnn_run_untold(const struct gnn_run_config *config, enum gnn_run_status *end)
{
    return run_and_tell(config, TELL_NOTHING, end);
}
