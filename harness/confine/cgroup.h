/* SPDX-License-Identifier: MIT */
/* Inside of a cgroup: its state, the table of operations that v1 and v2 fill, and helpers of both. Internal to
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
    char leaf_dir[GNN_CGROUP_PATH_MAX + GNN_CGROUP_NAME_MAX];   /* v2: where this process moved; "" if it did not */
    int memory_lock_fd;                                         /* flock held as long as the owner lives; -1 if none */
    int io_lock_fd;
};

_Static_assert(GNN_CGROUP_NAME_MAX >= sizeof "oocgnn-2147483647-4294967295", "the longest name of a cgroup");

/* What differs between the two versions. */
struct gnn_cgroup_ops {
    const char *enforcement; /* the record's word */
    /* Removes groups of dead owners, makes the group of the memory controller with its limits and locks it. v2 has one
     * group for both controllers: a throttle is set here too. */
    enum gnn_status (*create_memory)(struct gnn_cgroup *cgroup, struct gnn_err *err);
    /* The same for the I/O controller where it has a hierarchy of its own (v1); NULL in v2. */
    enum gnn_status (*create_io)(struct gnn_cgroup *cgroup, struct gnn_err *err);
    /* Removes an empty group; true when it was gone already. False while it is busy. v2 ignores mount, controller. */
    bool (*remove)(const char *mount, const char *dir, const char *controller);
    void (*read_memory)(const struct gnn_cgroup *cgroup, struct gnn_group_reading *out); /* v2: I/O as well */
    void (*read_io)(const struct gnn_cgroup *cgroup, struct gnn_group_reading *out);     /* NULL in v2 */
    /* Undoes what create_memory changed above the group when no other cgroup is left; best effort. */
    void (*restore_parent)(struct gnn_cgroup *cgroup);
};

extern const struct gnn_cgroup_ops gnn_cgroup_v1; /* cgroup_v1.c, through libcgroup */
extern const struct gnn_cgroup_ops gnn_cgroup_v2; /* cgroup_v2.c, through the kernel's files */

/* The steps of v2's create_memory: switch controllers on in the parent, make the directory, set limits. */
GNN_MUST_CHECK enum gnn_status gnn_cgroup_v2_prepare_parent(struct gnn_cgroup *cgroup, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_cgroup_v2_make_dir(struct gnn_cgroup *cgroup, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_cgroup_v2_set_limits(struct gnn_cgroup *cgroup, struct gnn_err *err);

/* ---- group.c ---- */

enum { GNN_GROUP_KILL_MS = 5000 };

/* Maps an errno to a status and a message that names dir and the remedy. */
enum gnn_status gnn_cgroup_fail(const struct gnn_cgroup *cgroup, const char *what, const char *dir, int failed,
                                struct gnn_err *err);

/* Opens and locks the group's directory: the lock ends with its owner, in whatever PID namespace that lived. Returns
 * -1 if it cannot be opened or another process holds the lock. */
int gnn_group_lock(const char *dir);

/* SIGKILL to everything in dir until it is empty, for at most `timeout_ms`; false if something stays. */
bool gnn_group_kill(const char *dir, int timeout_ms);

/* Removes cgroups below parent whose owner is dead (its PID is gone and it no longer holds the group's lock), killing
 * what is left in them. */
void gnn_group_reclaim(const struct gnn_cgroup_ops *ops, const char *mount, const char *parent, const char *controller);

/* Kills the processes left in the group and removes it, retrying while it is busy; warns if it stays. dir "":
 * nothing. */
void gnn_group_close(const struct gnn_cgroup_ops *ops, const char *mount, const char *dir, const char *controller);

/* Owner's PID of "oocgnn-<pid>-<n>" or "oocgnn-<pid>-leaf"; 0: not one of ours. */
long gnn_cgroup_owner(const char *name);

#endif
