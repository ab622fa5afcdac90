/* SPDX-License-Identifier: MIT */
/* Confinement: a memory cap and a device throttle that the kernel enforces, through control groups (docs/design.md, "A
 * run").
 *
 * A cgroup is one fresh control group (two directories where memory and blkio live on separate v1 hierarchies) made for
 * one worker. Its limit covers anonymous memory, page cache and kernel memory together; swap is forbidden unless given.
 * Control groups are children of the caller's own group, so no limit the caller lives under is ever escaped; the only
 * exception climbs over groups that limit nothing (see gnn_confine_detect).
 *
 * cgroup v1 and hybrid: created, entered and deleted through libcgroup. cgroup v2: through the kernel's files, because
 * libcgroup 2.0 writes the subtree_control of every ancestor, which a delegated user may not.
 *
 * Thread rules: one thread uses a cgroup; gnn_cgroup_enter is called in the child after fork and is
 * async-signal-safe. */
#ifndef GNN_CONFINE_H
#define GNN_CONFINE_H

#include "harness/base/reading.h"
#include "harness/oocgnn.h"

#include <stdio.h>
#include <sys/types.h>

enum { GNN_CGROUP_PATH_MAX = 1024 };

enum gnn_cgroup_kind { GNN_CGROUP_NONE, GNN_CGROUP_V1, GNN_CGROUP_V2 };

/* The hierarchies as this process finds them. Plain data. */
struct gnn_confine {
    enum gnn_cgroup_kind memory;            /* which version carries the memory controller */
    enum gnn_cgroup_kind io;                /* … blkio (v1) or io (v2) */
    bool hybrid;                            /* both versions are mounted */
    char memory_mount[GNN_CGROUP_PATH_MAX]; /* mount point of that hierarchy */
    char io_mount[GNN_CGROUP_PATH_MAX];
    char memory_parent[GNN_CGROUP_PATH_MAX]; /* directory cgroups are made in; "" if none is usable */
    char io_parent[GNN_CGROUP_PATH_MAX];
    bool memory_usable; /* a cgroup with a cap can be made here */
    bool io_usable;     /* a cgroup with a throttle can be made, and its I/O is counted */
    bool needs_leaf;    /* v2: this process has to move into a leaf of its own first (no-internal-process rule) */
    uint64_t ancestor_limit_bytes; /* smallest memory limit from the caller's group up; GNN_UNKNOWN: none */
    uint64_t pids_limit;           /* smallest pids.max from the caller's group up; GNN_UNKNOWN: none */
    uint64_t pids_used;            /* processes and threads in the group with that limit */
    uint64_t physical_bytes;
    char remedy[GNN_CGROUP_PATH_MAX +
                512]; /* why memory_usable is false and the command that would change it; else "" */
};

/* Looks at /proc/self/mountinfo, /proc/self/cgroup and the directories they name; creates nothing. Fails only when
 * /proc itself cannot be read: a machine without control groups is described, not refused. */
GNN_MUST_CHECK enum gnn_status gnn_confine_detect(struct gnn_confine *out, struct gnn_err *err);

/* min(physical memory, every ancestor's limit): what a program on this machine really has. */
uint64_t gnn_confine_effective_bytes(const struct gnn_confine *confine);

/* A few lines for `oocgnn doctor`. */
void gnn_confine_describe(const struct gnn_confine *confine, FILE *out);

/* A whole block device as the kernel numbers it (measure/device.h finds it behind a path) and its ceilings, for reads
 * and for writes each; 0 = none. Name the device even without ceilings: v1 kernels since 6.10 count a group's I/O only
 * on devices that were named. 0:0 = no device: I/O of all devices where the kernel tells. */
struct gnn_throttle {
    uint32_t major, minor;
    uint64_t bps;
    uint64_t iops;
};

struct gnn_cgroup_config {
    uint64_t memory_bytes; /* 0: no cap; the group still counts */
    uint64_t swap_bytes;   /* on top of memory_bytes; 0: none */
    struct gnn_throttle throttle;
};

struct gnn_cgroup;

/* Makes the group with its limits set, after removing cgroups whose owners are dead. GNN_EPERM with the exact command
 * when this process may not; GNN_ENOTSUP without the controller; GNN_EUSAGE when the cap is below one page or above an
 * ancestor's limit (the run would live under less than it says). */
GNN_MUST_CHECK enum gnn_status gnn_cgroup_create(const struct gnn_confine *confine,
                                                 const struct gnn_cgroup_config *config, struct gnn_cgroup **out,
                                                 struct gnn_err *err);

/* "oocgnn-<pid>-<n>" */
const char *gnn_cgroup_name(const struct gnn_cgroup *cgroup);
/* The record's word: "cgroup-v1" or "cgroup-v2". */
const char *gnn_cgroup_enforcement(const struct gnn_cgroup *cgroup);

/* Moves the calling process into the cgroup. Call it in the child, right after fork and before exec or any allocation:
 * memory touched earlier stays charged to the parent's group. Returns 0, or -1 with errno set. Async-signal-safe. */
GNN_MUST_CHECK int gnn_cgroup_enter(const struct gnn_cgroup *cgroup);

/* Reads the group; what this kernel does not tell is GNN_UNKNOWN. Fails only when the group is gone. */
GNN_MUST_CHECK enum gnn_status gnn_cgroup_read(const struct gnn_cgroup *cgroup, struct gnn_group_reading *out,
                                               struct gnn_err *err);

/* SIGKILL to every process inside, and waits (up to 5 s) until none is left. The caller reaps its own children. */
GNN_MUST_CHECK enum gnn_status gnn_cgroup_kill(struct gnn_cgroup *cgroup, struct gnn_err *err);

/* Kills what is left inside, removes the group (retrying while the kernel is busy) and frees; warns on stderr if the
 * directory stays. Accepts NULL. */
void gnn_cgroup_close(struct gnn_cgroup *cgroup);

/* Forks a child into a small cgroup, touches `bytes` of anonymous memory there and returns by how much the group's
 * charge rose. The caller compares: a cap that does not count is no cap. */
GNN_MUST_CHECK enum gnn_status gnn_confine_self_test(const struct gnn_confine *confine, uint64_t bytes,
                                                     uint64_t *rise_bytes, struct gnn_err *err);
/* Whether that shows that memory is counted. The kernel charges a group ahead, in batches of pages a core: what is
 * touched then raises the charge by less. */
static inline bool gnn_confine_counts(uint64_t bytes, uint64_t rise_bytes)
{
    return rise_bytes >= bytes - bytes / 8;
}

#endif
