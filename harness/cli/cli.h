/* SPDX-License-Identifier: MIT */
/* The command line: selects the sub-command and returns its exit status. One file per sub-command. */
#ifndef GNN_CLI_H
#define GNN_CLI_H

/* Exit statuses that scripts rely on. */
enum gnn_exit {
    GNN_EXIT_OK = 0,         /* success; out of memory and timeout are results, too */
    GNN_EXIT_FAILED = 1,     /* the run failed */
    GNN_EXIT_USAGE = 2,      /* wrong usage */
    GNN_EXIT_REGRESSION = 3, /* a comparison found a regression */
    GNN_EXIT_UNFIT = 4,      /* this machine does not allow the requested work */
    GNN_EXIT_SIGNAL = 128,   /* plus the number of the signal that interrupted the command: 130 after Ctrl-C */
};

int gnn_cli(int argc, char **argv);

#endif
