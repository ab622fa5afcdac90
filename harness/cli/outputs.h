/* SPDX-License-Identifier: MIT */
/* Outputs that are written at the end, tried before the work begins: hours of runs are not lost to a wrong path. */
#ifndef GNN_CLI_OUTPUTS_H
#define GNN_CLI_OUTPUTS_H

#include "harness/oocgnn.h"

/* Creates the directory that an option names, with its parents, and writes a file there, which is removed again. The
 * error names the option: GNN_ENOENT for a path that cannot be a directory, GNN_EPERM, GNN_ENOSPC, GNN_EIO. */
GNN_MUST_CHECK enum gnn_status gnn_cli_check_out_dir(const char *option, const char *path, struct gnn_err *err);

/* Checks that the file can be created or, if it exists, written. It stays as it is. The same errors. */
GNN_MUST_CHECK enum gnn_status gnn_cli_check_out_file(const char *option, const char *path, struct gnn_err *err);

#endif
