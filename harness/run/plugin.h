/* SPDX-License-Identifier: MIT */
/* Systems from shared objects (harness/system/plugin.h): opening, finding by name, digest. An object that was opened
 * stays loaded until the process ends, so its table is valid as long as those of built-in systems. The list of loaded
 * objects is the dynamic linker's. */
#ifndef GNN_RUN_PLUGIN_H
#define GNN_RUN_PLUGIN_H

#include "harness/storage/checksum.h"
#include "harness/system/system.h"

/* Keys of the environment in the record of such a run: the base name of the file, and the digest of its bytes. */
#define GNN_PLUGIN_FILE_KEY "plugin.file"
#define GNN_PLUGIN_DIGEST_KEY "plugin.digest"

/* Returns whether the value of --system is the path of an object instead of a name: it contains a '/'. */
bool gnn_plugin_is_path(const char *system);

/* Opens the object and checks its table. GNN_ENOENT: no such file. GNN_EUSAGE: the file is no shared object, has no
 * table, or its table is incomplete. GNN_ENOTSUP: the object was compiled for another version of the interface. The
 * message has the remedy. */
GNN_MUST_CHECK enum gnn_status gnn_plugin_open(const char *path, const struct gnn_system **out, struct gnn_err *err);

/* Returns the system of that name among the objects that this process has opened, or NULL if there is none. */
const struct gnn_system *gnn_plugin_named(const char *name);

/* Writes the XXH3-128 of the file in hex. GNN_ENOENT, GNN_EIO. */
GNN_MUST_CHECK enum gnn_status gnn_plugin_digest(const char *path, char text[GNN_CHECKSUM_TEXT], struct gnn_err *err);

#endif
