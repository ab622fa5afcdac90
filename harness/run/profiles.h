/* Where hardware profiles are looked for: the user's own first ($XDG_DATA_HOME/oocgnn, where `oocgnn calibrate` writes
 * this.ini), then those that came with the program: workloads/hardware of the source tree it was built in, or
 * share/oocgnn/hardware beside the bin/ it was installed to. */
#ifndef GNN_RUN_PROFILES_H
#define GNN_RUN_PROFILES_H

#include "harness/world/profile.h"

enum { GNN_PROFILE_DIRS_MAX = 4, GNN_PROFILE_PATH_MAX = 1024 };

struct gnn_profile_dirs {
    char text[GNN_PROFILE_DIRS_MAX][GNN_PROFILE_PATH_MAX];
    const char *list[GNN_PROFILE_DIRS_MAX + 1]; /* into text, NULL-terminated */
};
void gnn_profile_dirs_fill(struct gnn_profile_dirs *out);

/* $XDG_DATA_HOME/oocgnn, by default ~/.local/share/oocgnn. GNN_ENOENT: neither variable is set. */
GNN_MUST_CHECK enum gnn_status gnn_profile_home(char *path, size_t path_bytes, struct gnn_err *err);

/* gnn_profile_open over these directories. */
GNN_MUST_CHECK enum gnn_status gnn_run_profile_open(const char *name, struct gnn_profile **out,
                                                    struct gnn_err *err);

#endif
