/* SPDX-License-Identifier: MIT */
/* Confinement: a memory limit and a device throttle that the kernel enforces, through control groups (docs/design.md,
 * "A run").
 *
 * A cgroup is one new control group for one worker. It has two directories if memory and blkio are on separate v1
 * hierarchies. Its limit covers anonymous memory, page cache and kernel memory together. Swap is forbidden unless the
 * configuration allows it. Control groups are children of the caller's own group, so every limit of the caller stays in
 * force. The only exception climbs over groups that limit nothing (see gnn_confine_detect).
 *
 * Cgroup v1 and hybrid: groups are created, entered and deleted through libcgroup. Cgroup v2: through the kernel's
 * files, because libcgroup 2.0 writes the subtree_control of every ancestor, which a delegated user may not.
 *
 * Thread rules: one thread uses a cgroup. gnn_cgroup_enter() is called in the child after fork and is
 * async-signal-safe. */
#ifndef GNN_CONFINE_H
#define GNN_CONFINE_H

#include "harness/base/own_groups.h"
#include "harness/base/reading.h"
#include "harness/oocgnn.h"

#include <stdio.h>
#include <sys/types.h>

enum gnn_cgroup_kind { GNN_CGROUP_NONE, GNN_CGROUP_V1, GNN_CGROUP_V2 };

/* The hierarchies as this process finds them. Plain data. */
struct gnn_confine {
    enum gnn_cgroup_kind memory;            /* version that has the memory controller */
    enum gnn_cgroup_kind io;                /* version that has blkio (v1) or io (v2) */
    bool hybrid;                            /* both versions are mounted */
    char memory_mount[GNN_CGROUP_PATH_MAX]; /* mount point of that hierarchy */
    char io_mount[GNN_CGROUP_PATH_MAX];
    char memory_parent[GNN_CGROUP_PATH_MAX]; /* directory that cgroups are created in; "" if none is usable */
    char io_parent[GNN_CGROUP_PATH_MAX];
    bool memory_usable; /* a cgroup with a memory limit can be created here */
    bool io_usable;     /* a cgroup with a throttle can be created, and its I/O is counted */
    bool needs_leaf;    /* v2: this process must first move into a leaf of its own (no-internal-process rule) */
    uint64_t ancestor_limit_bytes; /* smallest memory limit from the caller's group up; GNN_UNKNOWN: none */
    uint64_t pids_limit;           /* smallest pids.max from the caller's group up; GNN_UNKNOWN: none */
    uint64_t pids_used;            /* processes and threads in the group with that limit */
    uint64_t physical_bytes;
    char remedy[GNN_CGROUP_PATH_MAX +
                512]; /* why memory_usable is false, with the command that would change it; else "" */
};

/* Reads /proc/self/mountinfo, /proc/self/cgroup and the directories that they name. Creates nothing. A machine without
 * control groups is described, which is not an error. Returns GNN_ENOTSUP if /proc cannot be read. */
GNN_MUST_CHECK enum gnn_status gnn_confine_detect(struct gnn_confine *out, struct gnn_err *err);

/* Returns min(physical memory, every ancestor's limit): the memory that a program can use on this machine. */
uint64_t gnn_confine_effective_bytes(const struct gnn_confine *confine);

/* Prints a few lines for `oocgnn doctor`. */
void gnn_confine_describe(const struct gnn_confine *confine, FILE *out);

/* A whole block device by its kernel number (gnn_device_find() finds it behind a path) and its limits, each for reads
 * and for writes; 0 = none. Set the device even without limits: since Linux 6.10, v1 counts a group's I/O only on
 * devices that were named. 0:0 = no device: the I/O of all devices, if the kernel reports it. */
struct gnn_throttle {
    uint32_t major, minor;
    uint64_t bps;
    uint64_t iops;
};

struct gnn_cgroup_config {
    uint64_t memory_bytes; /* 0: no memory limit; the group still counts */
    uint64_t swap_bytes;   /* in addition to memory_bytes; 0: none */
    struct gnn_throttle throttle;
};

struct gnn_cgroup;

/* Removes cgroups of dead owners, then creates a group with its limits. Returns GNN_EPERM with the exact command if
 * this process lacks permission, or GNN_ENOTSUP if the controller is missing or the kernel set another limit. Returns
 * GNN_EUSAGE if the limit is below one page or above an ancestor's limit, which would be the effective one.
 * gnn_cgroup_close() frees *out. */
GNN_MUST_CHECK enum gnn_status gnn_cgroup_create(const struct gnn_confine *confine,
                                                 const struct gnn_cgroup_config *config, struct gnn_cgroup **out,
                                                 struct gnn_err *err);

/* Returns "oocgnn-<pid>-<n>". */
const char *gnn_cgroup_name(const struct gnn_cgroup *cgroup);
/* Returns the word in the record: "cgroup-v1" or "cgroup-v2". */
const char *gnn_cgroup_enforcement(const struct gnn_cgroup *cgroup);

/* Moves the calling process into the cgroup. Returns 0, or -1 with errno set. Async-signal-safe. Call it in the child,
 * right after fork and before exec or any allocation: memory touched earlier stays charged to the parent's group. */
GNN_MUST_CHECK int gnn_cgroup_enter(const struct gnn_cgroup *cgroup);

/* Reads the group. A value that this kernel does not report is GNN_UNKNOWN. Returns GNN_EIO if the group was
 * removed. */
GNN_MUST_CHECK enum gnn_status gnn_cgroup_read(const struct gnn_cgroup *cgroup, struct gnn_group_reading *out,
                                               struct gnn_err *err);

/* Sends SIGKILL to every process in the group and waits until it is empty. Returns GNN_ETIME if a process remains after
 * 5 s. The caller reaps its own children. */
GNN_MUST_CHECK enum gnn_status gnn_cgroup_kill(struct gnn_cgroup *cgroup, struct gnn_err *err);

/* Kills the processes in the group, removes it (retrying while the kernel is busy) and frees cgroup. Warns on stderr if
 * the directory remains. Accepts NULL. */
void gnn_cgroup_close(struct gnn_cgroup *cgroup);

/* Forks a child into a small cgroup, touches `bytes` of anonymous memory there and writes by how much the group's
 * charge rose to *rise_bytes. The caller compares both, because a kernel may accept a limit without counting. Returns
 * GNN_EPERM if the child cannot enter the group or use memory, or an error of gnn_cgroup_create() or
 * gnn_cgroup_read(). */
GNN_MUST_CHECK enum gnn_status gnn_confine_self_test(const struct gnn_confine *confine, uint64_t bytes,
                                                     uint64_t *rise_bytes, struct gnn_err *err);
/* Returns whether a self-test with this result shows that memory is counted. The charge may rise by less than `bytes`:
 * the kernel charges a group in advance, in batches of pages per core. */
static inline bool gnn_confine_counts(uint64_t bytes, uint64_t rise_bytes)
{
    return rise_bytes >= bytes - bytes / 8;
}

#endif
