/* SPDX-License-Identifier: MIT */
#include "harness/confine/readahead.h"

#include "harness/base/log.h"
#include "harness/base/thread_limits.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KIB = 1024, NUMBER_BYTES = 32, LOCK_TRIES = 100 };
static const struct timespec lock_pause = {.tv_nsec = 10000000};

struct gnn_readahead {
    char path[GNN_READAHEAD_PATH * 8];
    int fd;       /* of the file, with its lock */
    int guard_fd; /* the guard holds the other end, and waits for the end of this one */
    pid_t guard;
    bool known; /* the old value was read */
    uint64_t before_kib;
    char before_text[NUMBER_BYTES];
};

void gnn_readahead_path(uint32_t major, uint32_t minor, char path[GNN_READAHEAD_PATH])
{
    (void)snprintf(path, GNN_READAHEAD_PATH, "/sys/dev/block/%" PRIu32 ":%" PRIu32 "/queue/read_ahead_kb", major,
                   minor);
}

uint64_t gnn_readahead_before(const struct gnn_readahead *held)
{
    return held->before_kib * KIB;
}

/* ---- the file ---- */

static bool read_kib(int fd, uint64_t *kib)
{
    char text[NUMBER_BYTES];
    const ssize_t got = pread(fd, text, sizeof text - 1, 0);
    if (got <= 0)
        return false;
    text[got] = '\0';
    return sscanf(text, "%" SCNu64, kib) == 1;
}

static bool write_text(int fd, const char *text)
{
    const size_t length = strlen(text);
    return pwrite(fd, text, length, 0) == (ssize_t)length;
}

static void format_kib(uint64_t kib, char text[NUMBER_BYTES])
{
    (void)snprintf(text, NUMBER_BYTES, "%" PRIu64 "\n", kib);
}

static enum gnn_status open_file(struct gnn_readahead *held, uint64_t bytes, struct gnn_err *err)
{
    held->fd = open(held->path, O_RDWR | O_CLOEXEC);
    if (held->fd >= 0)
        return GNN_OK;
    if (errno == ENOENT)
        return gnn_fail(err, GNN_ENOTSUP, "%s: the kernel shows no readahead of this device", held->path);
    return gnn_fail(err, gnn_errno_status(errno, GNN_EPERM),
                    "%s: %s; run as root, or set it before the run (sudo sh -c 'echo %" PRIu64
                    " >%s') and leave --device-readahead out",
                    held->path, strerror(errno), bytes / KIB, held->path);
}

/* The guard of a run that was killed holds the lock for another moment. */
static enum gnn_status lock_file(const struct gnn_readahead *held, struct gnn_err *err)
{
    for (int tries = 0; flock(held->fd, LOCK_EX | LOCK_NB) != 0; tries++) {
        if (errno != EWOULDBLOCK || tries == LOCK_TRIES)
            return gnn_fail(err, GNN_EPERM, "%s: %s", held->path,
                            errno == EWOULDBLOCK ? "another run holds the device's readahead; wait until it has ended"
                                                 : strerror(errno));
        (void)nanosleep(&lock_pause, NULL);
    }
    return GNN_OK;
}

static enum gnn_status look(struct gnn_readahead *held, struct gnn_err *err)
{
    if (!read_kib(held->fd, &held->before_kib))
        return gnn_fail(err, GNN_ENOTSUP, "%s: holds no number", held->path);
    held->known = true;
    format_kib(held->before_kib, held->before_text);
    return GNN_OK;
}

/* ---- the guard ---- */

static void close_all_but(int a, int b)
{
    const unsigned low = (unsigned)(a < b ? a : b), high = (unsigned)(a < b ? b : a);
    if (low > 0)
        (void)close_range(0, low - 1, 0);
    if (high > low + 1)
        (void)close_range(low + 1, high - 1, 0);
    (void)close_range(high + 1, UINT_MAX, 0);
}

