#include "harness/confine/cgroup.h"

#include "harness/base/log.h"
#include "harness/confine/group_file.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { KILL_MS = 5000, REMOVE_MS = 5000, POLL_MS = 2 };

static void sleep_ms(int ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
}

enum gnn_status gnn_cgroup_fail(const struct gnn_cgroup *cgroup, const char *what, const char *dir, int failed,
                                struct gnn_err *err)
{
    if (failed != EPERM && failed != EACCES && failed != EROFS)
        return gnn_fail(err, failed == ENOMEM ? GNN_ENOMEM : GNN_ENOTSUP, "cannot %s %s: %s", what, dir,
                        strerror(failed));
    const bool v2 = cgroup->confine.memory == GNN_CGROUP_V2;
    return gnn_fail(err, GNN_EPERM, "cannot %s %s: %s; try: %s", what, dir, strerror(failed),
                    v2 ? "systemd-run --scope --user -p Delegate=yes oocgnn run ..." : "sudo oocgnn run ...");
}

/* ---- other people's leftovers ---- */

long gnn_cgroup_owner(const char *name)
{
    long pid;
    int used = 0;
    if (sscanf(name, "oocgnn-%ld-%n", &pid, &used) != 1 || used == 0 || pid <= 0)
        return 0;
    const char *rest = name + used;
    const bool counted = rest[0] != '\0' && rest[strspn(rest, "0123456789")] == '\0';
    return counted || strcmp(rest, "leaf") == 0 ? pid : 0;
}

static void kill_pid(void *ctx, long pid)
{
    (void)ctx;
    if (pid > 0) /* 0 stands for a process of another PID namespace */
        (void)kill((pid_t)pid, SIGKILL);
}

bool gnn_group_kill(const char *dir, int timeout_ms)
{
    (void)gnn_group_file_write(dir, "cgroup.kill", "1"); /* v2 since Linux 5.14: no race with fork */
    for (int waited_ms = 0; waited_ms <= timeout_ms; waited_ms += POLL_MS) {
        if (gnn_group_for_each_pid(dir, kill_pid, NULL) <= 0)
            return true;
        sleep_ms(POLL_MS);
    }
    return false;
}

/* controller NULL: v2. False while busy. */
static bool remove_group(const char *mount, const char *dir, const char *controller)
{
    if (controller != NULL)
        return gnn_cgroup_v1_delete(mount, dir, controller);
    return rmdir(dir) == 0 || errno == ENOENT;
}

static bool remove_patiently(const char *mount, const char *dir, const char *controller, int timeout_ms)
{
    for (int waited_ms = 0; waited_ms <= timeout_ms; waited_ms += POLL_MS) {
        if (remove_group(mount, dir, controller))
            return true;
        sleep_ms(POLL_MS);
    }
    return false;
}

/* The group's directory, locked; -1 if it cannot be opened or somebody holds the lock. The owner's lock ends
 * with the owner, in whatever PID namespace it lived. */
static int lock_dir(const char *dir)
{
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

void gnn_cgroup_reclaim(const char *mount, const char *parent, const char *controller)
{
    DIR *entries = opendir(parent);
    if (entries == NULL)
        return;
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        const long owner = gnn_cgroup_owner(entry->d_name);
        if (owner == 0 || owner > INT32_MAX || kill((pid_t)owner, 0) == 0 || errno != ESRCH)
            continue;
        char dir[GNN_CGROUP_PATH_MAX + 256];
        (void)snprintf(dir, sizeof dir, "%s/%s", parent, entry->d_name);
        const int lock_fd = lock_dir(dir);
        if (lock_fd < 0)
            continue;
        (void)gnn_group_kill(dir, KILL_MS / 10);
        (void)remove_patiently(mount, dir, controller, REMOVE_MS / 10);
        (void)close(lock_fd);
    }
    (void)closedir(entries);
}

/* ---- life of a cgroup ---- */

