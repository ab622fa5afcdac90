/* SPDX-License-Identifier: MIT */
/* The directories of the program's data files: hardware profiles, presets, jobs of the regression gate, figures and
 * published numbers. They are searched in the order below, so a user's file replaces a supplied one of the same name.
 * KIND is "hardware", "presets", "gate", "figures", "variants" or "published".
 *
 *   1  The user's own: $XDG_DATA_HOME/oocgnn, or $HOME/.local/share/oocgnn. `oocgnn calibrate` writes there. Other
 *      kinds are in its directories presets/, gate/, figures/, variants/ and published/.
 *   2  The source tree, in a directory above the executable: workloads/KIND or results/published. Figures are in
 *      experiments/papers and experiments/project, variants in experiments/variants.
 *   3  An installation: ../share/oocgnn/KIND, relative to the executable's directory. */
#ifndef GNN_BASE_DATA_DIRS_H
#define GNN_BASE_DATA_DIRS_H

#include "harness/oocgnn.h"

enum { GNN_DATA_DIRS_MAX = 4, GNN_DATA_DIR_BYTES = 1024 };

struct gnn_data_dirs {
    char text[GNN_DATA_DIRS_MAX][GNN_DATA_DIR_BYTES];
    const char *dirs[GNN_DATA_DIRS_MAX + 1]; /* NULL-terminated, for gnn_profile_open; points into text */
};

/* Fill out with the directories that exist, which may be none. out must not be copied: dirs points into it. */
void gnn_data_dirs(struct gnn_data_dirs *out); /* hardware profiles */
void gnn_preset_dirs(struct gnn_data_dirs *out);
void gnn_gate_dirs(struct gnn_data_dirs *out); /* job files of `oocgnn compare` */
void gnn_figure_dirs(struct gnn_data_dirs *out);
void gnn_published_dirs(struct gnn_data_dirs *out);
void gnn_variant_dirs(struct gnn_data_dirs *out); /* overlays of `oocgnn figure --variants` */

/* Calls fn with every .ini file of the NULL-terminated dirs, directory by directory, sorted by name within each. `name`
 * is the file's name without directory and .ini. A directory that does not exist is skipped. Returns GNN_EIO if a
 * directory cannot be read. */
typedef void gnn_data_file_fn(void *ctx, const char *path, const char *name);
GNN_MUST_CHECK enum gnn_status gnn_data_files(const char *const *dirs, gnn_data_file_fn *fn, void *ctx,
                                              struct gnn_err *err);

/* Writes the path of the first DIR/NAME+ENDING that exists, and returns it. NULL: none does. */
const char *gnn_data_file_find(const char *const *dirs, const char *name, const char *ending, char *path,
                               size_t path_bytes);

/* Writes the user's own directory, which need not exist, to path. Returns GNN_EUSAGE if neither $XDG_DATA_HOME nor
 * $HOME is an absolute path, or if path is too small. */
GNN_MUST_CHECK enum gnn_status gnn_data_dir_of_user(char *path, size_t path_bytes, struct gnn_err *err);

bool gnn_is_dir(const char *path);

/* Creates the directory and its missing parents, as mkdir -p does. Returns GNN_EPERM, GNN_ENOSPC or GNN_EIO, which name
 * the directory that cannot be created, or GNN_EUSAGE if path is empty or too long. */
GNN_MUST_CHECK enum gnn_status gnn_make_dirs(const char *path, struct gnn_err *err);

#endif
