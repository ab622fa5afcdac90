/* SPDX-License-Identifier: MIT */
/* oocgnn run: one system, one workload, one environment, one row in the database. */
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/dry_run.h"
#include "harness/cli/help.h"
#include "harness/cli/run_args.h"

#include <stdio.h>

/* Options without a field in the configuration: --set may come several times, and its names are the systems' own. */
static const struct gnn_option other_table[] = {
    {.name = "set",
     .type = GNN_OPT_TEXT,
     .unit = "SYSTEM.NAME=VALUE",
     .def = "",
     .group = "Most used",
     .help = "Parameter of a system; `oocgnn list params SYSTEM` prints them"},
    {.name = "dry-run",
     .type = GNN_OPT_BOOL,
     .def = "no",
     .group = "Output",
     .help = "Check the run and print every option with its source, the memory plan and the command, without running"},
    {.name = NULL},
};

static const struct gnn_help_page page = {
    .usage = "usage: oocgnn run --system S --dataset D [OPTION...] [--set system.key=value]...\n\n"
             "Trains one system on one dataset under a memory limit and records the result.\n",
    .notes =
        "\nexample: oocgnn run --system gnndrive --dataset papers100m --scale 1/100 --preset gnndrive --memory 320M\n",
    .words = "",
    .parts = {{NULL, gnn_run_options}, {NULL, other_table}},
    .groups = gnn_run_option_groups};

int gnn_cmd_run(int argc, char **argv)
{
    struct gnn_err err = {0};
    struct gnn_run_config config;
    struct gnn_run_request request;
    if (gnn_run_args(argc, argv, &config, &request, &err) != GNN_OK)
        return gnn_cli_failed(&err);
    if (request.help != GNN_HELP_NONE) {
        gnn_help_print("run", &page, request.help, stdout);
        return GNN_EXIT_OK;
    }
    if (request.dry_run)
        return gnn_dry_run(&config, &request);
    enum gnn_run_status end;
    return gnn_run_and_show(&config, config.json, &end);
}
