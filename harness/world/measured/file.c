/* SPDX-License-Identifier: MIT */
/* Files: plain pread and pwrite, buffered or direct, with the alignment the kernel asks for. */
#include "harness/world/measured/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { DIRECT_ALIGN_FALLBACK_BYTES = 4096 };

static const char direct_remedy[] = "keep the dataset on a disk file system (ext4, XFS), or read it buffered "
                                    "(--set SYSTEM.io=buffered)";

/* ---- alignment of direct I/O ---- */

/* "512" in <device>/queue/logical_block_size; a partition keeps its queue one level up. 0 where sysfs is silent. */
static uint32_t sysfs_block_bytes(dev_t device)
{
    static const char *const places[] = {"queue", "../queue"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%s/logical_block_size", major(device), minor(device),
                       places[i]);
        FILE *stream = fopen(path, "re");
        if (stream == NULL)
            continue;
        unsigned bytes = 0;
        const int fields = fscanf(stream, "%u", &bytes);
        (void)fclose(stream);
        if (fields == 1 && bytes >= 512 && (bytes & (bytes - 1)) == 0)
            return bytes;
    }
    return 0;
}

/* The kernel's own word (statx, Linux 6.1). Returns false when it has none; zeros when it says "no direct I/O". */
static bool statx_align(int fd, uint32_t *mem_bytes, uint32_t *offset_bytes)
{
#ifdef STATX_DIOALIGN
    struct statx info;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) != 0 || (info.stx_mask & STATX_DIOALIGN) == 0)
        return false;
    *mem_bytes = info.stx_dio_mem_align;
    *offset_bytes = info.stx_dio_offset_align;
    return true;
#else
    (void)fd;
    (void)mem_bytes;
    (void)offset_bytes;
    return false;
#endif
}

/* tmpfs takes O_DIRECT since Linux 6.6 and reads from memory all the same. */
static bool lives_in_memory(int fd)
{
    static const uint32_t tmpfs = 0x01021994, ramfs = 0x858458f6;
    struct statfs info;
    return fstatfs(fd, &info) == 0 && ((uint32_t)info.f_type == tmpfs || (uint32_t)info.f_type == ramfs);
}

static enum gnn_status ask_alignment(const struct measured *m, struct gnn_file *file, struct gnn_err *err)
{
    file->mem_align_bytes = 1;
    file->offset_align_bytes = 1;
    if (!file->direct)
        return GNN_OK;
    if (lives_in_memory(file->fd))
        return gnn_fail(err, GNN_ENOTSUP, "%s: direct I/O: the file system is in memory; %s", file->path,
                        direct_remedy);
    if (statx_align(file->fd, &file->mem_align_bytes, &file->offset_align_bytes)) {
        if (file->offset_align_bytes == 0)
            return gnn_fail(err, GNN_ENOTSUP, "%s: the file system has no direct I/O for this file; %s", file->path,
                            direct_remedy);
    } else {
        struct stat info;
        const uint32_t block = fstat(file->fd, &info) == 0 ? sysfs_block_bytes(info.st_dev) : 0;
        file->offset_align_bytes = block != 0 ? block : (uint32_t)DIRECT_ALIGN_FALLBACK_BYTES;
        file->mem_align_bytes = file->offset_align_bytes;
    }
    if (file->mem_align_bytes < m->config.force_align_bytes)
        file->mem_align_bytes = m->config.force_align_bytes;
    if (file->offset_align_bytes < m->config.force_align_bytes)
        file->offset_align_bytes = m->config.force_align_bytes;
    return GNN_OK;
}

/* ---- open, close ---- */

static enum gnn_status open_failed(const char *path, unsigned flags, int error, struct gnn_err *err)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return gnn_fail(err, GNN_ENOENT, "%s: %s", path, strerror(error));
    case EACCES:
    case EPERM:
    case EROFS:
        return gnn_fail(err, GNN_EPERM, "%s: cannot be opened for %s: %s", path,
                        (flags & GNN_OPEN_WRITE) != 0 ? "writing" : "reading", strerror(error));
    case ENOSPC:
    case EDQUOT:
        return gnn_fail(err, GNN_ENOSPC, "%s: %s", path, strerror(error));
    case EINVAL:
        if ((flags & GNN_OPEN_DIRECT) != 0)
            return gnn_fail(err, GNN_ENOTSUP, "%s: the file system refuses direct I/O; %s", path, direct_remedy);
        break;
    default:
        break;
    }
    return gnn_fail(err, gnn_errno_status(error, GNN_EIO), "%s: %s", path, strerror(error));
}

