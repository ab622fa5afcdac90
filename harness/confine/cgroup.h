/* Inside of a cgroup, shared by its v1 and v2 halves. Internal to confine. */
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

/* One controller's group with its limits, on v1, through libcgroup. */
GNN_MUST_CHECK enum gnn_status gnn_cgroup_v1_create_memory(struct gnn_cgroup *cgroup, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_cgroup_v1_create_io(struct gnn_cgroup *cgroup, struct gnn_err *err);
/* False while the group is busy. */
bool gnn_cgroup_v1_delete(const char *mount, const char *dir, const char *controller);
void gnn_cgroup_v1_read_memory(const char *dir, struct gnn_group_reading *out);
void gnn_cgroup_v1_read_io(const char *dir, uint32_t major, uint32_t minor, struct gnn_group_reading *out);

/* The same on v2, through the kernel's files: switch controllers on in the parent, make the directory, set
 * limits. */
GNN_MUST_CHECK enum gnn_status gnn_cgroup_v2_prepare_parent(struct gnn_cgroup *cgroup, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_cgroup_v2_make_dir(struct gnn_cgroup *cgroup, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_cgroup_v2_set_limits(struct gnn_cgroup *cgroup, struct gnn_err *err);
/* Undoes prepare_parent when no other cgroup is left; best effort. */
void gnn_cgroup_v2_leave_leaf(struct gnn_cgroup *cgroup);
void gnn_cgroup_v2_read(const char *dir, uint32_t major, uint32_t minor, struct gnn_group_reading *out);

/* Maps an errno to a status and a message that names dir and the remedy. */
enum gnn_status gnn_cgroup_fail(const struct gnn_cgroup *cgroup, const char *what, const char *dir, int failed,
                                struct gnn_err *err);

/* SIGKILL to everything in dir until it is empty, for at most `timeout_ms`; false if something stays. */
bool gnn_group_kill(const char *dir, int timeout_ms);

/* Removes cgroups below parent whose owner is dead (its PID is gone and it no longer holds the group's lock),
 * killing what is left in them. controller: "memory", "blkio", or NULL for v2. */
void gnn_cgroup_reclaim(const char *mount, const char *parent, const char *controller);

/* Owner's PID of "oocgnn-<pid>-<n>" or "oocgnn-<pid>-leaf"; 0: not one of ours. */
long gnn_cgroup_owner(const char *name);

#endif