/* Says that it is there, waits until nobody has the other end any more, then gives the value back. Its own session, and
 * signals blocked: what ends the holder's group does not end it. */
static void guard(const struct gnn_readahead *held, int fd)
{
    sigset_t all;
    char byte = 0;
    (void)close(held->guard_fd); /* its own copy would keep the other end open for ever */
    close_all_but(held->fd, fd);
    (void)setsid();
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)write(fd, &byte, 1);
    while (read(fd, &byte, 1) < 0 && errno == EINTR)
        continue;
    _exit(write_text(held->fd, held->before_text) ? 0 : 1);
}

/* Starts the guard and waits until it is out of its holder's session: before, it would be killed with it. */
static enum gnn_status start_guard(struct gnn_readahead *held, struct gnn_err *err)
{
    int ends[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return gnn_fail(err, gnn_errno_status(errno, GNN_ENOMEM), "%s: a socket to its guard: %s", held->path,
                        strerror(errno));
    held->guard_fd = ends[1];
    held->guard = fork();
    if (held->guard == 0)
        guard(held, ends[0]);
    const int failed = errno;
    (void)close(ends[0]);
    if (held->guard < 0)
        return gnn_fail_thread(err, "the process that restores the device's readahead", failed, 0);
    ssize_t got;
    do {
        got = read(held->guard_fd, &byte, 1);
    } while (got < 0 && errno == EINTR);
    return got == 1 ? GNN_OK : gnn_fail(err, GNN_EPERM, "%s: the process that guards it was killed", held->path);
}

/* ---- hold, release ---- */

static enum gnn_status set(const struct gnn_readahead *held, uint64_t bytes, struct gnn_err *err)
{
    char text[NUMBER_BYTES];
    uint64_t kib = 0;
    format_kib(bytes / KIB, text);
    if (write_text(held->fd, text) && read_kib(held->fd, &kib) && kib == bytes / KIB)
        return GNN_OK;
    return gnn_fail(err, GNN_ENOTSUP,
                    "%s: did not take %" PRIu64 " KiB and shows %" PRIu64 "; leave --device-readahead out", held->path,
                    bytes / KIB, kib);
}

enum gnn_status gnn_readahead_hold(const char *path, uint64_t bytes, struct gnn_readahead **out, struct gnn_err *err)
{
    assert(bytes % GNN_PAGE_BYTES == 0);
    assert(bytes <= GNN_READAHEAD_MAX);
    struct gnn_readahead *held;
    *out = NULL;
    GNN_NEW(held, 1, err, "the hold on %s", path);
    held->fd = held->guard_fd = -1;
    assert(strlen(path) < sizeof held->path);
    (void)snprintf(held->path, sizeof held->path, "%s", path);
    enum gnn_status status = open_file(held, bytes, err);
    GNN_NEXT(status, lock_file(held, err));
    GNN_NEXT(status, look(held, err));
    GNN_NEXT(status, start_guard(held, err));
    GNN_NEXT(status, set(held, bytes, err));
    return GNN_OPENED(status, held, out, gnn_readahead_release);
}

/* Whether the file shows the old value. */
static bool is_back(const struct gnn_readahead *held)
{
    uint64_t kib;
    return read_kib(held->fd, &kib) && kib == held->before_kib;
}

void gnn_readahead_release(struct gnn_readahead *held)
{
    if (held == NULL)
        return;
    if (held->guard_fd >= 0)
        (void)close(held->guard_fd);
    while (held->guard > 0 && waitpid(held->guard, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (held->known && !is_back(held))
        (void)write_text(held->fd, held->before_text); /* the guard was killed */
    if (held->known && !is_back(held))
        gnn_log_warn("%s: the old value is not back; type: sudo sh -c 'echo %" PRIu64 " >%s'", held->path,
                     held->before_kib, held->path);
    if (held->fd >= 0)
        (void)close(held->fd);
    free(held);
}