/* A file without a name: O_TMPFILE, or where the file system has none, a name that is gone at once. */
static int open_scratch(const char *dir, int mode)
{
    const int fd = open(dir, mode | O_TMPFILE, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return fd;
    char path[1024];
    if ((size_t)snprintf(path, sizeof path, "%s/scratch-XXXXXX", dir) >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int named = mkostemp(path, mode & ~O_ACCMODE);
    if (named >= 0)
        (void)unlink(path);
    return named;
}

static int open_mode(unsigned flags)
{
    assert((flags & (GNN_OPEN_TRUNCATE | GNN_OPEN_SCRATCH)) == 0 || (flags & GNN_OPEN_WRITE) != 0);
    int mode = O_CLOEXEC | ((flags & GNN_OPEN_WRITE) != 0 ? O_RDWR : O_RDONLY);
    if ((flags & GNN_OPEN_WRITE) != 0 && (flags & GNN_OPEN_SCRATCH) == 0)
        mode |= O_CREAT;
    if ((flags & GNN_OPEN_DIRECT) != 0)
        mode |= O_DIRECT;
    if ((flags & GNN_OPEN_TRUNCATE) != 0)
        mode |= O_TRUNC;
    return mode;
}

static int open_file(const char *path, unsigned flags)
{
    int fd;
    do {
        fd =
            (flags & GNN_OPEN_SCRATCH) != 0 ? open_scratch(path, open_mode(flags)) : open(path, open_mode(flags), 0666);
    } while (fd < 0 && errno == EINTR);
    if (fd >= 0 && (flags & GNN_OPEN_RANDOM) != 0)
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    return fd;
}

/* Opening a pipe without a writer would wait for ever. */
static enum gnn_status check_kind(const char *path, struct gnn_err *err)
{
    struct stat info;
    if (stat(path, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) || S_ISCHR(info.st_mode)))
        return gnn_fail(err, GNN_EFORMAT, "%s: is no regular file", path);
    return GNN_OK;
}

enum gnn_status measured_file_open(struct gnn_world *w, const char *path, unsigned flags, struct gnn_file **out,
                                   struct gnn_err *err)
{
    *out = NULL;
    struct gnn_file *file;
    GNN_TRY(check_kind(path, err));
    GNN_NEW(file, 1, err, "%s: a file handle, %zu bytes", path, sizeof *file);
    file->direct = (flags & GNN_OPEN_DIRECT) != 0;
    file->path = strdup(path);
    file->fd = open_file(path, flags);
    const int error = errno;
    enum gnn_status status = GNN_OK;
    struct stat info;
    if (file->path == NULL)
        status = gnn_fail(err, GNN_ENOMEM, "%s: a file handle", path);
    else if (file->fd < 0)
        status = open_failed(path, flags, error, err);
    else if (fstat(file->fd, &info) != 0 || S_ISDIR(info.st_mode))
        status = gnn_fail(err, GNN_ENOENT, "%s: is a directory, a file was expected", path);
    else
        status = ask_alignment(measured_of(w), file, err);
    if (status == GNN_OK)
        *out = file;
    else
        measured_file_close(w, file);
    return status;
}

void measured_file_close(struct gnn_world *w, struct gnn_file *file)
{
    (void)w;
    if (file == NULL)
        return;
    if (file->fd >= 0)
        (void)close(file->fd);
    free(file->path);
    free(file);
}

void measured_file_info(struct gnn_world *w, const struct gnn_file *file, struct gnn_file_info *out)
{
    (void)w;
    struct stat info;
    const int rc = fstat(file->fd, &info);
    assert(rc == 0);
    uint64_t size_bytes = (uint64_t)info.st_size;
    if (S_ISBLK(info.st_mode)) {
        const off_t end = lseek(file->fd, 0, SEEK_END);
        assert(end >= 0);
        size_bytes = (uint64_t)end;
    }
    *out = (struct gnn_file_info){.size_bytes = size_bytes,
                                  .mem_align_bytes = file->mem_align_bytes,
                                  .offset_align_bytes = file->offset_align_bytes,
                                  .direct = file->direct};
}

const char *measured_file_path(struct gnn_world *w, const struct gnn_file *file)
{
    (void)w;
    return file->path;
}

/* ---- one read, one write ---- */

int64_t measured_file_read(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, void *dst,
                           uint64_t len_bytes, const struct gnn_ids_wanted *wanted)
{
    (void)wanted; /* a drive moves whole sectors, and none of them costs computing */
    assert(offset_bytes <= INT64_MAX);
    struct gnn_thread *self = measured_self(measured_of(w));
    const uint64_t start_ns = measured_now_ns(w);
    const ssize_t moved = pread(file->fd, dst, len_bytes, (off_t)offset_bytes);
    const int error = errno;
    self->wait_ns[GNN_WAIT_IO] += measured_now_ns(w) - start_ns;
    return moved < 0 ? -error : moved;
}

int64_t measured_file_write(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, const void *src,
                            uint64_t len_bytes)
{
    assert(offset_bytes <= INT64_MAX);
    struct gnn_thread *self = measured_self(measured_of(w));
    const uint64_t start_ns = measured_now_ns(w);
    const ssize_t moved = pwrite(file->fd, src, len_bytes, (off_t)offset_bytes);
    const int error = errno;
    self->wait_ns[GNN_WAIT_IO] += measured_now_ns(w) - start_ns;
    return moved < 0 ? -error : moved;
}

enum gnn_status measured_file_sync(struct gnn_world *w, struct gnn_file *file, struct gnn_err *err)
{
    struct gnn_thread *self = measured_self(measured_of(w));
    const uint64_t start_ns = measured_now_ns(w);
    int rc;
    do {
        rc = fsync(file->fd);
    } while (rc != 0 && errno == EINTR);
    const int error = errno;
    self->wait_ns[GNN_WAIT_IO] += measured_now_ns(w) - start_ns;
    if (rc == 0)
        return GNN_OK;
    const bool full = error == ENOSPC || error == EDQUOT;
    return gnn_fail(err, full ? GNN_ENOSPC : GNN_EIO, "%s: sync: %s", file->path, strerror(error));
}

enum gnn_status measured_file_evict(struct gnn_world *w, struct gnn_file *file, struct gnn_err *err)
{
    GNN_TRY(measured_file_sync(w, file, err));
    const int error = posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
    return error == 0 ? GNN_OK : gnn_fail(err, GNN_EIO, "%s: evicting: %s", file->path, strerror(error));
}

enum gnn_status measured_file_lock(struct gnn_world *w, struct gnn_file *file, bool *held, struct gnn_err *err)
{
    (void)w;
    int rc;
    do {
        rc = flock(file->fd, LOCK_EX | LOCK_NB);
    } while (rc != 0 && errno == EINTR);
    *held = rc == 0 || errno != EWOULDBLOCK;
    if (rc == 0 || errno == EWOULDBLOCK || errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP)
        return GNN_OK; /* a file system that knows no locks has none to wait for */
    return gnn_fail(err, GNN_EIO, "%s: lock: %s", file->path, strerror(errno));
}

/* ---- names ---- */

static enum gnn_status name_failed(const char *what, const char *path, int error, struct gnn_err *err)
{
    const bool full = error == ENOSPC || error == EDQUOT;
    const bool denied = error == EACCES || error == EPERM || error == EROFS;
    return gnn_fail(err, full ? GNN_ENOSPC : denied ? GNN_EPERM : GNN_EIO, "%s: %s: %s", path, what, strerror(error));
}

enum gnn_status measured_file_rename(struct gnn_world *w, const char *from, const char *to, struct gnn_err *err)
{
    (void)w;
    return rename(from, to) == 0 ? GNN_OK : name_failed("rename", from, errno, err);
}

enum gnn_status measured_file_remove(struct gnn_world *w, const char *path, struct gnn_err *err)
{
    (void)w;
    return unlink(path) == 0 || errno == ENOENT ? GNN_OK : name_failed("remove", path, errno, err);
}

enum gnn_status measured_dir_make(struct gnn_world *w, const char *path, struct gnn_err *err)
{
    (void)w;
    return mkdir(path, 0777) == 0 || errno == EEXIST ? GNN_OK : name_failed("make directory", path, errno, err);
}
