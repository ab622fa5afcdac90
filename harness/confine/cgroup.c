/* SPDX-License-Identifier: MIT */
/* The life of a cgroup. What differs between the versions of control groups stands in two tables (cgroup.h). */
#include "harness/confine/cgroup.h"

#include "harness/base/group_file.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum gnn_status check_config(const struct gnn_confine *confine, const struct gnn_cgroup_config *config,
                                    struct gnn_err *err)
{
    if (confine->memory == GNN_CGROUP_NONE)
        return gnn_fail(err, GNN_ENOTSUP, "no memory limit can be set on this machine: %s", confine->remedy);
    if (!confine->memory_usable)
        return gnn_fail(err, GNN_EPERM, "this user cannot set a memory limit: %s", confine->remedy);
    if (config->memory_bytes != 0 && config->memory_bytes < GNN_PAGE_BYTES)
        return gnn_fail(err, GNN_EUSAGE,
                        "a memory limit of %" PRIu64 " bytes is below one page; write 320M for 320 MiB",
                        config->memory_bytes);
    if (config->memory_bytes > confine->ancestor_limit_bytes)
        return gnn_fail(err, GNN_EUSAGE,
                        "a memory limit of %" PRIu64
                        " bytes is above the limit of this process's control group (%" PRIu64
                        " bytes): lower --memory or raise that limit",
                        config->memory_bytes, confine->ancestor_limit_bytes);
    const struct gnn_throttle *throttle = &config->throttle;
    if (throttle->bps == 0 && throttle->iops == 0)
        return GNN_OK;
    if (throttle->major == 0 && throttle->minor == 0)
        return gnn_fail(err, GNN_ENOTSUP,
                        "no block device to throttle behind the data: put it on a disk's file system");
    if (!confine->io_usable)
        return gnn_fail(err, confine->io == GNN_CGROUP_NONE ? GNN_ENOTSUP : GNN_EPERM,
                        "no device throttle: the %s controller is not usable here; drop --device-bps and --device-iops",
                        confine->io == GNN_CGROUP_V1 ? "blkio" : "io");
    return GNN_OK;
}

/* Version of the hierarchy that carries the memory controller; a cgroup exists on no other machine. */
static const struct gnn_cgroup_ops *memory_ops(const struct gnn_cgroup *cgroup)
{
    assert(cgroup->confine.memory != GNN_CGROUP_NONE);
    return cgroup->confine.memory == GNN_CGROUP_V2 ? &gnn_cgroup_v2 : &gnn_cgroup_v1;
}

/* Returns the version whose own hierarchy carries the I/O controller; NULL: it comes with the memory group (v2), or
 * there is none. */
static const struct gnn_cgroup_ops *io_ops(const struct gnn_cgroup *cgroup)
{
    return cgroup->confine.io == GNN_CGROUP_V1 ? &gnn_cgroup_v1 : NULL;
}

static enum gnn_status create_groups(struct gnn_cgroup *cgroup, struct gnn_err *err)
{
    GNN_TRY(memory_ops(cgroup)->create_memory(cgroup, err));
    assert(cgroup->memory_dir[0] != '\0');
    const struct gnn_cgroup_ops *const io = io_ops(cgroup);
    return io != NULL && cgroup->confine.io_usable ? io->create_io(cgroup, err) : GNN_OK;
}

/* The kernel rounds to pages and may refuse without an error: believe what it says, not what was written. */
static enum gnn_status check_read_back(const struct gnn_cgroup *cgroup, struct gnn_err *err)
{
    if (cgroup->config.memory_bytes == 0)
        return GNN_OK;
    struct gnn_group_reading reading;
    GNN_TRY(gnn_cgroup_read(cgroup, &reading, err));
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    if (reading.limit_bytes / page_bytes != cgroup->config.memory_bytes / page_bytes)
        return gnn_fail(err, GNN_ENOTSUP, "%s: asked for a limit of %" PRIu64 " bytes, the kernel set %" PRIu64,
                        cgroup->memory_dir, cgroup->config.memory_bytes, reading.limit_bytes);
    return GNN_OK;
}

