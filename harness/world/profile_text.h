/* What profile.c (names and files) and profile_parse.c (text to figures) owe each other. */
#ifndef GNN_WORLD_PROFILE_TEXT_H
#define GNN_WORLD_PROFILE_TEXT_H

#include "harness/world/profile.h"

/* The file as a string, to be freed. GNN_ENOENT, GNN_EIO; GNN_EFORMAT: over 64 KiB, or it holds a NUL. */
GNN_MUST_CHECK enum gnn_status gnn_profile_read_text(const char *path, char **text, struct gnn_err *err);

#endif
