/* SPDX-License-Identifier: MIT */
/* Reads a profile's file. Internal to profile.c and profile_parse.c. */
#ifndef GNN_WORLD_PROFILE_TEXT_H
#define GNN_WORLD_PROFILE_TEXT_H

#include "harness/oocgnn.h"

/* Reads a file as a string, which the caller frees, or returns GNN_ENOENT, GNN_EIO or GNN_EFORMAT. GNN_EFORMAT: the
 * file is larger than 64 KiB or contains a NUL. */
GNN_MUST_CHECK enum gnn_status gnn_profile_read_text(const char *path, char **text, struct gnn_err *err);

#endif
