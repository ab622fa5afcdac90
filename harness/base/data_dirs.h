/* SPDX-License-Identifier: MIT */
/* Where the program's own data files are: hardware profiles, presets, the jobs of the regression gate, figures and
 * published numbers. Looked for in this order (KIND: "hardware", "presets", "gate", "figures" or "published"):
 *   1  $XDG_DATA_HOME/oocgnn, or $HOME/.local/share/oocgnn: what `oocgnn calibrate` wrote; its folders presets/, gate/,
 *      figures/ and published/
 *   2  workloads/KIND, plots/figures or results/published in a folder above the executable: the source tree it was
 *      built in
 *   3  ../share/oocgnn/KIND beside the executable's folder: an installation
 * The user's own come first, so that a file there replaces one of the same name. */
#ifndef GNN_BASE_DATA_DIRS_H
#define GNN_BASE_DATA_DIRS_H

#include "harness/oocgnn.h"

enum { GNN_DATA_DIRS_MAX = 3, GNN_DATA_DIR_BYTES = 1024 };

struct gnn_data_dirs {
    char text[GNN_DATA_DIRS_MAX][GNN_DATA_DIR_BYTES];
    const char *dirs[GNN_DATA_DIRS_MAX + 1]; /* NULL-terminated, for gnn_profile_open; points into text */
};

/* Fills out, which is not copied afterwards. A place that is not there is left out; there may be none. */
void gnn_data_dirs(struct gnn_data_dirs *out); /* hardware profiles */
void gnn_preset_dirs(struct gnn_data_dirs *out);
void gnn_gate_dirs(struct gnn_data_dirs *out); /* job files of `oocgnn compare` */
void gnn_figure_dirs(struct gnn_data_dirs *out);
void gnn_published_dirs(struct gnn_data_dirs *out);

/* Calls fn with every .ini file of the NULL-terminated dirs, in their order and by name within one; `name` is the
 * file's without its folder and .ini. GNN_EIO when a folder cannot be read; one that is not there is skipped. */
typedef void gnn_data_file_fn(void *ctx, const char *path, const char *name);
GNN_MUST_CHECK enum gnn_status gnn_data_files(const char *const *dirs, gnn_data_file_fn *fn, void *ctx,
                                              struct gnn_err *err);

/* The first of the places, whether it is there or not: where a user's own files go. GNN_EUSAGE when neither
 * $XDG_DATA_HOME nor $HOME says where that is. */
GNN_MUST_CHECK enum gnn_status gnn_data_dir_of_user(char *path, size_t path_bytes, struct gnn_err *err);

bool gnn_is_dir(const char *path);

/* mkdir -p. GNN_EPERM, GNN_ENOSPC or GNN_EIO name the folder that could not be made. */
GNN_MUST_CHECK enum gnn_status gnn_make_dirs(const char *path, struct gnn_err *err);

#endif
