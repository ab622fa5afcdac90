/* SPDX-License-Identifier: MIT */
/* A cap that does not count is no cap: touch memory inside a cgroup and look whether the kernel noticed. */
#include "harness/base/thread_limits.h"
#include "harness/confine/confine.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HEADROOM_BYTES = 64 << 20 };

/* In the child: enter, say so, wait for a word, touch, say so, wait to be killed. Async-signal-safe throughout. */
static void live_in_cgroup(const struct gnn_cgroup *cgroup, uint64_t bytes, int say_fd, int hear_fd)
{
    char word = 'x';
    if (gnn_cgroup_enter(cgroup) != 0 || write(say_fd, "e", 1) != 1 || read(hear_fd, &word, 1) != 1)
        _exit(1);
    volatile unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        _exit(1);
    for (uint64_t at = 0; at < bytes; at += GNN_PAGE_BYTES)
        memory[at] = 1;
    if (write(say_fd, "t", 1) != 1)
        _exit(1);
    (void)!read(hear_fd, &word, 1);
    _exit(0);
}

static enum gnn_status hear(int fd, char expected, struct gnn_err *err)
{
    char word = 0;
    ssize_t got;
    do
        got = read(fd, &word, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1 || word != expected)
        return gnn_fail(err, GNN_EPERM, "the self-test's child could not %s its control group",
                        expected == 'e' ? "enter" : "use memory in");
    return GNN_OK;
}

static enum gnn_status charge_before_and_after(const struct gnn_cgroup *cgroup, int hear_fd, int say_fd,
                                               uint64_t *rise_bytes, struct gnn_err *err)
{
    struct gnn_group_reading before, after;
    GNN_TRY(hear(hear_fd, 'e', err));
    GNN_TRY(gnn_cgroup_read(cgroup, &before, err));
    if (write(say_fd, "g", 1) != 1)
        return gnn_fail(err, GNN_EIO, "the self-test's child is gone");
    GNN_TRY(hear(hear_fd, 't', err));
    GNN_TRY(gnn_cgroup_read(cgroup, &after, err));
    *rise_bytes = after.current_bytes > before.current_bytes ? after.current_bytes - before.current_bytes : 0;
    return GNN_OK;
}

static enum gnn_status run_child(struct gnn_cgroup *cgroup, uint64_t bytes, uint64_t *rise_bytes, struct gnn_err *err)
{
    int up[2], down[2];
    if (pipe2(up, O_CLOEXEC) != 0)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "pipe: %s", strerror(errno));
    if (pipe2(down, O_CLOEXEC) != 0) {
        (void)close(up[0]);
        (void)close(up[1]);
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "pipe: %s", strerror(errno));
    }
    const pid_t child = fork();
    const int failed = errno;
    if (child == 0) {
        (void)close(up[0]);
        (void)close(down[1]);
        live_in_cgroup(cgroup, bytes, up[1], down[0]);
    }
    (void)close(up[1]);
    (void)close(down[0]);
    enum gnn_status status = child < 0 ? gnn_fail_thread(err, "the self-test's process", failed, 0)
                                       : charge_before_and_after(cgroup, up[0], down[1], rise_bytes, err);
    (void)close(up[0]);
    (void)close(down[1]);
    if (child > 0) {
        if (gnn_cgroup_kill(cgroup, status == GNN_OK ? err : NULL) != GNN_OK && status == GNN_OK)
            status = GNN_ETIME;
        (void)waitpid(child, NULL, 0);
    }
    return status;
}

enum gnn_status gnn_confine_self_test(const struct gnn_confine *confine, uint64_t bytes, uint64_t *rise_bytes,
                                      struct gnn_err *err)
{
    const struct gnn_cgroup_config config = {.memory_bytes = gnn_round_up(bytes, GNN_PAGE_BYTES) + HEADROOM_BYTES};
    assert(bytes > 0);
    struct gnn_cgroup *cgroup;
    GNN_TRY(gnn_cgroup_create(confine, &config, &cgroup, err));
    const enum gnn_status status = run_child(cgroup, bytes, rise_bytes, err);
    gnn_cgroup_close(cgroup);
    return status;
}
