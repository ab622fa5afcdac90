/* SPDX-License-Identifier: MIT */
/* cgroup v1 through libcgroup: memory and blkio are separate hierarchies, each with its own directory of one name. */
#include "harness/base/group_file.h"
#include "harness/confine/cgroup.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <libcgroup.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { VALUE_BYTES = 96, STAT_BYTES = 16384, SETTINGS_MAX = 4 };

struct setting {
    const char *file;
    char value[VALUE_BYTES];
};

static void say_nothing(void *ctx, int level, const char *format, va_list args)
{
    (void)ctx;
    (void)level;
    (void)format;
    (void)args;
}

/* libcgroup would write its errors to stdout, where only results belong; its codes are told where they come back. */
static int init_library(void)
{
    cgroup_set_logger(say_nothing, CGROUP_LOG_ERROR, NULL);
    return cgroup_init();
}

/* libcgroup names a group from its hierarchy's mount point. */
static const char *relative(const char *mount, const char *dir)
{
    const size_t length = strlen(mount);
    assert(strncmp(dir, mount, length) == 0);
    return dir[length] == '/' ? dir + length + 1 : dir + length;
}

/* The library does not keep the errno of every call; the last one is in errno, which callers clear first. */
static enum gnn_status fail_cg(const struct gnn_cgroup *cgroup, const char *what, const char *dir, int code,
                               struct gnn_err *err)
{
    const int last = errno, kept = cgroup_get_last_errno();
    assert(code != 0);
    if (gnn_errno_status(last, GNN_OK) == GNN_EFILES)
        return gnn_cgroup_fail(cgroup, what, dir, last, err);
    if (code == ECGOTHER)
        return gnn_cgroup_fail(cgroup, what, dir, kept != 0 ? kept : last != 0 ? last : EIO, err);
    if (code == ECGROUPNOTOWNER || code == ECGROUPNOTALLOWED)
        return gnn_cgroup_fail(cgroup, what, dir, EPERM, err);
    return gnn_fail(err, GNN_ENOTSUP, "%s %s: libcgroup: %s", what, dir, cgroup_strerror(code));
}

static enum gnn_status create_group(const struct gnn_cgroup *cgroup, const char *mount, const char *dir,
                                    const char *controller, const struct setting *settings, uint32_t count,
                                    struct gnn_err *err)
{
    assert(count <= SETTINGS_MAX);
    errno = 0;
    int code = init_library();
    if (code != 0)
        return fail_cg(cgroup, "look for control groups for", dir, code, err);
    struct cgroup *group = cgroup_new_cgroup(relative(mount, dir));
    struct cgroup_controller *added = group == NULL ? NULL : cgroup_add_controller(group, controller);
    code = added == NULL ? ECGFAIL : 0;
    for (uint32_t i = 0; i < count && code == 0; i++)
        code = cgroup_add_value_string(added, settings[i].file, settings[i].value);
    if (code == 0)
        code = cgroup_create_cgroup(group, 1);
    const int failed = errno;
    cgroup_free(&group);
    errno = failed;
    return code == 0 ? GNN_OK : fail_cg(cgroup, "create", dir, code, err);
}

/* Makes the group below `parent` and locks it; `dir` is where it is, "" until it exists. */
static enum gnn_status make_group(const struct gnn_cgroup *cgroup, const char *mount, const char *parent,
                                  const char *controller, const struct setting *settings, uint32_t count, char *dir,
                                  int *lock_fd, struct gnn_err *err)
{
    char path[sizeof cgroup->memory_dir];
    _Static_assert(sizeof cgroup->memory_dir == sizeof cgroup->io_dir, "either path fits");
    (void)snprintf(path, sizeof path, "%s/%s", parent, cgroup->name);
    GNN_TRY(create_group(cgroup, mount, path, controller, settings, count, err));
    memcpy(dir, path, sizeof path);
    *lock_fd = gnn_group_lock(dir);
    return GNN_OK;
}

static enum gnn_status create_memory(struct gnn_cgroup *cgroup, struct gnn_err *err)
{
    /* The second is the limit of memory and swap together; absent where swap accounting is off. Must not be below the
     * first. */
    struct setting settings[] = {{.file = "memory.limit_in_bytes"}, {.file = "memory.memsw.limit_in_bytes"}};
    const struct gnn_confine *confine = &cgroup->confine;
    const uint64_t bytes = cgroup->config.memory_bytes, both = gnn_add_bytes(bytes, cgroup->config.swap_bytes);
    (void)snprintf(settings[0].value, sizeof settings[0].value, "%" PRIu64, bytes);
    (void)snprintf(settings[1].value, sizeof settings[1].value, "%" PRIu64, both);
    gnn_group_reclaim(&gnn_cgroup_v1, confine->memory_mount, confine->memory_parent, "memory");
    const uint32_t count = bytes == 0 ? 0 : gnn_group_file_exists(confine->memory_parent, settings[1].file) ? 2 : 1;
    return make_group(cgroup, confine->memory_mount, confine->memory_parent, "memory", settings, count,
                      cgroup->memory_dir, &cgroup->memory_lock_fd, err);
}

