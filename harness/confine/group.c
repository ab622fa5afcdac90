/* SPDX-License-Identifier: MIT */
/* What both versions of control groups need: errors, the lock of a group's owner, killing and removing a group. */
#include "harness/confine/cgroup.h"

#include "harness/base/group_file.h"
#include "harness/base/log.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { REMOVE_MS = 5000, POLL_MS = 2 };

static void sleep_ms(int ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
}

enum gnn_status gnn_cgroup_fail(const struct gnn_cgroup *cgroup, const char *what, const char *dir, int failed,
                                struct gnn_err *err)
{
    assert(what[0] != '\0');
    if (failed != EPERM && failed != EACCES && failed != EROFS)
        return gnn_fail(err, failed == ENOMEM ? GNN_ENOMEM : gnn_errno_status(failed, GNN_ENOTSUP), "cannot %s %s: %s",
                        what, dir, strerror(failed));
    assert(failed > 0);
    const bool v2 = cgroup->confine.memory == GNN_CGROUP_V2;
    return gnn_fail(err, GNN_EPERM, "cannot %s %s: %s; try: %s", what, dir, strerror(failed),
                    v2 ? "systemd-run --scope --user -p Delegate=yes oocgnn run ..." : "sudo oocgnn run ...");
}

/* ---- processes ---- */

static void kill_pid(void *ctx, long pid)
{
    (void)ctx;
    if (pid > 0) /* 0 stands for a process of another PID namespace */
        (void)kill((pid_t)pid, SIGKILL);
}

bool gnn_group_kill(const char *dir, int timeout_ms)
{
    assert(dir[0] != '\0');                              /* "" would be the root of the hierarchy */
    (void)gnn_group_file_write(dir, "cgroup.kill", "1"); /* v2 since Linux 5.14: no race with fork */
    for (int waited_ms = 0; waited_ms <= timeout_ms; waited_ms += POLL_MS) {
        if (gnn_group_for_each_pid(dir, kill_pid, NULL) <= 0)
            return true;
        sleep_ms(POLL_MS);
    }
    return false;
}

/* ---- removing groups ---- */

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

static bool remove_patiently(const struct gnn_cgroup_ops *ops, const char *mount, const char *dir,
                             const char *controller, int timeout_ms)
{
    assert(dir[0] != '\0');
    for (int waited_ms = 0; waited_ms <= timeout_ms; waited_ms += POLL_MS) {
        if (ops->remove(mount, dir, controller))
            return true;
        sleep_ms(POLL_MS);
    }
    return false;
}

int gnn_group_lock(const char *dir)
{
    assert(dir[0] == '/');
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

void gnn_group_reclaim(const struct gnn_cgroup_ops *ops, const char *mount, const char *parent, const char *controller)
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
        const int lock_fd = gnn_group_lock(dir);
        if (lock_fd < 0)
            continue;
        (void)gnn_group_kill(dir, GNN_GROUP_KILL_MS / 10);
        (void)remove_patiently(ops, mount, dir, controller, REMOVE_MS / 10);
        (void)close(lock_fd);
    }
    (void)closedir(entries);
}

void gnn_group_close(const struct gnn_cgroup_ops *ops, const char *mount, const char *dir, const char *controller)
{
    if (dir[0] == '\0')
        return;
    if (!gnn_group_kill(dir, GNN_GROUP_KILL_MS) || !remove_patiently(ops, mount, dir, controller, REMOVE_MS))
        gnn_log_warn("control group %s stays behind: a process inside does not end; rmdir it later", dir);
}
