/* SPDX-License-Identifier: MIT */
#include "harness/measure/page_cache.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW_PAGES = 1 << 18, EVICT_ROUNDS = 6, COLD_ONE_IN = 1000, PATH_BYTES = 4096, DEPTH_MAX = 8 };

static enum gnn_status open_file(const char *path, int *fd, struct stat *info, struct gnn_err *err)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return gnn_fail(err,
                        errno == ENOENT   ? GNN_ENOENT
                        : errno == EACCES ? GNN_EPERM
                                          : gnn_errno_status(errno, GNN_EIO),
                        "%s: %s", path, strerror(errno));
    if (fstat(*fd, info) == 0 && S_ISREG(info->st_mode))
        return GNN_OK;
    (void)close(*fd);
    return gnn_fail(err, GNN_EUSAGE, "%s is no regular file", path);
}

/* Returns whether this user sees residency. Since Linux 5.2 mincore tells the truth about a file only to its owner and
 * to users who may write it; to others every page looks resident. */
static bool may_see_residency(const char *path, const struct stat *info)
{
    return geteuid() == 0 || info->st_uid == geteuid() || access(path, W_OK) == 0;
}

static enum gnn_status count_window(int fd, uint64_t offset_bytes, uint64_t length_bytes, uint64_t page_bytes,
                                    unsigned char *vector, uint64_t *resident_bytes)
{
    assert(length_bytes > 0);
    assert(offset_bytes % page_bytes == 0);
    assert(length_bytes <= WINDOW_PAGES * page_bytes); /* a byte of the vector for each page */
    void *map = mmap(NULL, length_bytes, PROT_READ, MAP_SHARED, fd, (off_t)offset_bytes);
    if (map == MAP_FAILED)
        return GNN_EIO;
    const uint64_t pages = (length_bytes + page_bytes - 1) / page_bytes;
    const bool known = mincore(map, length_bytes, vector) == 0;
    for (uint64_t i = 0; known && i < pages; i++) {
        const uint64_t left_bytes = length_bytes - i * page_bytes;
        if (vector[i] & 1)
            *resident_bytes += gnn_min_u64(left_bytes, page_bytes);
    }
    (void)munmap(map, length_bytes);
    return known ? GNN_OK : GNN_EIO;
}

static enum gnn_status count_file(int fd, uint64_t file_bytes, uint64_t *resident_bytes)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t window_bytes = WINDOW_PAGES * page_bytes;
    unsigned char *vector = malloc(WINDOW_PAGES);
    enum gnn_status status = vector == NULL ? GNN_ENOMEM : GNN_OK;
    *resident_bytes = 0;
    for (uint64_t at = 0; at < file_bytes && status == GNN_OK; at += window_bytes) {
        const uint64_t length_bytes = gnn_min_u64(file_bytes - at, window_bytes);
        status = count_window(fd, at, length_bytes, page_bytes, vector, resident_bytes);
    }
    free(vector);
    return status;
}

enum gnn_status gnn_cache_residency(const char *path, struct gnn_residency *out, struct gnn_err *err)
{
    *out = (struct gnn_residency){.file_bytes = 0, .resident_bytes = GNN_UNKNOWN};
    int fd;
    struct stat info = {0};
    GNN_TRY(open_file(path, &fd, &info, err));
    out->file_bytes = (uint64_t)info.st_size;
    enum gnn_status status = GNN_OK;
    if (may_see_residency(path, &info))
        status = count_file(fd, out->file_bytes, &out->resident_bytes);
    (void)close(fd);
    return status == GNN_OK ? GNN_OK : gnn_fail(err, status, "%s: mincore: %s", path, strerror(errno));
}

enum gnn_status gnn_cache_evict(const char *path, struct gnn_err *err)
{
    int fd;
    struct stat info;
    GNN_TRY(open_file(path, &fd, &info, err));
    int failed = fdatasync(fd) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno; /* dirty pages would stay */
    if (failed == 0)
        failed = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    (void)close(fd);
    return failed == 0 ? GNN_OK : gnn_fail(err, GNN_EIO, "%s: cannot be evicted: %s", path, strerror(failed));
}

/* One file's share of a sum over files. */
typedef enum gnn_status file_fn(const char *path, struct gnn_residency *sum, struct gnn_err *err);

static enum gnn_status for_each_in_dir(const char *dir, int depth, file_fn *visit, struct gnn_residency *sum,
                                       struct gnn_err *err);

