/* SPDX-License-Identifier: MIT */
#include "harness/confine/hierarchy.h"

#include "harness/base/group_file.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOUNTS_BYTES = 1 << 18, GROUPS_BYTES = 8192, WORDS_BYTES = 512 };

static void use_v1(const char *root, const struct gnn_hierarchy *at, bool memory, struct gnn_confine *out)
{
    char dir[GNN_CGROUP_PATH_MAX];
    if (!gnn_hierarchy_dir(root, at, dir))
        return;
    const bool usable = gnn_group_file_writable(dir, "");
    if (memory) {
        out->memory = GNN_CGROUP_V1;
        out->memory_usable = usable;
        (void)snprintf(out->memory_mount, sizeof out->memory_mount, "%s", at->mount);
        (void)snprintf(out->memory_parent, sizeof out->memory_parent, "%s", usable ? dir : "");
    } else {
        out->io = GNN_CGROUP_V1;
        out->io_usable = usable;
        (void)snprintf(out->io_mount, sizeof out->io_mount, "%s", at->mount);
        (void)snprintf(out->io_parent, sizeof out->io_parent, "%s", usable ? dir : "");
    }
}

static bool has_controller(const char *dir, const char *file, const char *controller)
{
    char words[WORDS_BYTES];
    return gnn_group_file_read(dir, file, words, sizeof words) == 0 && gnn_group_has_word(words, controller);
}

struct pid_check {
    long own;
    bool others;
};

static void check_pid(void *ctx, long pid)
{
    struct pid_check *check = ctx;
    check->others = check->others || pid != check->own;
}

/* Returns whether children of dir may get the memory controller. Either they do already, or this process can switch it
 * on; then no other process may live in dir (no-internal-process rule of v2; the machine's root group, without
 * cgroup.type, is exempt). */
static bool v2_parent_usable(const char *dir, bool own_group, long pid, bool *needs_leaf)
{
    *needs_leaf = false;
    if (!gnn_group_file_writable(dir, "") || !gnn_group_file_writable(dir, "cgroup.procs"))
        return false;
    if (has_controller(dir, "cgroup.subtree_control", "memory"))
        return true;
    if (!own_group || !has_controller(dir, "cgroup.controllers", "memory") ||
        !gnn_group_file_writable(dir, "cgroup.subtree_control"))
        return false;
    if (!gnn_group_file_exists(dir, "cgroup.type"))
        return true;
    struct pid_check check = {.own = pid, .others = false};
    *needs_leaf = true;
    return gnn_group_for_each_pid(dir, check_pid, &check) >= 0 && !check.others;
}

/* Leaving a group that limits something would be an escape; then only a cgroup below it will do. */
static bool limits_nothing(const char *dir)
{
    return gnn_group_file_limit(dir, "memory.max") == GNN_UNKNOWN &&
           gnn_group_file_limit(dir, "memory.high") == GNN_UNKNOWN &&
           gnn_group_file_limit(dir, "memory.swap.max") == GNN_UNKNOWN;
}

static void use_v2(const char *root, const struct gnn_hierarchy *at, long pid, struct gnn_confine *out)
{
    char dir[GNN_CGROUP_PATH_MAX];
    const size_t mount_len = strlen(root) + strlen(at->mount);
    if (!gnn_hierarchy_dir(root, at, dir))
        return;
    out->memory = GNN_CGROUP_V2;
    (void)snprintf(out->memory_mount, sizeof out->memory_mount, "%s", at->mount);
    bool own_group = true;
    do {
        bool needs_leaf;
        if (v2_parent_usable(dir, own_group, pid, &needs_leaf)) {
            out->memory_usable = true;
            out->needs_leaf = needs_leaf;
            (void)snprintf(out->memory_parent, sizeof out->memory_parent, "%s", dir);
            return;
        }
        own_group = false;
    } while (limits_nothing(dir) && gnn_hierarchy_climb(dir, mount_len));
}

/* On v2 the I/O controller can be had where the cgroup is, if that group has it for its children or could. */
static void use_v2_io(const char *root, const struct gnn_hierarchy *at, struct gnn_confine *out)
{
    char mount[GNN_CGROUP_PATH_MAX * 2];
    (void)snprintf(mount, sizeof mount, "%s%s", root, at->mount);
    if (!has_controller(mount, "cgroup.controllers", "io"))
        return;
    out->io = GNN_CGROUP_V2;
    (void)snprintf(out->io_mount, sizeof out->io_mount, "%s", at->mount);
    const char *parent = out->memory_parent;
    const bool can_enable =
        has_controller(parent, "cgroup.controllers", "io") && gnn_group_file_writable(parent, "cgroup.subtree_control");
    out->io_usable = out->memory == GNN_CGROUP_V2 && out->memory_usable &&
                     (has_controller(parent, "cgroup.subtree_control", "io") || can_enable);
    if (out->io_usable)
        memcpy(out->io_parent, out->memory_parent, sizeof out->io_parent);
}

