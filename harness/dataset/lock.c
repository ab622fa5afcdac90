/* SPDX-License-Identifier: MIT */
#include "harness/dataset/lock.h"

#include "harness/base/log.h"
#include "harness/dataset/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static int open_directory(const char *dir)
{
    return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Whether the lock was refused for another process's sake, and not for lack of locks. */
static bool is_taken(int fd, int how)
{
    int rc;
    do {
        rc = flock(fd, how | LOCK_NB);
    } while (rc != 0 && errno == EINTR);
    return rc != 0 && errno == EWOULDBLOCK;
}

enum gnn_status gnn_dataset_lock(const struct gnn_prepare_job *job, const char *dir, int *lock_fd, struct gnn_err *err)
{
    static const struct timespec nap = {.tv_nsec = INT64_C(50) * 1000 * 1000};
    *lock_fd = -1;
    const int fd = open_directory(dir);
    if (fd < 0)
        return gnn_out_errno(errno, "cannot open directory", dir, err);
    enum gnn_status status = GNN_OK;
    for (bool told = job->progress == NULL; status == GNN_OK && is_taken(fd, LOCK_EX); told = true) {
        if (!told)
            gnn_log_info("%s: waiting for the runs and preparations that use it; Ctrl-C ends the wait", dir);
        status = gnn_job_stopped(job, "waiting for other processes that use this dataset", err);
        (void)nanosleep(&nap, NULL);
    }
    if (status == GNN_OK)
        *lock_fd = fd;
    else
        (void)close(fd);
    return status;
}

/* Whoever can have it alone is alone. The change to a shared lock may let a preparation in between. */
enum gnn_dataset_use gnn_dataset_share(const char *dir, int *lock_fd)
{
    *lock_fd = open_directory(dir);
    if (*lock_fd < 0)
        return GNN_DATASET_ALONE;
    const bool alone = !is_taken(*lock_fd, LOCK_EX);
    if (!is_taken(*lock_fd, LOCK_SH))
        return alone ? GNN_DATASET_ALONE : GNN_DATASET_SHARED;
    (void)close(*lock_fd);
    *lock_fd = -1;
    return GNN_DATASET_CHANGING;
}

bool gnn_dataset_unshare(int *lock_fd)
{
    const bool shared = *lock_fd >= 0 && is_taken(*lock_fd, LOCK_EX);
    if (*lock_fd >= 0)
        (void)close(*lock_fd);
    *lock_fd = -1;
    return shared;
}
