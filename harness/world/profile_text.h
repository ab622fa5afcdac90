/* SPDX-License-Identifier: MIT */
/* Reads a profile's file. Internal to profile.c and profile_parse.c. */
#ifndef GNN_WORLD_PROFILE_TEXT_H
#define GNN_WORLD_PROFILE_TEXT_H

#include "harness/oocgnn.h"

/* Returns the file as a string, to be freed. GNN_ENOENT, GNN_EIO; GNN_EFORMAT: over 64 KiB, or it holds a NUL. */
GNN_MUST_CHECK enum gnn_status gnn_profile_read_text(const char *path, char **text, struct gnn_err *err);

#endif