static void write_remedy(struct gnn_confine *out)
{
    if (out->memory == GNN_CGROUP_NONE)
        (void)snprintf(out->remedy, sizeof out->remedy,
                       "no memory controller is mounted: boot without cgroup_disable=memory, or give the container its "
                       "own control groups (docker run --cgroupns=private --privileged)");
    else if (out->memory == GNN_CGROUP_V1)
        (void)snprintf(out->remedy, sizeof out->remedy,
                       "the caller's group under %s is not writable: run as root (sudo oocgnn run ...), or have root "
                       "create one: sudo cgcreate -a $USER -t $USER -g memory,blkio:oocgnn && "
                       "cgexec -g memory,blkio:oocgnn oocgnn run ...",
                       out->memory_mount);
    else
        (void)snprintf(out->remedy, sizeof out->remedy,
                       "control groups are not delegated to this process: "
                       "systemd-run --scope --user -p Delegate=yes oocgnn run ... (or: sudo systemd-run --scope "
                       "-p Delegate=yes oocgnn run ...; in a container: docker run --cgroupns=private --privileged)");
}

static enum gnn_status read_proc(const char *root, const char *name, char *text, size_t bytes, struct gnn_err *err)
{
    char dir[GNN_CGROUP_PATH_MAX];
    (void)snprintf(dir, sizeof dir, "%s/proc/self", root);
    const int failed = gnn_group_file_read(dir, name, text, bytes);
    if (gnn_errno_status(failed, GNN_OK) == GNN_EFILES)
        return gnn_fail(err, GNN_EFILES, "cannot read %s/%s: %s", dir, name, strerror(failed));
    if (failed != 0)
        return gnn_fail(err, GNN_ENOTSUP, "%s/%s: %s; control groups need /proc mounted", dir, name, strerror(failed));
    return GNN_OK;
}

enum gnn_status gnn_confine_detect_at(const char *root, long pid, struct gnn_confine *out, struct gnn_err *err)
{
    *out = (struct gnn_confine){.physical_bytes = gnn_physical_bytes()};
    char mounts[MOUNTS_BYTES];
    char groups[GROUPS_BYTES];
    GNN_TRY(read_proc(root, "mountinfo", mounts, sizeof mounts, err));
    GNN_TRY(read_proc(root, "cgroup", groups, sizeof groups, err));
    struct gnn_hierarchy memory, io, unified;
    const bool v1_memory = gnn_hierarchy_find(mounts, groups, "memory", &memory);
    const bool v1_io = gnn_hierarchy_find(mounts, groups, "blkio", &io);
    const bool v2 = gnn_hierarchy_find(mounts, groups, NULL, &unified);
    out->hybrid = v2 && (v1_memory || v1_io);
    struct gnn_pids_limit pids;
    gnn_pids_limit_in(root, mounts, groups, &pids);
    out->pids_limit = pids.limit;
    out->pids_used = pids.used;
    out->ancestor_limit_bytes = gnn_memory_limit_in(root, mounts, groups);
    if (v1_memory)
        use_v1(root, &memory, true, out);
    if (v1_io)
        use_v1(root, &io, false, out);
    char unified_root[GNN_CGROUP_PATH_MAX * 2];
    (void)snprintf(unified_root, sizeof unified_root, "%s%s", root, v2 ? unified.mount : "");
    if (v2 && !v1_memory && has_controller(unified_root, "cgroup.controllers", "memory"))
        use_v2(root, &unified, pid, out);
    if (v2 && !v1_io)
        use_v2_io(root, &unified, out);
    if (!out->memory_usable)
        write_remedy(out);
    return GNN_OK;
}

enum gnn_status gnn_confine_detect(struct gnn_confine *out, struct gnn_err *err)
{
    return gnn_confine_detect_at("", (long)getpid(), out, err);
}

uint64_t gnn_confine_effective_bytes(const struct gnn_confine *confine)
{
    return gnn_min_u64(confine->ancestor_limit_bytes, confine->physical_bytes);
}

void gnn_confine_describe(const struct gnn_confine *confine, FILE *out)
{
    static const char *const kinds[] = {"none", "cgroup v1", "cgroup v2"};
    (void)fprintf(out, "memory limit: %s%s, %s\n", kinds[confine->memory], confine->hybrid ? " (hybrid)" : "",
                  confine->memory_usable ? "usable" : "not usable");
    (void)fprintf(out, "device throttle and I/O counts: %s, %s\n", kinds[confine->io],
                  confine->io_usable ? "usable" : "not usable");
    if (confine->memory_usable)
        (void)fprintf(out, "cgroups are made in %s%s\n", confine->memory_parent,
                      confine->needs_leaf ? " (this process moves into a leaf of its own)" : "");
    if (confine->ancestor_limit_bytes != GNN_UNKNOWN)
        (void)fprintf(out, "this process already lives under a limit of %" PRIu64 " bytes\n",
                      confine->ancestor_limit_bytes);
    if (confine->remedy[0] != '\0')
        (void)fprintf(out, "remedy: %s\n", confine->remedy);
}
