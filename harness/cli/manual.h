/* SPDX-License-Identifier: MIT */
/* Prints the manual page and the completion of shells, which are composed from the commands' help (help.h). Both go to
 * standard output. */
#ifndef GNN_CLI_MANUAL_H
#define GNN_CLI_MANUAL_H

#include "harness/cli/commands.h"
#include "harness/oocgnn.h"

/* The rule for an option that is given twice, for help and manual page. */
#define GNN_OPTION_TWICE "If an option is given twice, the last value wins. --set, --where and --fix accumulate.\n"

enum gnn_shell { GNN_SHELL_NONE, GNN_SHELL_BASH, GNN_SHELL_ZSH };

void gnn_manual_print(const struct gnn_command *commands, uint32_t count, const char *version);
void gnn_completion_print(const struct gnn_command *commands, uint32_t count, enum gnn_shell shell);

#endif