static enum gnn_status create_io(struct gnn_cgroup *cgroup, struct gnn_err *err)
{
    struct setting settings[SETTINGS_MAX] = {{.file = "blkio.throttle.read_bps_device"},
                                             {.file = "blkio.throttle.write_bps_device"},
                                             {.file = "blkio.throttle.read_iops_device"},
                                             {.file = "blkio.throttle.write_iops_device"}};
    const struct gnn_confine *confine = &cgroup->confine;
    const struct gnn_throttle *throttle = &cgroup->config.throttle;
    gnn_group_reclaim(&gnn_cgroup_v1, confine->io_mount, confine->io_parent, "blkio");
    /* 0 means "no limit". It is written all the same: since Linux 6.10 blk-throttle, which does v1's
     * counting, starts with the first setting of the device. */
    const uint32_t count = throttle->major != 0 || throttle->minor != 0 ? SETTINGS_MAX : 0;
    for (uint32_t i = 0; i < count; i++)
        (void)snprintf(settings[i].value, sizeof settings[i].value, "%" PRIu32 ":%" PRIu32 " %" PRIu64, throttle->major,
                       throttle->minor, i < 2 ? throttle->bps : throttle->iops);
    return make_group(cgroup, confine->io_mount, confine->io_parent, "blkio", settings, count, cgroup->io_dir,
                      &cgroup->io_lock_fd, err);
}

/* The library opens files to do it, and there may be no descriptors left; the kernel needs none. */
static bool remove_group(const char *mount, const char *dir, const char *controller)
{
    struct cgroup *group = init_library() == 0 ? cgroup_new_cgroup(relative(mount, dir)) : NULL;
    bool gone = false;
    if (group != NULL && cgroup_add_controller(group, controller) != NULL) {
        const int code = cgroup_delete_cgroup_ext(group, CGFLAG_DELETE_EMPTY_ONLY);
        gone = code == 0 || code == ECGROUPNOTEXIST || (code == ECGOTHER && cgroup_get_last_errno() == ENOENT);
    }
    if (group != NULL)
        cgroup_free(&group);
    return gone || rmdir(dir) == 0 || errno == ENOENT;
}

static void read_memory(const struct gnn_cgroup *cgroup, struct gnn_group_reading *out)
{
    const char *const dir = cgroup->memory_dir;
    out->limit_bytes = gnn_group_file_limit(dir, "memory.limit_in_bytes");
    const uint64_t both = gnn_group_file_limit(dir, "memory.memsw.limit_in_bytes");
    if (both != GNN_UNKNOWN && out->limit_bytes != GNN_UNKNOWN && both >= out->limit_bytes)
        out->swap_limit_bytes = both - out->limit_bytes;
    out->current_bytes = gnn_group_file_u64(dir, "memory.usage_in_bytes");
    out->peak_bytes = gnn_group_file_u64(dir, "memory.max_usage_in_bytes");
    char text[STAT_BYTES];
    if (gnn_group_file_read(dir, "memory.oom_control", text, sizeof text) == 0)
        out->oom_kills = gnn_group_parse_flat(text, "oom_kill");
    if (gnn_group_file_read(dir, "memory.stat", text, sizeof text) != 0)
        return;
    out->anon_bytes = gnn_group_parse_flat(text, "total_rss");
    out->file_bytes = gnn_group_parse_flat(text, "total_cache");
    out->shmem_bytes = gnn_group_parse_flat(text, "total_shmem");
    out->swap_bytes = gnn_group_parse_flat(text, "total_swap");
    out->refaults = gnn_group_parse_flat(text, "total_workingset_refault_file");
    out->major_faults = gnn_group_parse_flat(text, "total_pgmajfault");
}

static void read_io(const struct gnn_cgroup *cgroup, struct gnn_group_reading *out)
{
    const char *const dir = cgroup->io_dir;
    const uint32_t major = cgroup->config.throttle.major, minor = cgroup->config.throttle.minor;
    char text[STAT_BYTES];
    if (gnn_group_file_read(dir, "blkio.throttle.io_service_bytes_recursive", text, sizeof text) == 0) {
        out->read_bytes = gnn_group_parse_devices(text, "Read", ' ', major, minor);
        out->write_bytes = gnn_group_parse_devices(text, "Write", ' ', major, minor);
        out->misses_buffered_writes = 1; /* the kernel's flusher threads write them, outside of the group */
    }
    if (gnn_group_file_read(dir, "blkio.throttle.io_serviced_recursive", text, sizeof text) == 0) {
        out->read_ios = gnn_group_parse_devices(text, "Read", ' ', major, minor);
        out->write_ios = gnn_group_parse_devices(text, "Write", ' ', major, minor);
    }
}

/* Nothing is changed above a group. */
static void restore_parent(struct gnn_cgroup *cgroup)
{
    (void)cgroup;
}

const struct gnn_cgroup_ops gnn_cgroup_v1 = {.enforcement = "cgroup-v1",
                                             .create_memory = create_memory,
                                             .create_io = create_io,
                                             .remove = remove_group,
                                             .read_memory = read_memory,
                                             .read_io = read_io,
                                             .restore_parent = restore_parent};
