/* SPDX-License-Identifier: MIT */
/* cgroup v2 through the kernel's files (Documentation/admin-guide/cgroup-v2.rst): one directory for all controllers. */
#include "harness/base/group_file.h"
#include "harness/confine/cgroup.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STAT_BYTES = 16384, VALUE_BYTES = 160 };

static bool enabled(const char *dir, const char *controller)
{
    char words[512];
    return gnn_group_file_read(dir, "cgroup.subtree_control", words, sizeof words) == 0 &&
           gnn_group_has_word(words, controller);
}

/* A group with processes may not hand controllers to children: this process steps into a leaf beside the cgroups. */
static enum gnn_status enter_leaf(struct gnn_cgroup *cgroup, struct gnn_err *err)
{
    char dir[sizeof cgroup->leaf_dir];
    (void)snprintf(dir, sizeof dir, "%s/oocgnn-%ld-leaf", cgroup->confine.memory_parent, (long)getpid());
    if (mkdir(dir, 0755) != 0 && errno != EEXIST)
        return gnn_cgroup_fail(cgroup, "create", dir, errno, err);
    memcpy(cgroup->leaf_dir, dir, sizeof dir);
    const int failed = gnn_group_file_write(dir, "cgroup.procs", "0");
    return failed == 0 ? GNN_OK : gnn_cgroup_fail(cgroup, "move into", dir, failed, err);
}

enum gnn_status gnn_cgroup_v2_prepare_parent(struct gnn_cgroup *cgroup, struct gnn_err *err)
{
    const char *parent = cgroup->confine.memory_parent;
    if (cgroup->confine.needs_leaf)
        GNN_TRY(enter_leaf(cgroup, err));
    if (!enabled(parent, "memory")) {
        const int failed = gnn_group_file_write(parent, "cgroup.subtree_control", "+memory");
        if (failed != 0)
            return gnn_cgroup_fail(cgroup, "enable the memory controller in", parent, failed, err);
    }
    /* Without the io controller a cgroup still caps; I/O is then not counted and a throttle is refused. */
    if (cgroup->confine.io_usable && !enabled(parent, "io") &&
        gnn_group_file_write(parent, "cgroup.subtree_control", "+io") != 0)
        cgroup->confine.io_usable = false;
    return GNN_OK;
}

enum gnn_status gnn_cgroup_v2_make_dir(struct gnn_cgroup *cgroup, struct gnn_err *err)
{
    char dir[sizeof cgroup->memory_dir];
    (void)snprintf(dir, sizeof dir, "%s/%s", cgroup->confine.memory_parent, cgroup->name);
    assert(cgroup->memory_dir[0] == '\0');
    if (mkdir(dir, 0755) != 0)
        return gnn_cgroup_fail(cgroup, "create", dir, errno, err);
    memcpy(cgroup->memory_dir, dir, sizeof dir);
    if (cgroup->confine.io == GNN_CGROUP_V2 && cgroup->confine.io_usable)
        memcpy(cgroup->io_dir, dir, sizeof dir);
    return GNN_OK;
}

static enum gnn_status set_file(struct gnn_cgroup *cgroup, const char *file, const char *value, struct gnn_err *err)
{
    assert(cgroup->memory_dir[0] != '\0');
    const int failed = gnn_group_file_write(cgroup->memory_dir, file, value);
    if (failed == 0)
        return GNN_OK;
    char what[64 + VALUE_BYTES];
    (void)snprintf(what, sizeof what, "set %s = %s in", file, value);
    return gnn_cgroup_fail(cgroup, what, cgroup->memory_dir, failed, err);
}

static enum gnn_status set_throttle(struct gnn_cgroup *cgroup, struct gnn_err *err)
{
    const struct gnn_throttle *throttle = &cgroup->config.throttle;
    char value[VALUE_BYTES];
    assert(throttle->bps != 0 || throttle->iops != 0);
    int used = snprintf(value, sizeof value, "%" PRIu32 ":%" PRIu32, throttle->major, throttle->minor);
    if (throttle->bps != 0)
        used += snprintf(value + used, sizeof value - (size_t)used, " rbps=%" PRIu64 " wbps=%" PRIu64, throttle->bps,
                         throttle->bps);
    if (throttle->iops != 0)
        (void)snprintf(value + used, sizeof value - (size_t)used, " riops=%" PRIu64 " wiops=%" PRIu64, throttle->iops,
                       throttle->iops);
    return set_file(cgroup, "io.max", value, err);
}

