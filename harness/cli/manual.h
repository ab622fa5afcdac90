/* SPDX-License-Identifier: MIT */
/* The manual page and the completion of shells, put together of what every command says about itself (help.h). Both go
 * to standard output. */
#ifndef GNN_CLI_MANUAL_H
#define GNN_CLI_MANUAL_H

#include "harness/cli/commands.h"
#include "harness/oocgnn.h"

/* What help and manual page say of an option that stands twice. */
#define GNN_OPTION_TWICE                                                                                               \
    "Of an option that stands twice the later value counts, so that what is added to a command wins;\n"                \
    "--set, --where and --fix add up.\n"

enum gnn_shell { GNN_SHELL_NONE, GNN_SHELL_BASH, GNN_SHELL_ZSH };

void gnn_manual_print(const struct gnn_command *commands, uint32_t count, const char *version);
void gnn_completion_print(const struct gnn_command *commands, uint32_t count, enum gnn_shell shell);

#endif
