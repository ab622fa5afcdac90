/* oocgnn run: one system, one workload, one environment, one row in the database. */
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/run_args.h"
#include "harness/record/report.h"
#include "harness/run/supervisor.h"

#include <stdio.h>

static void print_help(void)
{
    (void)puts("usage: oocgnn run --system S --dataset D [OPTION...] [--set system.key=value]...\n\n"
               "Trains one system on one dataset under a memory cap and records what happened.\n");
    gnn_args_help(gnn_run_options, stdout);
    (void)puts(
        "  --set system.key=value           a system's parameter; `oocgnn list params SYSTEM` has them\n\n"
        "example: oocgnn run --system gnndrive --dataset papers100m --scale 1/100 --preset gnndrive");
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
    struct gnn_run_record run;
    int exit_status;
    if (gnn_run_supervised(&config, &run, &err) != GNN_OK) {
        exit_status = gnn_cli_failed(&err);
    } else {
        exit_status = gnn_run_exit_status(&run);
        if (!config.json)
            gnn_report_runs(&run, 1, GNN_REPORT_TEXT, stdout);
        else if (gnn_run_json(&run, false, stdout, &err) != GNN_OK)
            exit_status = gnn_cli_failed(&err);
    }
    gnn_run_record_free(&run);
    return exit_status;
}