enum gnn_status gnn_cgroup_v2_set_limits(struct gnn_cgroup *cgroup, struct gnn_err *err)
{
    char value[VALUE_BYTES];
    if (cgroup->config.memory_bytes != 0) {
        (void)snprintf(value, sizeof value, "%" PRIu64, cgroup->config.memory_bytes);
        GNN_TRY(set_file(cgroup, "memory.max", value, err));
        if (gnn_group_file_exists(cgroup->memory_dir, "memory.swap.max")) {
            (void)snprintf(value, sizeof value, "%" PRIu64, cgroup->config.swap_bytes);
            GNN_TRY(set_file(cgroup, "memory.swap.max", value, err));
        }
    }
    if (cgroup->config.throttle.bps == 0 && cgroup->config.throttle.iops == 0)
        return GNN_OK;
    return set_throttle(cgroup, err);
}

static bool remove_group(const char *mount, const char *dir, const char *controller)
{
    (void)mount;
    (void)controller;
    return rmdir(dir) == 0 || errno == ENOENT;
}

static enum gnn_status create_memory(struct gnn_cgroup *cgroup, struct gnn_err *err)
{
    gnn_group_reclaim(&gnn_cgroup_v2, cgroup->confine.memory_mount, cgroup->confine.memory_parent, "memory");
    GNN_TRY(gnn_cgroup_v2_prepare_parent(cgroup, err));
    GNN_TRY(gnn_cgroup_v2_make_dir(cgroup, err));
    cgroup->memory_lock_fd = gnn_group_lock(cgroup->memory_dir);
    return gnn_cgroup_v2_set_limits(cgroup, err);
}

/* Another cgroup below parent would lose its limits with the controller. */
static bool has_other_cgroups(const char *parent)
{
    DIR *entries = opendir(parent);
    if (entries == NULL)
        return true;
    bool others = false;
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries))
        others = others || (gnn_cgroup_owner(entry->d_name) != 0 && strstr(entry->d_name, "-leaf") == NULL);
    (void)closedir(entries);
    return others;
}

/* Leaves the leaf that enter_leaf moved this process to. */
static void restore_parent(struct gnn_cgroup *cgroup)
{
    const char *parent = cgroup->confine.memory_parent;
    if (cgroup->leaf_dir[0] == '\0' || has_other_cgroups(parent))
        return;
    (void)gnn_group_file_write(parent, "cgroup.subtree_control", "-io");
    (void)gnn_group_file_write(parent, "cgroup.subtree_control", "-memory");
    if (gnn_group_file_write(parent, "cgroup.procs", "0") == 0)
        (void)rmdir(cgroup->leaf_dir);
}

static void read_io(const char *dir, uint32_t major, uint32_t minor, struct gnn_group_reading *out)
{
    char text[STAT_BYTES];
    if (gnn_group_file_read(dir, "io.stat", text, sizeof text) == 0) {
        out->read_bytes = gnn_group_parse_devices(text, "rbytes", '=', major, minor);
        out->read_ios = gnn_group_parse_devices(text, "rios", '=', major, minor);
        out->write_bytes = gnn_group_parse_devices(text, "wbytes", '=', major, minor);
        out->misses_buffered_writes = 0;
        out->write_ios = gnn_group_parse_devices(text, "wios", '=', major, minor);
    }
    if (gnn_group_file_read(dir, "io.pressure", text, sizeof text) == 0)
        (void)gnn_parse_psi(text, &out->psi_io);
    if (gnn_group_file_read(dir, "memory.pressure", text, sizeof text) == 0)
        (void)gnn_parse_psi(text, &out->psi_memory);
}

static void read_memory(const struct gnn_cgroup *cgroup, struct gnn_group_reading *out)
{
    const char *const dir = cgroup->memory_dir;
    out->limit_bytes = gnn_group_file_limit(dir, "memory.max");
    out->swap_limit_bytes = gnn_group_file_limit(dir, "memory.swap.max");
    out->current_bytes = gnn_group_file_u64(dir, "memory.current");
    out->peak_bytes = gnn_group_file_u64(dir, "memory.peak");
    out->swap_bytes = gnn_group_file_u64(dir, "memory.swap.current");
    char text[STAT_BYTES];
    if (gnn_group_file_read(dir, "memory.events", text, sizeof text) == 0)
        out->oom_kills = gnn_group_parse_flat(text, "oom_kill");
    if (gnn_group_file_read(dir, "memory.stat", text, sizeof text) == 0) {
        out->anon_bytes = gnn_group_parse_flat(text, "anon");
        out->file_bytes = gnn_group_parse_flat(text, "file");
        out->shmem_bytes = gnn_group_parse_flat(text, "shmem");
        out->refaults = gnn_group_parse_flat(text, "workingset_refault_file");
        out->major_faults = gnn_group_parse_flat(text, "pgmajfault");
    }
    read_io(dir, cgroup->config.throttle.major, cgroup->config.throttle.minor, out);
}

const struct gnn_cgroup_ops gnn_cgroup_v2 = {.enforcement = "cgroup-v2",
                                             .create_memory = create_memory,
                                             .remove = remove_group,
                                             .read_memory = read_memory,
                                             .restore_parent = restore_parent};