/* Visits one entry of a directory: a file, also through a link, or what lies in a directory that is no link. */
static enum gnn_status visit_entry(const char *path, int depth, file_fn *visit, struct gnn_residency *sum,
                                   struct gnn_err *err)
{
    struct stat target, self;
    if (stat(path, &target) != 0 || lstat(path, &self) != 0)
        return GNN_OK; /* gone meanwhile, or a link to nothing */
    if (S_ISREG(target.st_mode))
        return visit(path, sum, err);
    if (!S_ISDIR(self.st_mode))
        return GNN_OK;
    if (depth == DEPTH_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%s: more than %d directories deep", path, DEPTH_MAX);
    return for_each_in_dir(path, depth + 1, visit, sum, err);
}

static enum gnn_status for_each_in_dir(const char *dir, int depth, file_fn *visit, struct gnn_residency *sum,
                                       struct gnn_err *err)
{
    DIR *entries = opendir(dir);
    if (entries == NULL)
        return gnn_fail(err, errno == EACCES ? GNN_EPERM : gnn_errno_status(errno, GNN_ENOENT), "%s: %s", dir,
                        strerror(errno));
    enum gnn_status status = GNN_OK;
    for (const struct dirent *entry = readdir(entries); entry != NULL && status == GNN_OK; entry = readdir(entries)) {
        char path[PATH_BYTES];
        const int length = snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        const bool itself = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (!itself && length > 0 && length < PATH_BYTES)
            status = visit_entry(path, depth, visit, sum, err);
    }
    (void)closedir(entries);
    return status;
}

static enum gnn_status for_each(const char *const *paths, uint32_t count, file_fn *visit, struct gnn_residency *sum,
                                struct gnn_err *err)
{
    for (uint32_t i = 0; i < count; i++) {
        struct stat info;
        if (stat(paths[i], &info) != 0)
            return gnn_fail(err, GNN_ENOENT, "%s: %s", paths[i], strerror(errno));
        GNN_TRY(S_ISDIR(info.st_mode) ? for_each_in_dir(paths[i], 0, visit, sum, err) : visit(paths[i], sum, err));
    }
    return GNN_OK;
}

static enum gnn_status evict_one(const char *path, struct gnn_residency *sum, struct gnn_err *err)
{
    (void)sum;
    return gnn_cache_evict(path, err);
}

static enum gnn_status add_one(const char *path, struct gnn_residency *sum, struct gnn_err *err)
{
    struct gnn_residency one;
    GNN_TRY(gnn_cache_residency(path, &one, err));
    assert(one.resident_bytes == GNN_UNKNOWN || one.resident_bytes <= one.file_bytes);
    sum->file_bytes += one.file_bytes;
    if (one.resident_bytes == GNN_UNKNOWN || sum->resident_bytes == GNN_UNKNOWN)
        sum->resident_bytes = GNN_UNKNOWN;
    else
        sum->resident_bytes += one.resident_bytes;
    return GNN_OK;
}

enum gnn_status gnn_cache_residency_all(const char *const *paths, uint32_t count, struct gnn_residency *out,
                                        struct gnn_err *err)
{
    *out = (struct gnn_residency){0};
    return for_each(paths, count, add_one, out, err);
}

/* 1, 4, 16, 64, 256 ms: on a busy machine a page may be held for a moment by a process that was taken off its core
 * inside a system call, and the kernel then leaves it where it is. */
static void wait_before_round(int round)
{
    assert(round > 0 && round < EVICT_ROUNDS);
    const struct timespec pause = {.tv_nsec = 1000000L << 2 * (round - 1)};
    (void)nanosleep(&pause, NULL);
}

enum gnn_status gnn_cache_make_cold(const char *const *paths, uint32_t count, struct gnn_residency *out,
                                    struct gnn_err *err)
{
    for (int round = 0; round < EVICT_ROUNDS; round++) {
        if (round > 0)
            wait_before_round(round);
        GNN_TRY(for_each(paths, count, evict_one, out, err));
        GNN_TRY(gnn_cache_residency_all(paths, count, out, err));
        if (out->resident_bytes == 0 || out->resident_bytes == GNN_UNKNOWN)
            break;
    }
    return GNN_OK;
}

bool gnn_cache_is_cold(const struct gnn_residency *residency)
{
    return residency->resident_bytes != GNN_UNKNOWN && residency->resident_bytes <= residency->file_bytes / COLD_ONE_IN;
}
