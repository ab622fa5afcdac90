/* SPDX-License-Identifier: MIT */
/* Finds the memory and I/O controllers, and whether this process may use them. Internal to confine. With a root prefix,
 * tests can lay out a machine in a directory. */
#ifndef GNN_CONFINE_HIERARCHY_H
#define GNN_CONFINE_HIERARCHY_H

#include "harness/confine/confine.h"

/* Does what gnn_confine_detect() does, with `root` before every path ("" = this machine). pid is the caller's process
 * ID. */
GNN_MUST_CHECK enum gnn_status gnn_confine_detect_at(const char *root, long pid, struct gnn_confine *out,
                                                     struct gnn_err *err);

#endif
