#include "harness/cli/cli.h"

#include <stdio.h>
#include <string.h>

int gnn_cli(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        (void)puts("usage: oocgnn COMMAND [OPTION...]");
        return GNN_EXIT_OK;
    }
    (void)fputs("oocgnn: no such command; oocgnn --help lists them\n", stderr);
    return GNN_EXIT_USAGE;
}
