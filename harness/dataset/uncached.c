/* SPDX-License-Identifier: MIT */
#include "harness/dataset/uncached.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum gnn_status gnn_uncached_open(const char *path, uint64_t most_bytes, struct gnn_uncached *out, struct gnn_err *err)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK; /* a pipe without a writer would hold the caller for ever */
    struct stat info;
    assert(most_bytes > 0);
    *out = (struct gnn_uncached){.fd = open(path, flags | O_DIRECT)};
    out->direct = out->fd >= 0;
    if (out->fd < 0 && errno == EINVAL)
        out->fd = open(path, flags);
    if (out->fd < 0)
        return gnn_out_errno(errno, "cannot open", path, err);
    if (fstat(out->fd, &info) != 0 || !S_ISREG(info.st_mode))
        return gnn_fail(err, GNN_EFORMAT, "%s is no regular file", path);
    (void)posix_fadvise(out->fd, 0, 0, POSIX_FADV_RANDOM);
    (void)snprintf(out->path, sizeof out->path, "%s", path);
    out->room_bytes = gnn_round_up(most_bytes, GNN_PAGE_BYTES) + GNN_PAGE_BYTES; /* the first page may be cut */
    out->buffer = aligned_alloc(GNN_PAGE_BYTES, out->room_bytes);
    return out->buffer != NULL ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "%" PRIu64 " B to read %s", out->room_bytes, path);
}

void gnn_uncached_close(struct gnn_uncached *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    free(file->buffer);
    *file = (struct gnn_uncached){.fd = -1};
}

/* Reads pages until there are `needed` bytes or the file ends; *got is how many there are. */
static enum gnn_status read_pages(struct gnn_uncached *file, uint64_t offset_bytes, uint64_t needed, uint64_t *got,
                                  struct gnn_err *err)
{
    const uint64_t pages_bytes = gnn_round_up(needed, GNN_PAGE_BYTES);
    assert(pages_bytes <= file->room_bytes);
    *got = 0;
    while (*got < needed) {
        const ssize_t step = pread(file->fd, file->buffer + *got, pages_bytes - *got, (off_t)(offset_bytes + *got));
        if (step < 0 && errno == EINTR)
            continue;
        if (step < 0 && errno == EINVAL && file->direct) { /* a device of larger sectors, or the rest of a cut read */
            file->direct = false;
            if (fcntl(file->fd, F_SETFL, O_NONBLOCK) == 0)
                continue;
        }
        if (step < 0)
            return gnn_out_errno(errno, "reading", file->path, err);
        if (step == 0)
            break;
        *got += (uint64_t)step;
    }
    return GNN_OK;
}

enum gnn_status gnn_uncached_read(struct gnn_uncached *file, uint64_t offset_bytes, uint64_t bytes, const void **at,
                                  struct gnn_err *err)
{
    const uint64_t first = gnn_round_down(offset_bytes, GNN_PAGE_BYTES);
    const uint64_t needed = offset_bytes - first + bytes;
    uint64_t got;
    GNN_TRY(read_pages(file, first, needed, &got, err));
    if (got < needed)
        return gnn_fail(err, GNN_ESHORT, "%s: ends after %" PRIu64 " B, expected %" PRIu64, file->path, first + got,
                        offset_bytes + bytes);
    *at = file->buffer + (offset_bytes - first);
    return GNN_OK;
}
