/* SPDX-License-Identifier: MIT */
/* Checks output paths before the work begins, so that a wrong path does not lose hours of runs. */
#ifndef GNN_CLI_OUTPUTS_H
#define GNN_CLI_OUTPUTS_H

#include "harness/oocgnn.h"

/* Creates the directory that an option names, with its parents, and checks that a file can be written there. The file
 * is removed. Returns GNN_ENOENT for a path that cannot be a directory, GNN_EPERM, GNN_ENOSPC or GNN_EIO. The message
 * names the option. */
GNN_MUST_CHECK enum gnn_status gnn_cli_check_out_dir(const char *option, const char *path, struct gnn_err *err);

/* Checks that the file can be created or, if it exists, written. The file is not changed. Returns the same errors. */
GNN_MUST_CHECK enum gnn_status gnn_cli_check_out_file(const char *option, const char *path, struct gnn_err *err);

#endif
