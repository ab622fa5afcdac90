#include "harness/cli/cli.h"

int main(int argc, char **argv)
{
    return gnn_cli(argc, argv);
}