static enum gnn_status check_config(const struct gnn_confine *confine, const struct gnn_cgroup_config *config,
                                    struct gnn_err *err)
{
    if (confine->memory == GNN_CGROUP_NONE)
        return gnn_fail(err, GNN_ENOTSUP, "no memory cap on this machine: %s", confine->remedy);
    if (!confine->memory_usable)
        return gnn_fail(err, GNN_EPERM, "no memory cap for this user: %s", confine->remedy);
    if (config->memory_bytes != 0 && config->memory_bytes < GNN_PAGE_BYTES)
        return gnn_fail(err, GNN_EUSAGE, "a memory cap of %" PRIu64 " bytes is below one page; write 320M for 320 MiB",
                        config->memory_bytes);
    if (config->memory_bytes > confine->ancestor_limit_bytes)
        return gnn_fail(err, GNN_EUSAGE,
                        "a memory cap of %" PRIu64 " bytes is above the limit this process lives under (%" PRIu64
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

static enum gnn_status create_groups(struct gnn_cgroup *cgroup, struct gnn_err *err)
{
    const struct gnn_confine *confine = &cgroup->confine;
    if (confine->memory == GNN_CGROUP_V2) {
        gnn_cgroup_reclaim(confine->memory_mount, confine->memory_parent, NULL);
        GNN_TRY(gnn_cgroup_v2_prepare_parent(cgroup, err));
        GNN_TRY(gnn_cgroup_v2_make_dir(cgroup, err));
        cgroup->memory_lock_fd = lock_dir(cgroup->memory_dir);
        GNN_TRY(gnn_cgroup_v2_set_limits(cgroup, err));
    } else {
        gnn_cgroup_reclaim(confine->memory_mount, confine->memory_parent, "memory");
        GNN_TRY(gnn_cgroup_v1_create_memory(cgroup, err));
        cgroup->memory_lock_fd = lock_dir(cgroup->memory_dir);
    }
    if (confine->io == GNN_CGROUP_V1 && confine->io_usable) {
        gnn_cgroup_reclaim(confine->io_mount, confine->io_parent, "blkio");
        GNN_TRY(gnn_cgroup_v1_create_io(cgroup, err));
        cgroup->io_lock_fd = lock_dir(cgroup->io_dir);
    }
    return GNN_OK;
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
        return gnn_fail(err, GNN_ENOTSUP, "%s: asked for a limit of %" PRIu64 " bytes, the kernel says %" PRIu64,
                        cgroup->memory_dir, cgroup->config.memory_bytes, reading.limit_bytes);
    return GNN_OK;
}

enum gnn_status gnn_cgroup_create(const struct gnn_confine *confine, const struct gnn_cgroup_config *config,
                                  struct gnn_cgroup **out, struct gnn_err *err)
{
    static atomic_uint next_number; /* names must differ within the process, whatever thread asks */
    *out = NULL;
    GNN_TRY(check_config(confine, config, err));
    struct gnn_cgroup *cgroup = calloc(1, sizeof *cgroup);
    if (cgroup == NULL)
        return gnn_fail(err, GNN_ENOMEM, "cgroup");
    cgroup->confine = *confine;
    cgroup->config = *config;
    cgroup->memory_lock_fd = -1;
    cgroup->io_lock_fd = -1;
    (void)snprintf(cgroup->name, sizeof cgroup->name, "oocgnn-%ld-%u", (long)getpid(),
                   atomic_fetch_add(&next_number, 1));
    enum gnn_status status = create_groups(cgroup, err);
    if (status == GNN_OK)
        status = check_read_back(cgroup, err);
    if (status == GNN_OK)
        *out = cgroup;
    else
        gnn_cgroup_close(cgroup);
    return status;
}

const char *gnn_cgroup_name(const struct gnn_cgroup *cgroup)
{
    return cgroup->name;
}

const char *gnn_cgroup_enforcement(const struct gnn_cgroup *cgroup)
{
    return cgroup->confine.memory == GNN_CGROUP_V2 ? "cgroup-v2" : "cgroup-v1";
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
    const struct gnn_throttle *device = &cgroup->config.throttle;
    if (cgroup->confine.memory == GNN_CGROUP_V2)
        gnn_cgroup_v2_read(cgroup->memory_dir, device->major, device->minor, out);
    else
        gnn_cgroup_v1_read_memory(cgroup->memory_dir, out);
    if (cgroup->confine.io == GNN_CGROUP_V1 && cgroup->io_dir[0] != '\0')
        gnn_cgroup_v1_read_io(cgroup->io_dir, device->major, device->minor, out);
    if (out->current_bytes == GNN_UNKNOWN)
        return gnn_fail(err, GNN_EIO, "%s cannot be read: was the control group removed?", cgroup->memory_dir);
    return GNN_OK;
}

enum gnn_status gnn_cgroup_kill(struct gnn_cgroup *cgroup, struct gnn_err *err)
{
    if (gnn_group_kill(cgroup->memory_dir, KILL_MS))
        return GNN_OK;
    return gnn_fail(err, GNN_ETIME, "%s: a process survives SIGKILL (stuck in the kernel?)", cgroup->memory_dir);
}

static void remove_dir(const char *mount, const char *dir, const char *controller)
{
    if (dir[0] == '\0')
        return;
    if (!gnn_group_kill(dir, KILL_MS) || !remove_patiently(mount, dir, controller, REMOVE_MS))
        gnn_log_warn("control group %s stays behind: a process inside does not end; rmdir it later", dir);
}

void gnn_cgroup_close(struct gnn_cgroup *cgroup)
{
    if (cgroup == NULL)
        return;
    const struct gnn_confine *confine = &cgroup->confine;
    remove_dir(confine->memory_mount, cgroup->memory_dir, confine->memory == GNN_CGROUP_V2 ? NULL : "memory");
    if (confine->io == GNN_CGROUP_V1)
        remove_dir(confine->io_mount, cgroup->io_dir, "blkio");
    gnn_cgroup_v2_leave_leaf(cgroup);
    if (cgroup->memory_lock_fd >= 0)
        (void)close(cgroup->memory_lock_fd);
    if (cgroup->io_lock_fd >= 0)
        (void)close(cgroup->io_lock_fd);
    free(cgroup);
}
