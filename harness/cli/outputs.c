/* SPDX-License-Identifier: MIT */
#include "harness/cli/outputs.h"

#include "harness/base/data_dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static enum gnn_status status_of(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
        return GNN_ENOENT;
    case EACCES:
    case EPERM:
    case EROFS:
        return GNN_EPERM;
    case ENOSPC:
    case EDQUOT:
        return GNN_ENOSPC;
    default:
        return gnn_errno_status(error, GNN_EIO);
    }
}

/* Writes one byte into the directory; returns 0 or an error's number. */
static int try_write(const char *dir)
{
    char path[PATH_BYTES];
    const int length = snprintf(path, sizeof path, "%s/.oocgnn-XXXXXX", dir);
    if (length < 0 || (size_t)length >= sizeof path)
        return ENAMETOOLONG;
    const int fd = mkstemp(path);
    if (fd < 0)
        return errno;
    errno = EIO;
    const int error = write(fd, "", 1) == 1 ? 0 : errno;
    (void)close(fd);
    (void)unlink(path);
    return error;
}

enum gnn_status gnn_cli_check_out_dir(const char *option, const char *path, struct gnn_err *err)
{
    struct gnn_err cause = {0};
    const enum gnn_status status = gnn_make_dirs(path, &cause);
    if (status != GNN_OK)
        return gnn_fail(err, status == GNN_EIO ? GNN_ENOENT : status, "%s: %s. Name a directory that you may write to.",
                        option, cause.message);
    const int error = try_write(path);
    return error == 0 ? GNN_OK
                      : gnn_fail(err, status_of(error),
                                 "%s %s: cannot create a file there: %s. Name a directory that you may write to.",
                                 option, path, strerror(error));
}

/* Returns 0 or an error's number. Devices, pipes and dangling links are checked when they are opened. */
static int try_file(const char *path)
{
    if (gnn_is_dir(path))
        return EISDIR;
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST)
        return errno;
    if (fd < 0)
        return access(path, W_OK) == 0 || errno == ENOENT ? 0 : errno;
    (void)close(fd);
    (void)unlink(path);
    return 0;
}

enum gnn_status gnn_cli_check_out_file(const char *option, const char *path, struct gnn_err *err)
{
    const int error = try_file(path);
    return error == 0 ? GNN_OK
                      : gnn_fail(err, status_of(error), "%s %s: %s. Name a file in a directory that you may write to.",
                                 option, path, strerror(error));
}