enum gnn_status gnn_cgroup_create(const struct gnn_confine *confine, const struct gnn_cgroup_config *config,
                                  struct gnn_cgroup **out, struct gnn_err *err)
{
    static atomic_uint next_number; /* names must differ within the process, whatever thread asks */
    *out = NULL;
    GNN_TRY(check_config(confine, config, err));
    struct gnn_cgroup *cgroup;
    GNN_NEW(cgroup, 1, err, "a cgroup of %zu bytes", sizeof *cgroup);
    cgroup->confine = *confine;
    cgroup->config = *config;
    cgroup->memory_lock_fd = -1;
    cgroup->io_lock_fd = -1;
    (void)snprintf(cgroup->name, sizeof cgroup->name, "oocgnn-%ld-%u", (long)getpid(),
                   atomic_fetch_add(&next_number, 1));
    enum gnn_status status = create_groups(cgroup, err);
    GNN_NEXT(status, check_read_back(cgroup, err));
    return GNN_OPENED(status, cgroup, out, gnn_cgroup_close);
}

const char *gnn_cgroup_name(const struct gnn_cgroup *cgroup)
{
    return cgroup->name;
}

const char *gnn_cgroup_enforcement(const struct gnn_cgroup *cgroup)
{
    return memory_ops(cgroup)->enforcement;
}

int gnn_cgroup_enter(const struct gnn_cgroup *cgroup)
{
    int failed = gnn_group_file_write(cgroup->memory_dir, "cgroup.procs", "0");
    if (failed == 0 && cgroup->io_dir[0] != '\0' && strcmp(cgroup->io_dir, cgroup->memory_dir) != 0)
        failed = gnn_group_file_write(cgroup->io_dir, "cgroup.procs", "0");
    errno = failed;
    return failed == 0 ? 0 : -1;
}

enum gnn_status gnn_cgroup_read(const struct gnn_cgroup *cgroup, struct gnn_group_reading *out, struct gnn_err *err)
{
    gnn_group_reading_unknown(out);
    assert(cgroup->memory_dir[0] != '\0');
    memory_ops(cgroup)->read_memory(cgroup, out);
    if (io_ops(cgroup) != NULL && cgroup->io_dir[0] != '\0')
        io_ops(cgroup)->read_io(cgroup, out);
    if (out->current_bytes == GNN_UNKNOWN)
        return gnn_fail(err, GNN_EIO, "%s cannot be read: was the control group removed?", cgroup->memory_dir);
    return GNN_OK;
}

enum gnn_status gnn_cgroup_kill(struct gnn_cgroup *cgroup, struct gnn_err *err)
{
    if (gnn_group_kill(cgroup->memory_dir, GNN_GROUP_KILL_MS))
        return GNN_OK;
    return gnn_fail(err, GNN_ETIME, "%s: a process survives SIGKILL (stuck in the kernel?)", cgroup->memory_dir);
}

void gnn_cgroup_close(struct gnn_cgroup *cgroup)
{
    if (cgroup == NULL)
        return;
    const struct gnn_confine *confine = &cgroup->confine;
    const struct gnn_cgroup_ops *const memory = memory_ops(cgroup), *const io = io_ops(cgroup);
    gnn_group_close(memory, confine->memory_mount, cgroup->memory_dir, "memory");
    if (io != NULL)
        gnn_group_close(io, confine->io_mount, cgroup->io_dir, "blkio");
    memory->restore_parent(cgroup);
    if (cgroup->memory_lock_fd >= 0)
        (void)close(cgroup->memory_lock_fd);
    if (cgroup->io_lock_fd >= 0)
        (void)close(cgroup->io_lock_fd);
    free(cgroup);
}
