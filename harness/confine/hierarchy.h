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

/* One mounted hierarchy and the caller's group in it, from the texts of /proc/self/mountinfo and /proc/self/cgroup. The
 * function returns false if the hierarchy is not mounted, or has no line in self_cgroup. controller NULL selects the
 * unified (v2) hierarchy. */
struct gnn_hierarchy {
    char mount[GNN_CGROUP_PATH_MAX]; /* mount point */
    char group[GNN_CGROUP_PATH_MAX]; /* the caller's group below it: "" or "/user.slice/…" */
};
bool gnn_hierarchy_find(const char *mountinfo, const char *self_cgroup, const char *controller,
                        struct gnn_hierarchy *out);

#endif
