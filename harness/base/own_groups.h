/* SPDX-License-Identifier: MIT */
/* The control groups of this process, found in the texts of /proc/self/mountinfo and /proc/self/cgroup. With a root
 * prefix, tests can lay out a machine in a directory; "" is this machine. */
#ifndef GNN_BASE_OWN_GROUPS_H
#define GNN_BASE_OWN_GROUPS_H

#include "harness/oocgnn.h"

enum { GNN_CGROUP_PATH_MAX = 1024 };

/* One mounted hierarchy and the caller's group in it, from the texts of /proc/self/mountinfo and /proc/self/cgroup. The
 * function returns false if the hierarchy is not mounted, or has no line in self_cgroup. controller NULL selects the
 * unified (v2) hierarchy. */
struct gnn_hierarchy {
    char mount[GNN_CGROUP_PATH_MAX]; /* mount point */
    char group[GNN_CGROUP_PATH_MAX]; /* the caller's group below it: "" or "/user.slice/…" */
};
bool gnn_hierarchy_find(const char *mountinfo, const char *self_cgroup, const char *controller,
                        struct gnn_hierarchy *out);

/* Writes "<root><mount><group>" to dir. Returns false if it is too long. */
bool gnn_hierarchy_dir(const char *root, const struct gnn_hierarchy *at, char dir[GNN_CGROUP_PATH_MAX]);
/* Removes the last component of dir. Returns false at the mount point, which has mount_len characters. */
bool gnn_hierarchy_climb(char dir[GNN_CGROUP_PATH_MAX], size_t mount_len);

/* The smallest pids.max from the caller's group up. */
struct gnn_pids_limit {
    uint64_t limit; /* processes and threads; GNN_UNKNOWN: none */
    uint64_t used;  /* in the group with that limit */
    char dir[GNN_CGROUP_PATH_MAX];
};
void gnn_pids_limit_in(const char *root, const char *mountinfo, const char *self_cgroup, struct gnn_pids_limit *out);

/* Returns the smallest memory limit from the caller's group up, or GNN_UNKNOWN if there is none. In v2, memory.high
 * counts like memory.max, because it keeps the page cache as small. */
uint64_t gnn_memory_limit_in(const char *root, const char *mountinfo, const char *self_cgroup);

/* Returns the memory limit that this process inherits: what gnn_memory_limit_in finds on this machine, unless it is at
 * least the physical memory. GNN_UNKNOWN: none. */
uint64_t gnn_inherited_memory_bytes(void);

uint64_t gnn_physical_bytes(void); /* memory of the machine; GNN_UNKNOWN if the kernel does not report it */

#endif
