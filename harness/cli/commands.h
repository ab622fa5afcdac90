/* SPDX-License-Identifier: MIT */
/* The sub-commands. Each takes its own arguments (argv[0] is its name) and returns the exit status. */
#ifndef GNN_CLI_COMMANDS_H
#define GNN_CLI_COMMANDS_H

struct gnn_command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};

int gnn_cmd_doctor(int argc, char **argv);
int gnn_cmd_list(int argc, char **argv);
int gnn_cmd_prepare(int argc, char **argv);
int gnn_cmd_export(int argc, char **argv);
int gnn_cmd_stats(int argc, char **argv);
int gnn_cmd_bound(int argc, char **argv);
int gnn_cmd_trace(int argc, char **argv);
int gnn_cmd_run(int argc, char **argv);
int gnn_cmd_rerun(int argc, char **argv);
int gnn_cmd_sweep(int argc, char **argv);
int gnn_cmd_merge(int argc, char **argv);
int gnn_cmd_figure(int argc, char **argv);
int gnn_cmd_plot(int argc, char **argv);
int gnn_cmd_page(int argc, char **argv);
int gnn_cmd_report(int argc, char **argv);
int gnn_cmd_baseline(int argc, char **argv);
int gnn_cmd_compare(int argc, char **argv);
int gnn_cmd_calibrate(int argc, char **argv);
int gnn_cmd_check_system(int argc, char **argv);
int gnn_cmd_new_system(int argc, char **argv);

#endif
