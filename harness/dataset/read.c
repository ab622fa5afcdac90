/* SPDX-License-Identifier: MIT */
#include "harness/dataset/read.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void gnn_dataset_path(const char *dir, const char *name, char path[GNN_OUTPUT_PATH])
{
    (void)snprintf(path, GNN_OUTPUT_PATH, "%s/%s", dir, name);
}

enum gnn_status gnn_read_bytes(int fd, void *dst, uint64_t bytes, const char *path, uint64_t *got, struct gnn_err *err)
{
    assert(fd >= 0);
    *got = 0;
    while (*got < bytes) {
        const ssize_t step = read(fd, (char *)dst + *got, bytes - *got);
        if (step < 0 && errno == EINTR)
            continue;
        if (step < 0)
            return gnn_out_errno(errno, "reading", path, err);
        if (step == 0)
            break;
        *got += (uint64_t)step;
    }
    assert(*got <= bytes);
    return GNN_OK;
}

enum gnn_status gnn_open_regular(const char *path, int *fd, struct gnn_err *err)
{
    struct stat info;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer would hold the caller for ever */
    if (*fd < 0)
        return gnn_out_errno(errno, "cannot open", path, err);
    if (fstat(*fd, &info) == 0 && S_ISREG(info.st_mode))
        return GNN_OK;
    (void)close(*fd);
    *fd = -1;
    return gnn_fail(err, GNN_EFORMAT, "%s is no regular file", path);
}

enum gnn_status gnn_read_meta(const char *dir, struct gnn_meta *out, struct gnn_err *err)
{
    char path[GNN_OUTPUT_PATH], *text;
    uint64_t got = 0;
    gnn_dataset_path(dir, "meta", path);
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return gnn_fail(err, GNN_ENOENT, "%s is not a dataset: it has no meta file", dir);
    int fd;
    GNN_TRY(gnn_open_regular(path, &fd, err));
    text = malloc(GNN_META_TEXT_MAX + 1); /* one byte more than allowed, so that a larger file is noticed */
    enum gnn_status status = text != NULL ? gnn_read_bytes(fd, text, GNN_META_TEXT_MAX + 1, path, &got, err)
                                          : gnn_fail(err, GNN_ENOMEM, "text of %s", path);
    (void)close(fd);
    GNN_NEXT(status, gnn_meta_parse(text, got, path, out, err));
    free(text);
    return status;
}
