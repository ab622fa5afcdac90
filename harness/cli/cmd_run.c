/* oocgnn run: one system, one workload, one environment, one row in the database. */
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/run_args.h"

#include <stdio.h>

static void print_help(void)
{
    (void)puts("usage: oocgnn run --system S --dataset D [OPTION...] [--set system.key=value]...\n\n"
               "Trains one system on one dataset under a memory cap and records what happened.\n");
    gnn_args_help(gnn_run_options, stdout);
    (void)printf("  --set SYSTEM.NAME=VALUE         a system's parameter; `oocgnn list params SYSTEM` has them\n\n"
                 "example: oocgnn run --system %s --dataset papers100m --scale 1/100 --memory 320M --epochs 3\n",
                 gnn_systems[1] != NULL ? gnn_systems[1]->name : gnn_systems[0]->name); /* the first does nothing */
}

int gnn_cmd_run(int argc, char **argv)
{
    struct gnn_err err = {0};
    struct gnn_run_config config;
    bool help;
    if (gnn_run_args(argc, argv, &config, &help, &err) != GNN_OK)
        return gnn_cli_failed(&err);
    if (help) {
        print_help();
        return GNN_EXIT_OK;
    }
    enum gnn_run_status end;
    return gnn_run_and_show(&config, config.json, &end);
}
