/* SPDX-License-Identifier: MIT */
/* The inside of a cgroup: its state, the table of operations that v1 and v2 fill, and functions of both. Internal to
 * confine. */
#ifndef GNN_CONFINE_CGROUP_H
#define GNN_CONFINE_CGROUP_H

#include "harness/confine/confine.h"

enum { GNN_CGROUP_NAME_MAX = 64 };

struct gnn_cgroup {
    struct gnn_confine confine;
    struct gnn_cgroup_config config;
    char name[GNN_CGROUP_NAME_MAX];
    char memory_dir[GNN_CGROUP_PATH_MAX + GNN_CGROUP_NAME_MAX]; /* "" until it exists */
    char io_dir[GNN_CGROUP_PATH_MAX + GNN_CGROUP_NAME_MAX];     /* "" if none; on v2 the same as memory_dir */
    char leaf_dir[GNN_CGROUP_PATH_MAX + GNN_CGROUP_NAME_MAX];   /* v2: leaf this process moved to; "" if it did not */
    int memory_lock_fd;                                         /* flock, held as long as the owner lives; -1 if none */
    int io_lock_fd;
};

_Static_assert(GNN_CGROUP_NAME_MAX >= sizeof "oocgnn-2147483647-4294967295", "the longest name of a cgroup");

/* Operations that differ between the two versions. */
struct gnn_cgroup_ops {
    const char *enforcement; /* the word in the record */
    /* Removes groups of dead owners, then creates and locks the memory controller's group and sets its limits. v2 has
     * one group for both controllers, so it also sets the throttle. */
    enum gnn_status (*create_memory)(struct gnn_cgroup *cgroup, struct gnn_err *err);
    /* Does the same for the I/O controller if it has its own hierarchy (v1). NULL in v2. */
    enum gnn_status (*create_io)(struct gnn_cgroup *cgroup, struct gnn_err *err);
    /* Removes an empty group. Returns true if it was removed or did not exist, or false while it is busy. v2 ignores
     * mount and controller. */
    bool (*remove)(const char *mount, const char *dir, const char *controller);
    void (*read_memory)(const struct gnn_cgroup *cgroup, struct gnn_group_reading *out); /* v2: I/O, too */
    void (*read_io)(const struct gnn_cgroup *cgroup, struct gnn_group_reading *out);     /* NULL in v2 */
    /* Undoes what create_memory changed in the parent if no other cgroup remains there. Best effort. */
    void (*restore_parent)(struct gnn_cgroup *cgroup);
};

extern const struct gnn_cgroup_ops gnn_cgroup_v1; /* cgroup_v1.c, through libcgroup */
extern const struct gnn_cgroup_ops gnn_cgroup_v2; /* cgroup_v2.c, through the kernel's files */

/* The steps of v2's create_memory: enable controllers in the parent, create the directory, set limits. */
GNN_MUST_CHECK enum gnn_status gnn_cgroup_v2_prepare_parent(struct gnn_cgroup *cgroup, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_cgroup_v2_make_dir(struct gnn_cgroup *cgroup, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_cgroup_v2_set_limits(struct gnn_cgroup *cgroup, struct gnn_err *err);

/* ---- group.c ---- */

enum { GNN_GROUP_KILL_MS = 5000 };

/* Fails with a status for the errno `failed` and a message that names dir and the remedy. Returns the status. */
enum gnn_status gnn_cgroup_fail(const struct gnn_cgroup *cgroup, const char *what, const char *dir, int failed,
                                struct gnn_err *err);

/* Opens and locks the group's directory. Returns the file descriptor, or -1 if the directory cannot be opened or
 * another process holds the lock. The lock ends with its owner, even if the owner was in another PID namespace. */
int gnn_group_lock(const char *dir);

/* Sends SIGKILL to every process in dir until it is empty. Returns false if a process remains after `timeout_ms`. */
bool gnn_group_kill(const char *dir, int timeout_ms);

/* Removes cgroups in parent whose owner is dead, and kills the processes in them. An owner is dead if its PID does not
 * exist and the lock of its group is free. */
void gnn_group_reclaim(const struct gnn_cgroup_ops *ops, const char *mount, const char *parent, const char *controller);

/* Kills the processes in the group and removes it, retrying while it is busy. Warns if the group remains. Does nothing
 * if dir is "". */
void gnn_group_close(const struct gnn_cgroup_ops *ops, const char *mount, const char *dir, const char *controller);

/* Returns the owner's PID of "oocgnn-<pid>-<n>" or "oocgnn-<pid>-leaf", or 0 for any other name. */
long gnn_cgroup_owner(const char *name);

#endif
